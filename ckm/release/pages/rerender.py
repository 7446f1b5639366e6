"""Make the pages of a release again, from what it keeps of its numbers.

Neither the microdata nor the secret are needed. Before anything is made, the files of the
release must be those that were released.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import quote

from ckm.errors import CheckFailedError, ReleaseError
from ckm.methods.internal_files import record_file
from ckm.release.files.manifest import KIND
from ckm.release.files.output_folder import only_writer, resolve_target
from ckm.release.opening import RELEASE_KINDS
from ckm.release.pages.manifest_pages import follows_from, renewed_manifests
from ckm.release.pages.report_pages import (
    EDITIONS,
    FILES,
    LANGUAGES,
    NUMBERS,
    Edition,
    LeakCheck,
    hidden_texts,
    is_draft,
    make_pages,
    page_name,
    place_of,
)
from footing.drafts import is_draft as has_own_lock
from footing.drafts import remove_abandoned
from footing.files import write_whole
from footing.messages import Argument, Message, Name
from reports import Report

_MAX_SHOWN = 5
_PAPERS = frozenset({".csv", ".docx", ".htm", ".md", ".odt", ".pdf", ".svg", ".txt"})
_LOCAL_LINK = re.compile(r'<a href="\./[^"]*"[^>]*>(.*?)</a>', re.DOTALL)
_PAGES = {*FILES["public"], *FILES["internal"]} - {NUMBERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A file of a report, and what became of it."""

    path: Path
    state: Literal["written", "unchanged", "would be written"]


def remake_report(
    folder: Path | str,
    *,
    edition: Edition = "public",
    languages: Sequence[str] = (),
    output: Path | str | None = None,
    force: bool = False,
    dry_run: bool = False,
    full: bool = False,
) -> tuple[Page, ...]:
    """Make the pages of a release again; in full with the long lists."""
    place = Path(folder)
    codes, where = tuple(dict.fromkeys(languages)), None if output is None else Path(output)
    make = partial(_plan, place, edition, codes, where, force=force, is_full=full)
    plan = make()
    if dry_run or plan.is_done:
        return tuple(_page(path, text) for path, text in plan.pages.items())
    if where is not None:
        return _carry_out(plan, edition)
    with only_writer(resolve_target(place)):
        # Another process may have written since.
        plan = make()
        _clear_drafts(place)
        return _carry_out(plan, edition)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PagePlan:
    """Files and what they are to hold; pages first, the manifests in the order of writing."""

    pages: dict[Path, str]
    manifests: dict[Path, str]

    @property
    def is_done(self) -> bool:
        return all(_holds(path, text) for path, text in (self.pages | self.manifests).items())


def _plan(
    place: Path,
    edition: Edition,
    languages: Sequence[str],
    output: Path | None,
    *,
    force: bool,
    is_full: bool,
) -> _PagePlan:
    """Look at the release, and make its pages."""
    from ckm.release.pages.numbers import read_facts

    manifest = _read_manifest(place)
    _require_unchanged(place, manifest)
    facts = read_facts(place / "internal" / NUMBERS)
    there = _languages(manifest, edition)
    own_languages = languages or there
    leaks = LeakCheck(facts.public(), hidden=hidden_texts(facts))
    linked = [
        code
        for code in LANGUAGES
        if code in own_languages or (output is None and code in there)
    ]
    pages = make_pages(
        facts,
        edition=edition,
        languages=own_languages,
        leaks=leaks,
        linked=linked,
        is_full=is_full,
    )
    targets = _targets(place, edition, pages, output)
    _require_free(targets, force=force)
    if output is not None:
        return _PagePlan(pages=targets, manifests={})
    texts = {path.name: text for path, text in targets.items()}
    manifests = renewed_manifests(place, manifest, edition=edition, pages=texts)
    return _PagePlan(pages=targets, manifests=manifests)


def _page(path: Path, text: str) -> Page:
    return Page(path=path, state="unchanged" if _holds(path, text) else "would be written")


def _carry_out(plan: _PagePlan, edition: Edition) -> tuple[Page, ...]:
    """Write what differs, each file in one step."""
    is_private = edition == "internal"
    done = [_write(path, text, is_private=is_private) for path, text in plan.pages.items()]
    for path, text in plan.manifests.items():
        _write(path, text, is_private=path.parent.name == "internal")
    return tuple(done)


