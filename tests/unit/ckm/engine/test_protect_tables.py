"""Protected tables, one after the other, with the cells that they were made of."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.formats import FORMAT_NAMES, TableAbout, write_table
from ptable import NoiseSpec, solve
from tables import Secret

REQUESTS = {
    "areas": ckm.TableRequest(dimensions=["area"], measures=["count", "sum:income"]),
    "both": ckm.TableRequest(dimensions=["area", "sex"], measures=["weighted", "count"]),
    "women": ckm.TableRequest(dimensions=["area"], where="sex = 'F'"),
}


@pytest.fixture(scope="module")
def engine():
    rng = np.random.default_rng(8)
    people = pd.DataFrame(
        {
            "id": np.arange(400),
            "area": rng.choice([*"abcdefghij", "MARKERVALUE"], 400),
            "sex": rng.choice(["F", "M"], 400),
            "w": 1.5,
            "income": np.round(rng.lognormal(7, 1, 400)),
        }
    )
    noise = solve(NoiseSpec(max_noise=3, variance=2.0, small=1))
    with ckm.Engine(people, id="id", weight="w", secret=Secret(bytes(16)), ptable=noise) as one:
        yield one


def test_tables_one_after_the_other_are_those_of_a_dict(engine):
    together = engine.tabulate_all(REQUESTS)
    assert list(together) == list(REQUESTS)
    for protected in engine.protect_tables(REQUESTS):
        assert protected.request is REQUESTS[protected.name]
        assert protected.table.to_arrow().equals(together[protected.name].to_arrow())
        assert np.abs(protected.counts - protected.cells.count).max() <= 3
        assert list(protected.sums) == list(protected.request.variables)


@pytest.mark.slow
def test_a_table_is_gone_once_its_taker_lets_go_of_it(engine):
    seen = []
    for protected in engine.protect_tables(REQUESTS):
        gc.collect()
        assert all(counts() is None for counts in seen)
        seen.append(weakref.ref(protected.cells.count))
        del protected
    assert len(seen) == 3


@pytest.mark.slow
def test_parts_of_a_table_are_gone_once_their_taker_lets_go_of_them(engine):
    seen = []
    for _, part in engine.protect_parts(REQUESTS["both"], most=4):
        gc.collect()
        assert all(counts() is None for counts in seen)
        seen.append(weakref.ref(part.cells.count))
        del part
    assert len(seen) > 3


def test_a_wrong_request_is_refused_before_the_first_table(engine):
    wrong = REQUESTS | {"wrong": ckm.TableRequest(dimensions=["nothing"])}
    with pytest.raises(ValueError, match="nothing"):
        next(engine.protect_tables(wrong))


def test_neither_pickle_nor_a_writer_takes_a_table_with_its_cells(engine, tmp_path):
    (protected,) = engine.protect_tables({"areas": REQUESTS["areas"]})
    (part, *_) = (part for _, part in engine.protect_parts(REQUESTS["both"]))
    for held in (protected, part, protected.cells):
        assert "MARKERVALUE" not in repr(held) + str(held)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(held)
        for name in FORMAT_NAMES:
            with pytest.raises((AttributeError, TypeError)):
                write_table(held, tmp_path / "t", format=name, about=TableAbout(id="t"))
    assert not list(tmp_path.iterdir())
