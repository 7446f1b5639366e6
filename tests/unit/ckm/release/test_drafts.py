"""While something is written nobody else reads it, whatever the umask; after a kill it goes."""

import contextlib
import functools
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm import PublishedTable
from ckm.cli import app
from ckm.config import read_job
from ckm.ledger import ThinDifferenceError
from ckm.release import release
from tests.strategies import worked_ptable

ROOT = Path(__file__).resolve().parents[4]
NOISE = '[keys]\nsecret = "secret.key"\n[ptable]\npath = "pt.parquet"\n'
TABLE = '[[table]]\nname = "t"\ndimensions = ["zone", "sex"]\nmeasures = ["count"]\n'
JOBS = {
    "noise": NOISE + '[ledger]\npath = "ledger.db"\n[output]\nformats = ["csv", "xlsx"]\n',
    "streamed": NOISE + "[output]\nstream = true\n",
    "suppression": "[suppression]\nthreshold = 3\n",
    "rounding": "[rounding]\nbase = 5\n",
}
PARAMS = "k,h,m,p,q,f\n32,1,2,0.25,0.75,0.5\n"
SWAP = """schema = 1
[data]
path = "people.parquet"
[keys]
secret = "secret.key"
[swap]
household = "home"
geography = ["zone"]
risk = ["age"]
k = 3
rate = 0.05
"""
#: What is told of every file that a program opens.
_watchers = []
_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.link"}


@functools.cache
def watch_files():
    """Tell watchers of files: once, and when one is needed, as hooks stay."""
    sys.addaudithook(lambda event, _: [watch() for watch in _watchers if event in _EVENTS])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    home = np.arange(600) // 2
    people = {
        "id": list(range(600)),
        "home": [f"home-{h}" for h in home],
        "zone": [f"z{h % 6}" for h in home],
        "sex": rng.choice(["F", "M"], 600).tolist(),
        "age": [105, *rng.integers(0, 12, 599).tolist()],
    }
    place = tmp_path / "place"
    place.mkdir()
    pq.write_table(pa.table(people), place / "people.parquet")
    worked_ptable().write(place / "pt.parquet")
    secret = place / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    (place / "params.csv").write_text(PARAMS)
    (place / "swap.toml").write_text(SWAP)
    for name, more in JOBS.items():
        write_job(place, name, more)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(place)
    return place


def write_job(place, name, more, where=""):
    data = '[data]\npath = "people.parquet"\nid = "id"\n'
    text = f'schema = 1\n{data}{more}[report]\nlanguages = ["en"]\n{TABLE}{where}'
    (place / f"{name}.toml").write_text(text)


def drafts_in(folder):
    return [path.name for path in folder.iterdir() if ".partial-" in path.name]


def readable(*parents):
    """Yield what others than the owner could enter or read of what has no name yet."""
    for parent in parents:
        with contextlib.suppress(OSError):
            for path in parent.iterdir():
                is_draft = path.name.startswith((".", "ckm-")) or parent.name == "temporary"
                mode = stat.S_IMODE(path.lstat().st_mode)
                if is_draft and not path.name.endswith(".lock") and mode & 0o077:
                    is_probe = path.is_file() and path.stat().st_size == 0
                    if not is_probe:
                        yield path.name, oct(mode)


@contextlib.contextmanager
def watched(folder):
    """Look at everything at every step, with an umask that lets everybody do everything."""
    seen, looks, names = set(), [], set()
    is_looking = []

    def look():
        if not is_looking:
            is_looking.append(True)
            looks.append(1)
            names.update(path.name for path in folder.iterdir() if path.name[0] == ".")
            seen.update(readable(folder, folder.parent / "temporary"))
            is_looking.clear()

    before = os.umask(0)
    watch_files()
    _watchers.append(look)
    try:
        yield names
    finally:
        _watchers.clear()
        os.umask(before)
    assert len(looks) > 3
    assert not seen


