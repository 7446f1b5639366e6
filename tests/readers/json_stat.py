"""Read JSON-stat 2.0: what this package writes, and plain datasets of others."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout, read_date
from ckm.formats.content import encoded, is_weighted, masked
from ckm.formats.cubes.cube import _SEPARATOR, MAX_CELLS, Axis, _total_of, _without

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


def read_json_stat(path: Path) -> tuple[PublishedTable, TableAbout]:
    """Read a table from a JSON-stat dataset.

    A cell without value and status is not in the table; one with a status is suppressed.
    """
    document = read_json(path, path.read_bytes())
    try:
        return _table(document), _about(document)
    except (
        AttributeError,
        IndexError,
        KeyError,
        OverflowError,
        TypeError,
        ValueError,
    ) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"The file {path.name!r} is no dataset of JSON-stat 2.0.") from None


def _table(document: Mapping[str, Any]) -> PublishedTable:
    names, sizes = list(document["id"]), [int(size) for size in document["size"]]
    metric = next(iter(document.get("role", {}).get("metric", [])), None)
    axes = [_axis(name, document["dimension"][name]) for name in names]
    if [len(axis.ids) for axis in axes] != sizes or len(set(names)) < len(names):
        raise ValueError
    if math.prod(sizes) > MAX_CELLS:
        raise FormatError(f"The cube has {math.prod(sizes):,} cells, more than {MAX_CELLS:,}.")
    place, values, mask = _cells(document, math.prod(sizes))
    if metric is None:
        measures: Sequence[str] = ["value"]
        which, row = np.zeros_like(place), place
    else:
        at = names.index(metric)
        measures = axes.pop(at).ids
        inner = math.prod(sizes[at + 1 :])
        which = place // inner % sizes[at]
        row = place // (inner * sizes[at]) * inner + place % inner
    rows, number = _by_appearance(row)
    whole = _whole(document, metric, measures)
    columns = {}
    for code, name in enumerate(measures):
        mine = which == code
        numbers = _numbers(values[mine], is_whole=whole.get(name))
        full = np.zeros(len(rows), numbers.dtype)
        is_hidden = np.ones(len(rows), bool)
        full[number[mine]] = numbers
        is_hidden[number[mine]] = mask[mine]
        columns[name] = masked(full, is_hidden)
    return table_of(axes, rows, columns)


def _axis(name: str, dimension: Mapping[str, Any]) -> Axis:
    category = dimension["category"]
    index, labels = category.get("index"), dict(category.get("label", {}))
    ids = list(labels) if index is None else list(index)
    if isinstance(index, dict):
        ids = sorted(index, key=index.__getitem__)
    columns = tuple(dimension.get("extension", {}).get("columns", ())) or (name,)
    return Axis(
        name=name,
        columns=columns,
        ids=ids,
        labels={text: label for text, label in labels.items() if label != text},
        children=category.get("child", {}) if len(columns) > 1 else {},
    )


def _cells(
    document: Mapping[str, Any], size: int
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[np.bool_]]:
    """Return the numbers of the cells that the table lists, their values, which are hidden."""
    value, status = document["value"], document.get("status")
    if isinstance(value, dict):
        place = np.fromiter((int(key) for key in value), np.int64, len(value))
        values = np.array([*value.values(), None], object)[:-1]
    else:
        place, values = np.arange(len(value)), np.array([*value, None], object)[:-1]
        if len(value) != size:
            raise ValueError
    if len(place) and not (place.min() >= 0 and place.max() < size):
        raise ValueError
    is_null = np.fromiter((entry is None for entry in values), bool, len(values))
    if isinstance(status, str):
        has_status = np.ones(len(place), bool)
    else:
        if isinstance(status, list):
            status = {str(p): text for p, text in enumerate(status) if text is not None}
        marked = np.fromiter((int(key) for key in status or {}), np.int64)
        has_status = np.isin(place, marked)
    kept = ~is_null | has_status
    return place[kept], values[kept], is_null[kept]


def _by_appearance(row: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct numbers in the order they appear, and each one's place there."""
    distinct, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[inverse]


def _whole(
    document: Mapping[str, Any], metric: str | None, measures: Sequence[str]
) -> dict[str, bool]:
    """Return which measures are known to be whole numbers, or known not to be."""
    if metric is None:
        return {}
    units = document["dimension"][metric]["category"].get("unit")
    if units is None:
        return {}
    return {
        name: units.get(name, {}).get("decimals", 0) == 0 and not is_weighted(name)
        for name in measures
    }


def _numbers(values: NDArray[Any], *, is_whole: bool | None) -> NDArray[Any]:
    present = [entry for entry in values.tolist() if entry is not None]
    if not all(type(entry) in {int, float} for entry in present):
        raise ValueError
    if present:
        is_whole = is_whole is not False and all(type(entry) is int for entry in present)
    filled = [0 if entry is None else entry for entry in values.tolist()]
    return np.array(filled, np.int64 if is_whole else np.float64)


