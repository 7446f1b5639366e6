"""The two manifests of a release, one for everybody, one for the office, and what they list."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ckm import __version__
from footing.data_files import read_data
from reports.facts.release import FileFact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ckm.engine.magnitudes import MagnitudeNoise
    from ckm.engine.published_table import PublishedTable
    from ptable import PTable

KIND = "ckm-release"
SUPPRESSION_KIND = "ckm-suppression"
ROUNDING_KIND = "ckm-rounding"
RELEASE_KINDS = frozenset({KIND, SUPPRESSION_KIND, ROUNDING_KIND})
_CHUNK = 1 << 22
METHODS = read_data("ckm.release", "methods.toml")


#: The p-tables of a sum.
_PTABLES = ("ptable", "even", "odd", "small_cells")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecord:
    """A published table: its files, its columns, and what it took."""

    name: str
    title: str | Mapping[str, str] | None
    rows: int
    columns: tuple[tuple[str, str, str], ...]
    files: tuple[FileFact, ...]
    seconds: float


def record_file(
    path: Path, *, name: str, progress: Callable[[int], None] | None = None
) -> FileFact:
    """Hash a file in pieces; it need not fit into memory."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
            size += len(piece)
            if progress is not None:
                progress(len(piece))
    return FileFact(file=name, bytes=size, sha256=digest.hexdigest())


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
        of_published = ": published sum over published count, none where that is 0"
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
    method: str = "noise",
) -> dict[str, Any]:
    """Return what anybody may know: the tables, their columns, the method in words.

    No parameter of the noise, no key, no time, nothing about the input.
    """
    return {
        "kind": KIND,
        "schema": 1,
        "title": title,
        "engine": {"name": "ckm", "version": __version__},
        "method": [
            *METHODS[method],
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
                "rows": table.rows,
                "columns": [
                    {"name": name, "type": kind, "description": words}
                    for name, kind, words in table.columns
                ],
                "files": [asdict(file) for file in table.files],
            }
            for table in tables
        ],
        "report": [asdict(file) for file in report],
    }


def _has_sums(tables: Sequence[TableRecord]) -> bool:
    return any(
        words.startswith(("Sum of", "Mean of")) and kind == "number"
        for table in tables
        for _, kind, words in table.columns
    )


def manifest_text(manifest: Mapping[str, Any]) -> str:
    r"""Return a manifest as JSON, for people to read."""
    return json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write a manifest as JSON, in UTF-8, for people to read."""
    path.write_bytes(manifest_text(manifest).encode())


def write_ptable(path: Path, ptable: PTable) -> dict[str, Any]:
    """Write a p-table, and tell what it is."""
    ptable.write(path)
    return {
        "id": ptable.id,
        "file": asdict(record_file(path, name=path.name)),
        "certificate": ptable.certificate.summary() if ptable.certificate else None,
    }


def write_amount_ptables(
    folder: Path, noises: Mapping[str, MagnitudeNoise]
) -> list[dict[str, Any]]:
    """Write each p-table once, and tell which variable has which."""
    written: dict[str, dict[str, Any]] = {}
    found = []
    for variable, noise in noises.items():
        used = {}
        for field in _PTABLES:
            ptable = getattr(noise, field)
            if ptable is None:
                continue
            if ptable.id not in written:
                path = folder / f"pt-amounts-{len(written) + 1}.parquet"
                written[ptable.id] = write_ptable(path, ptable)
            used[field] = written[ptable.id]
        found.append({"variable": variable, "rules": noise.rules, "ptables": used})
    return found
