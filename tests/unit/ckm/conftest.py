"""A PostgreSQL server of the tests' own, where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest


def programs():
    """Return the folder of PostgreSQL's programs, or None."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    )
    return folders[-1] if folders else None


@pytest.fixture(scope="session")
def postgres_server():
    """Start a server that listens on a socket in a folder of its own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    home = Path(tempfile.mkdtemp(prefix="ckm-pg-"))
    as_owner: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root")
        shutil.chown(home, "postgres")
        as_owner = ["runuser", "-u", "postgres", "--"]
    data = home / "data"

    def run(*words):
        subprocess.run(
            [*as_owner, *words],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=home,
        )

    control = (folder / "pg_ctl", "-D", data, "-w", "-l", home / "log")
    try:
        run(folder / "initdb", "-D", data, "-A", "trust", "-U", "ckm")
        run(*control, "-o", f"-k {home} -c listen_addresses=''", "start")
        yield f"postgresql://ckm@/postgres?host={home}"
        run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server):
    """Make a database of the test's own."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")
