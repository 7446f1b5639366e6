"""The file that names the cells of a refusal, which no message does."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from ckm.errors import CELL_COLUMNS, CheckFailedError, ReleaseError
from footing.files import csv_text, write_whole
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckm.errors import Places


@contextlib.contextmanager
def places_beside(target: Path, *, is_kept: bool) -> Iterator[None]:
    """Write the cells that a refusal is about beside the output, and name the file.

    Messages are logged and sent around; so the file, of mode 0600, names them alone. A
    rehearsal writes nothing. A run that is refused again replaces the file; once the output is
    there the question is settled, and the file goes, and so does the choice that a suppression
    was refused for.
    """
    from ckm.ledger import ThinDifferenceError

    folder = next(folder for folder in target.parents if folder.is_dir())
    file = folder / f"{target.name}.refused.csv"
    try:
        yield
    except (CheckFailedError, ThinDifferenceError) as error:
        if error.places is not None and (not is_kept or _is_written(error.places, file)):
            error.add_hint(  # one for all: a check says what the release says
                hint=Message(
                    "a refused release names them in OUTPUT.refused.csv beside its output, for "
                    "inside use only"
                )
            )
        raise
    if is_kept:
        _remove(file)
        if file.with_suffix(".parquet").is_file():  # else nothing of suppression is imported
            from ckm.methods.suppression.release_pattern import remove_refused

            remove_refused(target)


def _is_written(places: Places, file: Path) -> bool:
    try:
        write_whole(file, csv_text((places.columns, *places.rows)), error=ReleaseError)
    except (OSError, ReleaseError):
        return False
    return True


def _remove(file: Path) -> None:
    """Remove the file of an earlier refusal, and no other file of its name."""
    from ckm.ledger import PAIR_COLUMNS

    heads = [csv_text((columns,)).encode() for columns in (PAIR_COLUMNS, CELL_COLUMNS)]
    with contextlib.suppress(OSError):
        if file.is_symlink() or not file.is_file():
            return
        with file.open("rb") as stream:
            is_ours = stream.read(max(map(len, heads))).startswith(tuple(heads))
        if is_ours:
            file.unlink()
