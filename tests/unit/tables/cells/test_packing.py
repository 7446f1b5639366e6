import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tables import Request, StoredKeys, cube, open_source

REQUESTS = (
    Request(dimensions=["a", "b", "c", "word"]),
    Request(dimensions=["b", "a"], where="c >= 0"),
    Request(dimensions=["none", "wide", "a"], discrete=["wide"]),
)


def test_columns_grouped_as_one_number_give_the_same_cells(tmp_path):
    rng = np.random.default_rng(5)
    a = pa.array([None, -7, 120, 3, *rng.integers(-9, 5, 300)], pa.int8())
    records = pa.table(
        {
            "a": a,
            "b": pa.array([None, 2**40, 2**40 + 3, None, *(2**40 + rng.integers(0, 3, 300))]),
            "c": pa.array(rng.integers(-2, 2, 304), pa.int32()),
            "word": rng.choice(["x", "y"], 304),
            "none": pa.array([None] * 304, pa.int32()),
            "wide": pa.array([-(2**63), 2**63 - 1, *range(302)]),
            "key": rng.integers(0, 2**32, 304, dtype=np.uint64),
        }
    )
    path = tmp_path / "records.parquet"
    pq.write_table(records, path)
    for request in REQUESTS:
        found = []
        for data in (records, path):
            with open_source(data) as source:
                (cells,) = cube(source, StoredKeys(column="key"), [request])
            labels = [axis.labels[0].tolist() for axis in cells.axes]
            ranks = [rank.tolist() for rank in cells.ranks]
            found.append((labels, ranks, cells.count.tolist(), cells.cell_key.tolist()))
        assert found[0] == found[1]
