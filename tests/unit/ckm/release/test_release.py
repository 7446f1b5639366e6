import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.engine.published_table import PublishedTable
from ckm.errors import ConfigError, ReleaseError
from ckm.release import release
from ckm.release.files.manifest import METHODS
from ckm.release.files.output_folder import new_folder, resolve_target
from ckm.release.run import ReleaseRun
from ptable import InfeasibleError, NoiseSpec, solve
from tables import RequestError, SourceError

ROOT = Path(__file__).resolve().parents[4]

JOB = """
schema = 1
title = "People (made up)"
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[report]
languages = ["en"]
[hierarchies]
geo = ["region", "commune"]
[[table]]
name = "places"
title = "People by place and sex"
dimensions = ["geo", "sex"]
[[table]]
name = "adults"
dimensions = ["sex"]
where = "age >= 18"
"""


@pytest.fixture(scope="session")
def ptable():
    return solve(NoiseSpec(max_noise=2, variance=1.0))


@pytest.fixture
def folder(tmp_path, ptable):
    rng = np.random.default_rng(7)
    n = 300
    region = rng.integers(1, 4, n)
    people = {
        "person_id": [f"person-{i}" for i in range(n)],
        "region": [f"R{r}" for r in region],
        "commune": [f"R{r}C{c}" for r, c in zip(region, rng.integers(1, 9, n), strict=True)],
        "sex": rng.choice(["F", "M"], n).tolist(),
        "age": rng.integers(0, 90, n).tolist(),
    }
    pq.write_table(pa.table(people), tmp_path / "people.parquet")
    ptable.write(tmp_path / "pt.parquet")
    secret = tmp_path / "secret.key"
    secret.write_text("a secret of sixteen bytes or more")
    secret.chmod(0o600)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


@pytest.fixture
def job(folder):
    return read_job(folder / "job.toml")


def public_bytes(out):
    return {path.name: path.read_bytes() for path in (out / "public").iterdir()}


def manifest(out, part):
    return json.loads((out / part / "manifest.json").read_text(encoding="utf-8"))


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_release_holds_public_and_internal_files(job, folder):
    done = release(job, folder / "out")
    assert sorted(p.name for p in (folder / "out" / "public").iterdir()) == [
        "adults.csv",
        "adults.parquet",
        "index.html",
        "manifest.json",
        "places.csv",
        "places.parquet",
        "report.en.html",
        "report.json",
    ]
    assert sorted(p.name for p in (folder / "out" / "internal").iterdir()) == [
        "job.toml",
        "manifest.json",
        "pt.parquet",
        "report-internal.en.html",
        "report.json",
    ]
    assert done.tables == ("places", "adults")
    assert leftovers(folder) == []


def test_every_hash_of_the_manifests_is_right(job, folder):
    release(job, folder / "out")
    public, internal = manifest(folder / "out", "public"), manifest(folder / "out", "internal")
    for table in public["tables"]:
        for file in table["files"]:
            content = (folder / "out" / "public" / file["file"]).read_bytes()
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
            assert len(content) == file["bytes"]
    listed = {file["file"]: file["sha256"] for file in internal["public"]}
    assert listed == {
        name: hashlib.sha256(content).hexdigest()
        for name, content in public_bytes(folder / "out").items()
    }
    inputs = {file["file"]: file["sha256"] for file in internal["inputs"]}
    assert inputs == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in ("people.parquet", "pt.parquet")
    }


def test_the_public_manifest_describes_tables_and_method_in_words(job, folder):
    release(job, folder / "out")
    public = manifest(folder / "out", "public")
    assert public["title"] == "People (made up)"
    assert public["method"] == METHODS["noise"]
    places = public["tables"][0]
    assert places["title"] == "People by place and sex"
    assert [column["name"] for column in places["columns"]] == [
        "region",
        "commune",
        "sex",
        "count",
    ]
    assert places["columns"][1]["description"].startswith("Level 2 of 2 of 'geo'")
    frame = pq.read_table(folder / "out" / "public" / "places.parquet")
    assert places["rows"] == frame.num_rows


def test_the_public_part_tells_nothing_of_parameters_inputs_times_or_the_job(
    job, folder, ptable
):
    release(job, folder / "out")
    text = (folder / "out" / "public" / "manifest.json").read_text(encoding="utf-8")
    internal = manifest(folder / "out", "internal")
    hidden = [
        ptable.id,
        ptable.id[:12],
        "people.parquet",
        "pt.parquet",
        "secret",
        "person_id",
        ">= 18",
        str(folder),
        internal["times"]["started"][:10],
        internal["job"]["sha256"],
        *(file["sha256"] for file in internal["inputs"]),
    ]
    assert [word for word in hidden if word in text] == []


