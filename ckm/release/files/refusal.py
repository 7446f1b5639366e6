"""The file that names the cells of a refusal, which no message does."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ckm.errors import CheckFailedError, ReleaseError
from footing.files import csv_text, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckm.errors import Places


@contextlib.contextmanager
def places_beside(target: Path, *, is_kept: bool) -> Iterator[None]:
    """Write the cells that a refusal is about beside the output, and name the file.

    Messages are logged and sent around; so the file, of mode 0600, names them alone. A
    rehearsal writes nothing.
    """
    from ckm.ledger import ThinDifferenceError

    try:
        yield
    except (CheckFailedError, ThinDifferenceError) as error:
        if error.places is not None and not is_kept:
            error.add_hint(hint="a release names them in a file, for inside use only")
        elif error.places is not None and (file := _write(error.places, target)):
            error.add_hint(hint=f"{file!r} beside the output names them, for inside use only")
        raise


def _write(places: Places, target: Path) -> str:
    """Return the name of the file; nothing if it cannot be written."""
    folder = next(folder for folder in target.parents if folder.is_dir())
    file = folder / f"{target.name}.refused.csv"
    try:
        text = csv_text((places.columns, *places.rows))
        write_whole(file, text, error=ReleaseError)
    except (OSError, ReleaseError):
        return ""
    return file.name
