"""What files call the codes of their columns, and how copies in Parquet say it too."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from footing.messages import Message, Name, said
from tables.errors import DataWarning, SourceError

#: The key of a Parquet file's metadata that holds it; other programs pass over it.
LABELS_KEY = "ckm_labels"
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class MissingCodes:
    """The codes of a column that stand for missing values.

    Parameters
    ----------
    ranges
        The first and the last code of each range; of single codes they are the same.
    names
        Code → what the file calls it.
    """

    ranges: tuple[tuple[str, str], ...]
    names: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: MissingCodes) -> MissingCodes:
        """Return the codes of both."""
        ranges = tuple(dict.fromkeys([*self.ranges, *other.ranges]))
        return MissingCodes(ranges, {**self.names, **other.names})

    def __str__(self) -> str:
        codes = sum(low == high for low, high in self.ranges)
        wide = len(self.ranges) - codes
        words = [f"{codes} code{'s' if codes > 1 else ''}"] if codes else []
        words += (
            ["a range of codes" if wide == 1 else f"{wide} ranges of codes"] if wide else []
        )
        return " and ".join(words)


def add_labels(
    labels: dict[str, dict[Any, str]], more: Mapping[str, Mapping[Any, str]]
) -> None:
    """Add the labels of a further file, which must not contradict those before."""
    for name, codes in more.items():
        before = labels.setdefault(name, {})
        if any(before.get(code, text) != text for code, text in codes.items()):
            raise SourceError(
                Message(
                    "The files label a code of column {name!r} differently.", name=Name(name)
                ),
                hint=Message(
                    "make the labels of all files the same, or release them one by one"
                ),
            )
        before |= codes


def add_missing(missing: dict[str, MissingCodes], more: Mapping[str, MissingCodes]) -> None:
    """Add the missing codes of a further file."""
    for name, codes in more.items():
        missing[name] = missing[name] | codes if name in missing else codes


def warn_of_missing(missing: Mapping[str, MissingCodes], label: str) -> None:
    """Warn of columns of which codes were read as missing values, and how many."""
    if not missing:
        return
    examples = ", ".join(
        f"{name!r} ({codes})" for name, codes in list(missing.items())[:_SHOWN]
    )
    rest = len(missing) - _SHOWN
    more = Message(" and {rest} more columns", rest=rest) if rest > 0 else Message()
    warnings.warn(
        message=Message(
            "{label!r} declares codes as missing, and they are read so: {words}{more}.",
            label=Name(label),
            words=said(examples),
            more=more,
        ),
        category=DataWarning,
        stacklevel=2,
    )


def labels_mark(
    labels: Mapping[str, Mapping[str, str]],
    missing: Mapping[str, MissingCodes],
    columns: Iterable[str],
) -> dict[str, str]:
    """Return the metadata of a copy of records that says what the codes of its columns are.

    Parameters
    ----------
    labels
        Column → category, as tables print it → what the file calls it.
    missing
        Column → the codes that were read as missing.
    columns
        The columns of the copy.
    """
    names = {*columns}
    codes = {
        name: {"ranges": missing_codes.ranges, "names": dict(missing_codes.names)}
        for name, missing_codes in missing.items()
        if name in names
    }
    own = {name: dict(texts) for name, texts in labels.items() if name in names}
    if not own and not codes:
        return {}
    return {LABELS_KEY: json.dumps({"labels": own, "missing": codes}, ensure_ascii=True)}


def marked_labels(
    texts: Iterable[str], columns: Iterable[str]
) -> tuple[dict[str, dict[str, str]], dict[str, MissingCodes]]:
    """Return labels and missing codes as files say them; nothing where it is no such text.

    Parameters
    ----------
    texts
        What the metadata of each file holds.
    columns
        The columns that are read.
    """
    names = {*columns}
    labels: dict[str, dict[Any, str]] = {}
    missing: dict[str, MissingCodes] = {}
    for text in texts:
        try:
            content = json.loads(text)
            own = {
                str(name): {str(code): str(label) for code, label in entry.items()}
                for name, entry in content["labels"].items()
                if name in names
            }
            codes = {
                str(name): MissingCodes(
                    tuple((str(low), str(high)) for low, high in entry["ranges"]),
                    {str(code): str(label) for code, label in entry["names"].items()},
                )
                for name, entry in content["missing"].items()
                if name in names
            }
        except (ValueError, KeyError, TypeError, AttributeError):  # of another program
            continue
        add_labels(labels, own)
        add_missing(missing, codes)
    return labels, missing