@pytest.mark.slow
def test_the_internal_part_tells_how_to_repeat_and_never_the_secret(job, folder, ptable):
    release(job, folder / "out")
    internal = manifest(folder / "out", "internal")
    assert internal["ptable"]["id"] == ptable.id
    label = internal["job"]["secret"]
    assert label == "secret.key"
    assert {"ckm", "python", "duckdb", "numpy"} <= set(internal["versions"])
    assert (folder / "out" / "internal" / "job.toml").read_text() == JOB
    secret = (folder / "secret.key").read_bytes()
    digest = hashlib.sha256(secret).hexdigest().encode()
    for path in (folder / "out").rglob("*.*"):
        content = path.read_bytes()
        assert secret not in content
        assert digest not in content


def test_the_internal_part_is_for_its_owner_alone(job, folder):
    release(job, folder / "out")
    assert (folder / "out" / "internal").stat().st_mode & 0o077 == 0


def test_the_same_job_gives_the_same_public_bytes(job, folder):
    release(job, folder / "one", threads=1)
    release(job, folder / "two", threads=2)
    assert public_bytes(folder / "one") == public_bytes(folder / "two")


@pytest.mark.slow
def test_row_order_and_file_splits_leave_the_public_bytes_alone(folder):
    release(read_job(folder / "job.toml"), folder / "one")
    people = pq.read_table(folder / "people.parquet")
    order = np.random.default_rng(1).permutation(people.num_rows)
    shuffled = people.take(pa.array(order))
    (folder / "people.parquet").unlink()
    pq.write_table(shuffled.slice(0, 100), folder / "people-1.parquet")
    pq.write_table(shuffled.slice(100), folder / "people-2.parquet")
    (folder / "job.toml").write_text(JOB.replace("people.parquet", "people-*.parquet"))
    release(read_job(folder / "job.toml"), folder / "two")
    assert public_bytes(folder / "one") == public_bytes(folder / "two")


def test_a_dry_run_checks_and_writes_nothing(job, folder):
    before = sorted(path.name for path in folder.iterdir())
    release(job, folder / "out", dry_run=True)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_dry_run_finds_a_missing_column(folder):
    (folder / "job.toml").write_text(JOB.replace('["sex"]', '["sexe"]'))
    with pytest.raises(RequestError, match=r"'adults'.*'sexe'"):
        release(read_job(folder / "job.toml"), folder / "out", dry_run=True)


def test_problems_of_several_tables_are_shown_together(folder):
    text = JOB.replace('["sex"]', '["sexe"]').replace("age >= 18", "age >> 18")
    text += '[[table]]\nname = "third"\ndimensions = ["regon"]\n'
    (folder / "job.toml").write_text(text)
    with pytest.raises(RequestError) as caught:
        release(read_job(folder / "job.toml"), folder / "out")
    assert "'adults'" in str(caught.value)
    assert "'third'" in str(caught.value)


def test_a_folder_that_is_not_empty_stays(job, folder):
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("mine")
    with pytest.raises(ReleaseError, match="exists and is not empty"):
        release(job, folder / "out")
    assert (folder / "out" / "mine.txt").read_text() == "mine"


def test_an_empty_folder_is_taken_over(job, folder):
    (folder / "out").mkdir()
    release(job, folder / "out")
    assert (folder / "out" / "public").is_dir()


def test_force_replaces_an_earlier_release(job, folder):
    release(job, folder / "out")
    (folder / "out" / "public" / "adults.csv").write_text("spoilt")
    release(job, folder / "out", force=True)
    assert (folder / "out" / "public" / "adults.csv").read_text() != "spoilt"
    assert leftovers(folder) == []


@pytest.mark.slow
def test_force_works_where_the_system_cannot_swap_folders(job, folder, monkeypatch):
    release(job, folder / "out")
    (folder / "out" / "public" / "adults.csv").write_text("spoilt")
    monkeypatch.setattr("ckm.release.files.output_folder._exchange", lambda *_: False)
    release(job, folder / "out", force=True)
    assert (folder / "out" / "public" / "adults.csv").read_text() != "spoilt"
    assert leftovers(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["notes.txt", "public/notes.txt"])
def test_force_does_not_remove_files_of_others(job, folder, name):
    release(job, folder / "out")
    (folder / "out" / name).write_text("mine")
    with pytest.raises(ReleaseError, match=r"notes\.txt.*would remove"):
        release(job, folder / "out", force=True)
    assert (folder / "out" / name).read_text() == "mine"


