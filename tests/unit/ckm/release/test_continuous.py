"""No command publishes by a continuous dimension, or from data without a record."""

import tomllib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import ckm
from ckm.cli import app
from ckm.config import read_job
from ckm.config.problems import JobError
from ckm.config.service.service import read_service
from ckm.engine.request import TableRequest
from ptable import NoiseSpec, solve
from tables import DataError, DataWarning, Secret

N = 500
NOISE = """
[keys]
secret = "secret.key"
[ptable]
max_noise = 2
variance = 1.0
"""
SUPPRESSION = "[suppression]\nthreshold = 3\n"
ROUNDING = "[rounding]\nbase = 5\n"
EXCEPTION = """
[[report.exceptions]]
what = "exact incomes"
who = "Ada Lovelace"
when = 2027-02-01
why = "These incomes were drawn at random for a course."
continuous = "income"
"""
SERVICE = """
schema = 1
[service]
title = "People"
[data]
path = "people.parquet"
id = "id"
[[variable]]
name = "sex"
[[variable]]
name = "income"
"""


def people(n=N):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "id": np.arange(n),
            "sex": rng.choice(["F", "M"], n),
            "region": rng.choice(["N", "S"], n),
            "income": np.round(rng.lognormal(7, 1, n), 2),
        }
    )


def job(protection=NOISE, *, data="people.parquet", by="income", more="", measures='"count"'):
    head = f'schema = 1\n[data]\npath = "{data}"\nid = "id"\n'
    table = f'[[table]]\nname = "t"\ndimensions = ["sex", "{by}"]\nmeasures = [{measures}]\n'
    return head + protection + more + table


def run(*args):
    return CliRunner().invoke(app, [str(arg) for arg in args])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(), "people.parquet")
    pq.write_table(people(0), "empty.parquet")
    pa.csv.write_csv(people(0), "empty.csv")
    (tmp_path / "secret.key").write_text("hex:" + "ab" * 32)
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def refusal(*args):
    """Return how a command refuses; it says the same as text or as JSON."""
    found = run(*args)
    assert found.exit_code == 3, found.output
    return found.stderr


@pytest.mark.parametrize(
    ("protection", "command"),
    [
        (NOISE, ["check", "job.toml"]),
        (NOISE, ["release", "job.toml", "-o", "out"]),
        (NOISE, ["release", "job.toml", "-o", "out", "--dry-run"]),
        (NOISE, ["audit", "job.toml"]),
        (NOISE, ["compare", "job.toml"]),
        (NOISE, ["job", "cells", "job.toml", "-o", "cells.parquet"]),
        (SUPPRESSION, ["check", "job.toml"]),
        (SUPPRESSION, ["suppress", "job.toml", "-o", "out"]),
        (ROUNDING, ["check", "job.toml"]),
        (ROUNDING, ["release", "job.toml", "-o", "out"]),
    ],
    ids=lambda given: given.split("]")[0].strip("\n[") if isinstance(given, str) else given[0],
)
def test_no_command_publishes_by_a_continuous_dimension(folder, protection, command):
    (folder / "job.toml").write_text(job(protection))
    told = refusal(*command)
    assert (
        "'income' cannot be a dimension: it has 500 values; one record alone has 100 %" in told
    )
    assert "alone has 100 %, and the median number of records of a value is 1" in told
    assert "bands" in told
    assert not (folder / "out").exists()
    assert not (folder / "cells.parquet").exists()


def test_a_service_does_not_open_over_a_continuous_variable(folder):
    (folder / "service.toml").write_text(SERVICE + NOISE)
    for command in (["check"], ["serve", "--dry-run"], ["audit"]):
        assert "'income' cannot be a dimension" in refusal(*command, "service.toml")


def test_a_service_has_no_exceptions(folder):
    (folder / "service.toml").write_text(SERVICE + NOISE + EXCEPTION)
    with pytest.raises(JobError, match="report"):
        read_service(folder / "service.toml")


