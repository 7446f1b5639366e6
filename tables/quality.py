"""Checks that record keys are fit: none missing, none repeated beyond chance, uniform."""

import math
import operator
import warnings
from dataclasses import dataclass, field
from typing import Literal

from footing.messages import Message, Name, joined
from tables.errors import KeyQualityError, KeyQualityWarning, RequestError
from tables.key_tally import BIN_BITS, KeyTally, slice_of
from tables.keys import HashedKeys, RecordKeys, require_sound
from tables.source.source import Source

Action = Literal["stop", "warn", "skip"]

_ALPHA = 1e-9  # a sound key column is called defective once in a thousand million checks
_NARROW = 65_536  # up to this range, every key is counted; repeats are then the rule


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
    inside
        The numbers behind the problems, for whoever has the data.
    """

    problems: tuple[str, ...]
    missing_share: float = field(repr=False)  # exact: shown in words only
    repeated_share: float = field(repr=False)
    uniformity_p: float | None
    slice: int
    inside: str = field(default="", repr=False)

    @property
    def is_sound(self) -> bool:
        """Whether no defect was found."""
        return not self.problems

    def summary(self) -> str:
        """Say in one line what was found."""
        if self.problems:
            return joined(" ", self.problems)
        part = (
            Message()
            if self.slice == 1
            else Message(" (repetition judged on 1 in {slice} keys)", slice=self.slice)
        )
        return Message(
            "record keys: none missing, none repeated beyond chance, uniform{part}", part=part
        )


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
    unique; stored keys may repeat as often as chance has it in their range. Of more than
    131,072 records, repetition is judged on one key in 2, 4, 8 …, chosen by the key: a few
    repeated ones among millions can pass. Whether keys fill their range evenly is judged on
    all records; keys of few values do not.

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
        raise RequestError(
            Message(
                "checks must be 'stop', 'warn' or 'skip', not {action!r}.", action=Name(action)
            )
        )
    if action == "skip":
        require_sound(source, keys)
        return KeyQuality(
            problems=(), missing_share=0.0, repeated_share=0.0, uniformity_p=None, slice=1
        )
    quality = _measure(source, keys, tolerate_missing=action == "warn")
    if quality.problems and action == "stop":
        raise KeyQualityError(
            quality.summary(),
            hint=Message(
                "is the column one that tells records apart? repair the keys, or accept "
                'them knowingly with checks = "warn"'
            ),
            inside=quality.inside,
        )
    for problem in quality.problems:
        warnings.warn(problem, KeyQualityWarning, stacklevel=2)
    return quality


def _measure(source: Source, keys: RecordKeys, *, tolerate_missing: bool) -> KeyQuality:
    total, missing = require_sound(source, keys, tolerate_missing=tolerate_missing)
    key_range = keys.resolve(source)
    modulus = 1 if key_range <= _NARROW else slice_of(total)
    tally = source.key_tally(keys.sql(source, {})) if isinstance(keys, HashedKeys) else None
    if tally is not None and tally.slice == modulus:
        looked, distinct = tally.repetition()
    else:
        looked, distinct = _slice(source, keys, modulus)
    space = -(-key_range // modulus)
    by_chance = _repeats_by_chance(looked, space)
    is_hashed = isinstance(keys, HashedKeys)
    repeated = looked - distinct
    excess = repeated if is_hashed or repeated > by_chance + _deviation(by_chance) else 0
    inside = [
        f"{n:,} of {of:,} {what}"
        for n, of, what in (
            (missing, total, Message("records without a key")),
            (excess, looked, Message("keys that repeat another")),
        )
        if n
    ]
    expected = (total - missing) * space / key_range
    p_value = _uniformity(source, keys, tally)
    is_even = p_value is None or p_value >= _ALPHA
    is_even &= abs(looked - expected) <= _deviation(expected)
    problems = []
    if missing:
        problems.append(
            Message("{share} of the records have no key.", share=_share(missing, total))
        )
    if excess:
        what = Message("identifiers") if is_hashed else Message("record keys")
        problems.append(
            Message(
                "{share} of the {what} repeat another, more than chance explains.",
                share=_share(excess, looked),
                what=what,
            )
        )
    if not is_even and is_hashed and not excess:  # hashed keys are uneven for no other reason
        problems.append(Message("Many of the identifiers repeat another."))
    if not is_even and not is_hashed:
        problems.append(Message("The record keys are not uniform over their range."))
    return KeyQuality(
        problems=tuple(problems),
        missing_share=missing / total if total else 0.0,
        repeated_share=excess / looked if looked else 0.0,
        uniformity_p=None if is_hashed else p_value,
        slice=modulus,
        inside=", ".join(inside),
    )


def _slice(source: Source, keys: RecordKeys, modulus: int) -> tuple[int, int]:
    """Count the records whose key is a multiple of a power of two, and these keys."""
    parameters: dict[str, object] = {}
    sql = keys.sql(source, parameters)
    condition = f"WHERE key & {modulus - 1} = 0" if modulus > 1 else ""
    looked, distinct = source.fetch(
        f"SELECT count(key), count(DISTINCT key) FROM "
        f"(SELECT {sql} AS key FROM {source.relation}) {condition}",
        parameters,
    )[0]
    return looked, distinct


def _deviation(expected: float) -> float:
    """Return what a count is off by with probability below _ALPHA (Chernoff's bound)."""
    return math.sqrt(3 * expected * -math.log(_ALPHA / 2)) - math.log(_ALPHA / 2)


def _repeats_by_chance(n: int, space: int) -> float:
    """Return how many of n draws are expected to repeat one, n - M(1 - (1-1/M)^n)."""
    return n + space * math.expm1(n * math.log1p(-1 / space)) if n else 0.0


def _uniformity(source: Source, keys: RecordKeys, tally: KeyTally | None) -> float | None:
    """Return the p-value of Pearson's test over bins of five expected records or more.

    Keys that are few, or many of which repeat, fill the bins unevenly too.
    """
    key_range = keys.resolve(source)
    bins = key_range if key_range <= _NARROW else 2**BIN_BITS
    counts = tally.bins() if tally is not None else _counts_by_bin(source, keys, bins)
    present = sum(counts.values())
    merged = max(1, -(-5 * bins // max(present, 1)), -(-bins // 2**BIN_BITS))
    if merged * 2 > bins:
        return None
    observed = [0] * -(-bins // merged)
    for place, records in counts.items():
        observed[int(place) // merged] += records
    starts = [-(-min(merged * n, bins) * key_range // bins) for n in range(len(observed) + 1)]
    statistic = sum(
        (count - present * width / key_range) ** 2 / (present * width / key_range)
        for count, width in zip(observed, map(operator.sub, starts[1:], starts), strict=True)
    )
    half, odd = max(statistic, 1e-300) / 2, (len(observed) - 1) % 2 / 2  # its closed form
    terms = (odd + n for n in range((len(observed) - 1) // 2))
    tail = math.fsum(math.exp(n * math.log(half) - half - math.lgamma(n + 1)) for n in terms)
    return tail + 2 * odd * math.erfc(math.sqrt(half))


def _counts_by_bin(source: Source, keys: RecordKeys, bins: int) -> dict[int, int]:
    """Count the keys of each bin of their range."""
    key_range = keys.resolve(source)
    parameters: dict[str, object] = {}
    sql = keys.sql(source, parameters)
    bin_of = f"(key::HUGEINT * {bins}) // {key_range}"
    if bins == key_range:
        bin_of = "key"
    elif key_range & (key_range - 1) == 0:
        bin_of = f"key >> {key_range.bit_length() - 1 - BIN_BITS}"
    return dict(
        source.fetch(
            f"SELECT {bin_of} AS bin, count(*) FROM (SELECT {sql} AS key FROM "
            f"{source.relation}) WHERE key IS NOT NULL GROUP BY bin",
            parameters,
        )
    )


def _share(part: int, whole: int) -> Message:
    percent = 100 * part / whole
    if percent < 1:
        return Message("Fewer than 1 %")
    return Message("About {percent:.0f} %", percent=percent)
