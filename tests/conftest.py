"""Fixtures that every test may use."""

import gc
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

from tests.randomness import GENERATOR, is_drawn_from_seeds, put_in_place
from tests.strategies import SHARES, examples

# `quick` draws the same examples in every run, `many` those of its seed, `long` always others.
# What they find comes with a line to replay it.
for name in SHARES:
    settings.register_profile(
        name,
        deadline=None,
        derandomize=name == "quick",
        database=None,
        print_blob=name != "quick",
        max_examples=examples(100),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
settings.load_profile(os.environ.get("CKM_HYPOTHESIS_PROFILE", "quick"))

# Reference figures are read to their last digit, which pandas does by itself from 3.1 on.
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    pd.read_csv = partial(pd.read_csv, float_precision="round_trip")

os.environ["CKM_LANG"] = "en"  # whatever the language of the machine
os.umask(0o077)  # a secret that a test writes is its owner's alone, as it must be


# What is collected stays to the end: twenty thousand tests and all that they import. Looking
# for garbage among it took a fifth of the time that collecting takes, in each worker.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Look for garbage from here on, and only in what the tests make."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let what is left be cleared up, so that no library tells of it as lost."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts Spark or PostgreSQL as slow."""
    for item in items:
        if {"master", "postgres_server"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test its seed."""
    put_in_place()
    GENERATOR.start(item.nodeid if is_drawn_from_seeds(item) else None)


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Give what several tests share a seed of its own, whichever of them comes first."""
    if fixturedef.scope == "function":
        yield
        return
    before = GENERATOR.start(f"{fixturedef.baseid}/{fixturedef.argname}")
    yield
    GENERATOR.go_on(before)


SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of reference results and real data, or skip."""
    if not SHARED.is_dir():
        pytest.skip("the folder of reference results and real data is absent")
    return SHARED


@pytest.fixture(scope="session")
def master() -> str:
    """Start Spark on this machine, once, and return its master; or skip."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    pytest.importorskip("sqlglot", reason="SQLGlot is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    from tables.spark.session import open_session

    with pytest.MonkeyPatch.context() as patch:
        # Small questions: less work for Java's compiler, no network.
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        open_session("local[2]")
    return "local[2]"
