"""Finding categories by name: any part of a name, without accents and case, best first."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckm.service.answering.variables import Variable

_END = "\n"


def plain(text: str) -> str:
    """Return a text without case and accents; hyphens and apostrophes are blanks."""
    if text.isascii():
        lower = text.casefold()
    else:
        apart = unicodedata.normalize("NFKD", text.casefold())
        lower = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return " ".join(lower.translate(_BLANKS).split())


class NameSearch:
    """The names and codes of the categories of a variable in a language, in one text.

    Parameters
    ----------
    variable
        The variable; those of its categories that are listed can be found.
    language
        Of the names.
    """

    def __init__(self, variable: Variable, language: str) -> None:
        former = variable.offer.former
        self._ranks: list[int] = []
        lines: list[str] = []
        for rank in variable.ranks().tolist():
            code = variable.codes[rank]
            own = code if code in former else variable.own(rank)
            # Each name begins a line: what a search begins with is found at its start.
            for name in dict.fromkeys(
                (variable.label(rank, language), code, *former.get(own, ()))
            ):
                self._ranks.append(rank)
                lines.append(plain(name))
        self._text = _END + _END.join(lines) + _END
        self._starts = list(accumulate((len(line) + 1 for line in lines), initial=1))

    def find(self, text: str) -> list[int]:
        """Return the categories with a text in one of their names, best first.

        First those with a name that begins with it, then those of which a word does.
        """
        wanted = plain(text)
        if not wanted:
            return []
        ranks: dict[int, None] = {}
        for before in (_END, " ", ""):
            for line in self._lines(before + wanted, len(before)):
                ranks[self._ranks[line]] = None
        return list(ranks)

    def _lines(self, text: str, n_before: int) -> Iterator[int]:
        """Give the lines with a text, each once."""
        place = self._text.find(text)
        while place >= 0:
            line = bisect_right(self._starts, place + n_before) - 1
            yield line
            place = self._text.find(text, self._starts[line + 1] - 1)


_BLANKS = str.maketrans(dict.fromkeys("-'\N{RIGHT SINGLE QUOTATION MARK}/_.,", " "))
