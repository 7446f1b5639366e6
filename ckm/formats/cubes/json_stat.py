"""JSON-stat 2.0: a cube, its measures in a dimension of their own, `ContentsCode`, as in PxWeb.

A suppressed cell has the value null and the status Q. A cell that the table does not list has
no status: it is null where most of the cube is full, and left out of the object of values
where most of it is empty. Readers that keep the order of that object keep the rows' order.

Withheld categories stand in ``extension.blocked``, totals in each dimension's
``extension.eliminationValueCode``, columns of a hierarchy in its ``extension.columns``.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout
from ckm.formats.content import free_name, hidden, shown
from ckm.formats.cubes.cube import Axis, Cube, cube_of
from ckm.formats.cubes.number_texts import NumberTexts, joined_texts, runs_of
from footing.messages import Message

CONTENTS = "ContentsCode"
SUPPRESSED = "Q"

_CHUNK = 1 << 16
_MAX_DECIMALS = 15


def write_json_stat(
    table: PublishedTable,
    stream: IO[bytes],
    about: TableAbout,
    *,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write a table as JSON-stat, with what else the document says of it."""
    cube = cube_of(table, about, what="JSON-stat")
    names = list(table.measures)
    contents = free_name(CONTENTS, [axis.name for axis in cube.axes])
    has_status = any(hidden(values).any() for values in table.measures.values())
    is_full = 2 * table.n_rows >= cube.size and bool((np.diff(cube.place) > 0).all())
    runs = runs_of(list(table.measures.values()))
    if runs is None:
        decimals = {name: _decimals(values) for name, values in table.measures.items()}
    else:
        counted = chain.from_iterable(run.decimals for run in runs)
        decimals = dict(zip(names, counted, strict=True))
    own = _head(cube, table, contents, decimals, has_status=has_status)
    stream.write(_dumps(merged(own, more or {}))[:-1].encode())
    stream.write(b',"value":' + (b"[" if is_full else b"{"))
    if is_full and table.n_rows == cube.size and runs is not None:
        _write_digits(stream, runs, table.n_rows)
    else:
        _write_numbers(stream, table, cube, is_full=is_full)
    stream.write(b"]" if is_full else b"}")
    if has_status:
        masks = [hidden(values) for values in table.measures.values()]
        places = _places(cube, len(names))[np.stack(masks, axis=1).ravel()]
        status = _dumps({str(place): SUPPRESSED for place in places.tolist()})
        stream.write(b',"status":' + status.encode())
    stream.write(b"}\n")


def _places(cube: Cube, n_measures: int) -> NDArray[np.int64]:
    """Return where each number stands, measures side by side."""
    places: NDArray[np.int64] = cube.place[:, None] * n_measures + np.arange(n_measures)
    return places.ravel()


def _write_numbers(
    stream: IO[bytes], table: PublishedTable, cube: Cube, *, is_full: bool
) -> None:
    """Write numbers one by one, null for missing cells, or pairs of a place and a number."""
    places, texts = _places(cube, len(table.measures)), _numbers(table)
    if is_full:
        full: NDArray[Any] = np.full(cube.size * len(table.measures), "null", object)
        full[places] = texts
        _write_joined(stream, full)
    else:
        pairs = zip(places.tolist(), texts, strict=True)
        _write_joined(stream, [f'"{place}":{text}' for place, text in pairs])


