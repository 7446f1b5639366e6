"""Utility and risk of a published table, for the office: kept by the process, not the table."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ckm.errors import ConfigError
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from footing.arrays import Integers
    from ptable import PTable

#: Figures of utility of the counts as they were drawn, and of risk of the p-table.
_UTILITY = ("aad", "changed_pct", "false_zeros", "hellinger_raw")
_RISK = ("q_worst", "q_worst_set", "differencing")
#: Measures of a table → what computes its figures. Nothing that is reached from a table, and so
#: no repr, page, pickle or file of one, leads here.
_FIGURES: dict[int, Callable[[], dict[str, float | None]]] = {}


class Measures(dict[str, "NDArray[Any]"]):
    """The published numbers of a table by column; called, its figures of utility and risk."""

    __slots__ = ("__weakref__",)

    def __call__(self, *, internal: bool = False) -> dict[str, float | None]:
        """Give utility and risk of the counts; they follow from original counts.

        Parameters
        ----------
        internal
            True says that the figures stay in the office.

        Returns
        -------
        dict
            Name of a figure, see `risk.risk_map.FIGURES` → its number: average change of a
            count, cells changed in per cent, false zeros and Hellinger distance as drawn; the
            highest probability that a published count reveals one small count, or a small
            one, and success of differencing, as designed.

        Raises
        ------
        ConfigError
            If they are not asked for as internal, or no engine of this process made the table.
        """
        if not internal:
            raise ConfigError(
                Message("Measures of utility and risk follow from original counts."),
                hint=Message("measures(internal=True) gives them, for the office alone"),
            )
        if id(self) not in _FIGURES:
            raise ConfigError(
                Message("The original counts of this table are not known here."),
                hint=Message(
                    "ask the table that Engine.tabulate or ckm.protect returned, in the same "
                    "process"
                ),
            )
        return _FIGURES[id(self)]()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the published numbers alone."""
        return dict, (dict(self),)


def assessed(
    measures: Mapping[str, NDArray[Any]],
    *,
    counts: Integers,
    published: Integers,
    ptable: PTable,
) -> Measures:
    """Return published numbers whose figures this process can compute while they live."""
    numbers = Measures(measures)
    _FIGURES[id(numbers)] = lambda: _figures(counts, published, ptable)
    weakref.finalize(numbers, _FIGURES.pop, id(numbers), None)
    return numbers


def _figures(counts: Integers, published: Integers, ptable: PTable) -> dict[str, float | None]:
    import numpy as np

    from risk.risk_map.map import risk_utility_map
    from risk.utility.summary import assess_utility

    utility = assess_utility(counts, published, ptable=ptable)
    blocked = np.flatnonzero(~(ptable.transition[1:, :] > 0).any(axis=0))
    small = max(2, int(blocked.max(initial=0)))
    risk_map = risk_utility_map(
        {"": ptable},
        {"table": counts},
        rng=np.random.default_rng(0),
        sensitive=range(1, small + 1),
        n_draws=0,
    )
    return {
        **{name: utility.find(name).value for name in _UTILITY},
        **{name: risk_map.find("", name, table="table") for name in _RISK},
    }
