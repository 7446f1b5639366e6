"""The lists of pages in the two manifests of a release, when pages are made again.

The public manifest lists the public pages; the internal one lists all pages and the public
manifest itself. The internal one is written first: if the program is killed in between, the
public one follows from it, and is accepted and brought up to date by the next run.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ckm.release.files.manifest import manifest_text
from ckm.release.pages.report_pages import FILES, Edition
from footing.serialisation import plain_fields
from reports.facts.release import FileFact

_MANIFEST = "manifest.json"


def renewed_manifests(
    folder: Path, manifest: Mapping[str, Any], *, edition: Edition, pages: Mapping[str, str]
) -> dict[Path, str]:
    """Give the manifests of a release as they are to be once some pages are written."""
    records = [_record(name, text) for name, text in pages.items()]
    internal = dict(manifest)
    if edition == "internal":
        internal["report"] = _merged(manifest.get("report", ()), records)
        return {folder / "internal" / _MANIFEST: manifest_text(internal)}
    path = folder / "public" / _MANIFEST
    entries = _merged(manifest["public"], records)
    public = _listing(json.loads(path.read_bytes()), entries)
    internal["public"] = _merged(entries, [_record(_MANIFEST, public)])
    return {folder / "internal" / _MANIFEST: manifest_text(internal), path: public}


def follows_from(manifest: Mapping[str, Any], text: bytes) -> bool:
    """Tell whether a public manifest is the listed one but for its list of pages."""
    digests = {file["file"]: file["sha256"] for file in manifest["public"]}
    try:
        content = json.loads(text)
        renewed = _listing(content, manifest["public"])
        if manifest_text(content).encode() != text:
            return False  # not as we write it
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return hashlib.sha256(renewed.encode()).hexdigest() == digests.get(_MANIFEST)


def _listing(public: dict[str, Any], entries: Iterable[Mapping[str, Any]]) -> str:
    """Put the pages that the internal manifest lists into the public one."""
    pages = [dict(file) for file in entries if file["file"] in FILES["public"]]
    return manifest_text({**public, "report": _merged(public["report"], pages)})


def _merged(
    old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Replace entries where they stand; added ones go where their names belong."""
    entries = {file["file"]: dict(file) for file in old}
    is_longer = any(file["file"] not in entries for file in new)
    entries |= {file["file"]: dict(file) for file in new}
    return [entries[name] for name in (sorted(entries) if is_longer else entries)]


def _record(name: str, text: str) -> dict[str, Any]:
    raw = text.encode()
    digest = hashlib.sha256(raw).hexdigest()
    return plain_fields(FileFact(file=name, bytes=len(raw), sha256=digest))
