"""The commands that judge synthetic records."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app
from synth import Category, Schema, Whole

QUICK = ("--only", "tables", "--only", "nearness")


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [str(arg) for arg in args])


@pytest.fixture(name="files")
def _files(tmp_path):
    rng = np.random.default_rng(1)
    for name in ("train", "one", "two", "out"):
        frame = pd.DataFrame(
            {"age": rng.integers(9, size=80), "sex": rng.choice(["F", "M"], 80)}
        )
        frame.to_parquet(tmp_path / f"{name}.parquet")
    frame.to_csv(tmp_path / "made.csv", index=False)
    return tmp_path


def test_figures_stand_beside_their_controls_on_the_terminal(files):
    made = run(
        "synth", "evaluate", files / "train.parquet", files / "one.parquet",
        "--holdout", files / "out.parquet", *QUICK,
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    assert "independent" in made.stdout
    assert "no evidence of privacy" in made.stdout


@pytest.mark.parametrize("suffix", ["json", "csv", "html"])
def test_an_output_is_private_and_never_written_over(files, suffix):
    output = files / f"out.{suffix}"
    words = (
        "synth", "compare", files / "train.parquet", files / "one.parquet",
        files / "two.parquet", "--holdout", files / "out.parquet", "-o", output, *QUICK,
    )  # fmt: skip
    made = run(*words)
    assert made.exit_code == 0, made.output
    assert output.stat().st_mode & 0o077 == 0
    text = output.read_text(encoding="utf-8")
    assert "one" in text
    assert "two" in text
    again = run(*words)
    assert again.exit_code == 2
    assert "exists" in again.stderr
    assert run(*words, "--force").exit_code == 0


@pytest.mark.parametrize("is_declared", [True, False])
def test_texts_that_look_like_numbers_or_nulls_are_texts_in_every_file(tmp_path, is_declared):
    region = ["01", "1", "NA", "2"] * 10
    pd.DataFrame({"region": region, "age": range(40)}).to_parquet(tmp_path / "real.parquet")
    (tmp_path / "made.csv").write_text(
        "region,age\n" + "".join(f"{one},{age}\n" for age, one in enumerate(region))
    )
    schema = tmp_path / "schema.json"
    Schema(
        columns=[
            Category(name="region", values=["01", "1", "NA", "2"]),
            Whole(name="age", low=0, high=40, bins=4),
        ]
    ).write(schema)
    made = run(
        "synth", "evaluate", tmp_path / "real.parquet", tmp_path / "made.csv", "--only",
        "tables", "-o", tmp_path / "out.csv", *(("--schema", schema) if is_declared else ()),
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    found = pd.read_csv(tmp_path / "out.csv").set_index("figure")["value"]
    assert float(found["tvd2"]) == 0


def test_a_file_is_like_itself_where_nulls_are_written_as_nulls_of_r(tmp_path):
    lines = [
        f"{'NA' if at % 5 == 0 else at % 7},{('EU', 'NA', 'AS')[at % 3]}" for at in range(60)
    ]
    for name in ("real.csv", "made.csv"):
        (tmp_path / name).write_text("\n".join(["pay,region", *lines]))
    made = run(
        "synth", "evaluate", tmp_path / "real.csv", tmp_path / "made.csv", "--only", "tables",
        "-o", tmp_path / "out.csv",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    found = pd.read_csv(tmp_path / "out.csv").set_index("figure")["value"]
    assert float(found["tvd2"]) == 0


def test_categories_of_csv_that_are_one_number_are_not_one_category(tmp_path):
    for name, codes in (("real", ("1E2", "100")), ("made", ("100", "100"))):
        lines = [f"{codes[at % 2]},{at % 7}" for at in range(60)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["zone,age", *lines]))
    made = run(
        "synth", "evaluate", tmp_path / "real.csv", tmp_path / "made.csv", "--only", "tables",
        "-o", tmp_path / "out.csv",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    found = pd.read_csv(tmp_path / "out.csv").set_index("figure")["value"]
    assert float(found["tvd2"]) == pytest.approx(0.5, abs=0.05)


def test_controls_are_measured_once_and_given_to_every_set(files):
    output = files / "all.json"
    run(
        "synth", "compare", files / "train.parquet", files / "one.parquet", files / "made.csv",
        "-o", output, "--only", "tables",
    )  # fmt: skip
    found = json.loads(output.read_text(encoding="utf-8"))
    one, other = ({f["name"]: f for f in found[n]["figures"]} for n in ("one", "made"))
    assert one["tvd2"]["controls"] == other["tvd2"]["controls"]
    assert one["tvd2"]["value"] != other["tvd2"]["value"]
    assert one["tvd2"]["controls"]["train"] == 0.0


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("evaluate", "{t}", "nowhere.parquet"), "no file 'nowhere.parquet'"),
        (("evaluate", "{t}", "{t}.doc"), "from .parquet or .csv"),
        (("evaluate", "{t}", "{t}", "--class", "agee"), "'agee' is not in the data"),
        (("evaluate", "{t}", "{t}", "--sensitive", "age"), "at least one --key"),
        (("evaluate", "{t}", "{t}", "-o", "page.pdf"), "must end in"),
        (("evaluate", "{t}", "{t}", "--lang", "fr"), "--lang va avec --output"),
        (("compare", "{t}", "{t}", "{t}"), "same name"),
    ],
)
def test_what_cannot_be_done_ends_with_a_message_and_a_code(files, words, match):
    made = run("synth", *(word.replace("{t}", str(files / "train.parquet")) for word in words))
    assert made.exit_code == 2, made.output
    assert match in " ".join(made.stderr.split())


def test_a_file_that_is_no_table_is_refused_without_its_lines(files):
    (files / "bad.parquet").write_text("MARKER")
    made = run("synth", "evaluate", files / "train.parquet", files / "bad.parquet")
    assert made.exit_code == 2
    assert "MARKER" not in made.output
    assert "cannot be read as a table" in made.stderr
