"""Named cells: how they are written, looked up once, and found again by their contributors."""

from __future__ import annotations

import functools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pyarrow as pa
import pytest

from ckm.engine.magnitudes import MagnitudeError, MagnitudeNoise
from ckm.engine.magnitudes.sensitive.named import NamedKeys, as_named_cells, named_requests
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from tables import Hierarchy, Request, StoredKeys, cube, open_source

CELL = {"region": "North", "branch": "steel"}
OTHER = {"region": "South"}


@pytest.mark.parametrize(
    "named",
    [3, "region", {"region": "North"}, [{}], [{"region": 3}], [{"": "x"}], [["a"]], [None]],
)
def test_what_names_no_cell_is_refused(named):
    with pytest.raises(ConfigError, match="named_cells must be a list"):
        MagnitudeNoise.start(named_cells=named)


def test_a_cell_named_twice_counts_once():
    pairs = (("branch", "steel"), ("region", "North"))
    assert as_named_cells([CELL, dict(reversed(CELL.items())), pairs]) == (pairs,)


@pytest.mark.parametrize(
    "pairs", [(("region", "North", "x"),), (("region",),), ("region", "North"), ((),)]
)
def test_pairs_are_two_texts_each(pairs):
    with pytest.raises(ConfigError, match="named_cells must be a list"):
        as_named_cells([pairs])


def test_cells_keep_their_order_and_their_dimensions_are_sorted():
    assert as_named_cells([OTHER, CELL]) == (
        (("region", "South"),),
        (("branch", "steel"), ("region", "North")),
    )
    assert as_named_cells((CELL,)) == as_named_cells([CELL])
    assert as_named_cells([]) == ()
    with pytest.raises(ConfigError, match="named_cells must be a list"):
        as_named_cells([CELL, {}])


# --- the tables in which they are looked up -----------------------------------------------


def noises(**named):
    return VariableNoises({v: MagnitudeNoise.start(named_cells=c) for v, c in named.items()})


def test_each_shape_of_named_cells_of_a_variable_is_looked_up_in_one_table():
    asked = [
        TableRequest(dimensions=["x"], measures=["sum:income", "mean:income", "sum:tax"]),
        TableRequest(dimensions=["y"], measures=["mean:income"]),
    ]
    cells = [CELL, OTHER, {"branch": "wood", "region": "South"}]
    found = named_requests(asked, noises(income=cells, tax=[OTHER], other=[CELL]))
    told = {(r.dimensions, tuple(r.measures)): name for name, r in found.items()}
    assert set(told) == {
        (("branch", "region"), ("sum:income",)),
        (("region",), ("sum:income",)),
        (("region",), ("sum:tax",)),
    }
    assert told[("region",), ("sum:tax",)] == "named cells of 'tax' by region"
    assert {r.missing_values for r in found.values()} == {"skip"}
    assert {r.where for r in found.values()} == {None}
    assert named_requests(asked, noises()) == {}
    assert named_requests([TableRequest(dimensions=["x"])], noises(income=[CELL])) == {}


# --- their contributors -------------------------------------------------------------------

FIRMS = pa.table(
    {
        "region": ["North", "North", "North", "South", "South", None],
        "branch": ["steel", "steel", "wood", "steel", "wood", "wood"],
        "income": [10.0, 20.0, 30.0, 40.0, 0.0, 5.0],
        "key": pa.array([1, 2, 4, 8, 16, 32], pa.uint8()),
    }
)


@functools.cache
def tabulated(*dimensions, where=None, nested=False):
    place = {"place": Hierarchy(columns=("region", "branch"))} if nested else {}
    wish = Request(
        dimensions=list(dimensions), sums=["income"], top=2, where=where, hierarchies=place
    )
    with open_source(FIRMS) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [wish])
    return cells


def looked_up(*named, by):
    wish = TableRequest(dimensions=by, measures=["sum:income"], missing_values="skip")
    return NamedKeys.of([(wish, tabulated(*by))], noises(income=list(named)))


