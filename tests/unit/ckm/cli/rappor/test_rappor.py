"""The commands of RAPPOR: from a design to counts, and errors with a way out."""

import json
import subprocess
import sys

import pytest

from ckm.cli import main
from rappor.counts import Counts
from rappor.parameters import Parameters
from tables.secret import Secret


@pytest.fixture
def ckm(capsys, monkeypatch):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["ckm", "rappor", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def folder(tmp_path):
    Parameters(n_bits=16, n_hashes=1, n_cohorts=8, f=0.25, p=0.25, q=0.75).write(
        tmp_path / "params.json"
    )
    Secret(b"a marked secret of tests").write(tmp_path / "secret.key")
    rows = "".join(f"person{i},page{i % 3}\n" for i in range(600))
    (tmp_path / "people.csv").write_text("person,page\n" + rows)
    return tmp_path


def encode(folder, output, *more, data="people.csv", value="page"):
    return (
        "encode",
        folder / data,
        "--value",
        value,
        "--client",
        "person",
        "--metric",
        "m",
        "--params",
        folder / "params.json",
        "--secret",
        folder / "secret.key",
        "-o",
        folder / output,
        *more,
    )


def test_a_design_is_found_written_and_shown(ckm, tmp_path):
    file = tmp_path / "params.json"
    losses = ("--epsilon-one", 1, "--epsilon-permanent", 4, "--population", 10**6)
    code, out, _ = ckm("params", *losses, "-o", file)
    assert code == 0
    assert "0.238406, 0.232777, 0.536165" in out
    found = Parameters.read(file)
    assert found.epsilon_one == pytest.approx(1)
    code, out, _ = ckm("params", file)
    assert code == 0
    assert found.fingerprint in out
    code, _, err = ckm("params", *losses, "-o", file)
    assert code == 3
    assert "exists already" in err


def test_a_design_that_cannot_be_ends_with_its_own_exit_code(ckm):
    losses = ("--epsilon-one", 1, "--epsilon-permanent", 4, "--population", 10**4)
    code, _, err = ckm("params", *losses, "--frequency", 0.001)
    assert code == 4
    assert "68,882,068 clients" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("params",),
        ("params", "--epsilon-one", 1),
        ("params", "--epsilon-one", 5, "--epsilon-permanent", 4, "--population", 10),
        ("params", "--epsilon-one", "nan", "--epsilon-permanent", 4, "--population", 10),
        ("sum",),
        ("simulate",),
        ("encode",),
    ],
)
def test_wrong_commands_end_with_a_hint(ckm, arguments):
    code, _, err = ckm(*arguments)
    assert code == 2
    assert "bug" not in err


@pytest.mark.parametrize("ending", ["rappor", "csv"])
def test_values_become_reports_and_reports_counts(ckm, folder, ending):
    code, out, err = ckm(*encode(folder, f"reports.{ending}"))
    assert (code, out.strip()) == (0, str(folder / f"reports.{ending}"))
    content = (folder / f"reports.{ending}").read_bytes()
    for hidden in (b"person1", b"page1", b"marked"):
        assert hidden not in content
        assert hidden not in err.encode()
    more = ("--params", folder / "params.json")
    code, _, _ = ckm("sum", folder / f"reports.{ending}", *more, "-o", folder / "counts.json")
    assert code == 0
    assert Counts.read(folder / "counts.json").total == 600


def repeated(folder, f, values):
    """A design, and one client among others who answers as often as values say."""
    design = Parameters(n_bits=16, n_hashes=1, n_cohorts=8, f=f, p=0.25, q=0.75)
    design.write(folder / "params.json", overwrite=True)
    rows = "".join(f"ann,page{value}\n" for value in values)
    (folder / "people.csv").write_text("person,page\n" + rows + "bob,page0\n")
    return design