@pytest.mark.parametrize("kind", [lambda t: t, pa.Table.to_pandas, pl.from_arrow])
def test_an_engine_refuses_in_python_until_categories_are_declared(kind):
    given = {"id": "id", "ptable": solve(NoiseSpec(max_noise=2, variance=1.0))}
    given |= {"secret": Secret(bytes(16))}
    with ckm.Engine(kind(people()), **given) as engine:
        request = TableRequest(dimensions=["income"])
        for ask in (
            lambda: engine.tabulate(["income"]),
            lambda: engine.prepare(["income"]),
            lambda: engine.cells({"t": request}),
            lambda: engine.count_histogram({"t": request}),
        ):
            with pytest.raises(DataError, match="'income' cannot be a dimension"):
                ask()
    declared = {"income": sorted({*people()["income"].to_pylist()})}
    with (
        ckm.Engine(people(), categories=declared, **given) as engine,
        pytest.warns(DataWarning, match="categories of 'income' are amounts"),
    ):
        assert engine.tabulate(["income"]).n_rows > 400


def test_an_engine_takes_a_column_for_categories_that_lies_in_a_hierarchy():
    table = people().append_column("code", pa.array([f"c{n}" for n in range(N)]))
    given = {"id": "id", "ptable": solve(NoiseSpec(max_noise=2, variance=1.0))}
    given |= {"secret": Secret(bytes(16)), "hierarchies": {"geo": ["region", "code"]}}
    with ckm.Engine(table, **given) as engine:
        engine.tabulate(["code"])
        with pytest.raises(DataError, match="'income'"):
            engine.tabulate(["geo", "income"])


@pytest.mark.parametrize("verb", [["check"], ["release", "-o", "out"]])
def test_bands_in_a_hierarchy_do_not_publish_the_amounts_below_them(folder, verb):
    nested = '[hierarchies]\namounts = ["band", "income"]\n'
    bands = '[[variable]]\nname = "band"\nof = "income"\nbands = [0, 1000, 2000]\n'
    (folder / "job.toml").write_text(job(by="amounts", more=nested + bands))
    done = run(verb[0], "job.toml", *verb[1:])
    assert done.exit_code == 3
    assert "'income' cannot be a dimension" in done.output
    assert "hint: publish groups instead: bands" in done.output
    assert not (folder / "out").exists()
    (folder / "job.toml").write_text(job(by="amounts", more=nested + bands + EXCEPTION))
    assert run(verb[0], "job.toml", *verb[1:]).exit_code == 0


def test_amounts_that_a_job_declares_one_by_one_are_warned_of(folder):
    values = sorted(
        {str(income).removesuffix(".0") for income in people()["income"].to_pylist()}
    )
    (folder / "job.toml").write_text(job(more=f"[categories]\nincome = {values}\n"))
    done = run("check", "job.toml")
    assert done.exit_code == 0
    assert "The declared categories of 'income' are amounts or dates" in done.output


def test_an_exception_is_told_by_the_public_report(folder):
    (folder / "job.toml").write_text(job(more=EXCEPTION))
    found = run("release", "job.toml", "-o", "out")
    assert found.exit_code == 0, found.output
    for language, words in {
        "en": "each value of income",
        "fr": "chaque valeur de income",
    }.items():
        page = " ".join((folder / f"out/public/report.{language}.html").read_text().split())
        assert words in page
        assert "Ada Lovelace" in page
        assert "These incomes were drawn at random for a course." in page
    assert run("audit", "job.toml").exit_code == 0


