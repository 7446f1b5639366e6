"""What measures of utility and figures of a map are called; `risk` defines them."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from reports.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.catalogues.wording import Kind
    from reports.languages import Words

__all__ = ["FIGURE_NAMES", "MEASURE_NAMES", "figure_name", "kind_of", "measure_name"]

#: Name of a measure of `risk.utility` → what it is called.
MEASURE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "aad": mark("mean absolute deviation"),
        "max_abs": mark("largest deviation"),
        "rmse": mark("root mean square deviation"),
        "rad_sum": mark("sum of relative deviations"),
        "rmad_pct": mark("mean relative deviation, %"),
        "bias_mean": mark("mean deviation"),
        "bias_share": mark("change of the sum"),
        "bias_z": mark("deviation of the sum, in standard errors"),
        "changed_pct": mark("cells changed, %"),
        "changed_nonzero_pct": mark("cells changed that hold somebody, %"),
        "zeros_original": mark("original zeros"),
        "zeros_published": mark("published zeros"),
        "false_zeros": mark("false zeros"),
        "false_nonzeros": mark("false counts where nobody is"),
        "small_to_zero": mark("small counts published as 0"),
        "true_zeros_pct": mark("published zeros that are true, %"),
        "hellinger_raw": mark("Hellinger distance of counts"),
        "hd_utility": mark("Hellinger utility"),
        "hellinger_probability": mark("Hellinger distance of shares"),
        "euclid": mark("Euclidean distance"),
        "manhattan": mark("sum of absolute deviations"),
        "variance_original": mark("variance of original counts"),
        "variance_published": mark("variance of published counts"),
        "rv_pct": mark("change of the variance, %"),
        "between_original": mark("original variance between groups"),
        "between_published": mark("published variance between groups"),
        "bvr_pct": mark("change of the variance between groups, %"),
        "r2_original": mark("original R²"),
        "r2_published": mark("published R²"),
        "spearman": mark("rank correlation"),
        "decile_changes_pct": mark("cells that change their decile, %"),
        "changed_p_value": mark("p-value of the number of cells changed"),
        "wilcoxon_w": mark("Wilcoxon's rank sum"),
        "wilcoxon_p_value": mark("p-value of Wilcoxon's test"),
        "gap_mean": mark("mean gap"),
        "gap_max_abs": mark("largest gap"),
        "gap_nonzero_pct": mark("lines with a gap, %"),
        "gap_mean_square": mark("mean square of the gap"),
        "gap_expected": mark("expected mean square of the gap"),
        "gap_ratio": mark("square of the gap, found over expected"),
        "chi2_original": mark("original χ²"),
        "chi2_published": mark("published χ²"),
        "chi2_p_original": mark("p-value of the original χ²"),
        "chi2_p_published": mark("p-value of the published χ²"),
        "cramers_v_original": mark("original Cramér's V"),
        "cramers_v_published": mark("published Cramér's V"),
        "rcv_pct": mark("change of Cramér's V, %"),
        "deviance_original": mark("original deviance"),
        "deviance_published": mark("published deviance"),
        "deviance_ratio": mark("deviance, published over original"),
        "d1": mark("absolute deviation"),
        "d2": mark("relative deviation"),
        "d3": mark("deviation of square roots"),
    }
)

#: Name of a figure of `risk.map_catalogue` → what it is called; others are measures.
FIGURE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "q_worst": mark("largest certainty about one sensitive count"),
        "q_worst_set": mark("largest certainty that a count is sensitive"),
        "q_set": mark("certainty that a count published as sensitive is so"),
        "q_least": mark("certainty behind the least published count"),
        "true_if_small": mark("counts published as sensitive that are true"),
        "sensitive_kept": mark("sensitive counts published as they are"),
        "delta": mark("δ of differential privacy"),
        "differencing": mark("success of differencing"),
        "averaging_queries": mark("requests to average the noise away"),
        "false_zeros_pct": mark("false zeros, %"),
        "hellinger_small": mark("Hellinger distance, small counts"),
        "hellinger_medium": mark("Hellinger distance, medium counts"),
        "hellinger_large": mark("Hellinger distance, large counts"),
        "rv_size_pct": mark("size of the change of the variance, %"),
    }
)
_SUMMARY = re.compile(r"(d[123])_(?:(mean)|(min)|(median)|(max)|q(\d\d))$")


def measure_name(words: Words, name: str) -> str:
    """Say what a measure is called; one without words keeps its name.

    Parameters
    ----------
    words
        The language.
    name
        Of `risk.utility.DEFINITIONS`.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> measure_name(words_of("en"), "d1_q90")
    'absolute deviation, quantile 0.9'
    """
    found = _SUMMARY.fullmatch(name)
    if found is None:
        return words.say(MEASURE_NAMES.get(name, name))
    what = words.say(MEASURE_NAMES[found[1]])
    if found[2]:
        return words.say("%(what)s, mean", what=what)
    if found[3]:
        return words.say("%(what)s, least", what=what)
    if found[4]:
        return words.say("%(what)s, median", what=what)
    if found[5]:
        return words.say("%(what)s, largest", what=what)
    share = words.numbers.plain(int(found[6]) / 100)
    return words.say("%(what)s, quantile %(share)s", what=what, share=share)


def figure_name(words: Words, name: str) -> str:
    """Say what a figure of a map is called.

    Parameters
    ----------
    words
        The language.
    name
        Of `risk.map_catalogue.FIGURES`.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> figure_name(words_of("en"), "differencing")
    'success of differencing'
    """
    return words.say(FIGURE_NAMES[name]) if name in FIGURE_NAMES else measure_name(words, name)


def kind_of(unit: str) -> Kind:
    """Tell how a number of a unit is written.

    Parameters
    ----------
    unit
        Of a measure or a figure, in English.

    Examples
    --------
    >>> kind_of("cells"), kind_of("probability"), kind_of("%")
    ('count', 'probability', 'amount')
    """
    if unit in {"cells", "requests"}:
        return "count"
    if unit in {"ratio", "correlation"}:
        return "ratio"
    return "probability" if unit == "probability" else "amount"
