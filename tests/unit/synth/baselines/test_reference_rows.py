"""The printed rows on the toy data, within their bands."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth import SimulatedNoise
from synth.baselines import (
    LEGACY_DEFECTS,
    copula_shirley,
    dp_copula,
    priv_bayes,
    vine_without_privacy,
)
from synth.baselines.engines import fit_histogram
from synth.marginals.measuring import Neighbours

_SPEC = importlib.util.spec_from_file_location("toy", Path(__file__).with_name("toy.py"))
toy = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(toy)

#: Few enough to be fast; kernels see a dependence that is stronger on one side.
FAMILIES = ("gaussian", "tll")


@pytest.fixture(scope="module")
def data():
    return toy.toy_data()


def rows(model, n=5000, seed=5):
    return toy.correlations(model.sample(n, np.random.default_rng(seed)))


def test_the_toy_data_are_those_of_the_source(data):
    found = toy.correlations(data)
    for pair, value in toy.REFERENCE.items():
        assert found[pair] == pytest.approx(value, abs=0.04)
    assert found["A<0"] == pytest.approx(0.79, abs=0.03)
    assert found["A>0"] == pytest.approx(-0.12, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0, 1])
def test_copula_shirley_reaches_its_printed_row(data, epsilon):
    model = copula_shirley(
        data, epsilon=epsilon, families=FAMILIES, rng=np.random.default_rng(1)
    )
    found, true = rows(model), toy.correlations(data)
    for pair, band in {"A-B": 0.03, "A-C": 0.03, "A-D": 0.1, "A-E": 0.1, "A-F": 0.1}.items():
        assert found[pair] == pytest.approx(true[pair], abs=band)
    assert 0.5 < found["A<0"] < 0.75


def test_dp_copula_reaches_its_row_with_numbers_and_with_texts(data):
    right = rows(dp_copula(data, epsilon=1, domains=None, rng=np.random.default_rng(1)))
    assert right["A-B"] == pytest.approx(0.906, abs=0.03)
    assert right["A-C"] == pytest.approx(-0.9547, abs=0.03)
    assert right["A-F"] == pytest.approx(0.4675, abs=0.08)
    assert abs(right["A<0"] - right["A>0"]) < 0.15  # one Gaussian copula knows no sides
    texts = rows(
        dp_copula(
            data,
            epsilon=1,
            domains=None,
            defects=["string-ranks"],
            rng=np.random.default_rng(1),
        )
    )
    assert texts["A-B"] == pytest.approx(0.78, abs=0.06)
    assert texts["A-C"] == pytest.approx(-0.15, abs=0.08)
    assert texts["A-D"] == pytest.approx(0.155, abs=0.06)


def test_independent_columns_know_no_dependence(data):
    codes = np.column_stack([np.unique(data[name], return_inverse=True)[1] for name in data])
    model = fit_histogram(
        codes,
        sizes=(codes.max(axis=0) + 1).tolist(),
        rho=0.03,
        noise=SimulatedNoise(seed=1),
        neighbours=Neighbours(),
    )
    drawn = model.sample(len(codes), rng=np.random.default_rng(1))
    found = toy.correlations(pd.DataFrame(drawn, columns=list(data)))
    assert max(abs(found[pair]) for pair in toy.REFERENCE) < 0.05


def test_priv_bayes_with_the_noise_of_the_comparison_reaches_its_row(data):
    model = priv_bayes(
        data, epsilon=1, domains=None, is_legacy=True, rng=np.random.default_rng(1)
    )
    found = rows(model)
    assert found["A-B"] == pytest.approx(0.879, abs=0.06)
    assert found["A-C"] == pytest.approx(-0.908, abs=0.06)


@pytest.mark.slow
def test_the_ceiling_is_at_least_as_near_as_what_is_noisy(data):
    model = vine_without_privacy(data, families=FAMILIES, truncation=2, measure="rho")
    found, true = rows(model), toy.correlations(data)
    assert max(abs(found[pair] - true[pair]) for pair in toy.REFERENCE) < 0.05


def test_all_defects_together_cut_numbers_to_integers(data):
    model = dp_copula(
        data.head(300),
        epsilon=1,
        domains=None,
        defects=LEGACY_DEFECTS,
        rng=np.random.default_rng(1),
    )
    drawn = model.sample(50, np.random.default_rng(1))
    assert (drawn == np.trunc(drawn)).all().all()
    assert "NOT DP" in model.label
