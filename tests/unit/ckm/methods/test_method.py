"""What a new method of protection needs: a toy one, released by the run of all others.

A method for job files is three files: the method, its section of a job, and a line of
`JOB_METHODS`. The toy has the first and the last; it borrows the section of another method.
"""

from __future__ import annotations

import json
import pickle
from contextlib import contextmanager
from dataclasses import dataclass, fields

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.config import read_job
from ckm.config.job.rounding import JobRounding
from ckm.config.job.suppression import JobSuppression
from ckm.engine.protection import Protected
from ckm.engine.published_table import publish
from ckm.errors import ConfigError
from ckm.methods.additivity.method import Additivity
from ckm.methods.method import InternalRecord, Method, Statement
from ckm.methods.noise import CellKeyNoise
from ckm.methods.rounding import ControlledRounding
from ckm.methods.settings import (
    NoiseSettings,
    RoundingSettings,
    SuppressionSettings,
)
from ckm.methods.suppression.method import CellSuppression
from ckm.methods.suppression.original_cells import open_originals
from ckm.release.opening import JOB_METHODS, JobMethod, OpenedMethod
from ckm.release.perturbed import release
from ckm.release.run import ReleaseRun
from ptable import NoiseSpec, solve
from tables import RequestError

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "id"
[rounding]
base = 7
[[table]]
name = "areas"
dimensions = ["area"]
[[table]]
name = "sexes"
dimensions = ["sex"]
"""


@dataclass(frozen=True)
class ToySettings:
    """All counts are rounded down to multiples of a base."""

    base: int


class Toy:
    """Rounds every count down."""

    def __init__(self, settings):
        self.settings = settings

    def require(self, tables):
        """Refuse nothing."""

    def protect(self, data, requests, *, progress=None):
        """Round one table after the other."""
        for name, cells in data.cells(progress=progress).items():
            counts = cells.count // self.settings.base * self.settings.base
            table = publish(
                cells,
                counts,
                measures=["count"],
                empty_cells=requests[name].empty_cells,
                round_weighted=False,
            )
            yield Protected(
                name=name, request=requests[name], cells=cells, table=table, counts=counts
            )

    def statement(self):
        """Say what was done, in sentences."""
        return Statement(words=["Every count was rounded down."])

    def record(self, folder):
        """Write nothing beside the manifest."""
        del folder
        return InternalRecord(method={"toy": {"base": self.settings.base}})


@contextmanager
def opened_toy(job, *, notes, is_kept, step, progress, is_quick=False, **resources):
    """Open the records for the toy."""
    with open_originals(job, **resources) as originals:
        source = originals.source
        yield OpenedMethod(
            method=Toy(ToySettings(base=job.rounding.base)),
            data=originals,
            files=source.files,
            far_files=source.far_files,
            labels=source.labels,
            tell_keys=lambda step: step("toy checked", "the toy rounds down"),
        )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    people = {"id": range(300), "area": rng.choice([*"abc"], 300), "sex": ["F", "M", "M"] * 100}
    pd.DataFrame(people).to_parquet(tmp_path / "people.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_method_is_released_and_checked_as_any_other(folder, monkeypatch):
    toy = JobMethod("ckm-toy", "toy complete", opened_toy)
    monkeypatch.setitem(JOB_METHODS, "rounding", toy)
    job, steps = read_job("job.toml"), []
    done = release(job, "out")
    assert done.tables == ("areas", "sexes")
    table = pd.read_csv("out/public/sexes.csv").set_index("sex")["count"]
    assert table.to_dict() == {"Total": 294, "F": 98, "M": 196}
    public, inside = (
        json.loads((folder / "out" / part / "manifest.json").read_text())
        for part in ("public", "internal")
    )
    assert public["method"] == ["Every count was rounded down."]
    assert (inside["kind"], inside["toy"]) == ("ckm-toy", {"base": 7})
    assert [table["name"] for table in inside["tables"]] == ["areas", "sexes"]
    ReleaseRun(job, is_kept=False).rehearse(step=lambda _, text: steps.append(text))
    assert steps[-2:] == ["the toy rounds down", "the release can be made: 7 cells"]


def noise():
    return CellKeyNoise(NoiseSettings(ptable=solve(NoiseSpec(max_noise=2, variance=1.0))))


def methods() -> list[Method]:
    """Give every method, for a check of the types too."""
    return [
        noise(),
        CellSuppression(SuppressionSettings(threshold=3)),
        ControlledRounding(RoundingSettings(base=5)),
    ]


@pytest.mark.parametrize("number", range(3))
def test_settings_do_not_change_and_a_statement_is_there_before_any_table(number):
    method = methods()[number]
    first = next(each.name for each in fields(method.settings))
    with pytest.raises(AttributeError):
        setattr(method.settings, first, None)
    statement = method.statement()
    assert statement.words == ("noise", "suppression", "rounding")[number]
    assert statement.is_original == (number == 1)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(statement)


def test_a_method_names_every_table_that_it_cannot_protect_at_once():
    tables = {
        "good": ckm.TableRequest(dimensions=["a"]),
        "sums": ckm.TableRequest(dimensions=["a"], measures=["count", "sum:x"]),
        "medians": ckm.TableRequest(dimensions=["a"], measures=["median:x"]),
    }
    for method in (ControlledRounding(RoundingSettings(base=5)), Additivity(noise(), None)):
        with pytest.raises(RequestError) as caught:
            method.require(tables)
        assert "2 tables have problems" in str(caught.value)
        assert "'sums' shows 'sum:x'" in str(caught.value)
        assert "'medians' shows 'median:x'" in str(caught.value)
        method.require({"good": tables["good"]})
    suppression = CellSuppression(SuppressionSettings(threshold=3))
    with pytest.raises(ConfigError, match="'medians' shows 'median:x'"):
        suppression.require(tables)
    with pytest.raises(RequestError, match=r"3 tables have problems(.|\n)*threshold"):
        CellSuppression(SuppressionSettings(p_percent=10.0)).require(tables)
    noise().require(tables)


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        (JobSuppression(threshold=3, request={"percent": 50.0}), SuppressionSettings),
        (JobRounding(base=5), RoundingSettings),
    ],
)
def test_a_section_of_a_job_and_the_settings_of_its_method_have_the_same_keys(
    section, settings
):
    own = [each.name for each in fields(settings) if "section" not in each.metadata]
    assert list(type(section).model_fields) == own
    made = section.settings
    for name in type(section).model_fields:
        read, kept = getattr(section, name), getattr(made, name)
        assert kept == read or vars_of(kept) == dict(read)


def vars_of(settings):
    return {each.name: getattr(settings, each.name) for each in fields(settings)}
