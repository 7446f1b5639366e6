"""Variables of a job that are made of columns: what the file may say, and what comes of it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import JobError, read_job
from ckm.formats import FORMAT_NAMES, FORMATS
from tests.readers.reading import READ, read_table

NOISE = "ptable = { max_noise = 5, variance = 3 }"
JOB = """
schema = 1
data = { path = "people.parquet", id = "id" }
keys = { secret = "secret.key" }
METHOD
[hierarchies]
ages = ["age15", "age5"]
[output]
formats = FORMATS
language = ["en", "fr"]
[[variable]]
name = "age5"
of = "age"
bands = [0, 5, 10, 15, 30, 85]
labels = { en = "Age", fr = "Âge" }
categories = { "85+" = { en = "85 and over", fr = "85 et plus" } }
[[variable]]
name = "age15"
of = "age"
width = 15
start = 0
end = 30
[[variable]]
name = "occ"
of = "job"
recode = "occ.csv"
other = "Other"
[[table]]
name = "by_age"
dimensions = ["ages", "sex"]
[[table]]
name = "by_job"
dimensions = ["occ"]
where = "age5 in ('15–29', '30–84')"
"""
AGES = ["0–4", "5–9", "10–14", "15–29", "30–84", "85+"]


def people():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "id": np.arange(900),
            "age": rng.integers(0, 100, 900),
            "sex": rng.choice(["F", "M"], 900),
            "job": rng.choice(["01", "02", "1E2", "100", None], 900),
        }
    )


def job(method=NOISE, formats=("csv",)):
    return JOB.replace("METHOD", method).replace("FORMATS", json.dumps(list(formats)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people().to_parquet("people.parquet")
    (tmp_path / "secret.key").write_text("a secret of sixteen bytes or more")
    (tmp_path / "occ.csv").write_text("code,label\n01,x\n1E2,x\n100,y\n")
    return tmp_path


def run(folder, text, *words):
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, [*words])


def problems(folder, section):
    text = job().replace(
        '[[table]]\nname = "by_age"', f'{section}\n[[table]]\nname = "by_age"', 1
    )
    (folder / "job.toml").write_text(text, encoding="utf-8")
    with pytest.raises(JobError) as caught:
        read_job(folder / "job.toml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("bands = [0, 5]", "bands needs of: which column is it made of?"),
        ('of = "age"', "needs one of bands, width and recode"),
        ('of = "age"\nbands = [0, 10, 5]', "must rise: 5 comes after 10"),
        ('of = "age"\nbands = [0, nan]', "must be a list of numbers or dates"),
        ('of = "age"\nbands = ["a"]', "must be a list of numbers or dates"),
        ('of = "age"\nbands = []', "needs two bands at least"),
        ('of = "age"\nbands = { a = { end = 5 }, b = { start = 6 } }', "or leave a gap"),
        ('of = "age"\nbands = { a = { to = 5 }, b = { start = 5 } }', "has a start, an end or"),
        ('of = "age"\nwidth = "week"', 'must be a number, or "year", "quarter" or "month"'),
        ('of = "age"\nwidth = 0', "must be greater than 0"),
        (
            'of = "age"\nwidth = 5\nopen = "all"',
            'must be one of "end", "start", "both" or "none"',
        ),
        ('of = "age"\nrecode = { a = 1 }', 'must be { "code" = "label", … } or the path of a'),
        ('of = "age"\nrecode = "nowhere.csv"', "recode 'nowhere.csv' does not exist"),
        ('of = "age"\nrecode = "three.csv"', "'three.csv' needs two columns"),
        ('of = "new"\nwidth = 5', "called like what it is made of"),
        ('of = "age"\nfrom = 5\nwidth = 5', "'from' is unknown"),
    ],
)
def test_what_is_wrong_with_a_derived_variable_is_said_with_its_line(folder, settings, said):
    (folder / "three.csv").write_text("code,label,more\n1,2,3\n")
    told = problems(folder, f'[[variable]]\nname = "new"\n{settings}')
    assert said in told
    assert told.startswith(("job.toml:2", "job.toml:3"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('of = "job"', 'of = "jobb"', "did you mean 'job'?"),
        ('name = "age15"\nof', 'name = "sex"\nof', "a column of the data has this name"),
        ("bands = [0, 5,", "bands = [5,", "outside the bands of 'age5'"),
        ("width = 15", "width = 10", "lie in several of 'age15'"),
        ('other = "Other"', "", "holds 1 code that the recode of 'occ' does not name"),
        ('other = "Other"', 'other = "Total"', "has a category called 'Total'"),
        ("'30–84'", "'30-84'", "did you mean '30–84'?"),
    ],
)
def test_what_does_not_fit_the_data_stops_check_and_release_alike(folder, old, new, said):
    text = job().replace(old, new)
    for words in (["check", "job.toml"], ["release", "job.toml", "-o", "out"]):
        done = run(folder, text, *words)
        assert done.exit_code in {2, 3}, done.stderr
        assert said in " ".join(done.stderr.split())
    assert not (folder / "out").exists()


def test_check_says_how_variables_are_made_and_where_the_rest_goes(folder):
    done = run(folder, job(), "check", "job.toml", "--quick")
    assert done.exit_code == 0, done.stderr
    assert (
        "age15: age in bands of 15, from 0 to 30; values below are refused, values"
        in done.stderr
    )
    assert "occ: 3 codes of job become 3 categories; others are 'Other'; missing" in done.stderr


def truth():
    records = people()
    ends = [0, 5, 10, 15, 30, 85, 200]
    records["age5"] = pd.cut(records["age"], ends, right=False, labels=AGES).astype(str)
    return records


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (NOISE, ["release"]),
        ("rounding = { base = 5, bound = 4 }", ["release"]),
        ("suppression = { threshold = 2 }", ["suppress"]),
    ],
)
def test_every_method_publishes_bands_in_their_order(folder, method, words):
    done = run(folder, job(method), *words, "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    table = pd.read_csv("out/public/by_age.csv")
    rows = table[(table["sex"] == "Total") & (table["age5"] != "Total")]
    assert rows["age5"].tolist() == AGES
    expected = truth()["age5"].value_counts()
    for label, count in zip(rows["age5"], rows["count"], strict=True):
        assert abs(count - expected[label]) <= 5
    inside = truth()
    inside = inside[inside["age5"].isin(["15–29", "30–84"])]
    jobs = pd.read_csv("out/public/by_job.csv").set_index("occ")["count"]
    assert jobs.index.tolist() == ["Total", "x", "y", "Other", "(missing)"]
    assert abs(jobs["x"] - inside["job"].isin(["01", "1E2"]).sum()) <= 5
    assert abs(jobs["Other"] - (inside["job"] == "02").sum()) <= 5


def test_every_format_has_the_bands_in_their_order_and_says_how_they_are_made(folder):
    text = job(formats=FORMAT_NAMES).replace('["en", "fr"]', '"en"')
    done = run(folder, text, "release", "job.toml", "-o", "out")
    assert done.exit_code == 0, done.stderr
    for name in READ:
        path = folder / f"out/public/by_age{FORMATS[name].suffixes[0]}"
        labels = read_table(path, format=name).dimensions["age5"][1]
        assert [label for label in labels if label in AGES] == AGES, name
    manifest = json.loads((folder / "out/public/manifest.json").read_text())
    (age5,) = (c for c in manifest["tables"][0]["columns"] if c["name"] == "age5")
    assert age5["description"].endswith(
        "age5: age in bands that begin at 0, 5, 10, 15, 30, 85."
    )
    (occ,) = (c for c in manifest["tables"][1]["columns"] if c["name"] == "occ")
    assert occ["description"].endswith("occ: codes of job, put together.")
    internal = json.loads((folder / "out/internal/manifest.json").read_text())
    assert "occ.csv" in {file["file"] for file in internal["inputs"]}


def test_a_derived_variable_of_a_filter_or_of_another_is_not_called_unused(folder):
    text = job().replace('dimensions = ["ages", "sex"]', 'dimensions = ["sex"]')
    text = text.replace('[hierarchies]\nages = ["age15", "age5"]\n', "")
    (folder / "job.toml").write_text(text, encoding="utf-8")
    warnings = read_job(folder / "job.toml").warnings
    assert [w for w in warnings if "[[variable]] 'age5'" in w] == []
    assert [w for w in warnings if "age15" in w]
