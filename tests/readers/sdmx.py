"""Read SDMX-CSV 1.0 and 2.0, as `ckm.formats` writes it."""

from __future__ import annotations

import numpy as np

from ckm.engine.published_table import PublishedTable
from ckm.errors import FormatError
from ckm.formats.about import TableAbout
from ckm.formats.content import encoded, is_weighted, masked
from ckm.formats.csv_text import _start, read_texts

_SINGLE = "count"


def read_sdmx_csv(path):
    """Read a table from SDMX-CSV 1.0 or 2.0, as this package writes it.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FormatError
        If it is no such file.
    """
    names = [name for name, _ in _start(path)[0]]
    if names[:1] == ["DATAFLOW"]:
        start = 1
    elif names[:1] == ["STRUCTURE"]:
        start = 3
    else:
        raise FormatError(f"The file {path.name!r} is not SDMX-CSV.")
    if "OBS_VALUE" not in names:
        raise FormatError(f"The file {path.name!r} has no column OBS_VALUE.")
    dimensions = names[start : names.index("OBS_VALUE")]
    arrow = read_texts(path, names, dict.fromkeys(names, "text"))
    columns = {name: arrow[name].to_pylist() for name in names}
    which, measures = encoded(columns.get("MEASURE", [_SINGLE] * arrow.num_rows))
    measures = measures or [_SINGLE]
    width = len(measures)
    if "MEASURE" in dimensions:
        dimensions.remove("MEASURE")
    if arrow.num_rows % width or (which != np.arange(arrow.num_rows) % width).any():
        raise FormatError(f"The measures of {path.name!r} do not take turns.")
    flows = set(columns[names[start - 2 if start == 3 else 0]])
    said = next(iter(columns.get("COMMENT_DSET", [])), "")
    return PublishedTable(
        dimensions={name: encoded(columns[name][::width]) for name in dimensions},
        measures={
            name: _numbers(name, columns["OBS_VALUE"][at::width])
            for at, name in enumerate(measures)
        },
    ), TableAbout(dataflow=flows.pop() if len(flows) == 1 else "", notes=[said] if said else [])


def _numbers(name, texts):
    mask = np.array([text == "" for text in texts], bool)
    present = [text for text in texts if text]
    is_whole = not is_weighted(name) and not any("." in t or "e" in t for t in present)
    values = np.zeros(len(texts), np.int64 if is_whole else np.float64)
    try:
        values[~mask] = [(int if is_whole else float)(text) for text in present]
    except (ValueError, OverflowError):
        raise FormatError(f"Measure {name!r} holds texts where numbers are meant.") from None
    return masked(values, mask)
