"""Checks that record keys are fit: none missing, none repeated beyond chance, uniform."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tables.errors import KeyQualityError, KeyQualityWarning, RequestError
from tables.filters import quote
from tables.keys import HashedKeys, RecordKeys, require_sound

if TYPE_CHECKING:
    from tables.source import Source

__all__ = ["Action", "KeyQuality", "check_keys"]

Action = Literal["stop", "warn", "skip"]

_ALPHA = 1e-9  # a sound key column is called defective once in a thousand million checks
_FULL_COUNT = 20_000_000  # above this many records, repetition is judged on a slice of the keys
_BINS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyQuality:
    """What a check of the record keys found.

    Parameters
    ----------
    problems
        Each defect in words, without counts.
    missing_share, repeated_share
        Share of records without a key, and of records that repeat another's key beyond what
        chance explains.
    uniformity_p
        p-value of a chi-squared test that stored keys are uniform; None for hashed keys,
        and where there are too few records.
    slice
        Repetition was judged on one in `slice` of the keys.
    """

    problems: tuple[str, ...]
    missing_share: float
    repeated_share: float
    uniformity_p: float | None
    slice: int

    @property
    def is_sound(self) -> bool:
        """Whether no defect was found."""
        return not self.problems

    def summary(self) -> str:
        """Say in one line what was found."""
        if self.problems:
            return " ".join(self.problems)
        part = "" if self.slice == 1 else f" (repetition judged on 1 in {self.slice} keys)"
        return f"record keys: none missing, none repeated beyond chance, uniform{part}"


def check_keys(source: Source, keys: RecordKeys, *, action: Action = "stop") -> KeyQuality:
    """Check the record keys of a source.

    Parameters
    ----------
    source
        The records.
    keys
        Where the keys come from.
    action
        ``"stop"`` raises on a defect, ``"warn"`` warns, ``"skip"`` checks only what the
        tabulation cannot do without: that keys are present and in range.

    Returns
    -------
    KeyQuality
        What was found.

    Raises
    ------
    KeyQualityError
        If a defect was found under ``"stop"``; if keys are out of range under any action.
    RequestError
        If the column cannot hold record keys.

    Notes
    -----
    Each test calls sound keys defective with probability at most 1e-9. Identifiers must be
    unique; stored keys may repeat as often as chance has it in their range.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Secret, open_source
    >>> keys = HashedKeys(column="id", secret=Secret(bytes(16)))
    >>> with open_source(pa.table({"id": [1, 2, 3]})) as source:
    ...     check_keys(source, keys).is_sound
    True
    """
    if action not in {"stop", "warn", "skip"}:
        raise RequestError(f"checks must be 'stop', 'warn' or 'skip', not {action!r}.")
    require_sound(source, keys, tolerate_missing=action == "warn")
    if action == "skip":
        return KeyQuality(
            problems=(), missing_share=0.0, repeated_share=0.0, uniformity_p=None, slice=1
        )
    quality = _measure(source, keys)
    if quality.problems and action == "stop":
        raise KeyQualityError(
            quality.summary(),
            hint='repair the keys, or accept them knowingly with checks = "warn"',
        )
    for problem in quality.problems:
        warnings.warn(problem, KeyQualityWarning, stacklevel=2)
    return quality


def _measure(source: Source, keys: RecordKeys) -> KeyQuality:
    column = quote(keys.column)
    total, present = source.fetch(f"SELECT count(*), count({column}) FROM {source.relation}")[0]
    hashed = isinstance(keys, HashedKeys)
    modulus = 1 if total <= _FULL_COUNT else 2 ** math.ceil(math.log2(total / _FULL_COUNT))
    chosen = f"WHERE hash({column}) % {modulus} = 0" if modulus > 1 else ""
    looked, distinct = source.fetch(
        f"SELECT count({column}), count(DISTINCT {column}) FROM {source.relation} {chosen}"
    )[0]
    space = math.inf if hashed else keys.resolve(source) / modulus
    by_chance = _repeats_by_chance(looked, space)
    # Chernoff: repeats beyond this bound have probability below _ALPHA.
    bound = by_chance + math.sqrt(3 * by_chance * -math.log(_ALPHA)) - math.log(_ALPHA)
    repeated = looked - distinct
    excess = repeated if hashed else repeated if repeated > bound else 0
    p_value = None if hashed else _uniformity(source, keys, present)
    problems = []
    if present < total:
        problems.append(f"{_share(total - present, total)} of the records have no key.")
    if excess:
        what = "identifiers" if hashed else "record keys"
        problems.append(
            f"{_share(excess, looked)} of the {what} repeat another, more than chance explains."
        )
    if p_value is not None and p_value < _ALPHA:
        problems.append("The record keys are not uniform over their range.")
    return KeyQuality(
        problems=tuple(problems),
        missing_share=(total - present) / total if total else 0.0,
        repeated_share=excess / looked if looked else 0.0,
        uniformity_p=p_value,
        slice=modulus,
    )


def _repeats_by_chance(n: int, space: float) -> float:
    """Return how many of n draws are expected to repeat one, n - M(1 - (1-1/M)^n)."""
    if math.isinf(space) or n == 0:
        return 0.0
    return n + space * math.expm1(n * math.log1p(-1 / space))


def _uniformity(source: Source, keys: RecordKeys, present: int) -> float | None:
    """p-value of Pearson's test over equal bins of the range, five records a bin or more."""
    key_range = keys.resolve(source)
    bins = min(_BINS, key_range, present // 5)
    if bins < 2:
        return None
    rows = source.fetch(
        f"SELECT (({keys.sql(source, {})})::HUGEINT * {bins}) // {key_range} AS bin, count(*) "
        f"FROM {source.relation} WHERE {quote(keys.column)} IS NOT NULL GROUP BY bin"
    )
    observed = {int(row[0]): row[1] for row in rows}
    edges = [-(-b * key_range // bins) for b in range(bins + 1)]
    statistic = 0.0
    for b in range(bins):
        expected = present * (edges[b + 1] - edges[b]) / key_range
        statistic += (observed.get(b, 0) - expected) ** 2 / expected
    from scipy.special import gammaincc

    return float(gammaincc((bins - 1) / 2, statistic / 2))


def _share(part: int, whole: int) -> str:
    percent = 100 * part / whole
    return "Fewer than 1 %" if percent < 1 else f"About {percent:.0f} %"
