"""A claim on the folder that workers write into, before anything is started for it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ckm.errors import ReleaseError
from footing.messages import Argument, Message, said

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Spark passes over names that begin so.
_CLAIM = "_ckm_claim"
_DISK = "file://"


@contextlib.contextmanager
def claimed_folder(place: str | None, name: str) -> Iterator[None]:
    """Hold a folder of a disk for the time of a block; one on a store is looked at by Spark.

    Parameters
    ----------
    place
        Where workers write, as the job names it; None where they write nothing.
    name
        The name of the release, which is that of the folder.

    Raises
    ------
    ReleaseError
        If another run holds the folder, there is a table in it, or it cannot be made.
    """
    if place is None or not place.lower().startswith(_DISK):
        yield
        return
    folder = Path(place[len(_DISK) :]) / name
    claim = folder / _CLAIM
    _take(folder, claim, shown=f"{place}/{name}")
    try:
        yield
    finally:
        claim.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # there are tables in it
            folder.rmdir()


def written_folder(folder: str) -> ReleaseError:
    """Return the error for a folder in which something lies."""
    return ReleaseError(
        Message(
            "There are files in {folder!r}, where workers are to write the tables.",
            folder=Argument(folder),
        ),
        hint=Message(
            "remove them if a failed run left them, or choose another name for the output"
        ),
    )


def _take(folder: Path, claim: Path, *, shown: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        is_written = _is_written(folder, claim)
    except FileExistsError:
        raise ReleaseError(
            Message(
                "Another run writes into {folder!r}, or one was killed there.",
                folder=Argument(shown),
            ),
            hint=Message("wait for it; where none runs, remove the folder"),
        ) from None
    except OSError as error:
        raise ReleaseError(
            Message(
                "The folder {folder!r} cannot be made: {reason}.",
                folder=Argument(shown),
                reason=said(error.strerror or ""),
            ),
            hint=Message("look at names and rights"),
        ) from None
    if is_written:
        claim.unlink()
        raise written_folder(shown)


def _is_written(folder: Path, claim: Path) -> bool:
    """Look for tables in a folder; one that cannot be looked into is claimed no longer."""
    try:
        tables = [path for path in folder.iterdir() if path.name[0] not in "._"]
        return any(path.is_file() or any(path.iterdir()) for path in tables)
    except OSError:
        claim.unlink(missing_ok=True)
        raise
