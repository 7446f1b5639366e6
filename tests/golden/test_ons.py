"""The tables of the ONS package cell-key-perturbation 3.1.0, side by side with ours."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ckm
from ptable import PTable
from tables import Request, StoredKeys, cube, open_source
from tests.strategies import decode, published

theirs = pytest.importorskip("cell_key_perturbation.create_perturbed_table")
samples = pytest.importorskip("cell_key_perturbation.utils.generate_test_data")


@pytest.fixture(scope="module")
def rule():
    """The only p-table that ships with the package; it lies in the environment's root."""
    file = Path(sys.prefix) / "ptable_10_5_rule.csv"
    if not file.exists():
        pytest.skip("the package's p-table is not installed")
    return pd.read_csv(file)


def noisy(rng):
    """A p-table in the package's layout whose noise depends on the key."""
    grid = pd.MultiIndex.from_product([range(1, 751), range(256)], names=["pcv", "ckey"])
    frame = grid.to_frame(index=False)
    noise = rng.integers(-5, 6, len(frame))
    frame["pvalue"] = np.maximum(noise, -frame["pcv"])
    return frame


def their_table(data, ptable, columns, *, threshold=10):
    return theirs.create_perturbed_table(
        data=data,
        ptable=ptable,
        geog=columns[:1],
        tab_vars=columns[1:],
        record_key="record_key",
        threshold=threshold,
    )


def compare(data, ptable, columns):
    """Compare count, cell key, noise and published count of every cell of both."""
    table = PTable.from_key_table(ptable, large_counts="cycle:250")
    reference = their_table(data, ptable, columns, threshold=-(10**9))
    with open_source(data) as source:
        keys = StoredKeys(column="record_key", key_range=256)
        (cells,) = cube(source, keys, [Request(dimensions=columns, margins="none")])
    with ckm.Engine(
        data, record_key="record_key", key_range=256, ptable=table, mix=False, checks="warn"
    ) as engine:
        protected = published(engine.tabulate(columns, margins="none"))
    ours = decode(cells)
    for row in reference.itertuples(index=False):
        cell = tuple(str(getattr(row, column)) for column in columns)
        count, key, _ = ours.get(cell, (0, 0, None))
        assert (count, key) == (row.pre_sdc_count, row.ckey)
        assert protected.get(cell, 0) == row.count
        assert protected.get(cell, 0) - count == row.pvalue
    assert set(ours) <= {
        tuple(str(getattr(row, c)) for c in columns) for row in reference.itertuples()
    }
    return reference


@pytest.mark.slow
def test_their_example_of_200_cells_is_ours(rule, capsys):
    data = samples.generate_test_data()
    columns = ["var1", "var5", "var8"]
    assert len(compare(data, rule, columns)) == 200
    suppressed = their_table(data, rule, columns)
    first = suppressed[["pre_sdc_count", "ckey", "count"]].head(5).to_numpy(object)
    assert first[[0, 1, 3, 4]].tolist() == [
        [10, 173, 10],
        [10, 88, 10],
        [14, 66, 15],
        [11, 190, 10],
    ]
    assert first[2].tolist()[:2] == [7, 180]
    # Their threshold comes after the noise: a published count below 10 is left out.
    table = PTable.from_key_table(rule, large_counts="cycle:250")
    with ckm.Engine(
        data, record_key="record_key", key_range=256, ptable=table, mix=False
    ) as engine:
        protected = published(engine.tabulate(columns, margins="none"))
    for row in suppressed.itertuples(index=False):
        ours = protected.get((str(row.var1), str(row.var5), row.var8), 0)
        assert (ours < 10) == pd.isna(row.count)
    capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_tables_with_large_counts_are_ours(seed, capsys):
    rng = np.random.default_rng(seed)
    size = 20_000
    data = pd.DataFrame(
        {
            "record_key": rng.integers(0, 256, size),
            "area": rng.choice(["N", "S", "E"], size, p=[0.86, 0.139, 0.001]),
            "sex": rng.integers(1, 3, size),
            "age": rng.choice(
                9, size, p=[0.4, 0.3, 0.2, 0.05, 0.02, 0.02, 0.005, 0.003, 0.002]
            ),
        }
    )
    reference = compare(data, noisy(rng), ["area", "sex", "age"])
    assert reference["pre_sdc_count"].max() > 1000
    assert (reference["pvalue"] != 0).any()
    capsys.readouterr()


def test_a_missing_category_keeps_its_key_which_theirs_loses(rule, capsys):
    data = pd.DataFrame(
        {"record_key": [200, 100, 7, 9], "sex": ["F", None, "F", None], "age": [1, 1, 1, 1]}
    )
    reference = their_table(data, rule, ["sex", "age"], threshold=-99)
    assert reference.loc[reference["sex"].isna(), "ckey"].tolist() == [0]
    with open_source(data) as source:
        keys = StoredKeys(column="record_key", key_range=256)
        (cells,) = cube(source, keys, [Request(dimensions=["sex", "age"], margins="none")])
    assert decode(cells)["(missing)", "1"][:2] == (2, 109)
    capsys.readouterr()
