"""Priors: what is believed about a count before anything is published."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PRIORS"]

#: Name of a prior → its words.
PRIORS: Mapping[str, str] = MappingProxyType(
    {
        "table-counts": mark(
            "the share of each original count among the cells of the tables themselves, empty "
            "cells included: somebody who knows how common each count is, but nothing of this "
            "cell"
        ),
        "flat": mark("all original counts are equally likely"),
    }
)
