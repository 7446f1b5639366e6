"""The report of a release: its pages in both editions, and all their numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ckm.manifest import FileRecord, record_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reports.facts import ReleaseFacts

__all__ = ["ReportFiles", "write_report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """What was written of a report, in ``public/`` and in ``internal/``."""

    public: tuple[FileRecord, ...]
    internal: tuple[FileRecord, ...]


def write_report(facts: ReleaseFacts, folder: Path, *, languages: Sequence[str]) -> ReportFiles:
    """Write the report."""
    path = folder / "internal" / "report.json"
    path.write_text(facts_json(facts, edition="internal"), encoding="utf-8")
    public = folder / "public" / "report.json"
    public.write_text(facts_json(facts.public(), edition="public"), encoding="utf-8")
    return ReportFiles(
        public=(record_file(public, name="report.json"),),
        internal=(record_file(path, name="report.json"),),
    )


def facts_json(facts: Any, *, edition: str) -> str:
    """Give every number of a report as JSON."""
    content = {"edition": edition, **_plain(facts)}
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _plain(facts: Any) -> Any:
    if is_dataclass(facts):
        return {member.name: _plain(getattr(facts, member.name)) for member in fields(facts)}
    if isinstance(facts, Mapping):
        return {str(name): _plain(value) for name, value in facts.items()}
    if isinstance(facts, (tuple, list)):
        return [_plain(value) for value in facts]
    return facts
