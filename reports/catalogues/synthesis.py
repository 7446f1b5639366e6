"""The words of an evaluation of synthetic records: figures, controls, reasons, conclusions."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from reports.catalogues.wording import Sentence
from reports.i18n.languages import mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reports.catalogues.wording import Kind

__all__ = [
    "CONCLUSIONS",
    "CONTROLS",
    "FIGURES",
    "GOOD",
    "GROUPS",
    "REASONS",
    "FigureWords",
    "Good",
]

#: Where the good values of a figure are.
Good: TypeAlias = Literal["low", "high", "half", "holdout"]


@dataclass(frozen=True, slots=True)
class FigureWords:
    """The name of a figure, what it is, its group, where it is good and how it is written."""

    name: str
    meaning: str
    group: str
    good: Good
    kind: Kind = "ratio"


GOOD: Mapping[Good, str] = MappingProxyType(
    {
        "low": mark("low"),
        "high": mark("high"),
        "half": mark("near 0.5"),
        "holdout": mark("as for unseen records"),
    }
)
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "tables": mark("Tables"),
        "columns": mark("Columns and pairs"),
        "detection": mark("Telling synthetic from real"),
        "learning": mark("Learning from synthetic records"),
        "membership": mark("Attacks on membership"),
        "nearness": mark("Copies and nearness"),
        "inference": mark("Guessing a sensitive column"),
    }
)
CONTROLS: Mapping[str, str] = MappingProxyType(
    {
        "train": mark("Training records"),
        "bootstrap": mark("Bootstrap"),
        "holdout": mark("Unseen records"),
        "independent": mark("Independent columns"),
    }
)
REASONS: tuple[str, ...] = (
    mark("there is no holdout"),
    mark("there are fewer columns"),
    mark("there is one column"),
    mark("there are too few records"),
    mark("nothing varies"),
    mark("the holdout has one class"),
    mark("no number is left"),
    mark("no keys have one value"),
)


def _figures(group: str, *figures: tuple[str, str, str, Good]) -> dict[str, FigureWords]:
    return {
        key: FigureWords(name, meaning, group, good, "amount" if key in _AMOUNTS else "ratio")
        for key, name, meaning, good in figures
    }


_AMOUNTS = ("k_marginal", "number_rmse")
FIGURES: Mapping[str, FigureWords] = MappingProxyType(
    {
        **_figures(
            "tables",
            (
                "tvd1",
                mark("Distance of columns"),
                mark("Mean of half the sum of |p − q| over all columns."),
                "low",
            ),
            (
                "tvd2",
                mark("Distance of tables of two columns"),
                mark("Mean of half the sum of |p − q| over all tables of two columns."),
                "low",
            ),
            (
                "tvd2_largest",
                mark("Largest distance of two columns"),
                mark("The same for the table of two columns that is farthest."),
                "low",
            ),
            (
                "tvd3",
                mark("Distance of tables of three columns"),
                mark(
                    "Mean of half the sum of |p − q| over tables of three columns, or a "
                    "sample of them."
                ),
                "low",
            ),
            (
                "k_marginal",
                mark("k-marginal score"),
                mark(
                    "1000 times one minus the mean distance of tables of two columns; 1000 "
                    "is equality."
                ),
                "high",
            ),
            (
                "subsample",
                mark("Equivalent sample"),
                mark(
                    "The share of the real records whose random sample is as far from all "
                    "of them."
                ),
                "high",
            ),
        ),
        **_figures(
            "columns",
            (
                "ks_mean",
                mark("Kolmogorov-Smirnov, mean"),
                mark(
                    "Mean over the columns of the largest difference between distribution "
                    "functions."
                ),
                "low",
            ),
            (
                "ks_largest",
                mark("Kolmogorov-Smirnov, largest"),
                mark("The largest difference between distribution functions of a column."),
                "low",
            ),
            (
                "spearman_change",
                mark("Change of rank correlations"),
                mark(
                    "Mean absolute difference of Spearman correlations, the diagonal included."
                ),
                "low",
            ),
            (
                "spearman_change_pairs",
                mark("Change of rank correlations, pairs"),
                mark(
                    "Mean absolute difference of Spearman correlations, without the diagonal."
                ),
                "low",
            ),
            (
                "cramer_change",
                mark("Change of Cramér’s V"),
                mark("Mean absolute difference of Cramér’s V over all pairs of columns."),
                "low",
            ),
        ),
        **_figures(
            "detection",
            (
                "detection_auc",
                mark("Detection, area under the curve"),
                mark(
                    "The chance that a classifier scores a synthetic record above a real "
                    "one; 0.5 is guessing."
                ),
                "half",
            ),
            (
                "pmse",
                mark("Propensity error"),
                mark(
                    "Mean squared distance of the propensity of being synthetic from one half."
                ),
                "low",
            ),
        ),
        **_figures(
            "learning",
            (
                "class_auc",
                mark("Classes, area under the curve"),
                mark(
                    "A classifier trained on the records ranks unseen real ones; 1 is "
                    "without error."
                ),
                "high",
            ),
            (
                "class_mcc",
                mark("Classes, Matthews correlation"),
                mark(
                    "Correlation between the class of unseen real records and the class "
                    "predicted."
                ),
                "high",
            ),
            (
                "class_accuracy",
                mark("Classes, share right"),
                mark("The share of unseen real records whose class is predicted."),
                "high",
            ),
            (
                "number_rmse",
                mark("Numbers, error"),
                mark(
                    "Root mean square error of least squares on unseen real records, in the"
                    " unit of the column."
                ),
                "low",
            ),
        ),
        **_figures(
            "membership",
            (
                "mia_mean",
                mark("Monte-Carlo attack, mean"),
                mark(
                    "The share of members among the records nearest to synthetic ones; 0.5 "
                    "is guessing."
                ),
                "half",
            ),
            (
                "mia_worst",
                mark("Monte-Carlo attack, worst"),
                mark("The same for the repetition that found most members."),
                "half",
            ),
            (
                "mia_euclidean",
                mark("Monte-Carlo attack, Euclidean"),
                mark("The same as the mean, with Euclidean in place of Hamming distance."),
                "half",
            ),
            (
                "domias",
                mark("Density ratio attack"),
                mark(
                    "The chance that a member scores above a non-member by synthetic over "
                    "real density."
                ),
                "half",
            ),
        ),
        **_figures(
            "nearness",
            (
                "exact_matches",
                mark("Copies"),
                mark("The share of records that equal a training record in every column."),
                "holdout",
            ),
            (
                "replicated_uniques",
                mark("Replicated uniques"),
                mark(
                    "The share of unique training records that are unique among the records"
                    " as well."
                ),
                "holdout",
            ),
            (
                "nearer_train",
                mark("Nearer to training records"),
                mark(
                    "The share of records nearer to a training record than to an unseen "
                    "one; no evidence of privacy."
                ),
                "half",
            ),
            (
                "dcr_train",
                mark("Distance to the closest training record"),
                mark(
                    "Median of the distance to the nearest training record; no evidence of "
                    "privacy."
                ),
                "holdout",
            ),
            (
                "dcr_holdout",
                mark("Distance to the closest unseen record"),
                mark("Median of the distance to the nearest unseen real record."),
                "holdout",
            ),
            (
                "nndr_train",
                mark("Ratio of distances, training records"),
                mark(
                    "Median of nearest over second nearest distance among training records;"
                    " no evidence of privacy."
                ),
                "holdout",
            ),
            (
                "nndr_holdout",
                mark("Ratio of distances, unseen records"),
                mark(
                    "Median of nearest over second nearest distance among unseen real records."
                ),
                "holdout",
            ),
        ),
        **_figures(
            "inference",
            (
                "inferred",
                mark("Right guesses"),
                mark(
                    "The share of right guesses where the records tie the known keys to one"
                    " value."
                ),
                "holdout",
            ),
            (
                "inferred_baseline",
                mark("Right guesses by the most frequent value"),
                mark(
                    "The share of right guesses for the same persons by the most frequent "
                    "value."
                ),
                "holdout",
            ),
            (
                "inferred_reach",
                mark("Persons guessed about"),
                mark("The share of training records whose keys are tied to one value."),
                "low",
            ),
        ),
    }
)

_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        **dict.fromkeys(
            ("value", "train", "holdout", "bootstrap", "independent", "baseline"), "ratio"
        ),
        "share_pct": "plain",
    }
)
_CONCLUSIONS = {
    "tables-better": mark(
        "Tables of two columns are %(value)s off on average; independent columns would be "
        "%(independent)s off, another draw of the real records %(bootstrap)s."
    ),
    "tables-no-better": mark(
        "Tables of two columns are %(value)s off on average, no less than independent columns "
        "would be, %(independent)s: the dependence between columns is lost."
    ),
    "sample": mark(
        "A random sample of %(share_pct)s per cent of the real records has tables of two "
        "columns as "
        "far off."
    ),
    "worst-table": mark("The farthest table of two columns is %(subject)s: %(value)s off."),
    "learning": mark(
        "Learning “%(subject)s” from the synthetic records ranks unseen real ones with an area "
        "under the curve of %(value)s; learning from the real ones, %(train)s."
    ),
    "detected": mark(
        "A classifier tells synthetic from real records with an area under the curve of "
        "%(value)s, where 0.5 is guessing and 1 is without error."
    ),
    "members-found": mark(
        "The density ratio attack finds members above chance: %(value)s, where unseen records "
        "in place of synthetic ones give %(holdout)s."
    ),
    "members-hidden": mark(
        "The attacks on membership found no members above chance. They are weak and prove "
        "nothing: they are no substitute for a proof of differential privacy."
    ),
    "copies": mark(
        "Equal to a training record: %(value)s of the synthetic records. Of unseen real "
        "records, %(holdout)s are."
    ),
    "nearness": mark(
        "Distances to the closest record are shown because they are asked for. They are no "
        "evidence of privacy."
    ),
    "guesses-above": mark(
        "Keys that the synthetic records tie to one value of “%(subject)s” are right for "
        "%(value)s of the persons; unseen records in their place, %(holdout)s."
    ),
}
CONCLUSIONS: Mapping[str, Sentence] = MappingProxyType(
    {name: Sentence(message, _KINDS) for name, message in _CONCLUSIONS.items()}
)