def test_the_contributors_of_a_named_cell_are_their_summed_key_and_number():
    assert looked_up(CELL, by=["branch", "region"]).keys == {"income": {(1 + 2, 2)}}
    two = looked_up(OTHER, {"region": "North"}, by=["region"])
    assert two.keys == {"income": {(8, 1), (1 + 2 + 4, 3)}}, "zeros are no contributors"
    nobody = {"region": "South", "branch": "glass"}
    with pytest.raises(MagnitudeError, match="'glass', which 'branch' does not have"):
        looked_up(nobody, by=["branch", "region"])


def test_only_cells_of_the_shape_of_a_table_are_looked_up_in_it():
    assert looked_up(CELL, OTHER, by=["region"]).keys == {"income": {(8, 1)}}
    assert looked_up(CELL, by=["region"]).keys == {}
    both = [
        (TableRequest(dimensions=by, measures=["sum:income"]), tabulated(*by))
        for by in (["region"], ["branch", "region"])
    ]
    found = NamedKeys.of(both, noises(income=[CELL, OTHER]))
    assert found.keys == {"income": {(8, 1), (3, 2)}}


def test_a_named_cell_of_known_categories_may_be_empty():
    cell = {"region": "(missing)", "branch": "steel"}
    assert looked_up(cell, by=["branch", "region"]).keys == {"income": frozenset()}


def test_a_cell_of_nested_columns_is_named_by_these():

    wish = TableRequest(dimensions=["place"], measures=["sum:income"])
    cells = tabulated("place", nested=True)
    with pytest.raises(MagnitudeError, match="'place', which has the columns region, branch"):
        NamedKeys.of([(wish, cells)], noises(income=[{"place": "North"}]))


def test_cells_of_the_same_contributors_are_marked_in_every_table():
    keys = looked_up(CELL, by=["branch", "region"])
    for cells in (
        tabulated("region", "branch"),
        tabulated("branch", where="region = 'North'"),
        tabulated("region", where="branch = 'steel'"),
    ):
        magnitudes = keys.flag(cells).magnitudes["income"]
        at = np.flatnonzero(magnitudes.named)
        assert magnitudes.total[at].tolist() == [30.0]
        assert not cells.magnitudes["income"].named.any(), "what was given stays as it is"


def test_a_key_alone_or_a_number_alone_marks_no_cell():
    """Keys are summed modulo their range: others may have the same."""
    cells = tabulated("region", "branch")
    magnitudes = cells.magnitudes["income"]
    pairs = set(zip(magnitudes.key.tolist(), magnitudes.contributors.tolist(), strict=True))
    assert (3, 2) in pairs
    for pair in ((3, 1), (3, 3), (5, 2), (0, 0)):
        keys = NamedKeys({"income": frozenset({pair})})
        assert not keys.flag(cells).magnitudes["income"].named.any()
    crossed = NamedKeys({"income": frozenset({(3, 1), (8, 2)})})  # each half of another
    assert not crossed.flag(cells).magnitudes["income"].named.any()
    two = NamedKeys({"income": frozenset({(3, 2), (8, 1)})})
    assert two.flag(cells).magnitudes["income"].total[
        two.flag(cells).magnitudes["income"].named
    ].tolist() == [30.0, 40.0, 40.0], "South, and its steel alone"


def test_cells_nobody_contributes_to_are_never_marked():
    cells = tabulated("region", "branch")
    empty = cells.magnitudes["income"]
    assert (empty.contributors == 0).any(), "the wood of the South earns nothing"
    keys = NamedKeys({"income": frozenset({(0, 0)})})
    assert not keys.flag(cells).magnitudes["income"].named.any()


def test_without_named_cells_or_amounts_nothing_is_copied():
    cells = tabulated("region")
    assert NamedKeys({}).flag(cells) is cells
    keys = NamedKeys({"income": frozenset({(8, 1)})})
    plain = replace(cells, magnitudes=None)
    assert keys.flag(plain) is plain
    other = NamedKeys({"tax": frozenset({(8, 1)})}).flag(cells)
    assert other.magnitudes["income"] is cells.magnitudes["income"]


def test_keys_of_contributors_show_nothing_and_do_not_change():
    keys = NamedKeys({"income": frozenset({(123457, 1)})})
    assert "123457" not in repr(keys)
    assert keys != NamedKeys({"income": frozenset({(123457, 1)})})
    assert not hasattr(keys, "__dict__")
    with pytest.raises(FrozenInstanceError):
        keys.keys = {}