@pytest.mark.parametrize("content", [None, "{}", "[]", '{"kind": "other", "public": []}', "\0"])
def test_force_does_not_replace_a_folder_that_is_no_release(job, folder, content):
    internal = folder / "out" / "internal"
    internal.mkdir(parents=True)
    (folder / "out" / "mine.txt").write_text("mine")
    if content is not None:
        (internal / "manifest.json").write_text(content)
    with pytest.raises(ReleaseError, match="is not a release of ckm"):
        release(job, folder / "out", force=True)


def test_a_failure_under_force_leaves_the_old_release(job, folder, monkeypatch):
    release(job, folder / "out")
    before = public_bytes(folder / "out")
    monkeypatch.setattr(PublishedTable, "write", _fail_on_call(2))
    with pytest.raises(RuntimeError):
        release(job, folder / "out", force=True)
    assert public_bytes(folder / "out") == before
    assert leftovers(folder) == []


def test_a_failure_leaves_nothing(job, folder, monkeypatch):
    monkeypatch.setattr(PublishedTable, "write", _fail_on_call(3))
    with pytest.raises(RuntimeError):
        release(job, folder / "deep" / "out")
    assert not (folder / "deep").exists()
    assert leftovers(folder) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_an_interruption_leaves_nothing(job, folder, monkeypatch, error):
    monkeypatch.setattr(PublishedTable, "write", _fail_on_call(2, error))
    with pytest.raises(error):
        release(job, folder / "out")
    assert not (folder / "out").exists()
    assert leftovers(folder) == []


