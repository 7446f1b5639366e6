"""The two manifests of a release, one for everybody, one for the office, and what they list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.data_files import read_data
from footing.serialisation import document, plain
from footing.version import engine_version

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckm.engine.published_table import PublishedTable
    from reports.facts.release import FileFact, FirstRowsFact

KIND = "ckm-release"
METHODS = read_data("ckm.release", "methods.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecord:
    """A published table: its files, its columns, and what it took."""

    name: str
    title: str | Mapping[str, str] | None
    rows: int
    columns: tuple[tuple[str, str, str], ...]
    files: tuple[FileFact, ...]
    seconds: float
    first_rows: FirstRowsFact | None = None
    population: str | Mapping[str, str] = ""
    suppressed: int = 0


def describe_columns(
    table: PublishedTable,
    hierarchies: Mapping[str, object],
    *,
    derivations: Mapping[str, str] | None = None,
    total_label: str = "Total",
    is_original: bool = False,
) -> tuple[tuple[str, str, str], ...]:
    """Put the columns of a published table into words."""
    levels = {
        column: f"Level {number} of {len(columns)} of {name!r}, from broad to fine"
        for name, columns in hierarchies.items()
        if isinstance(columns, list)
        for number, column in enumerate(columns, start=1)
    }
    protection = "the original number; none where suppressed" if is_original else "protected"
    described = []
    for name in table.dimensions:
        words = levels.get(name, f"Category of {name!r}")
        if isinstance(hierarchies.get(name, []), list):
            words += f"; {total_label!r} where the row is a total over it."
        else:
            words = f"Code of the tree of {name!r}; its top code is the total."
        words = " ".join([words, *filter(None, [(derivations or {}).get(name)])])
        described.append((name, "text", words))
    for name, values in table.measures.items():
        kind = "number" if values.dtype.kind == "f" else "integer"
        words = _measure_words(name, is_original=is_original)
        described.append((name, kind, f"{words}, {protection}."))
    return tuple(described)


def _measure_words(name: str, *, is_original: bool) -> str:
    statistic, _, variable = name.partition("_")
    if statistic == "sum" and variable:
        return f"Sum of {variable!r}"
    if statistic == "mean" and variable:
        of_published = (
            ": published sum over published count, weighted where records have weights; none "
            "where the published number of records is too small"
        )
        return f"Mean of {variable!r}" + ("" if is_original else of_published)
    if statistic == "median" and variable:
        return f"Median of {variable!r}"
    if statistic == "quantile" and variable:
        column, _, percent = variable.rpartition("_")
        return f"Quantile of {column!r} at {percent} %"
    return "Weighted number of units" if statistic == "weighted" else "Number of units"


def public_manifest(
    tables: Sequence[TableRecord],
    *,
    title: str | Mapping[str, str] | None,
    report: Sequence[FileFact] = (),
    method: str | Sequence[str] = "noise",
) -> dict[str, Any]:
    """Return what anybody may know: the tables, their columns, the method in words.

    No parameter of the noise, no key, no time, nothing about the input.
    """
    return {
        "kind": KIND,
        "schema": 1,
        "title": title,
        "engine": {"name": "ckm", "version": engine_version()},
        "method": [
            *(METHODS[method] if isinstance(method, str) else method),
            *(
                METHODS["amounts"]
                if method in ("noise", "positive") and _has_sums(tables)
                else ()
            ),
        ],
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                **({"population": table.population} if table.population else {}),
                "rows": table.rows,
                "columns": [
                    {"name": name, "type": kind, "description": words}
                    for name, kind, words in table.columns
                ],
                "files": plain(table.files),
            }
            for table in tables
        ],
        "report": plain(report),
    }


def suppressed_rows(table: PublishedTable) -> int:
    """Count the rows of a table of original numbers of which some number is suppressed."""
    masks = [np.ma.getmaskarray(values) for values in table.measures.values()]
    return int(np.logical_or.reduce(masks).sum()) if masks else 0


def _has_sums(tables: Sequence[TableRecord]) -> bool:
    return any(
        words.startswith(("Sum of", "Mean of")) and kind == "number"
        for table in tables
        for _, kind, words in table.columns
    )


def manifest_text(manifest: Mapping[str, Any]) -> str:
    r"""Return a manifest as JSON, for people to read."""
    return document(manifest, indent=2)


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest as JSON, in UTF-8, for people to read."""
    path.write_bytes(manifest_text(manifest).encode())
