"""What runs on a cluster of two workers of its own, with all logs on; prints what it found.

Where an S3 store and Hadoop's connector are on this machine (`s3_store`), ``s3a://`` is a
bucket of that store; elsewhere, and for ``hdfs://`` and ``abfss://``, Hadoop's view of file
systems answers with folders of this machine. The same Spark serves Spark Connect.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from base64 import b64encode
from contextlib import nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import (
    FileSelector,
    FileSystem,
    LocalFileSystem,
    S3FileSystem,
    SubTreeFileSystem,
    copy_files,
)

from ckm.engine.engine import Engine
from ckm.engine.key_mixing import mix_key
from ckm.engine.request import TableRequest
from ptable import NoiseSpec, solve
from tables import Secret
from tables.spark import session
from tests.environments import s3_store

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "spark.md"
DECOY = b"a secret that Spark is told in a text"
SECRET = b"the secret that is planted here"
PASSWORD = "a password that opens the store"  # noqa: S105  (of a test)
MASTER = "local-cluster[2,1,1024]"
REQUEST = TableRequest(dimensions=["geo", "sex", "age"], measures=["count", "weighted"])
OPTIONS = {
    "id": "person",
    "weight": "w",
    "secret": Secret(SECRET),
    "ptable": solve(NoiseSpec(max_noise=3, variance=1.5)),
    "hierarchies": {"geo": ["region", "area"]},
}


def open_store(folder: Path, url: str) -> FileSystem:
    """Open the bucket: of the store at a URL, of a folder where there is none."""
    if not url:
        return SubTreeFileSystem(str(folder), LocalFileSystem())
    keys = {"access_key": "name", "secret_key": PASSWORD, "region": "us-east-1"}
    store = S3FileSystem(endpoint_override=url, allow_bucket_creation=True, **keys)
    store.create_dir("bucket")
    return SubTreeFileSystem("bucket", store)


def tell_spark(folder: Path, url: str) -> None:
    """Tell Spark of the store as users are told to, but of this one and of the older jar."""
    told = dict(re.findall(r"^(spark\.\S+) +(\S+)$", PAGE.read_text("utf-8"), re.MULTILINE))
    told["spark.hadoop.fs.s3a.endpoint"] = url
    told["spark.jars"] = told.pop("spark.jars.packages") and str(s3_store.JAR)
    lines = [f"{name}  {value}\n" for name, value in (told | s3_store.OLDER).items()]
    (folder / "conf").mkdir()
    (folder / "conf" / "spark-defaults.conf").write_text("".join(lines))
    os.environ |= {
        "SPARK_CONF_DIR": str(folder / "conf"),
        "AWS_ACCESS_KEY_ID": "name",
        "AWS_SECRET_ACCESS_KEY": PASSWORD,
    }


def plant(folder: Path, port: int, url: str) -> None:
    """Let Spark write down all that it can, and answer for stores that are not there."""
    import pyspark

    home = folder / "home"  # workers write below it
    home.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        (home / each.name).symlink_to(each)
    os.environ |= {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(home),
        "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    view, mounts = "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme", {}
    for scheme in ("hdfs", "abfss", *([] if url else ["s3a"])):
        mounts[f"spark.hadoop.fs.{scheme}.impl"] = view
    for name in ("bucket", "name@account.dfs"):
        link = f"spark.hadoop.fs.viewfs.mounttable.{name}.link./data"
        mounts[link] = f"file://{folder}/data"
    if url:
        tell_spark(folder, url)
    (folder / "events").mkdir()
    session._SETTINGS["private"] |= mounts | {
        "spark.eventLog.compress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/events",
        "spark.log.level": "DEBUG",
        "spark.local.dir": str(folder / "local"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(sys.path),
        "spark.executor.memory": "512m",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    log = (folder / "driver.log").open("w")
    session.subprocess = SimpleNamespace(DEVNULL=log)


def people(n: int = 1500) -> pa.Table:
    """Draw records."""
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "region": rng.choice(["A", "B b", "C"], n),
            "area": rng.integers(1, 9, n),
            "sex": rng.choice(np.array(["F", "M", None]), n),
            "age": rng.integers(0, 60, n),
            "count": rng.integers(0, 3, n),
            "person": [f"person-{i}" for i in range(n)],
            "w": rng.random(n) * 3,
        }
    )


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows of a table in one order."""
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return sorted(zip(*(column.to_pylist() for column in plain), strict=True), key=repr)


def spoken(secret: bytes) -> list[bytes]:
    """Return how a file may say some bytes."""
    signed = ", ".join(str(b - 256 if b > 127 else b) for b in secret)
    return [
        secret,
        secret.hex().encode(),
        secret.hex().upper().encode(),
        b64encode(secret)[:-2],
        " ".join(f"{b:02x}" for b in secret).encode(),
        " ".join(f"{b:02X}" for b in secret).encode(),
        signed.encode(),
        repr(secret)[2:-1].encode(),
    ]


def files_with(folder: Path, keys: list[bytes]) -> list[Path]:
    """Find the files that say one of the keys in some way."""
    texts = [text for key in keys for text in spoken(key)]
    files = [p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()]
    found = []
    for path in files:
        with suppress(FileNotFoundError):  # Spark clears up meanwhile
            content = path.read_bytes()
            found += [path] if any(text in content for text in texts) else []
    return found


