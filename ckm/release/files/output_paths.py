"""Where a release may be put: not over foreign files, nor over what the job reads."""

from __future__ import annotations

import glob
import json
import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.errors import ReleaseError
from ckm.release.files.manifest import KIND, SUPPRESSION_KIND
from ckm.release.files.table_files import files_of
from ckm.release.pages.report_pages import FILES, is_draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckm.config.job.job import Job


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace a folder that is not a release of ours, or holds files of others."""
    try:
        manifest = json.loads((folder / "internal" / "manifest.json").read_bytes())
        ours = {"public/manifest.json", "internal/manifest.json", "internal/job.toml"}
        ours |= {"internal/pt.parquet", *(f"public/{f['file']}" for f in manifest["public"])}
        ours |= {f"{place}/{name}" for place, names in FILES.items() for name in names}
        ours |= {f"internal/{name}" for name in _inside(manifest)}
        is_release = manifest["kind"] in {KIND, SUPPRESSION_KIND}
    except (OSError, ValueError, KeyError, TypeError):
        is_release, ours = False, set()
    if not is_release:
        raise ReleaseError(
            f"The folder {folder.name!r} is not a release of ckm; --force does not replace it.",
            hint="choose another folder, or remove this one yourself",
        )
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not is_draft(path.name)
    }
    if others := sorted(found - ours):
        shown = ", ".join(map(repr, others[:5])) + (", …" if len(others) > 5 else "")
        raise ReleaseError(
            f"The folder {folder.name!r} also holds {shown}; --force would remove them.",
            hint="move these files away, or choose another folder",
        )


def _inside(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Name the other internal files of a release: p-tables of amounts, audits, figures."""
    for file in manifest.get("inside", ()):
        yield file["file"]
    for amount in manifest.get("amounts", ()):
        for table in amount["ptables"].values():
            yield table["file"]["file"]


def refuse_overlap(job: Job, target: Path) -> None:
    """Refuse an output that holds an input, or that a glob of the data would read back."""
    inputs = [job.path, *job.input_files()]
    inputs += [path for path in (job.keys.secret, job.report.designs) if path is not None]
    if job.ledger is not None and isinstance(job.ledger.target, Path):
        inputs.append(job.ledger.target)
    for path in inputs:
        if Path(os.path.realpath(path)).is_relative_to(target):
            raise ReleaseError(
                f"The output {target.name!r} holds {path.name!r}, which the job reads.",
                hint="choose a folder of its own for the output",
            )
    pattern = str(job.data.path)
    names = [name for _, _, names in files_of("table", job.output) for name in names]
    written = (target / "public" / name for name in names)
    if glob.has_magic(pattern) and any(is_matched(path, pattern) for path in written):
        raise ReleaseError(
            f"The output {target.name!r} would be read as data by the next release.",
            hint="choose a folder that the pattern of [data] path does not reach",
        )


def is_matched(path: Path, pattern: str) -> bool:
    """Tell whether a path matches a glob pattern, in which ``**`` stands for any folders."""

    def fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
        if not patterns:
            return not parts
        if patterns[0] == "**":
            return any(fits(parts[i:], patterns[1:]) for i in range(len(parts) + 1))
        return (
            bool(parts) and fnmatchcase(parts[0], patterns[0]) and fits(parts[1:], patterns[1:])
        )

    return fits(path.parts, Path(os.path.normpath(pattern)).parts)
