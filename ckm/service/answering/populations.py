"""The populations that a service declares: who is in them, and whether they differ enough."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import ConfigError
from footing.messages import Message, Name, joined
from tables.prepared.prepared import POPULATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.config.service.service import Service
    from footing.arrays import Flags
    from tables.filtering.conditions import Condition
    from tables.prepared.prepared import Prepared

_THIN = 2  # the threshold where there is no ledger


def memberships(prepared: Prepared, names: Mapping[str, object]) -> dict[str, Flags]:
    """Return, for each population, which finest categories of `POPULATIONS` are in it."""
    if not names:
        return {}
    axis = prepared.axes[POPULATIONS]
    patterns = axis.labels[0][axis.levels[0].ranks]
    return {
        name: np.array([pattern[place] == "1" for pattern in patterns], bool)
        for place, name in enumerate(names)
    }


def population_conditions(
    service: Service, prepared: Prepared, *, is_checked: bool = True
) -> dict[str, Condition]:
    """Return the condition of each population.

    Raises
    ------
    ConfigError
        If they are checked, and one has few records, or two differ by few: whoever subtracts
        their tables has a table of these.
    """
    inside = memberships(prepared, service.populations)
    if not inside:
        return {}
    block = prepared.scan({POPULATIONS: 0}).block
    counts = np.bincount(block.codes[0], block.count, len(next(iter(inside.values()))))
    thin = _THIN if service.ledger is None else service.ledger.threshold
    least = max(thin + 1, service.rules.minimum_population or 0)
    everybody: dict[Name | Message, Any] = {Message("all records"): np.ones(len(counts), bool)}
    by_name: dict[Name | Message, Any] = {
        Name(repr(name)): member for name, member in inside.items()
    }
    problems = [
        Message("{name} has fewer than {least} records.", name=name, least=least)
        for name, member in by_name.items()
        if counts[member].sum() < least
    ]
    problems += [
        Message(
            "{one} and {other} differ by fewer than {least} records.",
            one=one,
            other=other,
            least=least,
        )
        for (one, a), (other, b) in itertools.combinations({**everybody, **by_name}.items(), 2)
        if counts[a ^ b].sum() < least
    ]
    if problems and is_checked:
        raise ConfigError(
            joined(
                "\n",
                [Message("[[population]] {problem}", problem=problem) for problem in problems],
            ),
            hint=Message(
                "declare it otherwise, or drop it: the tables of two populations together "
                "disclose the records that are in one of them alone"
            ),
        )
    ranks = prepared.axes[POPULATIONS].levels[0].ranks
    conditions = {
        name: prepared.members(POPULATIONS, ranks[member]) for name, member in inside.items()
    }
    return {name: one for name, one in conditions.items() if one is not None}
