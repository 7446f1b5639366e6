"""Files of a release that stay inside, and what the internal manifest says of each."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from footing.serialisation import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckm.engine.magnitudes import MagnitudeNoise
    from ptable import PTable
    from reports.facts.release import FileFact

_CHUNK = 1 << 22
#: The p-tables of a sum.
_PTABLES = ("ptable", "even", "odd", "small_cells")


def record_file(
    path: Path, *, name: str, progress: Callable[[int], None] | None = None
) -> FileFact:
    """Hash a file in pieces; it need not fit into memory."""
    from reports.facts.release import FileFact

    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
            size += len(piece)
            if progress is not None:
                progress(len(piece))
    return FileFact(file=name, bytes=size, sha256=digest.hexdigest())


def write_ptable(path: Path, ptable: PTable) -> dict[str, Any]:
    """Write a p-table, and tell what it is."""
    ptable.write(path)
    return {
        "id": ptable.id,
        "file": plain(record_file(path, name=path.name)),
        "certificate": ptable.certificate.summary() if ptable.certificate else None,
    }


def write_amount_ptables(
    folder: Path, noises: Mapping[str, MagnitudeNoise]
) -> list[dict[str, Any]]:
    """Write each p-table once, and tell which variable has which."""
    files: dict[str, dict[str, Any]] = {}
    records = []
    for variable, noise in noises.items():
        used = {}
        for field in _PTABLES:
            ptable = getattr(noise, field)
            if ptable is None:
                continue
            if ptable.id not in files:
                path = folder / f"pt-amounts-{len(files) + 1}.parquet"
                files[ptable.id] = write_ptable(path, ptable)
            used[field] = files[ptable.id]
        records.append({"variable": variable, "rules": noise.rules, "ptables": used})
    return records