@pytest.mark.parametrize(("f", "values"), [(0.25, range(100)), (0.0, [1] * 100)])
def test_a_client_who_would_send_more_than_the_cap_stops_the_file(ckm, folder, f, values):
    """A hundred values cost 58 by their permanent responses, a hundred reports without 110."""
    repeated(folder, f, values)
    code, _, err = ckm(*encode(folder, "reports.rappor"))
    assert code == 1
    assert "1 clients would send more than the cap" in err
    assert "ann" not in err
    assert not (folder / "reports.rappor").exists()
    code, _, err = ckm(*encode(folder, "reports.rappor", "--skip"))
    assert code == 0
    assert "left out" in err
    ckm("sum", folder / "reports.rappor", "-o", folder / "counts.json")
    assert Counts.read(folder / "counts.json").total < 10
    code, _, err = ckm(*encode(folder, "all.rappor", "--cap", 500))
    assert code == 0
    assert "the cap is 500" in err


def test_what_a_client_has_sent_counts_over_files_and_metrics(ckm, folder):
    design = repeated(folder, 0.25, [1])
    for number in range(3):  # one value for ever is what the design allows
        assert ckm(*encode(folder, f"{number}.rappor"))[0] == 0
    assert ckm(*encode(folder, "other.rappor", "--metric", "another"))[0] == 1
    assert ckm(*encode(folder, "new.csv", "--ledger", folder / "new.db"))[0] == 0
    twice = ("--cap", 2 * design.epsilon_permanent)
    assert ckm(*encode(folder, "other.rappor", "--metric", "another", *twice))[0] == 0


def test_the_ledger_of_clients_is_private_and_of_one_secret(ckm, folder):
    assert ckm(*encode(folder, "try.rappor", "--dry-run"))[0] == 0
    ledger = folder / "rappor-clients.db"
    assert not ledger.exists()
    assert ckm(*encode(folder, "reports.rappor"))[0] == 0
    assert ledger.stat().st_mode & 0o777 == 0o600
    for hidden in (b"person1", b"page1", b"marked"):
        assert hidden not in ledger.read_bytes()
    Secret(b"another secret of tests").write(folder / "other.key")
    code, _, err = ckm(*encode(folder, "new.rappor", "--secret", folder / "other.key"))
    assert code == 3
    assert "another secret" in err
    ledger.write_bytes(b"no ledger at all, and long enough to be looked at as one")
    assert ckm(*encode(folder, "new.rappor"))[0] == 3


def test_a_ledger_is_shown_without_its_clients_and_taken_over_when_moved(ckm, folder):
    repeated(folder, 0.25, [1])
    assert ckm(*encode(folder, "reports.rappor"))[0] == 0
    secret = ("--secret", folder / "secret.key")
    code, out, _ = ckm("ledger", folder / "rappor-clients.db", *secret)
    assert code == 0
    assert "epsilon if sent for ever" in out
    assert "ann" not in out
    assert "page" not in out
    moved = folder / "moved.db"
    moved.write_bytes((folder / "rappor-clients.db").read_bytes())
    moved.chmod(0o600)
    code, _, err = ckm("ledger", moved, *secret)
    assert code == 3
    assert "--adopt" in err
    assert ckm("ledger", moved, *secret, "--adopt")[0] == 0
    assert ckm(*encode(folder, "new.rappor", "--ledger", moved))[0] == 0
    assert ckm("ledger", folder / "none.db", *secret)[0] == 3
    assert not (folder / "none.db").exists()


