"""Figures of utility and risk of a table in Python, which no repr, page, pickle or file has."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ckm
import tables
from ckm.engine import internal_measures
from ptable import NoiseSpec, solve

SECRET = ckm.Secret(bytes(range(32)))
NOISE = solve(NoiseSpec(max_noise=3, variance=2.0, small=2))


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(3)
    place = draw.choice([f"p{n:02}" for n in range(60)], 900)
    return pd.DataFrame(
        {"id": np.arange(900), "place": place, "sex": draw.choice(["F", "M"], 900)}
    )


@pytest.fixture(scope="module")
def table(people):
    with ckm.Engine(people, id="id", secret=SECRET, ptable=NOISE) as engine:
        return engine.tabulate(["place", "sex"])


def test_the_engine_gives_risk_and_use_of_a_table_it_made(people, table):
    figures = table.measures(internal=True)
    true = people.groupby(["place", "sex"]).size()
    shown = table.to_pandas().set_index(["place", "sex"])["count"]
    both = shown.reindex(true.index, fill_value=0)
    inner = np.abs(both - true)
    assert 0 < inner.mean() <= 3
    assert 0 < figures["aad"] <= 3
    assert 0 < figures["q_worst"] <= figures["q_worst_set"] <= 1
    assert set(figures) == {
        "aad", "changed_pct", "false_zeros", "hellinger_raw",
        "q_worst", "q_worst_set", "differencing",
    }  # fmt: skip


def test_figures_must_be_asked_for_as_internal(table):
    with pytest.raises(ckm.ConfigError, match="follow from original counts") as caught:
        table.measures()
    assert "internal=True" in caught.value.hint


def test_no_repr_page_pickle_or_file_of_a_table_has_them(table, tmp_path):
    words = repr(table) + str(table) + table._repr_html_() + repr(table.measures)
    table.write(tmp_path / "t.csv")
    words += (tmp_path / "t.csv").read_text()
    assert not {"aad", "q_worst"} & set(words.replace("'", " ").split())
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301
    assert type(copy.measures) is dict
    again = replace(table, measures=internal_measures.Measures(table.measures))
    with pytest.raises(ckm.ConfigError, match="not known here"):
        again.measures(internal=True)


def test_original_counts_are_gone_with_the_table(people):
    before = len(internal_measures._FIGURES)
    table = ckm.protect(people, "sex", id="id", secret=SECRET)
    assert len(internal_measures._FIGURES) == before + 1
    del table
    assert len(internal_measures._FIGURES) == before


def test_errors_are_called_after_what_one_imports(people):
    with pytest.raises(ValueError, match="did you mean 'sex'") as caught:
        ckm.protect(people, "sexe", id="id", secret=SECRET)
    assert f"{caught.type.__module__}.{caught.type.__name__}" == "tables.RequestError"
    assert (ckm.ConfigError.__module__, tables.SourceError.__module__) == ("ckm", "tables")
    error = ckm.ConfigError("x")
    assert type(pickle.loads(pickle.dumps(error))) is ckm.ConfigError  # noqa: S301
