"""What tests of Spark share: the same question put to both engines."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from tables import check_keys, cube, open_source
from tables.magnitudes.amounts import Magnitudes
from tables.spark.spark import open_spark

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tables import Cells, Request
    from tables.keys import RecordKeys

_SINGLE = {"variable", "key_range", "variation"}
AMOUNTS = tuple(f.name for f in fields(Magnitudes) if f.name not in _SINGLE)
SKETCH = ("partitions", "power_sums", "member_cell", "member_key")


def both(
    path: object, keys: RecordKeys, requests: Sequence[Request], *, master: str, sketch: int = 0
) -> tuple[list[Cells], list[Cells]]:
    """Tabulate files with DuckDB and with Spark."""
    found = []
    for source in (open_source(path), open_spark(path, master=master)):
        with source:
            check_keys(source, keys, action="skip")
            found.append(cube(source, keys, requests, sketch=sketch))
    return found[0], found[1]


def require_same(ours: Sequence[Cells], theirs: Sequence[Cells]) -> None:
    """Fail unless cells are equal to the bit."""
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert [x.tolist() for x in a.ranks] == [x.tolist() for x in b.ranks]
        labels = [[t.tolist() for axis in cells.axes for t in axis.labels] for cells in (a, b)]
        assert labels[0] == labels[1]
        assert a.count.tolist() == b.count.tolist()
        assert a.cell_key.tobytes() == b.cell_key.tobytes()
        assert a.key_range == b.key_range
        for x, y in ((a.weight, b.weight), (a.weighted_count, b.weighted_count)):
            assert (x is None) == (y is None)
            assert x is None or x.tobytes() == y.tobytes()
        assert (a.sketch is None) == (b.sketch is None)
        for name in SKETCH if a.sketch is not None else ():
            assert getattr(a.sketch, name).tolist() == getattr(b.sketch, name).tolist()
        _require_same_amounts(a.magnitudes or {}, b.magnitudes or {})


def _require_same_amounts(
    ours: Mapping[str, Magnitudes], theirs: Mapping[str, Magnitudes]
) -> None:
    assert list(ours) == list(theirs)
    for name, mine in ours.items():
        assert math.isclose(mine.variation, theirs[name].variation, rel_tol=1e-9)
        for part in AMOUNTS:
            x, y = getattr(mine, part), getattr(theirs[name], part)
            assert x.dtype == y.dtype, (name, part)
            assert x.tobytes() == y.tobytes(), (name, part)
