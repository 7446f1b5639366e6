"""Columns that are refused by name when they are used, each with the reason and a cure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NESTED = (
    *("struct", "map", "union", "list", "large_list", "fixed_size_list"),
    *("dense_union", "sparse_union", "array"),
)
_RENAME = Message("rename one of them")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a column is not read, and a way out."""

    problem: str
    hint: str


_CURES = {
    "half floats": Message("cast it to float32 or float64, or write it as text"),
    "durations": Message("write it as a number of one unit, such as hours or days"),
    "intervals": Message("cut it into bands in the job, or write it as text: .astype(str)"),
    "periods": Message("write it as text: .astype(str)"),
    "nested values": Message("take out of it what is needed, as columns of their own"),
    "binary values": Message("write it as text"),
    "years beyond 290,000": Message("leave those values missing, or write it as text"),
}
_CURE = Message("write it as text, or as a number of at most 38 digits")


def refusal_of(name: str, kind: str) -> Refusal:
    """Refuse a column of values that are told in words, or by a type of DuckDB or Arrow."""
    words = kind if kind in _CURES or kind.startswith("values of") else words_of(kind)
    return Refusal(
        problem=Message(
            "Column {name!r} holds {words}, which are not read.",
            name=Name(name),
            words=said(words),
        ),
        hint=_CURES.get(words, _CURE),
    )


def words_of(kind: str) -> str:
    """Say what a type of DuckDB's or Arrow's is, where it is none that is read."""
    low = kind.lower()
    if low.startswith(_NESTED) or low.endswith("]"):
        return Message("nested values")
    if low.startswith(("blob", "bit", "binary", "large_binary", "fixed_size_binary")):
        return Message("binary values")
    is_duration = low.startswith(("interval", "duration", "month_day_nano_interval"))
    return (
        Message("durations")
        if is_duration
        else Message("values of the type {kind}", kind=Argument(kind))
    )


def colliding_names(names: Sequence[str]) -> dict[str, Refusal]:
    """Refuse the columns that SQL cannot tell apart: the same name, or upper and lower case.

    DuckDB renames the second of them, and finds either by the name of the other.
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_folded(name), []).append(name)
    refusals: dict[str, Refusal] = {}
    for group in alike.values():
        if len(group) < 2:
            continue
        distinct = list(dict.fromkeys(group))
        problem = Message(
            "The data have two columns called {distinct!r}.", distinct=Name(distinct[0])
        )
        if len(distinct) > 1:
            words = Message(
                "{columns!r} and {last!r}",
                columns=Name.each(distinct[:-1]),
                last=Name(distinct[-1]),
            )
            problem = Message(
                "Columns {listed} differ in upper and lower case alone.", listed=words
            )
        refusals |= dict.fromkeys(distinct, Refusal(problem=problem, hint=_RENAME))
    return refusals


def _folded(name: str) -> str:
    """Write a name in lower case as DuckDB compares it: the letters of ASCII alone."""
    return "".join(c.lower() if c.isascii() else c for c in name)


def declaration(name: str, kind: str) -> str:
    """Write as a job does what the values of a column are: types = { code = "text" }."""
    key = (
        name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
    )
    return Message('types = {{ {key} = "{kind}" }}', key=Name(key), kind=said(kind))


def refused_names(refusals: Mapping[str, Refusal]) -> str:
    """List refused columns, the first few of them."""
    names = [repr(name) for name in list(refusals)[:5]]
    return ", ".join(names) + (", …" if len(refusals) > 5 else "")