def _about(document: Mapping[str, Any]) -> TableAbout:
    extension, role = document.get("extension", {}), document.get("role", {})
    metric = next(iter(role.get("metric", [])), None)
    labels: dict[str, str] = {}
    category_labels: dict[str, dict[str, str]] = {}
    totals: dict[str, str] = {}
    hierarchies = {}
    unit, units = "", dict[str, str]()
    for name in document["id"]:
        dimension = document["dimension"][name]
        own = dimension.get("extension", {})
        axis = _axis(name, dimension)
        if name == metric:
            labels |= axis.labels
            told = dimension["category"].get("unit", {})
            unit, units = own_units([(m, told.get(m, {}).get("label", "")) for m in axis.ids])
            continue
        if dimension.get("label", name) != name:
            labels[name] = dimension["label"]
        labels |= own.get("columnLabels", {})
        category_labels |= labels_of(axis)
        if "eliminationValueCode" in own:
            totals |= dict.fromkeys(axis.columns, own["eliminationValueCode"])
        if len(axis.columns) > 1:
            hierarchies[name] = list(axis.columns)
    blocked, px = extension.get("blocked", {}), extension.get("px", {})
    status = extension.get("status", {}).get("label", {})
    words = {"withheld_label": blocked.get("label"), "suppressed_label": status.get("Q")}
    return TableAbout(
        id=px.get("tableid", ""),
        title=document.get("label", ""),
        language=px.get("language", "en"),
        source=document.get("source", ""),
        contact=next((c.get("raw", "") for c in extension.get("contact", [])), ""),
        notes=document.get("note", []),
        labels=labels,
        category_labels=category_labels,
        unit=unit,
        units=units,
        updated=read_date(document["updated"]) if "updated" in document else None,
        geography=next(iter(role.get("geo", [])), ""),
        time=next(iter(role.get("time", [])), ""),
        totals=totals,
        hierarchies=hierarchies,
        withheld=blocked.get("category", {}),
        **{name: word for name, word in words.items() if word},
    )


def own_units(told: Sequence[tuple[str, str]]) -> tuple[str, dict[str, str]]:
    """Return the unit of the first measure, and those of measures that have another."""
    common = told[0][1] if told else ""
    return common, {name: unit for name, unit in told if unit != common}


def read_json(path: Path, data: bytes) -> Any:
    """Read JSON, or say that it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise FormatError(f"The file {path.name!r} is not JSON.") from None


def _unescape(code: str) -> str:
    return code.replace("~1", "/").replace("~0", "~")


def paths_of(axis: Axis) -> list[Path]:
    """Return the texts of an axis's columns for each of its categories."""
    width = len(axis.columns)
    if width == 1:
        return [(text,) for text in axis.ids]
    split = [tuple(map(_unescape, text.split(_SEPARATOR))) for text in axis.ids]
    if all(len(path) == width for path in split):
        return split
    above = {child: parent for parent, listed in axis.children.items() for child in listed}
    total, paths = axis.total, []
    for text in axis.ids:
        path: list[str] = []
        node = text
        while node != total:
            path.insert(0, node)
            if node not in above or len(path) > width:
                raise FormatError(f"The categories of {axis.name!r} are not those of a tree.")
            node = above[node]
        paths.append((*path, *[str(total)] * (width - len(path))))
    return paths


def table_of(
    axes: Sequence[Axis], place: NDArray[np.int64], measures: Mapping[str, NDArray[Any]]
) -> PublishedTable:
    """Turn a cube back into its table."""
    dimensions: dict[str, tuple[NDArray[np.int32], Sequence[str]]] = {}
    shape = [len(axis.ids) for axis in axes]
    codes = np.unravel_index(place, shape) if axes and len(place) else [place] * len(axes)
    for axis, code in zip(axes, codes, strict=True):
        if len(axis.columns) == 1:
            dimensions[axis.columns[0]] = (code.astype(np.int32), list(axis.ids))
            continue
        paths = paths_of(axis)
        for depth, column in enumerate(axis.columns):
            of_node, categories = encoded([path[depth] for path in paths])
            dimensions[column] = (of_node[code], categories)
    return PublishedTable(dimensions=dimensions, measures=measures)


def labels_of(axis: Axis) -> dict[str, dict[str, str]]:
    """Return the labels of an axis's columns: column → category → label."""
    if len(axis.columns) == 1:
        return {axis.columns[0]: dict(axis.labels)} if axis.labels else {}
    found: dict[str, dict[str, str]] = {}
    paths = paths_of(axis)
    total = _total_of(paths)
    for text, path in zip(axis.ids, paths, strict=True):
        label = axis.labels.get(text)
        if label is None:
            continue
        end = _without(path, total)
        column, code = (axis.columns[len(end) - 1], end[-1]) if end else (axis.columns[0], text)
        if label != code:
            found.setdefault(column, {})[code] = label
    return found
