"""The cells of tables before protection, for methods that begin with original numbers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ckm.engine.nesting import nesting_cautions

if TYPE_CHECKING:
    from ckm.engine.engine import Progress
    from ckm.suppression.original_cells import Originals
    from tables import Cells

logger = logging.getLogger(__name__)


def original_tables(data: Originals, *, progress: Progress | None) -> dict[str, Cells]:
    """Tabulate, and warn of hierarchies whose columns do not nest."""
    cells = data.cells(progress=progress)
    label = data.job.output.missing_label
    axes = [axis for table in cells.values() for axis in table.axes]
    texts = [t for axis in axes for t in nesting_cautions(axis, missing_label=label)]
    for text in dict.fromkeys(texts):
        logger.warning("%s", text, extra={"event": "nesting of a hierarchy"})
    return cells
