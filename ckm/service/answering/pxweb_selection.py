"""Selections as PxWebApi 2 writes them: codes, wildcards, ``top(5)``, ``range(a,b)`` and so on.

``*`` stands for any text and ``?`` for one sign; ``top(n)`` and ``bottom(n)``, with an offset
if wanted, take from an end of the list; ``range(a,b)``, ``from(a)`` and ``to(b)`` take what
lies between, ends included. A code that a category has is that category, whatever signs are in
it; one of ``*`` and ``?`` alone is a wildcard all the same, and ``range(*,*)`` its category.
Brackets keep commas together, and blanks at the ends: ``[range(1,9)],12``. Blanks without
brackets belong to a code where a category has them; else they say nothing.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ckm.service.answering.messages import ClientError
from ckm.service.answering.variables import Variable

#: The dimension of the measures.
CONTENTS = "ContentsCode"

_MAX_PATTERNS = 50
_MAX_LOOKS = 1_000_000

_CALL = re.compile(r"(top|bottom|range|from|to)\((.*)\)", re.IGNORECASE | re.DOTALL)
_MAX_STARS = 4
_NUMBER = re.compile(r"[0-9]{1,9}")


def split_codes(text: str, variable: Variable | None = None) -> list[str]:
    """Split a list of codes at its commas; brackets keep a code together.

    Blanks at the ends of a code stay in brackets, and where a category has them.
    """
    parts, squares, rounds, part = [], 0, 0, ""
    for sign in text:
        squares = max(0, squares + (sign == "[") - (sign == "]"))
        if not squares:  # within brackets of a code, others are signs of the code
            rounds = max(0, rounds + (sign == "(") - (sign == ")"))
        if sign == "," and not squares and not rounds:
            parts.append(part)
            part = ""
        else:
            part += sign
    parts.append(part)
    return [code for part in parts for code in _code_of(part, variable)]


def _code_of(part: str, variable: Variable | None) -> list[str]:
    """Return the code that stands between commas; none where nothing does."""
    if part and variable is not None and variable.chosen(part) is not None:
        return [part]
    code = part.strip()
    if code[:1] == "[" and code[-1:] == "]":
        return [code[1:-1]]
    return [code] if code else []


def codelists_of(variable: Variable) -> dict[str, int | None]:
    """Return the code lists of a variable: of all its categories, and of each level."""
    lists: dict[str, int | None] = {variable.name: None}
    for level in range(len(variable.level_names) - 1, -1, -1):
        name = variable.level_names[level]
        lists[f"{variable.name}.{'categories' if name == variable.name else name}"] = level
    return lists


def max_patterns(variable: Variable) -> int:
    """Return how many patterns may select from a variable; each looks at every category."""
    return max(1, min(_MAX_PATTERNS, _MAX_LOOKS // len(variable.codes)))


def ranks_of(
    variable: Variable,
    *,
    codes: Sequence[str] | None,
    codelist: str | None = None,
    is_single: bool = False,
) -> tuple[int, ...]:
    """Return the categories of a selection, each once."""
    lists = codelists_of(variable)
    if codelist is not None and codelist not in lists:
        raise ClientError(
            "bad_codelist", variable=variable.name, name=codelist, choices=list(lists)
        )
    level = lists[codelist] if codelist is not None else None
    listing = _Listing(variable, variable.ranks(level).tolist(), is_level=level is not None)
    ranks: dict[int, None] = dict.fromkeys(listing.ranks) if codes is None else {}
    patterns = 0
    for code in codes or ():
        rank = listing.rank(code)
        if rank is not None:
            ranks[rank] = None
            continue
        patterns += 1
        if patterns > max_patterns(variable):
            limit = max_patterns(variable)
            raise ClientError("too_many_patterns", variable=variable.name, limit=limit)
        ranks |= dict.fromkeys(_selected(listing, code))
    if is_single:
        ranks = dict.fromkeys(parts_of(variable, list(ranks), 0))
    if not ranks:
        raise ClientError("nothing_selected", variable=variable.name)
    return tuple(ranks)


def measures_of(codes: Iterable[str], choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return the measures of a selection, each once."""
    measures: dict[str, None] = {}
    for code in codes:
        if code != "*" and code not in choices:
            raise ClientError("no_category", variable=CONTENTS, name=code, choices=choices)
        measures |= dict.fromkeys(choices if code == "*" else [code])
    if not measures:
        raise ClientError("nothing_selected", variable=CONTENTS)
    return tuple(measures)