def _clear_drafts(folder: Path) -> None:
    """Clear up after runs that were killed; we hold the lock, so none of them lives."""
    for edition in EDITIONS:
        place = place_of(folder, edition)
        remove_abandoned(place)
        for path in place.iterdir():
            if is_draft(path.name) and not has_own_lock(path.name):
                path.unlink()


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Return the internal manifest of a release."""
    try:
        raw = (folder / "internal" / "manifest.json").read_bytes()
        manifest = json.loads(raw, parse_constant=_refuse)
        files = [*manifest["public"], *manifest.get("report", ())]
        plain = all(
            Path(file["file"]).name == file["file"] and isinstance(file["sha256"], str)
            for file in files
        )
        is_release = plain and manifest["kind"] in RELEASE_KINDS
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        is_release = False
    if not is_release:
        raise ReleaseError(
            Message("The folder {folder!r} is not a release of ckm.", folder=Name(folder.name)),
            hint=Message(
                "name the folder that 'ckm release' made, with public/ and internal/ in it"
            ),
        )
    if manifest["kind"] != KIND:
        raise ReleaseError(
            Message(
                "The report of {folder!r} cannot be made again: only that of a release with "
                "noise can.",
                folder=Name(folder.name),
            ),
            hint=Message("its tables lie in public/, and their original numbers in internal/"),
        )
    content: dict[str, Any] = manifest
    return content


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _require_unchanged(folder: Path, manifest: dict[str, Any]) -> None:
    """Compare the files with the manifest; pages are looked at when they are made."""
    files = [("public", file) for file in manifest["public"]]
    files += [("internal", file) for file in manifest.get("report", ())]
    _require_same(folder, manifest, [one for one in files if one[1]["file"] not in _PAGES])


def _require_same(
    folder: Path, manifest: dict[str, Any], files: Sequence[tuple[str, Any]]
) -> None:
    off = []
    for part, file in files:
        try:
            record = record_file(folder / part / file["file"], name=file["file"])
        except OSError:
            off.append(
                Message("{part}/{file} (missing)", part=Name(part), file=Name(file["file"]))
            )
            continue
        if record.sha256 == file["sha256"]:
            continue
        path = folder / part / file["file"]
        is_manifest = (part, path.name) == ("public", "manifest.json")
        if not (is_manifest and follows_from(manifest, path.read_bytes())):
            off.append(
                Message("{part}/{file} (changed)", part=Name(part), file=Name(file["file"]))
            )
    if off:
        listing = [*off[:_MAX_SHOWN], *[Message("…")] * (len(off) > _MAX_SHOWN)]
        raise CheckFailedError(
            Message(
                "Files of the release are not those that were released: {files}.", files=listing
            ),
            hint=Message("put the released files back, or make the release again"),
        )


def require_released(folder: Path, internal: Sequence[str], public: Sequence[str]) -> None:
    """Raise where files of a release, as far as they are there, are not those released.

    Raises
    ------
    ReleaseError, CheckFailedError
        If the folder is no release, or a file is not what its manifest says.
    """
    manifest = _read_manifest(folder)
    inside = [manifest.get("job", {}), manifest.get("ptable", {}).get("file", {})]
    names = [("public", name) for name in public] + [("internal", name) for name in internal]
    files = [("public", file) for file in manifest["public"]]
    files += [("internal", file) for file in inside if "sha256" in file]
    _require_same(
        folder,
        manifest,
        [
            (part, file)
            for part, file in files
            if (part, file["file"]) in names and (folder / part / file["file"]).exists()
        ],
    )


def _languages(manifest: dict[str, Any], edition: Edition) -> tuple[str, ...]:
    files = manifest["public"] if edition == "public" else manifest.get("report", ())
    names = {file["file"] for file in files}
    codes = tuple(code for code in LANGUAGES if page_name(edition, code) in names)
    return codes or LANGUAGES


def _lies_in(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)


def _targets(
    folder: Path, edition: Edition, pages: dict[str, Report], output: Path | None
) -> dict[Path, str]:
    """Tell what goes into which file."""
    texts = {name: page.html for name, page in pages.items()}
    if output is None:
        return {place_of(folder, edition) / name: text for name, text in texts.items()}
    suffix = output.suffix.lower()
    public = Path(os.path.realpath(place_of(folder, "public")))
    if edition == "internal" and _lies_in(output, public):
        raise ReleaseError(
            Message("The internal edition does not go into public/: it shows original counts."),
            hint=Message("choose another place, or make the public edition"),
        )
    # Tables are linked from the folder of the page, wherever that is.
    base = output.parent if suffix == ".html" else output
    way = quote(Path(os.path.relpath(public, os.path.realpath(base))).as_posix())
    if suffix == ".html" and edition == "public" and not _lies_in(output, public):
        # One page to pass on: what it links to would not be there, and links tell of folders.
        texts = {name: _LOCAL_LINK.sub(r"\1", text) for name, text in texts.items()}
    texts = {name: text.replace('href="./', f'href="{way}/') for name, text in texts.items()}
    if suffix == ".json":
        (first, *_) = pages.values()
        return {output: first.to_json()}
    if suffix == ".html":
        if len(pages) > 1:
            raise ReleaseError(
                Message(
                    "{output!r} is one file, and there is a page in each of {number} "
                    "languages.",
                    output=Name(output.name),
                    number=len(pages),
                ),
                hint=Message("choose one with --lang, or give a folder"),
            )
        (only,) = texts.values()
        return {output: only}
    if output.is_file():
        raise ReleaseError(
            Message(
                "{output!r} is a file, but neither .html nor .json.",
                output=Name(output.name),
            ),
            hint=Message("give a folder, or a name that ends in .html"),
        )
    if suffix in _PAPERS and not output.is_dir():
        raise ReleaseError(
            Message(
                "A report is written to .html or .json, not {suffix!r}.",
                suffix=Argument(suffix),
            ),
            hint=Message("print the page to PDF in a browser"),
        )
    return {output / name: text for name, text in texts.items()}


def _require_free(targets: dict[Path, str], *, force: bool) -> None:
    """Refuse to replace a file that differs, before any is written."""
    for path, text in targets.items():
        if path.is_dir():
            raise ReleaseError(
                Message("{path!r} is a folder.", path=Name(path.name)),
                hint=Message("choose another name"),
            )
        if not force and path.exists() and not _holds(path, text):
            raise ReleaseError(
                Message(
                    "The file {path!r} exists and differs from the page of this version.",
                    path=Name(path.name),
                ),
                hint=Message("replace it with --force, or write elsewhere with -o"),
            )


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except FileNotFoundError:
        return False


def _write(path: Path, text: str, *, is_private: bool) -> Page:
    if _holds(path, text):
        return Page(path=path, state="unchanged")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text, is_private=is_private)
    return Page(path=path, state="written")
