"""``ckm docs``: open the documentation of this version, from its archive."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message, Name
from footing.version import engine_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckm.cli.terminal.console import Terminal

_ABOUT = "ckm-docs.json"
_VERSION = re.compile(r"[0-9][\w.+-]{0,80}")
_DIGITS = 10
_MOST_FILES, _MOST_BYTES = 20_000, 400 << 20


@click.command(cls=Command)
@click.argument("archive", type=PATH, required=False, metavar="[ARCHIVE.zip]")
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@with_terminal
def docs(terminal: Terminal, /, *, archive: Path | None, no_browser: bool) -> int:
    """Open the documentation: tutorials, guides, every command, every key of a job.

    It lies in one file, ckm-engine-docs-VERSION.zip, beside the wheel of each version; make
    docs-archive makes it from the sources. The file is looked for here, in dist/ and in
    share/ckm/ of the installation, and unpacked into a folder for temporary copies
    (~/.cache/ckm, or CKM_CACHE); from then on ckm docs alone opens it. Nothing is fetched.

    Examples
    --------
    ckm docs
    ckm docs ckm-engine-docs-0.2.0.zip
    ckm docs --no-browser
    """
    place, version = _site_of(archive)
    if version != engine_version():
        terminal.warn(
            "other version",
            Message(
                "these pages are of version {version}, and this is {own}",
                version=Name(version),
                own=Name(engine_version()),
            ),
        )
    french = place / "fr" / "index.html"
    page = french if terminal.language == "fr" and french.is_file() else place / "index.html"
    click.echo(str(page))
    if not no_browser:
        import webbrowser

        webbrowser.open(page.as_uri())
    return 0


def _site_of(archive: Path | None) -> tuple[Path, str]:
    """Return the folder with the pages, and their version."""
    if archive is not None:
        return unpacked(archive)
    sites = {place: _version_in(place) for place in _folders()}
    own = [place for place, version in sites.items() if version == engine_version()]
    if own:
        return own[0], engine_version()
    files = [*_archives()]
    for file in sorted(files, key=lambda file: engine_version() not in file.name):
        return unpacked(file)
    for place, version in sites.items():
        return place, version
    raise click.UsageError(
        Message(
            "The pages are not on this machine. Get ckm-engine-docs-{version}.zip from where "
            "the wheel came from, then: ckm docs FILE.zip; from sources: make docs-archive. "
            "Without them: ckm --help, --help of each command, ckm schema job.",
            version=Name(engine_version()),
        )
    )


def _cache() -> Path:
    own = os.environ.get("CKM_CACHE") or os.environ.get("XDG_CACHE_HOME")
    return Path(own) / "ckm" / "docs" if own else Path.home() / ".cache" / "ckm" / "docs"


def _folders() -> Iterator[Path]:
    """Give the unpacked pages, the newest first."""
    try:
        places = sorted(_cache().iterdir(), key=lambda p: -p.stat().st_mtime)
    except OSError:
        return
    yield from (place for place in places if _version_in(place))


def _archives() -> Iterator[Path]:
    """Give the archives that lie in the usual places."""
    for folder in (Path(), Path("dist"), Path(sys.prefix) / "share" / "ckm"):
        yield from sorted(folder.glob("ckm-engine-docs-*.zip"), reverse=True)


def _version_in(place: Path) -> str:
    """Return the version of unpacked pages; empty if it is no folder of pages."""
    try:
        about = json.loads((place / _ABOUT).read_bytes())
        version = about["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else ""


def unpacked(archive: Path) -> tuple[Path, str]:
    """Unpack an archive of pages where it is not yet; return the folder and the version."""
    try:
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:_DIGITS]
        with zipfile.ZipFile(archive) as file:
            version = json.loads(file.read(_ABOUT))["version"]
            entries = _files_of(file)
            version = _VERSION.fullmatch(version)[0]  # type: ignore[index]
            place = _cache() / f"{version}-{digest}"
            if not _version_in(place):
                _unpack(file, entries, place)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile):
        raise _foreign(archive) from None
    return place, version


def _foreign(archive: Path) -> click.BadParameter:
    return click.BadParameter(
        Message(
            "{archive!r} is no archive of the pages of ckm, or cannot be unpacked.",
            archive=Name(archive.name),
        ),
        param_hint="ARCHIVE.zip",
    )


def _files_of(file: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive; refuse what is none, leaves the folder or is huge."""
    entries = [entry for entry in file.infolist() if not entry.is_dir()]
    size = sum(entry.file_size for entry in entries)
    if len(entries) > _MOST_FILES or size > _MOST_BYTES or not all(map(_is_plain, entries)):
        raise ValueError
    return entries


def _is_plain(entry: zipfile.ZipInfo) -> bool:
    """Tell whether a file of an archive is a file, and stays in the folder."""
    path, mode = PurePosixPath(entry.filename), entry.external_attr >> 16
    inside = not path.is_absolute() and ".." not in path.parts and "\\" not in entry.filename
    is_file = stat.S_IFMT(mode) in {0, stat.S_IFREG}
    return inside and ":" not in entry.filename and is_file


def _unpack(file: zipfile.ZipFile, entries: list[zipfile.ZipInfo], place: Path) -> None:
    """Unpack into a folder that appears complete or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=place.parent))
    try:
        for entry in entries:
            file.extract(entry, draft)
        if place.exists():
            shutil.rmtree(place)
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
