"""A file that appears complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from tables.errors import SourceError

__all__ = ["NewFile"]


class NewFile:
    """A file that is written under another name and takes its place when complete.

    Used as a context manager, which gives the name to write to.

    Parameters
    ----------
    path
        The file.
    overwrite
        Replace the file if it exists.

    Raises
    ------
    SourceError
        If the file exists, its folder does not, or it cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "new.txt"
    >>> with NewFile(file) as temporary:
    ...     _ = pathlib.Path(temporary).write_text("all of it")
    ...     file.exists()
    False
    >>> file.read_text()
    'all of it'
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path = Path(path)
        if self.path.exists() and not overwrite:
            raise SourceError(
                f"The file {self.path.name!r} exists.",
                hint="choose another, or ask to overwrite",
            )
        if not self.path.parent.is_dir():
            raise SourceError(
                f"The file {self.path.name!r} cannot be written: its folder does not exist.",
                hint="make the folder, or choose another",
            )
        self.temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")

    def __enter__(self) -> str:
        return os.fspath(self.temporary)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if kind is None:
                self.temporary.replace(self.path)
                return
        except OSError as failure:
            error = failure
        self.temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, SourceError):
            raise SourceError(
                f"The file {self.path.name!r} cannot be written: {error.strerror}."
            ) from None
