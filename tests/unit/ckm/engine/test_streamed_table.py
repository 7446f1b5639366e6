import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm import Engine, Secret
from ckm.engine.request import TableRequest
from ckm.formats import to_bytes
from ptable import NoiseSpec, solve

AREAS = ["N", "S", "W", None]
HIERARCHIES = {"place": ["region", "town"]}
TREE = "code,parent,label\nT,,all\nA,T,a\nA1,A,a one\nA2,A,a two\nB,T,b\n"
REQUESTS = {
    "texts": TableRequest(dimensions=["region", "sex", "age"]),
    "grid": TableRequest(dimensions=["age", "region"], empty_cells="grid"),
    "unseen": TableRequest(dimensions=["rare", "sex"], empty_cells="grid"),
    "hidden": TableRequest(dimensions=["rare"], measures=["mean:income"], empty_cells="grid"),
    "declared": TableRequest(dimensions=["sex"]),
    "masked": TableRequest(dimensions=["sex"], measures=["count", "mean:income"]),
    "hierarchy": TableRequest(dimensions=["place", "sex"], where="age > 1"),
    "nested grid": TableRequest(dimensions=["place", "age"], empty_cells="grid"),
    "second": TableRequest(dimensions=["sex", "place"], margins=[["region"], []]),
    "finest": TableRequest(dimensions=["region", "age"], margins="none"),
    "tree": TableRequest(dimensions=["code", "sex"], empty_cells="grid"),
    "amounts": TableRequest(
        dimensions=["region", "sex"], measures=["weighted", "sum:income", "mean:income"]
    ),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streamed")
    rng = np.random.default_rng(3)
    region = rng.choice(4, 400)
    records = pa.table(
        {
            "id": range(400),
            "region": [AREAS[place] for place in region],
            "town": [
                f"{AREAS[place]}{n}"
                for place, n in zip(region, rng.choice(5, 400), strict=True)
            ],
            "sex": rng.choice(["F", "M"], 400),
            "age": pa.array(rng.integers(0, 6, 400), pa.int16()),
            "rare": [f"r{n}" for n in [*range(9), *[7] * 391]],
            "code": rng.choice(["A1", "A2", "B"], 400),
            "w": rng.integers(1, 4, 400),
            "income": np.round(rng.uniform(0, 900, 400), 2),
            "hours": np.where(
                region == 1, rng.integers(1, 10, 400) ** 3, rng.integers(33, 38, 400)
            ),
        }
    )
    pq.write_table(records, folder / "records.parquet")
    (folder / "tree.csv").write_text(TREE)
    return Engine(
        str(folder / "records.parquet"),
        id="id",
        weight="w",
        secret=Secret(bytes(16)),
        ptable=solve(NoiseSpec(max_noise=3, variance=2.0, small=1)),
        hierarchies=HIERARCHIES | {"code": folder / "tree.csv"},
        categories={"sex": ["F", "M", "X"]},
    )


@pytest.mark.parametrize("most", [1, 40, 10**6])
@pytest.mark.parametrize("where", [None, "region <> 'S'", "region = 'S'"])
def test_a_streamed_table_warns_of_alike_amounts_as_one_in_memory(
    engine, most, where, tmp_path, caplog
):
    request = TableRequest(dimensions=["region", "sex"], measures=["sum:hours"], where=where)
    engine.tabulate_all({"work": request})
    expected = [one.message for one in caplog.records if "vary so little" in one.message]
    caplog.clear()
    engine.stream(request, tmp_path, name="work", most=most)
    assert [
        one.message for one in caplog.records if "vary so little" in one.message
    ] == expected
    which = {None: "some|most", "region <> 'S'": "all", "region = 'S'": "none"}[where]
    assert bool(expected) is (which != "none")
    assert all(
        re.search(f"'work': in ({which}) cells, amounts of 'hours'", t) for t in expected
    )


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *((name, 1) for name in REQUESTS),
        *((name, 40) for name in ("texts", "hierarchy", "nested grid", "amounts")),
        *((name, 10**6) for name in ("texts", "unseen", "tree", "amounts")),
    ],
)
def test_a_streamed_table_has_the_bytes_of_one_in_memory(engine, name, most, tmp_path):
    whole = engine.tabulate_all({name: REQUESTS[name]})[name]
    streamed = engine.stream(REQUESTS[name], tmp_path, most=most)
    assert streamed.n_rows == whole.n_rows > 0
    has_masks = any(map(np.ma.is_masked, whole.measures.values()))
    assert has_masks == (name == "masked")
    for kind in ("csv", "csv-labels", "csvw", "parquet"):
        assert to_bytes(streamed, kind) == to_bytes(whole, kind), kind
    joined = [piece.to_arrow() for piece in streamed.pieces(7)]
    assert {len(piece) for piece in joined[:-1]} <= {7}
    assert pa.concat_tables(joined).equals(whole.to_arrow().combine_chunks())
