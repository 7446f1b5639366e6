"""What every figure of a risk-utility map means, its unit, and which way it is worse."""

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
    unit: str
    definition: str
    better: Literal["low", "high"] = "low"
    is_drawn: bool = False


def _risk(unit: str, definition: str, better: Literal["low", "high"] = "low") -> Figure:
    return Figure(side="risk", unit=unit, definition=definition, better=better)


def _use(unit: str, definition: str) -> Figure:
    return Figure(side="utility", unit=unit, definition=definition)


def _drawn(unit: str, definition: str, better: Literal["low", "high"]) -> Figure:
    return Figure(
        side="utility", unit=unit, definition=definition, better=better, is_drawn=True
    )


_P = "probability"

#: Name of a figure → what it means. S is the set of sensitive counts, X the original and X' the
#: published count of a cell, d = X' - X; the prior is the share of each count in the table.
FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "q_worst": _risk(_P, "largest P(X = i | X' = j) over i in S and all j"),
        "q_worst_set": _risk(_P, "largest P(X in S | X' = j) over all j"),
        "q_set": _risk(_P, "P(X in S | X' in S)"),
        "q_least": _risk(
            _P, "P(1 <= X <= max S | X' = j), j the least positive count published (INSEE)"
        ),
        "true_if_small": _risk(_P, "P(X = X' | X' in S)"),
        "sensitive_kept": _risk(_P, "P(X' = X | X in S)"),
        "delta": _risk(_P, "delta of differential privacy at epsilon 1, of the p-table alone"),
        "differencing": _risk(
            _P, "P(nested large counts that differ by one record are published unequal)"
        ),
        "given_away": _risk(
            _P,
            "P(X is certain from X' and what the cell with one record more shows | X in S)",
        ),
        "averaging_queries": _risk(
            "requests",
            "twice the pairs after which a mean rounds to a large count with probability 0.95",
            "high",
        ),
        "aad": _use("counts", "expected mean of |d|"),
        "rmse": _use("counts", "root of the expected mean of d²"),
        "rmad_pct": _use("%", "100 · expected mean of |d|/X over cells with X > 0"),
        "bias_mean": _use("counts", "size of the expected mean of d"),
        "changed_pct": _use("%", "100 · expected share of cells with d other than 0"),
        "changed_nonzero_pct": _use("%", "the same over cells with X > 0"),
        "false_zeros": _use("cells", "expected number of cells with X > 0 and X' = 0"),
        "false_zeros_pct": _use("%", "100 · false_zeros / cells with X > 0"),
        "hellinger_raw": _use("√counts", "root of the expected ½ Σ(√X' - √X)²"),
        "hellinger_small": _use("√counts", "the same over cells with 1 <= X <= 20"),
        "hellinger_medium": _use("√counts", "the same over cells with 21 <= X <= 50"),
        "hellinger_large": _use("√counts", "the same over cells with X > 50"),
        "hellinger_probability": _drawn("ratio", "√(½ Σ(√(X'/ΣX') - √(X/ΣX))²)", "low"),
        "spearman": _drawn("correlation", "correlation of mean ranks of X and X'", "high"),
        "decile_changes_pct": _drawn("%", "100 · share of cells whose decile changes", "low"),
        "rv_size_pct": _drawn("%", "size of the relative change of the variance, in %", "low"),
    }
)
