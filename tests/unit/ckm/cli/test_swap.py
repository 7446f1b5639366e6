"""``ckm swap``, from a swap file to records and report."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm.release.swapped
from ckm.cli import app
from ckm.config import JobError
from ckm.config.section import schema_of
from ckm.config.swap import SwapJob, is_swap_file, read_swap
from tables import open_source
from tables.swapping import swap_records

SECRET = "MARKER-of-a-secret-77ab"  # noqa: S105
SWAP = """
schema = 1
[data]
path = "people.parquet"
[keys]
secret = "secret.key"
[swap]
household = "home"
geography = ["region", "town"]
risk = ["age"]
similar = [["tenure"], []]
k = 3
rate = 0.05
"""


def people(n=3000):
    rng = np.random.default_rng(5)
    home = np.arange(n) // 2
    return {
        "home": [f"MARKER-home-{h}" for h in home],
        "region": (home % 3).tolist(),
        "town": (home % 30).tolist(),
        "tenure": (home % 7).tolist(),
        "age": rng.integers(0, 12, n).tolist(),
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    pq.write_table(pa.table(people()), tmp_path / "people.parquet")
    (tmp_path / "secret.key").write_text(SECRET)
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "swap.toml").write_text(SWAP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CKM_SECRET", raising=False)
    return tmp_path


def run(*args, style="text"):
    return CliRunner(env={"CKM_LOG_FORMAT": style}).invoke(app, [str(arg) for arg in args])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def edited(folder, old, new):
    assert old in SWAP
    (folder / "swap.toml").write_text(SWAP.replace(old, new))


def test_a_swap_writes_private_records_and_a_report(folder):
    before = names(folder)
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 0, done.output
    assert names(folder) == sorted([*before, "swapped.parquet", "swapped.report.json"])
    for name in ("swapped.parquet", "swapped.report.json"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert done.stdout.splitlines()[-1] == "swapped.parquet"
    told = json.loads((folder / "swapped.report.json").read_text())
    assert told["kind"] == "ckm-swap"
    moved = told["moved"]
    assert moved["households"] == 1500
    assert moved["geography"] == ["region", "town"]
    assert sum(moved["distance"]) == moved["moved_households"] > 0.05 * 1500 - 2
    assert f"{told['share']:.2%} of the households" in done.stdout
    for level, number in zip(("region", "town"), moved["needed"], strict=True):
        (line,) = [text for text in done.stdout.splitlines() if f"│ {level} " in text]
        assert f"{number:,} (" in line


def test_the_records_are_those_of_the_function(folder):
    assert run("swap", "swap.toml", "-o", "swapped.parquet").exit_code == 0
    from tables import Secret

    with open_source("people.parquet") as source:
        swap_records(
            source,
            household="home",
            geography=["region", "town"],
            risk=["age"],
            similar=[["tenure"], []],
            secret=Secret.from_file("secret.key"),
            path="again.parquet",
        )
    order = ["home", "age"]
    frames = [
        pd.read_parquet(name).sort_values(order).reset_index(drop=True)
        for name in ("swapped.parquet", "again.parquet")
    ]
    pd.testing.assert_frame_equal(*frames)
    original = pd.read_parquet("people.parquet")
    assert (
        frames[0]["town"].tolist()
        != original.sort_values(order).reset_index(drop=True)["town"].tolist()
    )


def test_nothing_that_tells_of_persons_or_the_secret_is_said(folder):
    done = run("swap", "swap.toml", "-o", "swapped.parquet", "-v", style="json")
    told = (folder / "swapped.report.json").read_text()
    for text in (done.stdout, done.stderr, told, repr(read_swap("swap.toml"))):
        assert "MARKER" not in text
        assert "secret.key" not in text
    numbers = json.loads(told)["moved"]
    assert numbers["moved_households"] > 70
    for line in done.stderr.splitlines():
        logged = json.loads(line)
        assert numbers["households"] not in logged.values()
        assert numbers["moved_households"] not in logged.values()


def test_existing_outputs_stay_unless_forced(folder):
    (folder / "swapped.report.json").write_text("mine")
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 2
    assert "--force" in done.stderr
    assert (folder / "swapped.report.json").read_text() == "mine"
    assert not (folder / "swapped.parquet").exists()
    assert run("swap", "swap.toml", "-o", "swapped.parquet", "--force").exit_code == 0
    first = (folder / "swapped.parquet").read_bytes()
    edited(folder, "rate = 0.05", "rate = 0.9")
    assert run("swap", "swap.toml", "-o", "swapped.parquet", "--force").exit_code == 0
    assert (folder / "swapped.parquet").read_bytes() != first


@pytest.mark.parametrize("name", ["people.parquet", "link.parquet", "./sub/../people.parquet"])
def test_an_input_is_never_overwritten(folder, name):
    (folder / "sub").mkdir()
    (folder / "link.parquet").symlink_to("people.parquet")
    before = (folder / "people.parquet").read_bytes()
    done = run("swap", "swap.toml", "-o", name, "--force")
    assert done.exit_code == 2
    assert "a file that the swap reads" in done.stderr
    assert (folder / "people.parquet").read_bytes() == before


def test_an_output_that_the_next_swap_would_read_is_refused(folder):
    edited(folder, '"people.parquet"', '"*.parquet"')
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 2
    assert "would be read as data" in done.stderr


@pytest.mark.parametrize(
    ("name", "word"),
    [("swapped.csv", "Parquet"), ("no/such/folder.parquet", "folder"), ("a.parquet", "folder")],
)
def test_outputs_that_cannot_be_are_refused(folder, name, word):
    (folder / "a.parquet").mkdir()
    before = names(folder)
    done = run("swap", "swap.toml", "-o", name, "--force")
    assert done.exit_code == 2
    assert word in done.stderr
    assert names(folder) == before


def test_a_dry_run_looks_at_columns_and_writes_nothing(folder):
    before = names(folder)
    done = run("swap", "swap.toml", "-o", "swapped.parquet", "--dry-run")
    assert done.exit_code == 0
    assert names(folder) == before
    edited(folder, '["age"]', '["agee"]')
    done = run("swap", "swap.toml", "-o", "swapped.parquet", "--dry-run")
    assert done.exit_code == 2
    assert "did you mean 'age'?" in done.stderr


@pytest.mark.parametrize("moment", ["swapping", "writing"])
def test_an_interrupted_swap_leaves_nothing(folder, monkeypatch, moment):
    before = names(folder)
    plan = read_swap("swap.toml")

    def stop(stage, _done, _total):
        if stage == "swapping":
            raise KeyboardInterrupt

    if moment == "writing":
        stop = None
        monkeypatch.setattr(ckm.release.swapped, "manifest_text", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        ckm.release.swapped.swap(plan, "swapped.parquet", progress=stop)
    assert names(folder) == before


def _interrupt(*_):
    raise KeyboardInterrupt


def test_a_report_without_its_records_does_not_stay(folder, monkeypatch):
    before = names(folder)
    real = ckm.release.swapped.Path.replace

    def replace(self, target):
        if target.suffix == ".parquet" and "partial" in self.parent.name:
            raise OSError(5, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(ckm.release.swapped.Path, "replace", replace)
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code in {2, 3}
    assert names(folder) == before


def test_data_that_change_meanwhile_are_refused(folder):
    def change(stage, _done, _total):
        if stage == "swapping":
            pq.write_table(pa.table(people(200)), "people.parquet")

    with pytest.raises(ValueError, match=r"changed|cannot|read"):
        ckm.release.swapped.swap(read_swap("swap.toml"), "swapped.parquet", progress=change)
    assert "swapped.parquet" not in names(folder)


def test_what_a_killed_run_left_is_cleared_up(folder):
    left = folder / ".swapped.parquet.partial-dead"
    left.mkdir()
    (left / "swapped.parquet").write_text("microdata")
    assert run("swap", "swap.toml", "-o", "swapped.parquet").exit_code == 0
    assert not left.exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rate = 0.05", "rate = -0.1", ["[swap]", "rate", "at least 0"]),
        ("rate = 0.05", "rate = nan", ["[swap]", "rate", "finite"]),
        ("rate = 0.05", "rate = 1.5", ["[swap]", "rate", "at most 1"]),
        ("rate = 0.05", 'rate = "much"', ["[swap]", "rate", "a number"]),
        ("k = 3", "k = -1", ["[swap]", "k must be at least 0"]),
        ("k = 3", "k = 2.5", ["[swap]", "k must be a whole number"]),
        ("k = 3", "kk = 3", ["[swap]", "'kk' is unknown"]),
        ('risk = ["age"]', "risk = []", ["[swap]", "risk must name at least one column"]),
        ('risk = ["age"]', 'risk = ["town"]', ["'town' is geography or the household"]),
        ('risk = ["age"]', 'risk = ["tenure"]', ["a profile must leave out"]),
        ('"people.parquet"', '"peopel.parquet"', ["did you mean 'people.parquet'?"]),
        ('"people.parquet"', '"gs://bucket/x"', ["no place that can be read"]),
        ('secret = "secret.key"', 'secret = "none"', ["ckm keys secret"]),
        ("k = 3", "seed = 3", ["both [keys] secret and [swap] seed"]),
        ("schema = 1", "schema = 2", ["schema must be 1"]),
        ("[swap]", "[swop]", ["'swop' is unknown", "[swap]"]),
    ],
)
def test_what_is_wrong_in_a_swap_file_is_told_with_a_way_out(folder, old, new, words):
    edited(folder, old, new)
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 2
    for word in words:
        assert word in done.stderr
    assert SECRET not in done.stderr
    assert "swapped.parquet" not in names(folder)


@pytest.mark.parametrize("text", ["", "[swap", "\x00", "schema = 1\n[[table]]\nname = 'a'\n"])
def test_files_that_are_no_swap_are_refused(folder, text):
    (folder / "swap.toml").write_text(text)
    with pytest.raises(ValueError, match=r"swap\.toml"):
        read_swap("swap.toml")
    assert run("swap", "swap.toml", "-o", "swapped.parquet").exit_code == 2


def test_a_missing_swap_file_and_a_folder_are_told(folder):
    done = run("swap", "swop.toml", "-o", "swapped.parquet")
    assert done.exit_code == 2
    assert "did you mean 'swap.toml'?" in done.stderr
    assert run("swap", ".", "-o", "swapped.parquet").exit_code == 2


@pytest.mark.parametrize(
    ("changes", "code", "word"),
    [
        ({"town": [1] * 3000, "region": [1] * 3000}, 3, "one area"),
        ({"town": [*range(2), *[i // 2 % 30 for i in range(2998)]]}, 3, "several areas"),
        ({"home": [None, *people()["home"][1:]]}, 3, "no 'home'"),
        ({"region": [None, *people()["region"][1:]]}, 3, "no 'region'"),
        ({"home": [0.5] * 3000}, 2, "integers or texts"),
    ],
)
def test_data_that_cannot_be_swapped_are_told(folder, changes, code, word):
    pq.write_table(pa.table(people() | changes), "people.parquet")
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == code, done.stderr
    assert word in done.stderr
    assert "MARKER" not in done.output
    assert names(folder) == ["people.parquet", "secret.key", "swap.toml"]


def test_data_without_records_are_told(folder):
    empty = {name: values[:0] for name, values in people().items()}
    schema = pa.table(people()).schema
    pq.write_table(pa.table(empty, schema=schema), "people.parquet")
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 3
    assert "no record" in done.stderr


def test_a_swap_needs_a_secret_or_a_seed(folder, monkeypatch):
    edited(folder, '[keys]\nsecret = "secret.key"\n', "")
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 2
    assert "ckm keys secret" in done.stderr
    monkeypatch.setenv("CKM_SECRET", SECRET)
    assert run("swap", "swap.toml", "-o", "swapped.parquet").exit_code == 0
    edited(folder, "k = 3", "k = 3\nseed = 12")
    (folder / "swap.toml").write_text(
        SWAP.replace('[keys]\nsecret = "secret.key"\n', "") + "seed = 12\n"
    )
    assert run("swap", "swap.toml", "-o", "other.parquet").exit_code == 0
    told = json.loads((folder / "other.report.json").read_text())
    assert told["swap"]["decided_by"] == "seed"


def test_hostile_names_of_columns_and_categories_pass_through(folder):
    name = 'to"wn\x1b[2J; DROP TABLE x'
    data = people()
    data[name] = [f"'=CMD|{t}\n" for t in data.pop("town")]
    pq.write_table(pa.table(data), "people.parquet")
    shown = json.dumps(name).replace("\\u001b", "\\u001B")
    edited(folder, '"town"', shown)
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.output
    after = pd.read_parquet("swapped.parquet")
    assert sorted(after[name]) == sorted(data[name])


def test_records_that_found_nobody_are_warned_of(folder):
    n = 40  # one household of three among pairs
    home = [0, 0, 0, *(i // 2 + 1 for i in range(n))]
    town = [0, 0, 0, *(i // 2 % 2 for i in range(n))]
    data = {
        "home": home,
        "region": town,
        "town": town,
        "tenure": [0] * (n + 3),
        "age": [99, 99, 99, *([1] * n)],
    }
    pq.write_table(pa.table(data), "people.parquet")
    edited(folder, "k = 3", "k = 4")
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 0
    assert "have no match to be swapped with" in done.stderr
    told = json.loads((folder / "swapped.report.json").read_text())
    assert told["moved"]["not_moved"] == [1, 0]


def test_the_help_has_examples_and_a_whole_file(folder):
    done = run("swap", "--help")
    assert "ckm swap swap.toml -o swapped.parquet" in done.stdout
    body = done.stdout.partition("swap.toml:\n")[2].partition("\n\n")[0]
    (folder / "helped.toml").write_text("\n".join(line.strip() for line in body.splitlines()))
    assert read_swap("helped.toml").swap.plan.household == "home_id"


def test_the_shell_completes_the_command():
    from click.shell_completion import ShellComplete

    found = ShellComplete(app, {}, "ckm", "_CKM_COMPLETE").get_completions([], "sw")
    assert [item.value for item in found] == ["swap"]
    options = ShellComplete(app, {}, "ckm", "_CKM_COMPLETE").get_completions(["swap"], "--f")
    assert [item.value for item in options] == ["--force"]


def test_the_schema_names_every_section():
    assert set(schema_of(SwapJob)["properties"]) == {"schema", "data", "keys", "swap", "ledger"}
    assert is_swap_file.__module__ == "ckm.config.swap"


def test_a_job_error_names_all_problems(folder):
    edited(folder, "k = 3\nrate = 0.05", "k = -3\nrate = -1.0")
    with pytest.raises(JobError) as caught:
        read_swap("swap.toml")
    assert len(caught.value.problems) == 2


@pytest.mark.slow
def test_the_survey_is_swapped_from_the_command_line(folder, shared):
    frame = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    frame = frame.assign(STATE=frame["PUMA"].str[:2], NUMBER=range(len(frame)))
    frame.to_parquet("people.parquet")
    (folder / "swap.toml").write_text(
        """
