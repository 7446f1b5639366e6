"""Folders for what DuckDB spills to disk: records, for the owner's eyes only.

A folder goes with its source. One that a killed process left behind is removed by the next
source that is opened: its lock is free, since the system frees the locks of the dead.
"""

import tempfile
from pathlib import Path

from footing.drafts import PrivateFolder


class SpillFolder(PrivateFolder):
    """A private folder that is locked as long as it is in use."""

    def __init__(self) -> None:
        super().__init__(Path(tempfile.gettempdir()), "ckm-spill-")
