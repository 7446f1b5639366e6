"""The p-tables of sums in the internal folder of a release, with their certificates."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ckm.release.files.manifest import record_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckm.engine.magnitudes import MagnitudeNoise

_FIELDS = ("ptable", "even", "odd", "small_cells")


def write_amount_ptables(
    folder: Path, noises: Mapping[str, MagnitudeNoise]
) -> list[dict[str, Any]]:
    """Write each p-table once, and tell which variable has which."""
    written: dict[str, dict[str, Any]] = {}
    found = []
    for variable, noise in noises.items():
        used = {}
        for field in _FIELDS:
            ptable = getattr(noise, field)
            if ptable is None:
                continue
            if ptable.id not in written:
                path = folder / f"pt-amounts-{len(written) + 1}.parquet"
                ptable.write(path)
                written[ptable.id] = {
                    "id": ptable.id,
                    "file": asdict(record_file(path, name=path.name)),
                    "certificate": ptable.certificate.summary() if ptable.certificate else None,
                }
            used[field] = written[ptable.id]
        found.append({"variable": variable, "rules": noise.rules, "ptables": used})
    return found
