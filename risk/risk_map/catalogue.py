"""What each figure of a risk-utility map means and is called; its unit, its better way."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FIGURES", "Figure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a figure means.

    Parameters
    ----------
    side
        ``"risk"`` or ``"utility"``.
    words
        What it is called.
    unit, definition
        What it counts, and its formula in words.
    better
        Whether ``"low"`` or ``"high"`` is better.
    is_drawn
        Whether it comes from simulated keys instead of the p-table.

    Examples
    --------
    >>> FIGURES["aad"].better
    'low'
    """

    side: Literal["risk", "utility"]
    words: str
    unit: str
    definition: str
    better: Literal["low", "high"] = "low"
    is_drawn: bool = False


def _risk(
    words: str, unit: str, definition: str, better: Literal["low", "high"] = "low"
) -> Figure:
    return Figure(side="risk", words=words, unit=unit, definition=definition, better=better)


def _use(words: str, unit: str, definition: str) -> Figure:
    return Figure(side="utility", words=words, unit=unit, definition=definition)


def _drawn(words: str, unit: str, definition: str, better: Literal["low", "high"]) -> Figure:
    return Figure(
        side="utility",
        words=words,
        unit=unit,
        definition=definition,
        better=better,
        is_drawn=True,
    )


_P = "probability"

#: Name of a figure → what it means. S is the set of sensitive counts, X the original and X′ the
#: published count of a cell, d = X′ - X; the prior is the share of each count in the table.
FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "q_worst": _risk(
            "worst posterior of a sensitive count",
            _P,
            "largest P(X = i | X′ = j) over i in S and all j",
        ),
        "q_worst_set": _risk(
            "worst posterior of the sensitive set", _P, "largest P(X in S | X′ = j) over all j"
        ),
        "q_set": _risk(
            "sensitive originals behind sensitive published counts", _P, "P(X in S | X′ in S)"
        ),
        "q_least": _risk(
            "sensitive originals behind the least published count",
            _P,
            "P(1 ≤ X ≤ max S | X′ = j), j the least positive count published (INSEE)",
        ),
        "true_if_small": _risk(
            "sensitive published counts that are true", _P, "P(X = X′ | X′ in S)"
        ),
        "sensitive_kept": _risk(
            "sensitive counts published as they are", _P, "P(X′ = X | X in S)"
        ),
        "delta": _risk(
            "delta of differential privacy",
            _P,
            "delta of differential privacy at epsilon 1, of the p-table alone",
        ),
        "differencing": _risk(
            "success of differencing",
            _P,
            "P(nested large counts that differ by one record are published unequal)",
        ),
        "given_away": _risk(
            "sensitive counts certain with one record more",
            _P,
            "P(X is certain from X′ and what the cell with one record more shows | X in S)",
        ),
        "given_away_set": _risk(
            "counts certain to be sensitive with one record more",
            _P,
            (
                "P(X in S is certain from X′ and what the cell with one record more shows "
                "| X in S)"
            ),
        ),
        "averaging_queries": _risk(
            "requests for an averaging attack",
            "requests",
            "twice the pairs after which a mean rounds to a large count with probability 0.95",
            "high",
        ),
        "aad": _use("average absolute deviation", "counts", "expected mean of |d|"),
        "rmse": _use("root mean square deviation", "counts", "root of the expected mean of d²"),
        "rmad_pct": _use(
            "mean relative deviation", "%", "100 · expected mean of |d|/X over cells with X > 0"
        ),
        "bias_mean": _use(
            "size of the mean deviation", "counts", "size of the expected mean of d"
        ),
        "changed_pct": _use(
            "cells changed", "%", "100 · expected share of cells with d other than 0"
        ),
        "changed_nonzero_pct": _use(
            "cells changed that were not empty",
            "%",
            "100 · expected share of cells with d other than 0 over cells with X > 0",
        ),
        "false_zeros": _use(
            "false zeros", "cells", "expected number of cells with X > 0 and X′ = 0"
        ),
        "false_zeros_pct": _use(
            "cells not empty that are published as 0",
            "%",
            "100 · false_zeros / cells with X > 0",
        ),
        "hellinger_raw": _use(
            "Hellinger distance of counts", "√counts", "root of the expected ½ Σ(√X′ - √X)²"
        ),
        "hellinger_small": _use(
            "Hellinger distance, counts 1 to 20",
            "√counts",
            "root of the expected ½ Σ(√X′ - √X)² over cells with 1 ≤ X ≤ 20",
        ),
        "hellinger_medium": _use(
            "Hellinger distance, counts 21 to 50",
            "√counts",
            "root of the expected ½ Σ(√X′ - √X)² over cells with 21 ≤ X ≤ 50",
        ),
        "hellinger_large": _use(
            "Hellinger distance, counts above 50",
            "√counts",
            "root of the expected ½ Σ(√X′ - √X)² over cells with X > 50",
        ),
        "hellinger_probability": _drawn(
            "Hellinger distance of shares", "ratio", "√(½ Σ(√(X′/ΣX′) - √(X/ΣX))²)", "low"
        ),
        "spearman": _drawn(
            "Spearman's rank correlation",
            "correlation",
            "correlation of mean ranks of X and X′",
            "high",
        ),
        "decile_changes_pct": _drawn(
            "cells that change decile", "%", "100 · share of cells whose decile changes", "low"
        ),
        "rv_size_pct": _drawn(
            "size of the relative change of the variance",
            "%",
            "size of the relative change of the variance, in %",
            "low",
        ),
    }
)
