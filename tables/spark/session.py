"""A session of Spark that keeps to itself: no page, no log, and the same answers anywhere."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footing.addresses import Address
from footing.data_files import read_data
from footing.messages import Message, Name, Shape, said
from tables.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
_MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(,\s*\d+)?\])?|local-cluster\[\d+,\s*\d+,\s*\d+\]|yarn"
    r"|spark://[\w.-]+:\d+(,[\w.-]+:\d+)*|k8s://\S+|sc://[\w.-]+(:\d+)?(/\S*)?"
)
_PORT, _WAIT_S = 15002, 60  # of Spark Connect
_PARTS_PER_CORE, _LEAST_PART = 2, 1 << 20  # bytes
_JAVA_OPTIONS = "spark.driver.defaultJavaOptions"
_JAVA_VARIABLES = (
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "SPARK_SUBMIT_OPTS",
)
_STARTING = threading.Lock()
_SETTINGS = read_data("tables.spark", "spark.toml")


def is_master(text: str) -> bool:
    """Tell whether a text can be the master of a Spark cluster."""
    return _MASTER.fullmatch(text) is not None


def reserved_settings(names: Iterable[str]) -> list[str]:
    """Return the settings that nobody may make: they decide answers, or what is shown."""
    reserved = _SETTINGS["private"].keys() | _SETTINGS["exact"].keys() | {"spark.master"}
    return sorted(name for name in names if name in reserved)


def open_session(
    master: str,
    *,
    settings: Mapping[str, str] | None = None,
    session: SparkSession | None = None,
) -> SparkSession:
    """Open a session; Spark itself is started once in a process and ends with it.

    Parameters
    ----------
    master
        Where Spark runs.
    settings
        Settings of Spark. Where it runs already, those of statements alone can be made.
    session
        A session of others, beside which another one of the same Spark is opened.
    """
    more = dict(settings or {})
    if wrong := reserved_settings(more):
        raise SourceError(
            Message("The setting {name!r} of Spark is not to be made.", name=Name(wrong[0])),
            hint=Message("it decides answers, or what is shown of records: leave it out"),
        )
    if session is not None:
        with quiet():
            own = session.newSession()
        return _set(own, more)
    if not is_master(master):
        raise SourceError(
            Message("{masked!r} is no master of Spark.", masked=Name(Address(master).masked)),
            hint=Message(
                'write "local[*]", "spark://host:7077", "yarn", "k8s://…" or "sc://host"'
            ),
        )
    with _STARTING, quiet():
        own = _connect(master) if is_served(master) else _own(master, more)
    return _set(own, more)


def _set(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Make the settings of statements, and see that the others are made."""
    for name, value in settings.items():
        if name.startswith("spark.sql.") and session.conf.isModifiable(name):
            session.conf.set(name, value)
        elif session.conf.get(name, None) != value:
            raise SourceError(
                Message("Spark runs already, without the setting {name!r}.", name=Name(name)),
                hint=Message("make it where Spark is started, or in spark-defaults.conf"),
            )
    for name, value in _SETTINGS["exact"].items():
        session.conf.set(name, value)
    for name, value in (_SETTINGS["saving"] | _division(session)).items():
        if session.conf.get(name, None) is None:  # nobody says otherwise
            session.conf.set(name, value)
    return session


def _division(session: SparkSession) -> dict[str, str]:
    """Return settings that have files of some MB read by all cores."""
    if not hasattr(session, "_jsparkSession"):  # no server of others tells its cores
        return {}
    cores = session.sparkContext.defaultParallelism
    return {
        "spark.sql.files.minPartitionNum": str(_PARTS_PER_CORE * cores),
        "spark.sql.files.openCostInBytes": str(_LEAST_PART),
    }


def is_served(master: str) -> bool:
    """Tell whether a master is a server of Spark Connect, which other programs use too."""
    return master.startswith("sc://")


def _connect(master: str) -> Any:
    """Open a session on a server; it has its own logs, pages and memory."""
    _require_packages("pyspark", "sqlglot", "grpc")
    host, _, port = master[len("sc://") :].partition("/")[0].partition(":")
    try:
        socket.create_connection((host, int(port or _PORT)), timeout=_WAIT_S).close()
    except OSError as error:  # gRPC would try again for many minutes
        raise SourceError(
            Message(
                "No Spark Connect server answers at {masked!r} ({name}).",
                masked=Name(Address(master).masked),
                name=Shape(type(error)),
            ),
            hint=Message("is it up, and its port open?"),
        ) from None
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.builder.remote(master).create()


