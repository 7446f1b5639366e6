"""The verbs of ckm synth, as somebody types them."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli.app import app
from ckm.cli.synth.synth import _with_estimate
from dp import BudgetLedger
from synth import Category, Date, Schema, Unit, Whole

SCHEMA = Schema(
    columns=[
        Whole(name="age", low=0, high=99, bins=10, declared_by="code book"),
        Category(name="sex", values=["F", "M"], missing={"unknown": None}, declared_by="law"),
    ],
    rules=["if sex == 'F' then age > 4"],
)


def run(*args):
    environment = {"CKM_LOG_FORMAT": "text", "NO_COLOR": "1"}
    return CliRunner(env=environment).invoke(app, ["synth", *(str(arg) for arg in args)])


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.integers(5, 99, 500), "sex": rng.choice(["F", "M"], 500)})
    people.to_csv(tmp_path / "people.csv", index=False)
    people.to_parquet(tmp_path / "people.parquet")
    SCHEMA.write(tmp_path / "schema.json")
    (tmp_path / "secret.key").write_text("a secret of the office")
    return tmp_path


def fit(folder, *options, data="people.parquet", output="model.json"):
    return run(
        "fit", folder / data, "--schema", folder / "schema.json", "--epsilon", 2, "--delta",
        "1e-6", "-o", folder / output, *options,
    )  # fmt: skip


@pytest.mark.parametrize("data", ["people.csv", "people.parquet"])
def test_records_are_fitted_drawn_and_certified(folder, data):
    assert fit(folder, "--picture", folder / "s.svg", data=data).exit_code == 0
    assert (folder / "s.svg").read_text().startswith("<svg")
    found = run(
        "sample", folder / "model.json", "-n", 50, "-o", folder / "out.csv", "--seed", 1,
        "--condition", "sex=F", "--where", "age >= 30", "--key", folder / "secret.key",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    drawn = pd.read_csv(folder / "out.csv")
    assert set(drawn["sex"]) == {"F"}
    assert drawn["age"].min() >= 30
    paper = folder / "out.csv.certificate.json"
    assert json.loads(paper.read_text())["data"]["file"] == "out.csv"
    checks = ("--data", folder / "out.csv", "--schema", folder / "schema.json")
    right = run("verify", paper, *checks, "--key", folder / "secret.key")
    assert right.exit_code == 0, right.output
    assert "epsilon" in right.output
    (folder / "out.csv").write_text("age,sex\n")
    wrong = run("verify", paper, *checks)
    assert wrong.exit_code == 1
    assert "not those" in wrong.output


def test_simulated_noise_is_said_loudly_and_does_not_verify(folder):
    made = fit(folder, "--simulate", 1)
    assert made.exit_code == 0
    assert "there is no protection" in made.output
    run("sample", folder / "model.json", "-n", 5, "-o", folder / "out.parquet")
    assert run("verify", folder / "out.parquet.certificate.json").exit_code == 1


def test_nothing_is_replaced_without_force_and_nothing_written_in_a_dry_run(folder):
    assert fit(folder, "--dry-run").exit_code == 0
    assert not (folder / "model.json").exists()
    assert fit(folder).exit_code == 0
    assert fit(folder).exit_code == 2
    assert fit(folder, "--force").exit_code == 0
    sample = ("sample", folder / "model.json", "-n", 5, "-o", folder / "o.csv")
    assert run(*sample, "--dry-run").exit_code == 0
    assert not (folder / "o.csv").exists()
    assert run(*sample).exit_code == 0
    assert run(*sample).exit_code == 2
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_undeclared_domains_are_refused_or_paid_for(folder):
    open_one = SCHEMA.with_column(Whole(name="age"))
    Schema(columns=open_one.columns).write(folder / "schema.json")
    refused = fit(folder)
    assert refused.exit_code == 2
    assert "not declared" in refused.output
    assert run("check", folder / "schema.json").exit_code == 1
    assert fit(folder, "--discover", 0.2).exit_code == 0


def test_data_that_do_not_fit_have_exit_code_three_and_are_not_shown(folder):
    (folder / "people.csv").write_text("age,sex\n17,secretvalue\n")
    found = fit(folder, data="people.csv")
    assert found.exit_code == 3
    assert "secretvalue" not in found.output
    (folder / "people.csv").write_text('age,sex\n17,"secretvalue\n1')
    found = fit(folder, data="people.csv")
    assert found.exit_code == 3
    assert "secretvalue" not in found.output


def test_check_looks_at_names(folder):
    found = run("check", folder / "schema.json", "--data", folder / "people.csv")
    assert found.exit_code == 0, found.output
    (folder / "people.csv").write_text("age,height\n")
    found = run("check", folder / "schema.json", "--data", folder / "people.csv")
    assert found.exit_code == 1
    assert "height" in found.output


def test_schemas_of_other_tools_are_turned_into_ours(folder):
    (folder / "other.json").write_text('{"categories": {"sex": ["F", "M"]}}')
    found = run("schema", folder / "other.json", "-o", folder / "ours.json")
    assert found.exit_code == 0, found.output
    assert Schema.read(folder / "ours.json").names == ["sex"]
    (folder / "other.json").write_text("[]")
    assert run("schema", folder / "other.json", "-o", folder / "o2.json").exit_code == 2


@pytest.mark.parametrize(
    "args",
    [
        ("sample", "absent.json", "-n", "5", "-o", "x.csv"),
        ("verify", "absent.json"),
        ("check", "absent.json"),
        ("schema", "absent.json", "-o", "x.json"),
    ],
)
def test_files_that_are_not_there_are_named(folder, monkeypatch, args):
    monkeypatch.chdir(folder)
    found = run(*args)
    assert found.exit_code == 2
    assert "absent.json" in found.output


def test_a_place_to_write_is_checked_before_the_budget_is_spent(folder):
    (folder / "s.svg").write_text("mine")
    assert fit(folder, "--picture", folder / "s.svg").exit_code == 2
    assert (folder / "s.svg").read_text() == "mine"
    assert not (folder / "model.json").exists()
    found = fit(folder, output="absent/model.json")
    assert found.exit_code == 2
    assert "make it first" in found.output
    (folder / "here.json").mkdir()
    assert fit(folder, "--force", output="here.json").exit_code == 2


def test_a_model_and_a_certificate_are_told_in_words(folder):
    for name in ("model.json", "model.parquet"):
        assert fit(folder, output=name).exit_code == 0
        found = run("report", folder / name)
        assert found.exit_code == 0, found.output
        for word in ("secure", "margin: 2", "'age'", "by 'code book'", "add-remove"):
            assert word in found.output
        assert "NOT RIGHT" not in found.output
    assert run("report", folder / "model.json", "-o", folder / "m.html").exit_code == 2
    run("sample", folder / "model.json", "-n", 9, "-o", folder / "o.csv")
    paper = folder / "o.csv.certificate.json"
    assert "broken by 0" in run("report", paper).output
    facts = json.loads(paper.read_text())
    facts["adjacency"] = "add-remove\x1b[2J"
    paper.write_text(json.dumps(facts))
    found = run("report", paper)
    assert "NOT RIGHT" in found.output
    assert "\x1b" not in found.output
    facts["total"] = "none"
    paper.write_text(json.dumps(facts))
    assert run("report", paper).exit_code in (2, 3)


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"a": 1}', '{"a": {"format": "x"}}'])
def test_other_files_are_no_reports(folder, text):
    (folder / "other.json").write_text(text)
    found = run("report", folder / "other.json")
    assert found.exit_code in (2, 3), found.output
    assert "no " in found.output


def test_a_fitted_schema_serves_the_evaluation(folder):
    rng = np.random.default_rng(1)
    number = 200
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, number), "D")
    people = pd.DataFrame(
        {
            "home": np.arange(number) // 2,
            "age": rng.choice([-8, 20, 30, 40], number),
            "moved": days.date,
        }
    )
    people.to_parquet(folder / "people.parquet")
    missing = {"refused": -8}
    Schema(
        columns=[
            Whole(name="age", low=0, high=99, bins=10, missing=missing),
            Date(name="moved", low="2020-01-01", high="2020-12-31", bins=12),
        ],
        unit=Unit(name="household", identifier="home", most_records=2),
    ).write(folder / "schema.json")
    assert fit(folder).exit_code == 0
    for name in ("made.parquet", "text.csv"):
        run("sample", folder / "model.json", "-n", number, "-o", folder / name)
        found = run(
            "evaluate", folder / "people.parquet", folder / name, "--schema",
            folder / "schema.json", "--only", "tables", "-o", folder / f"{name}.json",
        )  # fmt: skip
        assert found.exit_code == 0, found.output
        found = run("report", folder / f"{name}.json", "-o", folder / f"{name}.html")
        assert found.exit_code == 0, found.output
        assert "<html" in (folder / f"{name}.html").read_text()
        shown = run("report", folder / f"{name}.json")
        assert "evidence" in shown.output


def test_a_baseline_is_fitted_by_its_name(folder):
    copula = ("--method", "copula", "--adjacency", "replace")
    assert fit(folder, "--method", "copula").exit_code == 2
    assert fit(folder, *copula, "--picture", folder / "s.svg").exit_code == 2
    assert fit(folder, "--method", "other").exit_code == 2
    assert not (folder / "model.json").exists()
    found = fit(folder, *copula)
    assert found.exit_code == 0, found.output
    told = run("report", folder / "model.json").output
    assert "copula" in told
    assert "ranks: 1" in told
    run("sample", folder / "model.json", "-n", 20, "-o", folder / "out.csv")
    assert run("verify", folder / "out.csv.certificate.json").exit_code == 0


UNPROTECTED = [
    (
        "dp-histogram",
        ("--epsilon", 1, "--set", "mechanism=geometric"),
        "epsilon 1 claimed, no bound",
    ),
    (
        "copula-shirley",
        ("--epsilon", 1, "--set", "families=gaussian"),
        "epsilon 1 claimed, no bound",
    ),
    (
        "vine-without-privacy",
        ("--set", 'families=["indep","gaussian"]'),
        "no bound (dependence unbounded)",
    ),
]


@pytest.mark.parametrize(("method", "options", "said"), UNPROTECTED)
def test_a_method_that_is_not_private_as_claimed_says_so_everywhere(
    folder, method, options, said
):
    file = folder / "model.json"
    made = run(
        "fit", folder / "people.csv", "--schema", folder / "schema.json", "--method", method,
        "-o", file, *options,
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    drawn = run("sample", file, "-n", 60, "-o", folder / "out.csv")
    paper = folder / "out.csv.certificate.json"
    facts = json.loads(paper.read_text())
    assert (facts["total"], facts["budget"], facts["calls"]) == (None, None, [])
    checked = run("verify", paper, "--data", folder / "out.csv")
    assert checked.exit_code == 1
    assert "right:" not in checked.stdout
    told = [made, drawn, checked, run("report", file), run("report", paper)]
    for found in told:
        words = " ".join(found.output.split())
        assert "NOT differentially private" in words
        assert said in words
    for found in told[3:]:
        assert "guarantee   NONE." in found.output
        assert "at delta" not in found.output


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (("--method", "vine-without-privacy", "--epsilon", 1), "no epsilon"),
        (("--method", "copula-shirley"), "claims an epsilon"),
        (("--method", "copula-shirley", "--rho", 1), "no rho"),
        (("--method", "copula-shirley", "--epsilon", -1), "from 0"),
        (("--method", "priv-bayes-legacy", "--epsilon", 1), "Unknown method"),
        (("--method", "copula-shirley", "--epsilon", 1, "--discover", 0.1), "finding domains"),
        (("--method", "copula-shirley", "--epsilon", 1, "--set", "encoder=woe"), "label"),
        (("--method", "copula-shirley", "--epsilon", 1, "--set", "encoder=x"), "one-hot"),
        (("--method", "copula-shirley", "--epsilon", 1, "--set", "depth=2"), "truncation"),
        (("--method", "copula-shirley", "--epsilon", 1, "--set", "ratio"), "NAME"),
        (("--method", "priv-bayes", "--rho", 1, "--set", "degree=0"), "an integer"),
        (("--method", "priv-bayes", "--rho", 1), "--adjacency replace"),
        (("--method", "histogram", "--rho", 1, "--set", "a=1"), "no settings"),
        (("--method", "tables", "--rho", 1, "--set", "rounds=x"), "wrong type"),
    ],
)
def test_a_method_refuses_what_it_does_not_know(folder, options, match):
    found = run(
        "fit", folder / "people.csv", "--schema", folder / "schema.json", "-o",
        folder / "model.json", *options,
    )  # fmt: skip
    assert found.exit_code == 2, found.output
    assert match.lower() in " ".join(found.output.lower().split())
    assert not (folder / "model.json").exists()


def test_records_that_differ_in_their_ending_have_certificates_of_their_own(folder):
    assert fit(folder).exit_code == 0
    for name in ("a.csv", "a.parquet"):
        made = run("sample", folder / "model.json", "-n", 20, "-o", folder / name)
        assert made.exit_code == 0, made.output
    for name in ("a.csv", "a.parquet"):
        paper = folder / f"{name}.certificate.json"
        found = run("verify", paper, "--data", folder / name)
        assert found.exit_code == 0, found.output
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_fit_that_is_interrupted_leaves_the_older_model(folder, monkeypatch):
    assert fit(folder).exit_code == 0
    before = (folder / "model.json").read_bytes()

    def stop(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("synth.fitted.json.dumps", stop)
    assert fit(folder, "--force").exit_code != 0
    assert (folder / "model.json").read_bytes() == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def ledger(folder):
    return BudgetLedger.create(
        folder / "budget.db", epsilon=3, delta=1e-5, adjacency="add-remove", unit="record"
    )


def test_a_ledger_pays_for_a_fit_once_and_refuses_the_next(folder, ledger):
    paid = ("--ledger", folder / "budget.db", "--who", "Ada", "--force")
    assert fit(folder, *paid, "--dry-run").exit_code == 0
    assert ledger.entries() == ()
    assert fit(folder, *paid).exit_code == 0
    (entry,) = ledger.entries()
    assert (entry.what, entry.epsilon, entry.delta) == (
        "synthetic records, model.json",
        "2.0",
        "1e-06",
    )
    before = (folder / "model.json").read_bytes()
    refused = fit(folder, *paid)
    assert refused.exit_code == 1
    assert "left is epsilon = 1" in refused.output
    assert (folder / "model.json").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "who fits"),
        (("--who", "Ada", "--simulate", "1"), "no ledger pays"),
        (
            ("--who", "Ada", "--method", "vine-without-privacy", "--delta", "0"),
            "keeps to no budget",
        ),
        (("--who", "Ada", "--adjacency", "replace"), "one adjacency"),
        (("--who", "Ada", "--delta", "1e-4"), "left is"),
    ],
)
def test_what_no_ledger_pays_for_is_refused_and_charged_nothing(folder, ledger, options, said):
    refused = fit(folder, "--ledger", folder / "budget.db", *options)
    assert refused.exit_code != 0
    assert said in refused.output
    assert ledger.entries() == ()
    assert not (folder / "model.json").exists()


def test_records_that_cannot_be_read_cost_nothing(folder, ledger):
    (folder / "people.parquet").write_bytes(b"no records")
    assert fit(folder, "--ledger", folder / "budget.db", "--who", "Ada").exit_code != 0
    assert ledger.entries() == ()


def test_a_skeleton_comes_from_a_header_and_is_filled_in_by_hand(folder):
    made = run("schema", "--from-header", folder / "people.csv", "-o", folder / "draft.json")
    assert made.exit_code == 0, made.output
    assert (folder / "ckm-synth.schema.json").exists()
    content = json.loads((folder / "draft.json").read_text())
    assert [one["name"] for one in content["columns"]] == ["age", "sex"]
    checked = run("check", folder / "draft.json", "--data", folder / "people.csv")
    assert checked.exit_code == 1
    assert "read off the records it leaks" in checked.output
    content["columns"][0] = {"kind": "whole", "name": "age", "low": 0, "high": 99}
    content["columns"][1]["values"] = ["F", "M"]
    (folder / "schema.json").write_text(json.dumps(content))
    assert fit(folder, "--dry-run").exit_code == 0


def test_a_code_list_tells_which_codes_nest(folder):
    columns = [
        Category(name="town", values=["t1", "t2", "t3"]),
        Category(name="region", values=["x", "y"]),
    ]
    Schema(columns=columns).write(folder / "schema.json")
    (folder / "tree.csv").write_text("code,parent\nt1,d\nt2,d\nt3,e\nd,x\ne,y\n")
    tree = ("--tree", folder / "tree.csv", "-o", folder / "nested.json")
    made = run("schema", folder / "schema.json", *tree)
    assert made.exit_code == 0, made.output
    assert Schema.read(folder / "nested.json").parents[0].codes == {
        "t1": "x",
        "t2": "x",
        "t3": "y",
    }
    (folder / "tree.csv").write_text("code,parent\nt1,x\nt1,y\n")
    assert "two parents" in run("schema", folder / "schema.json", *tree, "--force").output


def test_an_empty_cell_is_the_text_that_is_declared(folder):
    (folder / "people.csv").write_text("age,sex\n" + "17,\n18,M\n" * 50)
    without_null = [SCHEMA.columns[0], Category(name="sex", values=["", "M"])]
    Schema(columns=without_null).write(folder / "schema.json")
    assert fit(folder, "--dry-run", data="people.csv").exit_code == 0
    Schema(columns=[SCHEMA.columns[0], Category(name="sex", values=["M"])]).write(
        folder / "schema.json"
    )
    assert fit(folder, "--dry-run", data="people.csv").exit_code == 3


def test_a_dry_run_needs_no_ledger(folder):
    assert (
        fit(folder, "--dry-run", "--ledger", folder / "none.db", "--who", "Ada").exit_code == 0
    )
    assert fit(folder, "--ledger", folder / "none.db", "--who", "Ada").exit_code != 0


def test_a_fit_tells_which_codes_nest_and_how_that_is_kept(folder):
    towns = [f"{one}{two}" for one in "AB" for two in (1, 2, 3)]
    columns = [
        Category(name="town", values=towns),
        Category(name="region", values=["A", "B"]),
    ]
    frame = pd.DataFrame({"town": towns * 80})
    frame["region"] = frame["town"].str[0]
    frame.to_parquet(folder / "people.parquet")
    Schema(columns=columns).write(folder / "schema.json")
    assert "no code is drawn outside its parent: town in region" in fit(folder).output
    repaired = fit(folder, "--method", "histogram", "--force").output
    assert "drawn again: town in region" in repaired


def test_a_fit_that_takes_long_is_told_so_once_before_it_starts():
    told, heard = [], []
    terminal = SimpleNamespace(step=lambda event, message: told.append((event, str(message))))
    report = _with_estimate(terminal, lambda *step: heard.append(step))
    for step in (("encode", 0, 1), ("fit", 0, 100), ("fit", 0, 2500), ("fit", 9, 2500)):
        report(*step)
    assert told == [("fit planned", "the fit takes about 5 minutes of one core")]
    assert len(heard) == 4