@pytest.mark.slow
def test_two_processes_at_once_charge_a_client_once(folder):
    """One report is all that the cap allows: one of the two commands is refused."""
    repeated(folder, 0.0, [1])
    command = [sys.executable, "-m", "ckm", "rappor"]
    both = [
        subprocess.Popen(
            [*command, *map(str, encode(folder, name))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in ("one.rappor", "two.rappor")
    ]
    assert sorted(process.wait(600) for process in both) == [0, 1]
    assert len([*folder.glob("*.rappor")]) == 1


def test_one_ledger_counts_what_is_written_to_several_folders(ckm, folder):
    repeated(folder, 0.0, [1])
    for place in ("a", "b"):
        (folder / place).mkdir()
    assert ckm(*encode(folder, "a/reports.rappor"))[0] == 0
    code, _, err = ckm(*encode(folder, "b/reports.rappor"))
    assert code == 1
    assert "more than the cap" in err


def test_a_cap_that_is_no_number_and_a_ledger_that_is_the_output_are_refused(ckm, folder):
    repeated(folder, 0.25, range(100))
    code, _, err = ckm(*encode(folder, "reports.rappor", "--cap", "nan"))
    assert code != 0
    assert "cap must be above 0" in err
    more = ("--ledger", folder / "reports.rappor", "--force")
    code, _, err = ckm(*encode(folder, "reports.rappor", *more))
    assert code == 2
    assert "file of its own" in err


def test_clients_of_a_type_with_several_spellings_are_refused(ckm, folder):
    from decimal import Decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    for place, clients in enumerate(([7], ["7"], [Decimal("7.00")], [7.0])):
        table = pa.table({"person": pa.array(clients), "page": ["page1"]})
        pq.write_table(table, folder / "people.parquet")
        code, _, err = ckm(*encode(folder, f"{place}.rappor", data="people.parquet"))
        assert code == (0 if place < 2 else 3)
        assert ("neither texts nor whole numbers" in err) == (place >= 2)


def test_a_file_that_is_not_written_charges_nobody(ckm, folder):
    repeated(folder, 0.0, [1])
    (folder / "reports.rappor").touch()
    assert ckm(*encode(folder, "reports.rappor"))[0] != 0  # it exists
    assert ckm(*encode(folder, "reports.rappor", "--force"))[0] == 0
    assert ckm(*encode(folder, "reports.rappor", "--force"))[0] == 1


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "hadamard"])
def test_an_oracle_goes_the_way_of_rappor_from_a_design_to_counts(ckm, folder, name):
    (folder / "params.json").unlink()
    asked = ("--epsilon-one", 4, "--population", 600, "--candidates", 3, "--oracle", name)
    code, out, _ = ckm("params", *asked, "-o", folder / "params.json")
    assert code == 0
    assert "hadamard" in out
    is_text = name == "olh"
    people = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(people if is_text else people.replace(",page", ","))
    (folder / "people.csv").write_text(
        (folder / "people.csv").read_text().replace("person,\n", "person,page\n")
    )
    assert ckm(*encode(folder, "reports.rappor"))[0] == 0
    assert ckm(*encode(folder, "again.rappor"))[0] == 1  # one report is all that was allowed
    assert ckm("sum", folder / "reports.rappor", "-o", folder / "counts.json")[0] == 0
    names = [f"page{i}" for i in range(3)] if is_text else [*"012"]
    (folder / "candidates.txt").write_text("\n".join(names))
    told = ("--candidates", folder / "candidates.txt")
    code, out, _ = ckm("decode", folder / "counts.json", *told)
    assert code == 0
    assert "3 of 3 candidates found" in out
    assert ckm("params", *asked, "--epsilon-permanent", 5)[0] == 2


def test_parquet_and_csv_give_the_same_permanent_responses(ckm, folder):
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    sure = Parameters(n_bits=16, n_hashes=1, n_cohorts=8, f=0.25, p=0.0, q=1.0)
    sure.write(folder / "params.json", overwrite=True)
    pq.write_table(pa_csv.read_csv(folder / "people.csv"), folder / "people.parquet")
    for number, data in enumerate(("people.csv", "people.parquet")):
        assert ckm(*encode(folder, f"{number}.rappor", data=data))[0] == 0
    assert (folder / "0.rappor").read_bytes() == (folder / "1.rappor").read_bytes()


def test_a_dry_run_writes_nothing(ckm, folder):
    before = sorted(folder.iterdir())
    assert ckm(*encode(folder, "reports.csv", "--dry-run"))[0] == 0
    assert sorted(folder.iterdir()) == before


def test_outputs_are_not_overwritten_unless_asked(ckm, folder):
    assert ckm(*encode(folder, "reports.csv"))[0] == 0
    assert ckm(*encode(folder, "reports.csv"))[0] == 3
    assert ckm(*encode(folder, "reports.csv", "--force"))[0] == 0
    code, _, err = ckm(*encode(folder, "people.csv", "--force"))
    assert code == 2
    assert "another file" in err


