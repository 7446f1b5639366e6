"""A PostgreSQL server of the tests' own, where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

# Stops the server when the tests are over, however they ended: then its input ends.
_KEEP = 'cat; "$0" -D "$1" -m immediate stop >/dev/null 2>&1; rm -rf "$2"'


def programs():
    """Return the folder of PostgreSQL's programs, or None."""
    found = shutil.which("initdb")
    folders = (
        [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    )
    return folders[-1] if folders else None


def is_able(command):
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.fixture(scope="session")
def postgres_server():
    """Start a server that listens on a socket in a folder of its own."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    as_owner: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        as_owner = ["runuser", "-u", "postgres", "--"]
        if not is_able([*as_owner, "true"]):
            pytest.skip("PostgreSQL does not run as root, and there is no user for it")
    # A short path: the name of a socket has a hundred letters at most.
    home = Path(tempfile.mkdtemp(prefix="ckm-pg-", dir="/tmp"))
    if as_owner:
        shutil.chown(home, "postgres")
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
    keeper = None
    try:
        options = ("-A", "trust", "-U", "ckm", "-E", "UTF8", "--locale=C")
        run(folder / "initdb", "-D", data, *options)
        run(*control, "-o", f"-k {home} -c listen_addresses=''", "start")
        keeper = subprocess.Popen(
            [*as_owner, "sh", "-c", _KEEP, folder / "pg_ctl", data, home],
            stdin=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )
        yield f"postgresql://ckm@/postgres?host={home}"
    finally:
        if keeper is not None:
            keeper.communicate()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server):
    """Make a database of the test's own."""
    import psycopg

    name = f"t{uuid.uuid4().hex}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres_server.replace("/postgres?", f"/{name}?")