schema = 1
data = { path = "people.parquet" }
[swap]
household = "NUMBER"
geography = ["STATE", "PUMA"]
risk = ["SEX", "RAC1P", "MSP"]
similar = [["HOUSING_TYPE", "OWN_RENT"], ["HOUSING_TYPE"], []]
k = 5
rate = 0.1
seed = 2019
"""
    )
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 0, done.stderr
    after = pd.read_parquet("swapped.parquet").sort_values("NUMBER").reset_index(drop=True)
    told = json.loads((folder / "swapped.report.json").read_text())
    is_moved = (after[["STATE", "PUMA"]] != frame[["STATE", "PUMA"]]).any(axis=1)
    assert int(is_moved.sum()) == told["moved"]["moved_records"] > 0.1 * len(frame) - 2


def test_a_swap_file_takes_risks_of_its_own_and_carries_columns_along(folder):
    records = people()
    home = np.arange(len(records["home"])) // 2
    records |= {"odds": (home % 100 / 100).tolist(), "grid": (home % 30 + 1000).tolist()}
    pq.write_table(pa.table(records), folder / "people.parquet")
    own = 'risk_values = ["odds"]\nrisk_threshold = 0.9\ncarry_along = ["grid"]'
    edited(folder, 'risk = ["age"]', own)
    done = run("swap", "swap.toml", "-o", "swapped.parquet")
    assert done.exit_code == 0, done.output
    told = json.loads((folder / "swapped.report.json").read_text())
    assert told["swap"]["carry_along"] == ["grid"]
    assert sum(told["moved"]["needed"]) == 150  # 90 to 99 of every hundred
    found = pd.read_parquet(folder / "swapped.parquet")
    assert (found["grid"] - 1000 == found["town"]).all()