def _own(master: str, settings: Mapping[str, str]) -> SparkSession:
    context = _running(master) or _start(master, settings)
    from pyspark.sql import SparkSession

    session = SparkSession(context).newSession()
    if master.startswith("local"):
        session.conf.set("spark.sql.shuffle.partitions", context.defaultParallelism)
    return session


def _running(master: str) -> SparkContext | None:
    """Return what already runs in this process."""
    _require_installed()
    from pyspark import SparkContext

    context = SparkContext._active_spark_context  # noqa: SLF001
    if context is None or context._jsc is None or context._jsc.sc().isStopped():  # noqa: SLF001
        return None
    if context.master != master:
        own = Address(str(context.master)).masked
        raise SourceError(
            Message(
                "Spark already runs in this process, with the master {own!r}.", own=Name(own)
            ),
            hint=Message(
                "stop it first, or open the data with the master {own!r}", own=Name(own)
            ),
        )
    return context


def _require_packages(*names: str) -> None:
    if any(importlib.util.find_spec(name) is None for name in names):
        raise SourceError(
            Message('engine = "spark" needs PySpark and SQLGlot, which are not installed.'),
            hint=Message("in the project's folder: pip install '.[spark]'"),
        )


def _require_installed() -> None:
    _require_packages("pyspark", "sqlglot")
    home = os.environ.get("JAVA_HOME")
    if home is None and shutil.which("java") is None:
        raise SourceError(
            Message("Spark needs Java 17 or later, and there is none on the path."),
            hint=Message("install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME"),
        )
    if home is not None and shutil.which("java", path=Path(home) / "bin") is None:
        raise SourceError(
            Message("JAVA_HOME names a folder without bin/java."),
            hint=Message("set it to a Java 17, or unset it"),
        )


def names_collector(settings: Mapping[str, str]) -> bool:
    """Tell whether somebody says how Java gives memory back: it takes one such option alone."""
    from pyspark.find_spark_home import _find_spark_home

    home = Path(_find_spark_home())
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf"
    texts = [f"{name} {value}" for name, value in settings.items()]
    texts += [os.environ.get(name, "") for name in _JAVA_VARIABLES]
    with contextlib.suppress(OSError):  # there is none
        texts.append(defaults.read_text("utf-8", errors="replace"))
    return any(_JAVA_OPTIONS in text or "GC" in text for text in texts)


def _start(master: str, settings: Mapping[str, str]) -> SparkContext:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    # Else a folder of that name may be left wherever a run is started.
    warehouse = tempfile.TemporaryDirectory(prefix="ckm-spark-")
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("ckm")
    conf.set("spark.sql.warehouse.dir", f"file://{warehouse.name}")
    if master.startswith("local") and not names_collector(settings):
        conf.set(_JAVA_OPTIONS, "-XX:+UseParallelGC")
    conf.setAll([*settings.items(), *_SETTINGS["private"].items()])
    problem = None
    try:
        # What Java prints may quote records: it goes nowhere.
        silence = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        gateway = launch_gateway(conf, popen_kwargs=silence)  # type: ignore[no-untyped-call]
        context = SparkContext(gateway=gateway, conf=conf)
    except (PySparkException, Py4JError, OSError, RuntimeError, ValueError) as error:
        problem = type(error).__name__
    if problem is not None:  # raised here, so that Java's text is not chained
        raise SourceError(
            Message(
                "Spark could not be started with the master {master!r} ({problem}).",
                master=Name(master),
                problem=said(problem),
            ),
            hint=Message(
                "is the master up, its version that of PySpark, and Java 17 or later?"
            ),
        )
    atexit.register(warehouse.cleanup)
    atexit.register(context.stop)  # before its folder goes
    if master.startswith("local"):
        context.pythonExec = sys.executable  # of workers
    return context


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep to itself what PySpark says of failed statements, values included, and of itself."""
    logger: Any = logging.getLogger("SQLQueryContextLogger")
    before = logger.disabled
    logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sockets left open, versions of pandas
            yield
    finally:
        logger.disabled = before