@pytest.mark.parametrize(
    ("content", "value", "said"),
    [
        ("person,page\na,1\n", "nope", "'nope' is not in"),
        ("person,page\na,1\nb\n", "page", "cannot be read"),
        ("", "page", ""),
    ],
)
def test_data_that_do_not_fit_are_refused(ckm, folder, content, value, said):
    (folder / "bad.csv").write_text(content)
    code, _, err = ckm(*encode(folder, "reports.csv", data="bad.csv", value=value))
    assert code == 3
    assert said in err
    assert not (folder / "reports.csv").exists()


def test_missing_values_are_refused(ckm, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"person": ["a", "b"], "page": ["x", None]})
    pq.write_table(table, folder / "holes.parquet")
    code, _, err = ckm(*encode(folder, "reports.csv", data="holes.parquet"))
    assert code == 3
    assert "is missing" in err
    assert not (folder / "reports.csv").exists()


def test_basic_values_are_numbers(ckm, folder):
    Parameters.basic(1, f=0.25, p=0.0, q=1.0).write(folder / "params.json", overwrite=True)
    (folder / "yes.csv").write_text("person,page\na,true\nb,0\n")
    assert ckm(*encode(folder, "reports.csv", data="yes.csv"))[0] == 0
    code, _, err = ckm(*encode(folder, "other.csv"))
    assert code == 3
    assert "whole numbers" in err


def test_reports_of_other_parameters_do_not_add(ckm, folder):
    ckm(*encode(folder, "reports.rappor"))
    other = folder / "other.json"
    Parameters(n_bits=16, n_hashes=1, n_cohorts=8, f=0.25, p=0.3, q=0.75).write(other)
    code, _, err = ckm(
        "sum", folder / "reports.rappor", "--params", other, "-o", folder / "counts.json"
    )
    assert code == 3
    assert "other parameters" in err or "made with the parameters" in err
    assert not (folder / "counts.json").exists()


def test_what_looks_wrong_is_said_in_a_warning(ckm, folder):
    shown = "".join(f"{i % 8},{'1' * 16}\n" for i in range(8000))
    (folder / "stuck.csv").write_text("cohort,irr\n" + shown)
    code, _, err = ckm(
        "sum",
        folder / "stuck.csv",
        "--params",
        folder / "params.json",
        "-o",
        folder / "counts.json",
    )
    assert code == 0
    assert "more often" in err


def test_a_simulation_repeats_by_its_seed(ckm, folder):
    for name in ("one", "two"):
        code, _, _ = ckm(
            "simulate",
            "--params",
            folder / "params.json",
            "--seed",
            3,
            "--values",
            20,
            "--clients",
            5000,
            "-o",
            folder / name,
        )
        assert code == 0
    files = sorted(path.name for path in (folder / "one").iterdir())
    assert files == ["candidates.txt", "counts.csv", "counts.json", "truth.csv"]
    for name in files:
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()
    assert json.loads((folder / "one" / "counts.json").read_text())["format"] == "rappor-counts"
    code, _, err = ckm(
        "simulate", "--params", folder / "params.json", "--seed", 3, "-o", folder / "one"
    )
    assert code == 2
    assert "exists" in err


@pytest.mark.parametrize("row", ["a,", ",1", '"",""'])
def test_empty_cells_are_refused(ckm, folder, row):
    (folder / "gaps.csv").write_text(f"person,page\nb,2\n{row}\n")
    code, _, err = ckm(*encode(folder, "reports.csv", data="gaps.csv"))
    assert code == 3
    assert "is missing" in err
    assert not (folder / "reports.csv").exists()


def test_one_column_cannot_be_value_and_client(ckm, folder):
    code, _, err = ckm(*encode(folder, "reports.csv", value="person"))
    assert code == 2
    assert "two columns" in err


def test_a_metric_needs_a_name(ckm, folder):
    code, _, err = ckm(*encode(folder, "reports.csv", "--metric", " "))
    assert code == 2
    assert "metric" in err
