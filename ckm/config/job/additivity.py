"""What ``additive = true`` does not go with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckm.config.job.schema import JobModel

__all__ = ["require_additive"]

_WHERE = "[output]"


def require_additive(model: JobModel, *, add: Callable[[str, str, str | None], None]) -> None:
    """Note what cannot be kept where tables are made to add up.

    Parameters
    ----------
    model
        The job.
    add
        Called with the section, a problem and a hint.

    Examples
    --------
    >>> from ckm.config.job.schema import JobModel, OutputModel
    >>> job = JobModel.model_construct(output=OutputModel(), table=[], ledger=None)
    >>> require_additive(job, add=print)
    """
    if not model.output.additive:
        return
    if model.ledger is not None:
        hint = "remove one of the two"
        text = (
            "additive gives the same cell other numbers in other tables, and a ledger stands "
            "for the same number everywhere."
        )
        add(_WHERE, text, hint)
    for table in model.table:
        others = [measure for measure in table.measures if measure != "count"]
        if others:
            hint = "publish it in a job of its own without additive"
            text = f"additive is for counts, and table {table.name!r} shows {others[0]!r}."
            add(_WHERE, text, hint)