COMMANDS = [
    ("release", "noise.toml", "-o", "out"),
    ("release", "streamed.toml", "-o", "out"),
    ("release", "rounding.toml", "-o", "out"),
    ("suppress", "suppression.toml", "-o", "out"),
    ("check", "noise.toml"),
    ("check", "suppression.toml"),
    ("swap", "swap.toml", "-o", "out.parquet"),
    ("keys", "attach", "people.parquet", "--id", "id", "--secret", "secret.key",
     "-o", "out.parquet"),
    ("keys", "draw", "people.parquet", "-o", "out.parquet"),
    ("rappor", "simulate", "--params", "params.csv", "--shape", "exponential", "--values", "5",
     "--clients", "100", "--seed", "1", "-o", "out"),
    ("job", "init", "people.parquet", "-o", "out.toml"),
    ("ptable", "convert", "pt.parquet", "out.json"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_nobody_else_reads_what_is_being_written(folder, words):
    with watched(folder):
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert list((folder.parent / "temporary").iterdir()) == []
    out = folder / words[-1]
    if (out / "public").exists():
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (out, out / "public")]
        assert modes == [0o777, 0o777]  # as the umask has it
        assert stat.S_IMODE((out / "internal").stat().st_mode) == 0o700
        assert {stat.S_IMODE(p.stat().st_mode) for p in (out / "internal").iterdir()} == {0o600}
        assert {stat.S_IMODE(p.stat().st_mode) for p in (out / "public").iterdir()} == {0o666}


def test_folders_above_are_their_owners_alone_until_the_release_is_there(folder):
    out = folder / "new" / "newer" / "out"

    def look(*_):
        modes.update(
            stat.S_IMODE(path.stat().st_mode)
            for path in (folder / "new", folder / "new" / "newer")
            if path.exists()
        )

    modes = set()
    before = os.umask(0o022)
    try:
        release(read_job(folder / "noise.toml"), out, progress=look)
    finally:
        os.umask(before)
    assert modes == {0o700}
    for path in (out, out.parent, out.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o755


def test_a_table_in_python_is_its_owners_alone_until_it_is_whole(folder):
    sex = (np.array([0, 1], np.int32), ["F", "M"])
    table = PublishedTable(dimensions={"sex": sex}, measures={"count": np.array([5, 7])})
    with watched(folder):
        for number in range(3):
            table.write(folder / f"{number}.csv")
            table.write(folder / f"{number}.parquet")
    assert stat.S_IMODE((folder / "1.csv").stat().st_mode) == 0o666


def test_no_table_is_written_before_the_ledger_agreed(folder, monkeypatch):
    release(read_job(folder / "noise.toml"), folder / "one")
    write_job(folder, "two", JOBS["noise"], "where = 'age < 100'\n")
    written = []
    monkeypatch.setattr(PublishedTable, "write", lambda *words, **_: written.append(words))
    with pytest.raises(ThinDifferenceError):
        release(read_job(folder / "two.toml"), folder / "two")
    assert written == []
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


READ = """
import os, sys, time
from pathlib import Path
os.setgid(65534), os.setuid(65534)
print(flush=True)
seen = set()
end = time.monotonic() + 120
while not Path(sys.argv[2]).exists() and time.monotonic() < end:
    for place, folders, files in os.walk(sys.argv[1]):
        for name in files:
            parts = Path(place, name).relative_to(sys.argv[1]).parts
            hidden = [part for part in parts if part[0] == "."]
            try:
                if hidden and Path(place, name).read_bytes():
                    seen.add(name)
            except OSError:
                pass
print(sorted(seen))
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="acts as another user")
def test_another_user_reads_nothing_of_a_release_that_is_being_made(folder):
    place = Path(tempfile.mkdtemp(dir="/tmp", prefix="watched-"))
    try:
        place.chmod(0o777)
        for file in folder.iterdir():
            shutil.copy2(file, place)
        with subprocess.Popen(
            [sys.executable, "-c", READ, place, place / "over"],
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            other.stdout.readline()
            before = os.umask(0)
            try:
                os.chdir(place)
                assert CliRunner().invoke(app, COMMANDS[0]).exit_code == 0
            finally:
                os.umask(before)
                (place / "over").touch()
            assert other.communicate()[0].strip() == "[]"
    finally:
        os.chdir(folder)
        shutil.rmtree(place)


KILLED = """
import os, signal
from ckm.cli import main
import ckm.release.files.output_folder as output
output.flush_files = lambda _: os.kill(os.getpid(), signal.SIGKILL)
import ckm.release.swapped as swapped
swapped.flush_files = output.flush_files
import sys
sys.argv = ["ckm", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [COMMANDS[0], COMMANDS[3], COMMANDS[6], COMMANDS[9]])
def test_what_a_killed_run_left_goes_with_a_run_of_another_name(folder, words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": tempfile.gettempdir()}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, *words], cwd=folder, env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert drafts_in(folder)
    sex = (np.array([0], np.int32), ["F"])
    table = PublishedTable(dimensions={"sex": sex}, measures={"count": np.array([5])})
    table.write(folder / "another.csv")
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
def test_a_run_of_another_name_leaves_what_a_living_one_writes(folder):
    code = KILLED.replace(
        "os.kill(os.getpid(), signal.SIGKILL)", "__import__('time').sleep(600)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", code, *COMMANDS[0]], cwd=folder, env=environment
    ) as living:
        end = time.monotonic() + 120
        while not (drafts := list(folder.glob(".out.partial-*/out/public/*.json"))):
            assert living.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        pd.DataFrame({"a": [1]}).to_parquet("other.parquet")
        assert CliRunner().invoke(app, ("release", "streamed.toml", "-o", "two")).exit_code == 0
        assert all(path.exists() for path in drafts)
        living.kill()
    assert CliRunner().invoke(app, ("release", "streamed.toml", "-o", "three")).exit_code == 0
    assert drafts_in(folder) == []
