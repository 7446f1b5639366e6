"""Priors: what is believed about a count before anything is published."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["OWN_PRIORS", "PRIORS"]

#: Name of a prior → its words.
PRIORS: Mapping[str, str] = MappingProxyType(
    {
        "table-counts": mark(
            "the share of each original count among the cells of the tables themselves, empty "
            "cells included: somebody who knows how common each count is, but nothing of this "
            "cell"
        ),
        "smoothed-counts": mark(
            "the share of each original count among the cells of all tables together, and half "
            "a cell more for every count from 1 on, because few cells are known: somebody who "
            "knows about how common each count is, but nothing of this cell"
        ),
        "flat": mark("all original counts are equally likely"),
    }
)

#: Name of the prior of one table → whose cells it counts.
OWN_PRIORS: Mapping[str, str] = MappingProxyType(
    {
        "table-counts": mark("its own cells"),
        "release-counts": mark("the cells of all tables: its own are few"),
        "smoothed-counts": mark(
            "the cells of all tables, and half a cell more for every count"
        ),
    }
)