@dataclass(frozen=True)
class _Listing:
    """The categories of a code list, in their order."""

    variable: Variable
    ranks: list[int]
    is_level: bool

    @cached_property
    def places(self) -> dict[int, int]:
        return {rank: place for place, rank in enumerate(self.ranks)}

    def rank(self, code: str) -> int | None:
        """Return the category of a code, where the list has it."""
        rank = self.variable.chosen(code)
        return None if rank is None or (self.is_level and rank not in self.places) else rank

    def place(self, code: str) -> int:
        rank = self.variable.rank(code)
        if rank is None or rank not in self.places:
            raise ClientError("no_category", variable=self.variable.name, name=code)
        return self.places[rank]


def _selected(listing: _Listing, code: str) -> list[int]:
    call = _CALL.fullmatch(code)
    if call is not None:
        return _called(listing, code, (call[1].lower(), split_codes(call[2], listing.variable)))
    if "*" in code or "?" in code:
        return _matching(listing, code)
    variable = listing.variable
    codes = [variable.codes[r] for r in listing.ranks[:5000]]
    raise ClientError("no_category", variable=variable.name, name=code, choices=codes)


def _matching(listing: _Listing, code: str) -> list[int]:
    if set(code) == {"*"}:
        return listing.ranks
    code = re.sub(r"\*+", "*", code)
    parts = [
        "".join("[\\s\\S]" if sign == "?" else re.escape(sign) for sign in part)
        for part in code.split("*")
    ]
    if len(parts) > _MAX_STARS + 1:
        raise ClientError("bad_expression", variable=listing.variable.name, name=code)
    if len(parts) > 1:
        # A part is found where it comes first, for good, so that no pattern takes long.
        inner = "".join(f"(?>[\\s\\S]*?{part})" for part in parts[1:-1])
        parts = [parts[0], inner, f"[\\s\\S]*{parts[-1]}"]
    pattern = re.compile("".join(parts))
    first, last = re.split(r"[*?]", code)[0], re.split(r"[*?]", code)[-1]
    codes = listing.variable.codes
    likely = (
        r for r in listing.ranks if codes[r].startswith(first) and codes[r].endswith(last)
    )
    return [rank for rank in likely if pattern.fullmatch(codes[rank])]


def _called(listing: _Listing, code: str, call: tuple[str, list[str]]) -> list[int]:
    """Return what ``top``, ``bottom``, ``range``, ``from`` or ``to`` select."""
    word, arguments = call
    ranks = listing.ranks
    if word in {"top", "bottom"}:
        if not 1 <= len(arguments) <= 2 or not all(_NUMBER.fullmatch(n) for n in arguments):
            raise ClientError("bad_expression", variable=listing.variable.name, name=code)
        count, offset = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0
        if word == "top":
            return ranks[offset : offset + count]
        return ranks[::-1][offset : offset + count][::-1]
    if len(arguments) != (2 if word == "range" else 1):
        raise ClientError("bad_expression", variable=listing.variable.name, name=code)
    places = [listing.place(end) for end in arguments]
    if word == "from":
        return ranks[places[0] :]
    if word == "to":
        return ranks[: places[0] + 1]
    return ranks[places[0] : places[1] + 1]


def parts_of(variable: Variable, ranks: Sequence[int], level: int) -> list[int]:
    """Return the listed categories of a level within some categories."""
    inside = np.zeros(variable.axis.size, bool)
    inside[list(ranks)] = True
    levels = variable.axis.levels[level:]
    for above, below in zip(levels[:0:-1], levels[-2::-1], strict=True):
        up = np.zeros(below.size, np.int32) if below.up is None else below.up
        inside[below.ranks[inside[above.ranks[up]]]] = True
    mask = np.zeros(variable.axis.size, bool)
    mask[levels[0].ranks] = True
    return np.flatnonzero(inside & mask & variable.is_listed).tolist()
