"""Attacks on published counts: who, knowing what, learning what, and the paper."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ATTACKS", "SETTINGS", "AttackWords"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackWords:
    """What an attack is called, assumes and wins.

    Parameters
    ----------
    name
        Its name on a page.
    assumption
        Who, knowing or having what.
    target
        What success means.
    references
        Names of the catalogue of references.
    """

    name: str
    assumption: str
    target: str
    references: tuple[str, ...] = ()


#: Name of an attack → its words.
ATTACKS: Mapping[str, AttackWords] = MappingProxyType(
    {
        "differencing": AttackWords(
            name=mark("Differencing of nested groups"),
            assumption=mark("Sees two groups that differ by one person alone."),
            target=mark("Tells whether that person is there."),
            references=("fraser-wooton",),
        ),
        "two-partition": AttackWords(
            name=mark("Averaging over partitions"),
            assumption=mark("Asks for every way to split a total in two groups."),
            target=mark("Finds the original total."),
            references=("asghar-kaafar",),
        ),
        "small-cell": AttackWords(
            name=mark("Averaging for one category"),
            assumption=mark("Asks for all groups of categories, with one of them and without."),
            target=mark("Finds the original count of that category, suppressed or not."),
            references=("asghar-kaafar",),
        ),
        "repeated-answers": AttackWords(
            name=mark("Averaging of repeated answers"),
            assumption=mark("Asks for the same cell again and again."),
            target=mark("Finds the original count."),
        ),
        "hidden-bound": AttackWords(
            name=mark("Finding the hidden bound"),
            assumption=mark("Knows a total, and asks for many ways to split it in two."),
            target=mark("Finds the largest possible noise."),
            references=("asghar-kaafar",),
        ),
        "margin-bounds": AttackWords(
            name=mark("Bounds through margins"),
            assumption=mark(
                "Knows the largest possible noise, and sees parts and their total."
            ),
            target=mark("Finds all parts of a line for certain."),
        ),
        "additive-keys": AttackWords(
            name=mark("Parts and their total"),
            assumption=mark("Knows the p-table, and sees two parts and their total."),
            target=mark("Guesses both parts right."),
        ),
        "means-beside-counts": AttackWords(
            name=mark("Exact means beside noisy counts"),
            assumption=mark("Sees original means beside published counts of a line."),
            target=mark("Finds both parts of the line."),
        ),
        "geographic-differencing": AttackWords(
            name=mark("Differencing of two zonings"),
            assumption=mark("Overlays two zonings whose zones differ by slivers."),
            target=mark("Tells whether anybody lives in a sliver."),
            references=("fraser-wooton",),
        ),
        "linear-reconstruction": AttackWords(
            name=mark("Linear reconstruction"),
            assumption=mark(
                "Solves the counts of all groups of categories as one system of equations."
            ),
            target=mark("Finds the original count of an inner cell."),
            references=("dinur-nissim",),
        ),
        "feasibility-intervals": AttackWords(
            name=mark("Feasibility intervals"),
            assumption=mark(
                "Knows the largest possible noise, and bounds every cell by all tables at once."
            ),
            target=mark("Finds the original count for certain."),
        ),
        "subset-sums": AttackWords(
            name=mark("Sums over random subsets"),
            assumption=mark("Asks for counts of many random groups of people."),
            target=mark("Finds who has a hidden attribute."),
            references=("dinur-nissim",),
        ),
        "linkage": AttackWords(
            name=mark("Linkage with another register"),
            assumption=mark("Holds another register with names and some of the variables."),
            target=mark("Ties a record to a person, and learns the rest."),
        ),
    }
)

#: What an intruder has, by name of a setting; any other setting is shown by its name.
SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "n_categories": mark("categories"),
        "n_pairs": mark("pairs of groups"),
        "n_repeats": mark("repeated requests"),
        "n_lines": mark("lines"),
        "n_tables": mark("tables"),
        "n_people": mark("people"),
        "n_queries": mark("requests"),
        "n_slivers": mark("slivers"),
        "max_noise": mark("largest noise"),
        "count": mark("original count"),
        "prior": mark("prior probability"),
        "share": mark("share known before"),
        "decimals": mark("decimals of the mean"),
        "queries": mark("requests"),
    }
)