def test_a_full_disk_is_told_in_words(job, folder, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr("ckm.release.run.write_manifest", _raise(full))
    with pytest.raises(ReleaseError, match="The disk is full"):
        release(job, folder / "out")
    assert not (folder / "out").exists()
    assert leftovers(folder) == []


@pytest.mark.slow
def test_a_full_disk_while_a_table_is_written_is_told_in_words(job, folder, monkeypatch):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr("ckm.formats.csv_text.lines_of", _raise(full))
    with pytest.raises(ReleaseError, match="the disk is full"):
        release(job, folder / "out")
    assert not (folder / "out").exists()


def test_a_place_that_cannot_be_written_is_told_in_words(job, folder):
    (folder / "file").write_text("")
    with pytest.raises(ReleaseError, match="cannot be written"):
        release(job, folder / "file" / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_read_only_folder_is_told_in_words(job, folder):
    (folder / "sealed").mkdir(mode=0o500)
    with pytest.raises(ReleaseError, match="Permission denied"):
        release(job, folder / "sealed" / "out")


def test_a_folder_that_the_system_refuses_is_told_in_words(job, folder, monkeypatch):
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    monkeypatch.setattr(Path, "mkdir", _raise(denied))
    with pytest.raises(ReleaseError, match="Permission denied"):
        release(job, folder / "out")


def test_a_file_in_the_place_of_the_folder_stays(job, folder):
    (folder / "out").write_text("mine")
    with pytest.raises(ReleaseError, match="is a file, not a folder"):
        release(job, folder / "out")


def test_the_root_of_a_disk_is_no_output(job):
    with pytest.raises(ReleaseError, match="not the root"):
        release(job, "/")


@pytest.mark.parametrize("out", [".", "sub/.."])
def test_an_output_that_holds_an_input_is_refused(job, folder, out):
    (folder / "sub").mkdir()
    with pytest.raises(ReleaseError, match="which the job reads"):
        release(job, folder / out, force=True)
    assert (folder / "people.parquet").exists()


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["data/**/*.parquet", "data/*/*/*.parquet"])
def test_an_output_that_the_next_release_would_read_is_refused(folder, pattern):
    (folder / "data" / "a" / "b").mkdir(parents=True)
    (folder / "people.parquet").rename(folder / "data" / "a" / "b" / "people.parquet")
    (folder / "job.toml").write_text(JOB.replace("people.parquet", pattern))
    job = read_job(folder / "job.toml")
    with pytest.raises(ReleaseError, match="would be read as data"):
        release(job, folder / "data" / "out")
    release(job, folder / "out")


def test_an_output_through_a_link_lands_where_the_link_points(job, folder):
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real", target_is_directory=True)
    release(job, folder / "link")
    assert (folder / "real" / "public").is_dir()
    assert (folder / "link").is_symlink()


def test_a_changed_input_stops_the_release(job, folder, monkeypatch):
    write = PublishedTable.write

    def write_and_touch(self, path, **options):
        os.utime(folder / "people.parquet", ns=(1, 1))
        write(self, path, **options)

    monkeypatch.setattr(PublishedTable, "write", write_and_touch)
    with pytest.raises(ReleaseError, match="input changed"):
        release(job, folder / "out")
    assert not (folder / "out").exists()


def test_a_job_without_a_secret_says_how_to_get_one(folder, monkeypatch):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    (folder / "job.toml").write_text(JOB.replace('secret = "secret.key"', ""))
    with pytest.raises(ConfigError, match="ckm keys secret"):
        release(read_job(folder / "job.toml"), folder / "out")


@pytest.mark.slow
def test_the_secret_may_come_from_the_environment(folder, monkeypatch):
    release(read_job(folder / "job.toml"), folder / "one")
    monkeypatch.setenv("CKM_SECRET", "a secret of sixteen bytes or more")
    (folder / "job.toml").write_text(JOB.replace('secret = "secret.key"', ""))
    release(read_job(folder / "job.toml"), folder / "two")
    assert public_bytes(folder / "one") == public_bytes(folder / "two")
    label = manifest(folder / "two", "internal")["job"]["secret"]
    assert label == "CKM_SECRET"


@pytest.mark.slow
def test_stored_keys_without_mixing_need_no_secret(folder, monkeypatch):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    people = pq.read_table(folder / "people.parquet")
    keys = np.random.default_rng(3).integers(0, 256, people.num_rows)
    pq.write_table(people.append_column("rkey", pa.array(keys)), folder / "people.parquet")
    text = JOB.replace('id = "person_id"', 'record_key = "rkey"\nkey_range = 256')
    (folder / "job.toml").write_text(text.replace('secret = "secret.key"', "mix = false"))
    release(read_job(folder / "job.toml"), folder / "out")
    assert manifest(folder / "out", "internal")["job"]["secret"] is None


def test_formats_can_be_chosen(folder):
    (folder / "job.toml").write_text(JOB + '[output]\nformats = ["csv"]\n')
    release(read_job(folder / "job.toml"), folder / "out")
    assert not list((folder / "out" / "public").glob("*.parquet"))


def test_a_broken_input_is_an_error_of_the_data(folder):
    (folder / "people.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(SourceError):
        release(read_job(folder / "job.toml"), folder / "out")


def test_progress_names_stages_and_never_goes_beyond_its_end(job, folder):
    told = []
    release(job, folder / "out", progress=lambda *step: told.append(step))
    assert {"p-table", "fingerprint of the input", "scan", "writing"} <= {s for s, _, _ in told}
    assert all(0 <= done <= total for _, done, total in told)


@pytest.mark.slow
def test_a_table_from_elsewhere_is_used_with_a_warning(folder, caplog):
    from ptable import PTable

    (folder / "pt.parquet").unlink()
    PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8).write(folder / "pt.parquet")
    release(read_job(folder / "job.toml"), folder / "out")
    assert "has no certificate" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("cells", ["drop", "grid"])
def test_a_table_that_publishes_only_zeros_gives_a_warning(folder, caplog, cells):
    text = JOB.replace("age >= 18", "sex = 'male'") + f'empty_cells = "{cells}"\n'
    (folder / "job.toml").write_text(text)
    release(read_job(folder / "job.toml"), folder / "out")
    told = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    (warning,) = (text for text in told if "population" not in text)
    assert warning.startswith("Table 'adults' publishes nothing but zeros: ")


def _fail_on_call(number, error=RuntimeError):
    original, calls = PublishedTable.write, []

    def write(self, path, **options):
        calls.append(path)
        if len(calls) == number:
            raise error
        original(self, path, **options)

    return write


def _raise(error):
    def function(*_args, **_options):
        raise error

    return function


_SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from ckm.config import read_job
from ckm.engine.published_table import PublishedTable
from ckm.release import release

original = PublishedTable.write

def write(self, path, **options):
    original(self, path, **options)
    {action}

PublishedTable.write = write
release(read_job("job.toml"), "out", force={force})
"""


def _start(folder, action, *, force=False):
    code = textwrap.dedent(_SCRIPT).format(action=action, force=force)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
def test_a_kill_leaves_no_output_and_the_next_run_clears_up(job, folder):
    process = _start(folder, "os.kill(os.getpid(), signal.SIGKILL)")
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "out").exists()
    assert any(name.startswith(".out.partial-") for name in leftovers(folder))
    release(job, folder / "out")
    assert (folder / "out" / "public" / "manifest.json").exists()
    assert leftovers(folder) == []


@pytest.mark.slow
def test_a_kill_under_force_leaves_the_old_release(job, folder):
    release(job, folder / "out")
    before = public_bytes(folder / "out")
    process = _start(folder, "os.kill(os.getpid(), signal.SIGKILL)", force=True)
    process.wait()
    assert public_bytes(folder / "out") == before


@pytest.mark.slow
def test_the_second_of_two_processes_is_refused_and_nothing_is_mixed(job, folder):
    process = _start(folder, "Path('started').touch(); time.sleep(0.7)")
    try:
        while not (folder / "started").exists():
            assert process.poll() is None
            time.sleep(0.02)
        with pytest.raises(ReleaseError, match="Another process is writing 'out'"):
            release(job, folder / "out")
    finally:
        assert process.wait() == 0
    assert manifest(folder / "out", "public")["title"] == "People (made up)"
    assert leftovers(folder) == []


def test_of_many_writers_one_wins_each_time(tmp_path):
    won, lost, barrier = [], [], threading.Barrier(8)

    def write(number):
        barrier.wait()
        try:
            with new_folder(tmp_path / "out") as folder:
                (folder / "a").write_text(str(number))
                (folder / "b").write_text(str(number))
            won.append(number)
        except ReleaseError:
            lost.append(number)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert len(lost) == 7
    assert (tmp_path / "out" / "a").read_text() == (tmp_path / "out" / "b").read_text()
    assert leftovers(tmp_path) == []


def test_a_folder_lost_between_two_renames_comes_back(tmp_path):
    old = tmp_path / ".out.old-abcd"
    old.mkdir()
    (old / "kept").write_text("kept")
    with pytest.raises(ReleaseError, match="not empty"), new_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "kept").read_text() == "kept"


def test_folders_with_similar_names_are_not_cleared_up(tmp_path):
    other = tmp_path / ".output.partial-1-ab"
    other.mkdir()
    with new_folder(tmp_path / "out"):
        pass
    assert other.exists()


def test_a_relative_target_is_resolved():
    assert resolve_target("out").is_absolute()


def test_a_quick_check_proves_the_p_table_and_needs_no_solver(folder, monkeypatch):
    """A p-table that there is not is told all the same."""
    text = (folder / "job.toml").read_text()
    solved = text.replace('path = "pt.parquet"', "max_noise = 3\nvariance = 1.40625\nsmall = 1")
    assert solved != text
    monkeypatch.setattr("ptable.solver.statement.load_cvxpy", None)
    (folder / "job.toml").write_text(solved)
    steps = []
    run = ReleaseRun(read_job(folder / "job.toml"), is_kept=False)
    run.rehearse(quick=True, step=lambda event, text: steps.append((event, text)))
    assert ("p-table ready", "the p-table exists and its certificate holds") in steps
    with pytest.raises(TypeError):  # a release has the solver's answer
        release(read_job(folder / "job.toml"), folder / "out")
    (folder / "job.toml").write_text(solved.replace("1.40625", "3.5"))
    with pytest.raises(InfeasibleError, match="No p-table has"):
        ReleaseRun(read_job(folder / "job.toml"), is_kept=False).rehearse(quick=True)


@pytest.mark.slow
def test_releasing_with_a_ptable_file_loads_no_solver(folder):
    code = (
        "import sys; from ckm.config import read_job; from ckm.release import release; "
        "release(read_job('job.toml'), 'out'); "
        "assert not {'cvxpy', 'highspy', 'rich', 'click', 'scipy.stats'} & set(sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)


def test_the_secret_of_a_command_makes_the_files_that_its_file_makes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    release(read_job(folder / "job.toml"), "one")
    text = (folder / "job.toml").read_text()
    command = 'secret_command = ["cat", "secret.key"]'
    both = text.replace('secret = "secret.key"', f'secret = "secret.key"\n{command}')
    (folder / "job.toml").write_text(both)
    with pytest.raises(ConfigError, match="both secret and secret_command"):
        read_job(folder / "job.toml")
    (folder / "job.toml").write_text(text.replace('secret = "secret.key"', command))
    release(read_job(folder / "job.toml"), "two")
    told = json.loads((folder / "two/internal/manifest.json").read_text())
    assert "CKM_SECRET" not in json.dumps(told)
    assert '"secret_command"' in json.dumps(told)
    name = "places.parquet"
    assert (folder / "one/public" / name).read_bytes() == (
        folder / "two/public" / name
    ).read_bytes()
