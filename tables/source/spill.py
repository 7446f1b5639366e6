"""Folders for what DuckDB spills to disk: records, for the owner's eyes only.

A folder goes with its source. One that a killed process left behind is removed by the next
source that is opened: its lock is free, since the system frees the locks of the dead.
"""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from footing.files import try_lock

_PREFIX = "ckm-spill-"
_LOCK = "lock"


class SpillFolder:
    """A private folder that is locked as long as it is in use."""

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        draft = self.path / "lock.new"  # takes its name when locked, never before
        self._lock = os.open(draft, os.O_RDWR | os.O_CREAT, 0o600)
        try_lock(self._lock)
        draft.rename(self.path / _LOCK)

    def remove(self) -> None:
        """Remove the folder and what is in it; once more does nothing."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)
        self._lock = -1


def _remove_abandoned(parent: Path) -> None:
    if os.name != "posix":
        return
    for folder in parent.glob(_PREFIX + "*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            handle = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:
            continue  # being made or removed at this moment
        if try_lock(handle):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)
