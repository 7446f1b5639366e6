"""Selections as PxWebApi 2 writes them: codes, wildcards, ``top(5)``, ``range(a,b)`` and so on.

``*`` stands for any text and ``?`` for one sign; ``top(n)`` and ``bottom(n)``, with an offset
if wanted, take from an end of the list; ``range(a,b)``, ``from(a)`` and ``to(b)`` take what
lies between, ends included. Brackets keep commas together: ``[range(1,9)],12``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ckm.service.mistake import Mistake

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.service.variables import Variable

__all__ = ["codelists_of", "parts_of", "ranks_of", "split_codes"]

_CALL = re.compile(r"(top|bottom|range|from|to)\((.*)\)", re.IGNORECASE | re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,9}")


def split_codes(text: str) -> list[str]:
    """Split a list of codes at its commas; brackets keep a code together.

    Parameters
    ----------
    text
        The list.

    Examples
    --------
    >>> split_codes("F,[range(1,9)], M")
    ['F', 'range(1,9)', 'M']
    """
    parts, depth, part = [], 0, ""
    for sign in text:
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and depth <= 0:
            parts.append(part)
            part = ""
        else:
            part += sign
    parts.append(part)
    stripped = [part.strip() for part in parts]
    return [p[1:-1] if p[:1] == "[" and p[-1:] == "]" else p for p in stripped if p]


def codelists_of(variable: Variable) -> dict[str, int | None]:
    """Return the code lists of a variable: of all its categories, and of each level.

    Parameters
    ----------
    variable
        The variable.

    Returns
    -------
    dict
        Name → level; None for all levels with the total, which is the first.
    """
    lists: dict[str, int | None] = {variable.name: None}
    for level in range(len(variable.level_names) - 1, -1, -1):
        name = variable.level_names[level]
        lists[f"{variable.name}.{'categories' if name == variable.name else name}"] = level
    return lists


def ranks_of(
    variable: Variable,
    *,
    codes: Sequence[str] | None,
    codelist: str | None = None,
    is_single: bool = False,
) -> tuple[int, ...]:
    """Return the categories of a selection, each once.

    Parameters
    ----------
    variable
        The variable.
    codes
        Codes and expressions; None for the whole list.
    codelist
        A code list of the variable; that of all categories by default.
    is_single
        Give the finest categories within those selected, instead of themselves.

    Raises
    ------
    Mistake
        If an expression cannot be read or selects nothing.
    """
    lists = codelists_of(variable)
    if codelist is not None and codelist not in lists:
        raise Mistake("bad_codelist", variable=variable.name, name=codelist, known=list(lists))
    level = lists[codelist] if codelist is not None else None
    listed = variable.ranks(level).tolist()
    found: dict[int, None] = dict.fromkeys(listed) if codes is None else {}
    for code in codes or ():
        found |= dict.fromkeys(_selected(variable, listed, code, is_level=level is not None))
    if is_single:
        found = dict.fromkeys(parts_of(variable, list(found), 0))
    if not found:
        raise Mistake("nothing_selected", variable=variable.name)
    return tuple(found)


def _selected(variable: Variable, listed: list[int], code: str, *, is_level: bool) -> list[int]:
    rank = variable.rank(code)
    if rank is not None and (not is_level or rank in listed):
        return [rank]
    call = _CALL.fullmatch(code)
    if call is not None:
        return _called(variable, listed, code, (call[1].lower(), split_codes(call[2])))
    if "*" in code or "?" in code:
        return _matching(variable, listed, code)
    known = [variable.codes[r] for r in listed[:5000]]
    raise Mistake("no_category", variable=variable.name, name=code, known=known)


def _matching(variable: Variable, listed: list[int], code: str) -> list[int]:
    if set(code) == {"*"}:
        return listed
    parts = (
        "[\\s\\S]*" if s == "*" else "[\\s\\S]" if s == "?" else re.escape(s)
        for s in re.sub(r"\*+", "*", code)
    )
    if code.count("*") > 4:  # so that no pattern takes long
        raise Mistake("bad_expression", variable=variable.name, name=code)
    pattern = re.compile("".join(parts))
    return [rank for rank in listed if pattern.fullmatch(variable.codes[rank])]


def _called(
    variable: Variable, listed: list[int], code: str, call: tuple[str, list[str]]
) -> list[int]:
    """Return what ``top``, ``bottom``, ``range``, ``from`` or ``to`` select."""
    word, given = call
    if word in {"top", "bottom"}:
        if not 1 <= len(given) <= 2 or not all(_NUMBER.fullmatch(n) for n in given):
            raise Mistake("bad_expression", variable=variable.name, name=code)
        count, offset = int(given[0]), int(given[1]) if len(given) > 1 else 0
        if word == "top":
            return listed[offset : offset + count]
        return listed[::-1][offset : offset + count][::-1]
    if len(given) != (2 if word == "range" else 1):
        raise Mistake("bad_expression", variable=variable.name, name=code)
    places = [_place(variable, listed, end) for end in given]
    if word == "from":
        return listed[places[0] :]
    if word == "to":
        return listed[: places[0] + 1]
    return listed[places[0] : places[1] + 1]


def _place(variable: Variable, listed: list[int], code: str) -> int:
    rank = variable.rank(code)
    if rank is None or rank not in listed:
        raise Mistake("no_category", variable=variable.name, name=code)
    return listed.index(rank)


def parts_of(variable: Variable, ranks: Sequence[int], level: int) -> list[int]:
    """Return the listed categories of a level within some categories.

    Parameters
    ----------
    variable
        The variable.
    ranks
        Categories of any levels.
    level
        A level, 0 for the finest.
    """
    inside = np.zeros(variable.axis.size, bool)
    inside[list(ranks)] = True
    levels = variable.axis.levels[level:]
    for above, below in zip(levels[:0:-1], levels[-2::-1], strict=True):
        up = np.zeros(below.size, np.int32) if below.up is None else below.up
        inside[below.ranks[inside[above.ranks[up]]]] = True
    wanted = np.zeros(variable.axis.size, bool)
    wanted[levels[0].ranks] = True
    return np.flatnonzero(inside & wanted & variable.is_listed).tolist()
