"""What ckm synth makes of every kind of input: households, weights, dates, and bad ones."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli.app import app
from synth import Category, Date, Real, Schema, Unit, Whole

UNPROTECTED = ("copula-shirley", "dp-histogram", "vine-without-privacy")
QUICK = ("--set", "rounds=1", "--set", "steps=20")
METHODS = ("tables", "vine", "histogram", "copula", "priv-bayes", *UNPROTECTED)


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1"}
    return CliRunner(env=environment).invoke(app, ["synth", *(str(arg) for arg in args)])


def fit(folder, *options, data="people.csv", method="tables"):
    budget = ["--epsilon", 5, "--delta", "1e-6", "--adjacency", "replace"]
    if method in UNPROTECTED:
        budget = [] if method == "vine-without-privacy" else ["--epsilon", 5]
    few = (
        []
        if method not in ("vine-without-privacy", "copula-shirley")
        else ["--set", "families=gaussian"]
    )
    return run(
        "fit", folder / data, "--schema", folder / "schema.json", "--method", method, "-o",
        folder / "model.json", "--force", *budget, *few, *options,
    )  # fmt: skip


def drawn(folder, number=300):
    made = run(
        "sample", folder / "model.json", "-n", number, "--seed", 1, "-o", folder / "made.csv",
        "--force",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return pd.read_csv(folder / "made.csv", keep_default_na=False)


@pytest.fixture
def households(tmp_path):
    """Households of up to four persons, with weights, days and three kinds of missing."""
    rng = np.random.default_rng(1)
    number = 600
    home = np.repeat(np.arange(number), rng.integers(1, 5, number))[:number]
    region = rng.choice(["N", "S"], number)
    income = rng.integers(0, 5000, number).astype(str)
    income[:150], income[150:200], income[200:230] = "-8", "none", ""
    moved = (np.datetime64("2020-01-01") + rng.integers(0, 366, number)).astype(str)
    moved[:60] = ""
    pd.DataFrame(
        {
            "home": home,
            "region": region,
            "income": income,
            "moved": moved,
            "weight": np.where(region == "N", 9.0, 1.5),
        }
    ).to_csv(tmp_path / "people.csv", index=False)
    write_schema(tmp_path)
    return tmp_path


def write_schema(folder, **unit):
    missing = {"refused": -8, "not applicable": "none", "unknown": None}
    given = {"identifier": "home", "most_records": 4, "excess": "refuse", **unit}
    Schema(
        columns=[
            Category(name="region", values=["N", "S"]),
            Whole(name="income", low=0, high=4999, bins=5, missing=missing),
            Date(
                name="moved", low="2020-01-01", high="2020-12-31", bins=4,
                missing={"never": None},
            ),
            Real(name="weight", low=0, high=10, bins=10, decimals=1),
        ],
        unit=Unit(name="household", **given),
        weight="weight",
    ).write(folder / "schema.json")  # fmt: skip


def test_weights_days_and_kinds_of_missing_come_back_as_they_were_written(households):
    # Seeded: under this much noise a share of 600 records may miss its band.
    assert fit(households, *QUICK, "--simulate", 1).exit_code == 0
    made = drawn(households, 2000)
    assert list(made.columns) == ["region", "income", "moved", "weight"]
    shares = {
        "-8": made["income"].eq("-8").mean(),
        "none": made["income"].eq("none").mean(),
        "": made["income"].eq("").mean(),
    }
    assert shares == {
        "-8": pytest.approx(150 / 600, abs=0.08),
        "none": pytest.approx(50 / 600, abs=0.08),
        "": pytest.approx(30 / 600, abs=0.06),
    }
    rest = pd.to_numeric(made["income"][~made["income"].isin(["-8", "none", ""])])
    assert rest.between(0, 4999).all()
    days = pd.to_datetime(made["moved"][made["moved"] != ""])
    assert days.between("2020-01-01", "2020-12-31").all()
    assert 0.02 < (made["moved"] == "").mean() < 0.2
    totals = made.groupby("region")["weight"].sum()
    assert totals["N"] / totals.sum() == pytest.approx(9 / 10.5, abs=0.12)


def test_a_household_is_the_unit_of_every_price_and_of_the_certificate(households):
    assert fit(households, *QUICK).exit_code == 0
    drawn(households)
    paper = households / "made.csv.certificate.json"
    facts = json.loads(paper.read_text())
    assert facts["unit"] == {"name": "household", "most_records": 4, "excess": "refuse"}
    counts = [call for call in facts["calls"] if call["law"] == "fine discrete Gaussian"]
    assert counts
    # Four records that are replaced move a table by 4 √2 in l2.
    (total,) = [call for call in counts if call["what"] == "total"]
    counts.remove(total)
    assert {round(call["sensitivity"], 6) for call in counts} == {round(4 * 2**0.5, 6)}
    # In tenths: the weights are cut off where the noisy cells end, at 10 at the latest.
    steps = total["sensitivity"] / (4 * 2**0.5)
    assert steps == pytest.approx(round(steps))
    assert 15 <= round(steps) <= 100
    found = run("verify", paper, "--data", households / "made.csv")
    assert found.exit_code == 0, found.output
    assert "per 'household' with 4 records at most" in found.output


def test_a_household_with_too_many_records_is_refused_or_cut(households):
    write_schema(households, most_records=2)
    refused = fit(households)
    assert refused.exit_code == 3
    assert "A household has more than 2 records" in refused.output
    assert "excess='truncate'" in refused.output
    write_schema(households, most_records=2, excess="truncate")
    assert fit(households, *QUICK).exit_code == 0
    people = (households / "people.csv").read_text()
    (households / "people.csv").write_text(people + ",N,3,2020-03-01,9.0\n")
    without = fit(households)
    assert without.exit_code == 3
    assert "A record has no household" in without.output


ALL_MISSING = Whole(name="age", low=0, high=9, missing={"unknown": None})
AGE = Whole(name="age", low=0, high=99, bins=10)
SEX = Category(name="sex", values=["F", "M"])

#: Name → columns, file.
HANDLED = {
    "constant columns": ([AGE, SEX], "age,sex\n" + "7,F\n" * 40),
    "a domain of one value": ([Category(name="sex", values=["F"])], "sex\n" + "F\n" * 40),
    "all missing": ([ALL_MISSING, SEX], "age,sex\n" + ",F\n" * 40),
    "few records": ([AGE, SEX], "age,sex\n7,F\n8,M\n9,M\n10,F\n"),
}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "tables") for name in HANDLED),
        *(("few records", method) for method in METHODS[1:]),
        *(("all missing", method) for method in METHODS[1:]),
    ],
)
def test_poor_records_are_handled_by_every_method(tmp_path, name, method):
    columns, text = HANDLED[name]
    Schema(columns=columns).write(tmp_path / "schema.json")
    (tmp_path / "people.csv").write_text(text)
    found = fit(tmp_path, method=method)
    assert found.exit_code == 0, found.output
    made = drawn(tmp_path, 20)
    assert list(made.columns) == [column.name for column in columns]
    assert len(made) == 20


@pytest.mark.parametrize("method", METHODS)
def test_one_record_is_handled_or_refused_in_words(tmp_path, method):
    Schema(columns=[AGE, SEX]).write(tmp_path / "schema.json")
    (tmp_path / "people.csv").write_text("age,sex\n7,F\n")
    found = fit(tmp_path, method=method)
    assert found.exit_code in (0, 2, 3), found.output
    assert "Traceback" not in found.output
    assert found.exit_code == 0 or "record" in found.output


#: Name → file, exit code, words.
REFUSED = {
    "no records": ("age,sex\n", 3, "There are no records"),
    "an empty file": ("", 3, "cannot be read"),
    "a value outside the domain": ("age,sex\n777,F\n", 3, "'age': values outside the domain"),
    "an undeclared category": ("age,sex\n7,MARKER\n", 3, "'sex': values outside the domain"),
    "a null that is not declared": (
        "age,sex\n,F\n",
        3,
        "'age': null, and no kind of missing is null",
    ),
    "a text for a number": ("age,sex\nMARKER,F\n", 3, "'age'"),
    "a column too many": ("age,sex,x\n7,F,1\n", 3, "not in the schema: ['x']"),
    "a column too few": ("age\n7\n", 3, "not in the records: ['sex']"),
    "a column twice": ("age,sex,age\n7,F,8\n", 3, "same name"),
    "no table": ("\x00\x01MARKER", 3, ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_records_that_do_not_fit_are_refused_in_words_that_quote_no_value(tmp_path, name):
    text, code, said = REFUSED[name]
    Schema(columns=[AGE, SEX]).write(tmp_path / "schema.json")
    (tmp_path / "people.csv").write_text(text)
    found = fit(tmp_path)
    assert found.exit_code == code, found.output
    assert said in found.output
    assert "MARKER" not in found.output
    assert "777" not in found.output
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e400", "one"])
def test_a_budget_that_is_none_is_refused_before_the_records_are_read(tmp_path, epsilon):
    Schema(columns=[AGE, SEX]).write(tmp_path / "schema.json")
    found = run(
        "fit", tmp_path / "absent.csv", "--schema", tmp_path / "schema.json", "--epsilon",
        epsilon, "--delta", "1e-6", "-o", tmp_path / "model.json",
    )  # fmt: skip
    assert found.exit_code == 2, found.output
    assert "epsilon" in found.output.lower() or "budget" in found.output.lower()
    assert "absent.csv" not in found.output


@pytest.mark.slow
def test_a_column_of_a_hundred_thousand_categories_ends(tmp_path):
    values = [f"c{place}" for place in range(100_000)]
    Schema(columns=[Category(name="code", values=values), SEX]).write(tmp_path / "schema.json")
    pd.DataFrame({"code": values[:400], "sex": ["F", "M"] * 200}).to_csv(
        tmp_path / "people.csv", index=False
    )
    found = fit(tmp_path, "--simulate", 1)
    assert found.exit_code == 0, found.output
    assert len(drawn(tmp_path, 50)) == 50
    checked = run("check", tmp_path / "schema.json")
    assert checked.exit_code == 0
    assert "most of their counts will be noise" in checked.output


def test_numbers_of_records_that_are_none_are_refused(tmp_path):
    Schema(columns=[SEX]).write(tmp_path / "schema.json")
    (tmp_path / "people.csv").write_text("sex\nF\nM\n")
    assert fit(tmp_path).exit_code == 0
    for number in ("-1", "x", "1.5"):
        found = run(
            "sample", tmp_path / "model.json", "-n", number, "-o", tmp_path / "made.csv"
        )
        assert found.exit_code == 2, found.output
        assert not (tmp_path / "made.csv").exists()
    empty = run("sample", tmp_path / "model.json", "-n", 0, "-o", tmp_path / "made.csv")
    assert empty.exit_code == 0, empty.output
    assert (tmp_path / "made.csv").read_text().strip() == '"sex"'