def test_a_report_without_an_exception_says_nothing_of_one(folder):
    (folder / "job.toml").write_text(job(by="region"))
    assert run("release", "job.toml", "-o", "out").exit_code == 0
    assert "as an exception" not in (folder / "out/public/report.en.html").read_text()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (job(more=EXCEPTION, by="region", measures='"sum:income"'), "the job sums it, too"),
        (job(more=EXCEPTION, by="region"), "dimension of no table"),
        (job(more=EXCEPTION + 'check = "aad"\n'), "several things"),
        (job(SUPPRESSION, more=EXCEPTION), "exceptions is for noise"),
    ],
)
def test_an_exception_that_cannot_be_is_refused_before_data_are_read(folder, text, words):
    (folder / "job.toml").write_text(text)
    with pytest.raises(JobError, match=words):
        read_job(folder / "job.toml")


@pytest.mark.parametrize("data", ["empty.parquet", "empty.csv"])
@pytest.mark.parametrize(
    ("protection", "command"),
    [
        (NOISE, ["check", "job.toml"]),
        (NOISE, ["release", "job.toml", "-o", "out"]),
        (NOISE, ["audit", "job.toml"]),
        (SUPPRESSION, ["suppress", "job.toml", "-o", "out"]),
        (ROUNDING, ["release", "job.toml", "-o", "out"]),
    ],
    ids=lambda given: given.split("]")[0].strip("\n[") if isinstance(given, str) else given[0],
)
def test_data_without_a_record_end_with_exit_code_3(folder, data, protection, command):
    (folder / "job.toml").write_text(job(protection, data=data, by="region"))
    assert "has no record" in refusal(*command)
    assert not (folder / "out").exists()


@pytest.mark.parametrize("protection", [NOISE, SUPPRESSION, ROUNDING])
def test_a_job_may_expect_no_record(folder, protection):
    text = job(protection, data="empty.parquet", by="region").replace(
        'id = "id"', 'id = "id"\nallow_empty = true'
    )
    assert tomllib.loads(text)["data"]["allow_empty"] is True
    (folder / "job.toml").write_text(text)
    command = "suppress" if protection == SUPPRESSION else "release"
    assert run(command, "job.toml", "-o", "out").exit_code == 0


def test_a_service_does_not_open_over_no_record(folder):
    text = SERVICE.replace("people.parquet", "empty.parquet") + NOISE
    (folder / "service.toml").write_text(text)
    assert "has no record" in refusal("check", "service.toml")


@pytest.mark.parametrize("kind", [lambda t: t, pa.Table.to_pandas, pl.from_arrow])
def test_an_engine_refuses_frames_without_a_row(kind):
    given = {"id": "id", "ptable": solve(NoiseSpec(max_noise=2, variance=1.0))}
    given |= {"secret": Secret(bytes(16))}
    with ckm.Engine(kind(people(0)), **given) as engine:
        for ask in (
            lambda: engine.tabulate(["sex"]),
            lambda: engine.prepare(["sex"]),
            lambda: engine.cells({"t": TableRequest(dimensions=["sex"])}),
        ):
            with pytest.raises(DataError, match="has no record"):
                ask()
    with ckm.Engine(kind(people(0)), allow_empty=True, **given) as engine:
        assert engine.tabulate(["sex"]).n_rows <= 1


def test_cells_that_count_nobody_are_data_without_a_record():
    cells = pd.DataFrame({"sex": ["F", "M"], "count": [0, 0]})
    rounding = solve(NoiseSpec(max_noise=2, variance=1.0))
    given = {"cells": ["sex"], "ptable": rounding, "cell_key": "key", "key_range": 256}
    data = cells.assign(key=[0, 0])
    with (
        ckm.Engine(data, secret=Secret(bytes(16)), **given) as engine,
        pytest.raises(DataError, match="has no record"),
    ):
        engine.tabulate(["sex"])


def test_a_filter_that_keeps_no_record_is_warned_of(folder):
    (folder / "job.toml").write_text(job(by="region") + "where = \"sex = 'X'\"\n")
    found = run("release", "job.toml", "-o", "out")
    assert found.exit_code == 0, found.output
    assert "nothing but zeros" in found.stderr
