"""What is measured: the group of each figure, its direction, and what it is worth as evidence.

The words of the figures are in `reports.catalogues.synthesis`, in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GROUPS", "MEASURES", "Direction", "Group", "Measure"]

#: Where the good values are: low, high, at one half, or near the value of the holdout.
Direction: TypeAlias = Literal["low", "high", "half", "holdout"]
Group: TypeAlias = Literal[
    "tables", "columns", "detection", "learning", "membership", "nearness", "inference"
]
GROUPS: tuple[Group, ...] = (
    "tables",
    "columns",
    "detection",
    "learning",
    "membership",
    "nearness",
    "inference",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One kind of figure.

    Parameters
    ----------
    group
        What it belongs to.
    direction
        Where its good values are.
    n_decimals
        How it is written on a terminal.

    Examples
    --------
    >>> MEASURES["tvd2"].direction
    'low'
    """

    group: Group
    direction: Direction
    n_decimals: int = 4


def _measures(group: Group, **directions: Direction) -> dict[str, Measure]:
    return {
        name: Measure(
            group=group, direction=direction, n_decimals=1 if name == "k_marginal" else 4
        )
        for name, direction in directions.items()
    }


#: Name of a figure → what kind of figure it is, in the order of reports.
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        **_measures(
            "tables",
            tvd1="low",
            tvd2="low",
            tvd2_largest="low",
            tvd3="low",
            k_marginal="high",
            subsample="high",
        ),
        **_measures(
            "columns",
            ks_mean="low",
            ks_largest="low",
            spearman_change="low",
            spearman_change_pairs="low",
            cramer_change="low",
        ),
        **_measures("detection", detection_auc="half", pmse="low"),
        **_measures(
            "learning",
            class_auc="high",
            class_mcc="high",
            class_accuracy="high",
            number_rmse="low",
        ),
        **_measures(
            "membership", mia_mean="half", mia_worst="half", mia_euclidean="half", domias="half"
        ),
        **_measures(
            "nearness",
            exact_matches="holdout",
            replicated_uniques="holdout",
            nearer_train="half",
            dcr_train="holdout",
            dcr_holdout="holdout",
            nndr_train="holdout",
            nndr_holdout="holdout",
        ),
        **_measures(
            "inference", inferred="holdout", inferred_baseline="holdout", inferred_reach="low"
        ),
    }
)
