"""What every measure of utility means and is called, its unit, and why it may be missing.

`o` is an original count, `p` the published one, `d = p - o` the noise, Σ a sum over the cells.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEFINITIONS", "LEVELS", "NAMES", "QUANTILES", "REASONS"]

#: The quantiles of a summary of deviations, by name.
QUANTILES: Mapping[str, float] = MappingProxyType(
    {
        "min": 0.0,
        **{f"q{tenth}0": tenth / 10 for tenth in (1, 2, 3, 4)},
        "median": 0.5,
        **{f"q{tenth}0": tenth / 10 for tenth in (6, 7, 8, 9)},
        "q95": 0.95,
        "q99": 0.99,
        "max": 1.0,
    }
)

#: The bounds of the cumulative tables of D2 and D3, below the open one.
LEVELS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

_PLAIN = {
    # deviations
    "aad": ("counts", "Σ|d| / number of cells; INSEE calls it MAD"),
    "max_abs": ("counts", "largest |d|"),
    "rmse": ("counts", "√(Σd² / number of cells)"),
    "rad_sum": ("ratio", "Σ|d|/o over cells with o > 0, a sum (Handbook)"),
    "rmad_pct": ("%", "100 · mean of |d|/o over cells with o > 0 (INSEE)"),
    "bias_mean": ("counts", "Σd / number of cells"),
    "bias_share": ("ratio", "Σd / Σo"),
    "bias_z": (
        "standard errors",
        (
            "Σd / √Σσ², σ² the p-table's variance of each cell's noise; a set of records that "
            "several cells hold counts once"
        ),
    ),
    "changed_pct": ("%", "100 · cells with p ≠ o / number of cells"),
    "changed_nonzero_pct": ("%", "100 · cells with p ≠ o / cells with o > 0"),
    # zeros
    "zeros_original": ("cells", "cells with o = 0"),
    "zeros_published": ("cells", "cells with p = 0"),
    "false_zeros": ("cells", "cells with o > 0 and p = 0"),
    "false_nonzeros": ("cells", "cells with o = 0 and p > 0"),
    "small_to_zero": ("cells", "cells with 0 < o ≤ threshold and p = 0"),
    "true_zeros_pct": ("%", "100 · cells with o = p = 0 / cells with p = 0"),
    # distances
    "hellinger_raw": ("√counts", "√(½ Σ(√p - √o)²), on counts as they are"),
    "hd_utility": ("ratio", "1 - hellinger_raw / √Σo; 1 is no loss"),
    "hellinger_probability": ("ratio", "√(½ Σ(√(p/Σp) - √(o/Σo))²), on shares of the sum"),
    "euclid": ("counts", "√Σd²"),
    "manhattan": ("counts", "Σ|d|"),
    # variation
    "variance_original": ("counts²", "Σ(o - mean)² / (n - 1)"),
    "variance_published": ("counts²", "Σ(p - mean)² / (n - 1)"),
    "rv_pct": ("%", "100 · (variance_published - variance_original) / variance_original"),
    "between_original": (
        "weighted share²",
        "Σ n_k (P_k - P)² / (K - 1) over K groups with n_k > 0, P_k the original share",
    ),
    "between_published": (
        "weighted share²",
        "Σ n_k (P_k - P)² / (K - 1), n_k and P_k from published counts and totals",
    ),
    "bvr_pct": ("%", "100 · (between_published - between_original) / between_original"),
    "r2_original": ("ratio", "Σ n_k (P_k - P)² / (N P (1 - P)), original"),
    "r2_published": ("ratio", "Σ n_k (P_k - P)² / (N P (1 - P)), published"),
    # ranks
    "spearman": ("correlation", "Pearson correlation of mean ranks of o and of p"),
    "decile_changes_pct": (
        "%",
        "100 · cells whose decile ⌈10 · mean rank / n⌉ differs between o and p / n",
    ),
    # tests
    "changed_p_value": (
        "probability",
        (
            "least p-value of exact two-sided binomial tests of the cells changed against "
            "1 - P(stay), one per row of the p-table, times the number of rows (Bonferroni) "
            "and 1 at most; "
            "a set of records that several cells hold counts once"
        ),
    ),
    "wilcoxon_w": (
        "rank sum",
        "sum of mean ranks of |d| over the cells of wilcoxon_p_value with d > 0",
    ),
    "wilcoxon_p_value": (
        "probability",
        (
            "two-sided Wilcoxon signed-rank test that noise is symmetric about 0, over changed "
            "cells whose row of the p-table is symmetric, each set of records once; exact for "
            "at most 50 cells, normal with ties corrected beyond"
        ),
    ),
    # additivity
    "gap_mean": ("counts", "mean gap; gap = published total - sum of its published parts"),
    "gap_max_abs": ("counts", "largest |gap|"),
    "gap_nonzero_pct": ("%", "100 · lines with a gap / lines"),
    "gap_mean_square": ("counts²", "mean of gap²"),
    "gap_expected": (
        "counts²",
        (
            "mean of gap² expected if noises are independent: the variances of the total and "
            "of its c parts added, (c + 1) V where all are V; 0 for a total with a single part"
        ),
    ),
    "gap_ratio": ("ratio", "gap_mean_square / gap_expected"),
    # association
    "chi2_original": ("statistic", "Σ(o_ij - e_ij)² / e_ij, e_ij = o_i. o_.j / o_.."),
    "chi2_published": ("statistic", "Σ(p_ij - e_ij)² / e_ij, e_ij from the margins named"),
    "chi2_p_original": ("probability", "chance of a larger χ² under independence, original"),
    "chi2_p_published": ("probability", "chance of a larger χ² under independence, published"),
    "cramers_v_original": ("ratio", "√(χ² / (N min(r - 1, c - 1))), original"),
    "cramers_v_published": (
        "ratio",
        "√(χ² / (N min(r - 1, c - 1))), published, N from the margins named",
    ),
    "rcv_pct": ("%", "100 · (V_published - V_original) / V_original, V of Cramér"),
    "deviance_original": ("statistic", "2 Σ(o_ij ln(o_ij / e_ij) - o_ij + e_ij), original"),
    "deviance_published": ("statistic", "2 Σ(p_ij ln(p_ij / e_ij) - p_ij + e_ij), published"),
    "deviance_ratio": ("ratio", "deviance_published / deviance_original, independence model"),
}
_NAMES = {
    "aad": "average absolute deviation",
    "max_abs": "largest absolute deviation",
    "rmse": "root mean square deviation",
    "rad_sum": "sum of relative deviations",
    "rmad_pct": "mean relative deviation",
    "bias_mean": "mean deviation",
    "bias_share": "bias of the sum",
    "bias_z": "bias in standard errors",
    "changed_pct": "cells changed",
    "changed_nonzero_pct": "cells changed that were not empty",
    "zeros_original": "original zeros",
    "zeros_published": "published zeros",
    "false_zeros": "false zeros",
    "false_nonzeros": "empty cells published as not empty",
    "small_to_zero": "small counts published as 0",
    "true_zeros_pct": "true zeros among those published",
    "hellinger_raw": "Hellinger distance of counts",
    "hd_utility": "utility by Hellinger distance",
    "hellinger_probability": "Hellinger distance of shares",
    "euclid": "Euclidean distance",
    "manhattan": "Manhattan distance",
    "variance_original": "variance of original counts",
    "variance_published": "variance of published counts",
    "rv_pct": "relative change of the variance",
    "between_original": "variance between groups, original",
    "between_published": "variance between groups, published",
    "bvr_pct": "relative change of the variance between groups",
    "r2_original": "R² of groups, original",
    "r2_published": "R² of groups, published",
    "spearman": "Spearman's rank correlation",
    "decile_changes_pct": "cells that change decile",
    "changed_p_value": "test of how many cells changed",
    "wilcoxon_w": "Wilcoxon's sum of signed ranks",
    "wilcoxon_p_value": "Wilcoxon's signed-rank test",
    "gap_mean": "mean gap of totals",
    "gap_max_abs": "largest gap of totals",
    "gap_nonzero_pct": "totals with a gap",
    "gap_mean_square": "mean square of gaps",
    "gap_expected": "expected mean square of gaps",
    "gap_ratio": "mean square of gaps against the expected one",
    "chi2_original": "χ² of independence, original",
    "chi2_published": "χ² of independence, published",
    "chi2_p_original": "p-value of χ², original",
    "chi2_p_published": "p-value of χ², published",
    "cramers_v_original": "Cramér's V, original",
    "cramers_v_published": "Cramér's V, published",
    "rcv_pct": "relative change of Cramér's V",
    "deviance_original": "deviance of independence, original",
    "deviance_published": "deviance of independence, published",
    "deviance_ratio": "ratio of deviances",
}
_DEVIATIONS = {
    "d1": ("absolute deviation (D1)", "counts", "|d|", ""),
    "d2": ("relative deviation (D2)", "ratio", "|d|/o", " over cells with o > 0"),
    "d3": ("deviation of square roots (D3)", "√counts", "|√p - √o|", ""),
}
_QUANTILE_NAMES = {"min": "minimum", "median": "median", "max": "maximum"}


def _all() -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    found, names = dict(_PLAIN), dict(_NAMES)
    for symbol, (name, unit, formula, where) in _DEVIATIONS.items():
        found[symbol], names[symbol] = (unit, f"{formula}{where}"), name
        found[f"{symbol}_mean"] = (unit, f"mean of {formula}{where}")
        names[f"{symbol}_mean"] = f"{name}: mean"
        for label, q in QUANTILES.items():
            found[f"{symbol}_{label}"] = unit, f"quantile {q:g} of {formula}{where}, type 7"
            called = _QUANTILE_NAMES.get(label, f"quantile {q:g}")
            names[f"{symbol}_{label}"] = f"{name}: {called}"
    return found, names


_DEFINITIONS, _ALL_NAMES = _all()

#: Symbol of a measure → its unit and its definition.
DEFINITIONS: Mapping[str, tuple[str, str]] = MappingProxyType(_DEFINITIONS)

#: Symbol of a measure → what it is called.
NAMES: Mapping[str, str] = MappingProxyType(_ALL_NAMES)

#: Why a measure has no number.
REASONS = frozenset(
    {
        "there are no cells",
        "no cell has o > 0",
        "no cell has a total",
        "no cell was changed",
        "no cell that was changed has noise symmetric about 0",
        "no published count is 0",
        "no p-table was given",
        "neither a p-table nor a variance was given",
        "the p-table gives these cells no noise",
        "the noise of every line is 0",
        "a variance takes at least two cells",
        "an order takes at least two cells",
        "the original counts are all alike",
        "the published counts are all alike",
        "the original counts add up to 0",
        "the published counts add up to 0",
        "the original shares are all alike",
        "fewer than two groups have an original total above 0",
        "fewer than two groups have a published total above 0",
        "the share over all groups does not lie between 0 and 1",
        "fewer than two original rows or columns are not empty",
        "fewer than two published rows or columns are not empty",
        "the published total is 0",
        "a published margin is 0 though one of its cells is not",
        "the original table has no association",
        "the original deviance is 0",
    }
)
