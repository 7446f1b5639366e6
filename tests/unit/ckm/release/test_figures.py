"""``ckm figures``: shares and changes from the folders of releases alone."""

import io

import pandas as pd
import pytest

import ckm
from ckm.config import read_job
from ckm.formats import read_table
from ckm.release import release
from ptable import PTable
from tests.unit.ckm.cli.test_cli import run

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = {variance}
[output]
additive = {additive}
[[table]]
name = "people"
dimensions = ["sex", "area"]
[[table]]
name = "places"
dimensions = ["geo"]
[hierarchies]
geo = ["area", "town"]
"""


def make(folder, name, size, *, variance=1.0, additive="false"):
    sexes, areas = ["F", "M"] * size, ["a", "b", "b"] * size
    data = {"id": range(size), "sex": sexes[:size], "area": areas[:size]}
    data["town"] = [area + sex for area, sex in zip(data["area"], data["sex"], strict=True)]
    pd.DataFrame(data).to_parquet(folder / "people.parquet")
    if not (folder / "secret.key").exists():
        ckm.Secret.generate().write(folder / "secret.key")
    text = JOB.format(variance=variance, additive=additive)
    (folder / "job.toml").write_text(text)
    release(read_job(folder / "job.toml"), folder / name)


def answer(*words):
    done = run("figures", *map(str, words))
    assert done.exit_code == 0, done.output
    return pd.read_csv(io.StringIO(done.stdout)).set_index(["sex", "area"])


@pytest.mark.slow
def test_figures_are_those_of_python_and_allow_for_noises_that_depend_on_each_other(tmp_path):
    make(tmp_path, "old", 300)
    make(tmp_path, "new", 420)
    make(tmp_path, "other", 420, variance=1.5)
    make(tmp_path, "additive", 420, additive="true")
    tables = {
        name: read_table(tmp_path / name / "public" / "people.parquet")
        for name in ("old", "new")
    }
    ptable = PTable.read(tmp_path / "new" / "internal" / "pt.parquet")
    by_hand = ckm.shares(tables["new"], "sex", ptable=ptable).to_pandas()
    shown = answer(tmp_path / "new", "people", "--share-of", "sex").reset_index()
    pd.testing.assert_frame_equal(shown, by_hand, check_dtype=False, rtol=1e-8)
    same = answer(tmp_path / "new", "people", "--since", tmp_path / "old")
    wide = answer(tmp_path / "other", "people", "--since", tmp_path / "old")
    total = ("Total", "Total")
    assert same.change_high[total] - same.change_low[total] < (
        wide.change_high[total] - wide.change_low[total]
    ), "other p-tables under one secret"
    written = tmp_path / "changes.csv"
    answer_of_file = run(
        "figures",
        str(tmp_path / "new"),
        "people",
        "--since",
        str(tmp_path / "old"),
        "-o",
        str(written),
    )
    assert answer_of_file.exit_code == 0
    assert len(pd.read_csv(written)) == len(same)
    for words, problem in (
        (["people"], "Shares or changes"),
        (["places", "--share-of", "geo"], "hint: --share-of area"),
        (["nobody", "--share-of", "sex"], "holds no release of 'nobody'"),
    ):
        refused = run("figures", str(tmp_path / "new"), *words)
        assert refused.exit_code == 2
        assert problem in refused.stderr
    refused = run("figures", str(tmp_path / "additive"), "people", "--share-of", "sex")
    assert "made additive" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "file", ["public/people.parquet", "internal/pt.parquet", "internal/job.toml"]
)
def test_figures_of_files_that_are_not_those_released_are_refused(tmp_path, file):
    make(tmp_path, "new", 300)
    answer(tmp_path / "new", "people", "--share-of", "sex")
    changed = tmp_path / "new" / file
    content = changed.read_bytes()
    changed.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    refused = run("figures", str(tmp_path / "new"), "people", "--share-of", "sex")
    assert refused.exit_code == 1
    assert f"{file} (changed)" in refused.stderr