def merged(document: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Put more into a document: into its objects by name, behind its lists."""
    content = dict(document)
    for name, value in more.items():
        own = content.get(name)
        if isinstance(own, Mapping) and isinstance(value, Mapping):
            content[name] = merged(own, value)
        elif isinstance(own, list) and isinstance(value, list):
            content[name] = [*own, *value]
        else:
            content[name] = value
    return content


def _numbers(table: PublishedTable) -> NDArray[Any]:
    """Return every number as JSON writes it, measures side by side, null for suppressed."""
    texts = np.empty((table.n_rows, len(table.measures)), object)
    for column, values in enumerate(table.measures.values()):
        texts[:, column] = [repr(number) for number in shown(values).tolist()]
        texts[hidden(values), column] = "null"
    return texts.ravel()


def _write_digits(stream: IO[bytes], runs: Sequence[NumberTexts], n_rows: int) -> None:
    for start in range(0, n_rows, _CHUNK):
        stream.write(b"," if start else b"")
        stream.write(joined_texts(runs, slice(start, start + _CHUNK)))


def _write_joined(stream: IO[bytes], texts: Sequence[str] | NDArray[Any]) -> None:
    for start in range(0, len(texts), _CHUNK):
        stream.write(b"," if start else b"")
        stream.write(",".join(texts[start : start + _CHUNK]).encode())


def _dumps(document: Any) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _head(
    cube: Cube,
    table: PublishedTable,
    contents: str,
    decimals: Mapping[str, int],
    *,
    has_status: bool,
) -> dict[str, Any]:
    """Return all but the numbers."""
    about = cube.about
    document: dict[str, Any] = {"version": "2.0", "class": "dataset"}
    document |= {"label": about.title} if about.title else {}
    document |= {"source": about.source} if about.source else {}
    document |= {"updated": _updated(about)} if about.updated else {}
    document |= {"note": list(about.notes)} if about.notes else {}
    names = [axis.name for axis in cube.axes]
    document["id"] = [*names, contents]
    document["size"] = [*cube.shape, len(table.measures)]
    document["role"] = _roles(cube, contents)
    document["dimension"] = {
        **{axis.name: _dimension(axis, about) for axis in cube.axes},
        contents: _contents(table, about, decimals),
    }
    document["extension"] = _extension(about, has_status=has_status)
    return document


def _updated(about: TableAbout) -> str:
    when = about.updated
    if when is None or not 1900 <= when.year < 2100:
        raise FormatError(Message("JSON-stat holds dates of the years 1900 to 2099."))
    return when.isoformat()


def _roles(cube: Cube, contents: str) -> dict[str, list[str]]:
    roles = {"metric": [contents]}
    about = cube.about
    for role, column in (("geo", about.geography), ("time", about.time)):
        names = [a.name for a in cube.axes if column and column in (a.name, *a.columns)]
        roles |= {role: names} if names else {}
    return roles


def _dimension(axis: Axis, about: TableAbout) -> dict[str, Any]:
    category = category_of({text: axis.labels.get(text, text) for text in axis.ids})
    if axis.children:
        category["child"] = {node: list(below) for node, below in axis.children.items()}
    extension: dict[str, Any] = {}
    if len(axis.columns) > 1:
        extension["columns"] = list(axis.columns)
        labels = {c: about.labels[c] for c in axis.columns if c in about.labels}
        extension |= {"columnLabels": labels} if labels else {}
    total = elimination(axis, about)
    if total is not None:
        extension |= {"elimination": True, "eliminationValueCode": total}
    dimension = {"label": about.labels.get(axis.name, axis.name), "category": category}
    return dimension | ({"extension": extension} if extension else {})


def elimination(axis: Axis, about: TableAbout) -> str | None:
    """Return the category that stands for all others of an axis."""
    if len(axis.columns) == 1:
        return about.totals.get(axis.name)
    totals = {about.totals.get(column) for column in axis.columns}
    return axis.total if totals == {axis.total} else None


def _contents(
    table: PublishedTable, about: TableAbout, decimals: Mapping[str, int]
) -> dict[str, Any]:
    units: dict[str, dict[str, Any]] = {}
    for name in table.measures:
        unit = about.units.get(name, about.unit)
        units[name] = {"label": unit} if unit else {}
        units[name]["decimals"] = max(decimals[name], about.decimals.get(name, 0))
    return {
        "label": CONTENTS,
        "category": {
            **category_of({name: about.labels.get(name, name) for name in table.measures}),
            "unit": units,
        },
    }


def category_of(labels: Mapping[str, str]) -> dict[str, Any]:
    """Return the places and labels of categories, as clients of PxWebApi 2 read them."""
    return {"index": {text: place for place, text in enumerate(labels)}, "label": dict(labels)}


def _decimals(values: NDArray[Any]) -> int:
    """Return how many decimals the numbers have, 1 where decimal numbers are all hidden."""
    if values.dtype == np.int64:
        return 0
    texts = [repr(number) for number in np.unique(shown(values)[~hidden(values)]).tolist()]
    if not texts:
        return 1
    if any("e" in text for text in texts):
        return _MAX_DECIMALS
    lengths = [len(text) - 1 - text.index(".") for text in texts if not text.endswith(".0")]
    return min(max(lengths, default=0), _MAX_DECIMALS)


def _extension(about: TableAbout, *, has_status: bool) -> dict[str, Any]:
    px = {"language": about.language, "aggregallowed": False}
    extension: dict[str, Any] = {"px": ({"tableid": about.id} if about.id else {}) | px}
    extension |= {"contact": [{"raw": about.contact}]} if about.contact else {}
    if has_status:
        extension["status"] = {"label": {SUPPRESSED: about.suppressed_label}}
    if about.withheld:
        extension["blocked"] = {
            "label": about.withheld_label,
            "category": {column: list(areas) for column, areas in about.withheld.items()},
        }
    return extension