def etags(url: str, places: Iterable[str]) -> set[str]:
    """Ask the store itself for the ETags of objects."""
    found = set[str]()
    for place in places:
        request = Request(f"{url}/{quote(place.removeprefix('s3a://'))}", method="HEAD")  # noqa: S310
        with urlopen(request) as answer:  # noqa: S310  (of this machine)
            found.add(answer.headers["ETag"].strip('"'))
    return found


def fetched_rows(engine: Engine, *, dies: bool = False) -> list[tuple[object, ...]]:
    """Tabulate, after the death of a worker if asked for."""
    if dies:
        kill_worker()
    return rows(engine.tabulate_all({"": REQUEST})[""].to_arrow())


def kill_worker() -> None:
    """End one of the processes that work for us, with all that it keeps, as a failure would."""
    files, parents = list(Path("/proc").glob("[0-9]*")), dict[int, int]()
    for file in files:
        with suppress(OSError):  # it ended meanwhile
            parents[int(file.name)] = int(
                (file / "stat").read_text().rpartition(")")[2].split()[1]
            )
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    is_executor = b"CoarseGrainedExecutorBackend"
    first = min(p for p in ours if is_executor in Path(f"/proc/{p}/cmdline").read_bytes())
    os.kill(first, signal.SIGKILL)


def bring(folder: Path, store: FileSystem) -> bool:
    """Bring all objects to where they are searched; tell whether the store wrote of them."""
    (folder / "objects").mkdir()
    objects = SubTreeFileSystem(str(folder / "objects"), LocalFileSystem())
    copy_files("data", "data", source_filesystem=store, destination_filesystem=objects)
    asked, last = (folder / "store.log").read_text(), "data/out/s3/_SUCCESS"
    return f"PUT /bucket/{last}" in asked and (folder / "objects" / last).exists()


def run(folder: Path, port: int, url: str) -> None:
    """Ask the same of DuckDB, of the cluster, and of its server."""
    plant(folder, port, url)
    pq.write_to_dataset(people(), folder / "data" / "people", partition_cols=["region"])
    here, store = open_store(folder, ""), open_store(folder, url)
    if url:
        copy_files("data", "data", source_filesystem=here, destination_filesystem=store)
    with Engine(folder / "data" / "people", **OPTIONS) as engine:
        wanted = rows(engine.tabulate_all({"": REQUEST})[""].to_arrow())
    largest, right = 0, dict[str, bool]()

    def fetched(frame: Any) -> pa.Table:
        nonlocal largest
        answer = to_arrow[type(frame)](frame)
        largest = max(largest, answer.num_rows)
        return answer

    from pyspark.sql.classic import dataframe as classic
    from pyspark.sql.connect import dataframe as connect

    to_arrow = {kind: kind.toArrow for kind in (classic.DataFrame, connect.DataFrame)}
    for kind in to_arrow:
        kind.toArrow = fetched
    opened = []
    served, out_there = f"sc://127.0.0.1:{port}", "hdfs://bucket/data/out/connect"
    for name, path, master, out in (
        ("s3", "s3://bucket/data/people", MASTER, "s3://bucket/data/out/s3"),
        ("abfss", "abfss://name@account.dfs/data/people", MASTER, ""),
        ("connect", "s3a://bucket/data/people/*/*.parquet", served, out_there),
    ):
        engine = Engine(path, engine="spark", master=master, **OPTIONS)
        opened.append(engine)
        if out:
            right[f"{name} rows"] = engine.write_distributed(REQUEST, out) == len(wanted)
            place = store if out.startswith("s3") else here
            right[name] = rows(pq.read_table(f"data/out/{name}", filesystem=place)) == wanted
            right[f"{name} listed"] = len(engine.far_files(out)) > 0
            right[f"{name} new"] = engine.far_files(f"{out}-nowhere") == {}
        states = engine.far_files()
        right[f"{name} files"] = len(states) == 3
        place = store if path.startswith("s3") else here
        infos = place.get_file_info(FileSelector("data/people", recursive=True))
        kept = {(i.size, i.mtime.isoformat()[:19]) for i in infos if i.is_file}
        right[f"{name} states"] = {(s[0], s[1][:19]) for s in states.values()} == kept
        if url and master == MASTER and path.startswith("s3"):
            right["etags"] = {s[2] for s in states.values()} == etags(url, states)
    found = {"largest answer": largest}
    right |= {
        "fetched": fetched_rows(opened[-1]) == wanted,
        "after a worker died": fetched_rows(opened[1], dies=True) == wanted,
    }
    for engine in opened[::2]:
        source = engine._source
        decoy = f"SELECT count(*) FROM {source.relation} WHERE sex = X'{DECOY.hex()}'"
        source._session.sql(decoy).toArrow()
    if url:
        right["objects"] = bring(folder, store)
    whole = Secret(SECRET)
    keys = [SECRET, mix_key(whole), whole.derive("ckm record key v2")[:16]]
    found["leaks"] = [str(path) for path in files_with(folder, keys)]
    decoys = files_with(folder, [DECOY])
    found["decoys"] = sorted({path.relative_to(folder).parts[0] for path in decoys})
    opened[-1]._source._session.stop()
    found["passwords"] = [str(path) for path in files_with(folder, [PASSWORD.encode()])]
    sys.stdout.write(json.dumps(found | {"right": right, "rows": len(wanted), "store": url}))


def main(folder: Path, port: int) -> None:
    """Run with a store, where there is one."""
    with s3_store.serve(folder / "store.log") if s3_store.is_here() else nullcontext("") as url:
        run(folder, port, url)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
