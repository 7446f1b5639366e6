"""How variables are made of columns, in a sentence for readers of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ckm.formats.words import say

if TYPE_CHECKING:
    from tables import DerivedVariable

# Of many bounds of bands, the first and the last are said.
_MOST_BOUNDS, _FIRST = 12, 3


def derivations_of(
    derived: Sequence[DerivedVariable], columns: Iterable[str], *, language: str
) -> tuple[str, ...]:
    """Say how columns of a table are made of others, and these of others.

    What was settled beforehand, and nothing that the data told.
    """
    by_name = {variable.name: variable for variable in derived}
    sentences: dict[str, str] = {}
    for column in columns:
        name = column
        while name in by_name and name not in sentences:
            sentences[name] = _words(by_name[name], language=language)
            name = by_name[name].of
    return tuple(sentences.values())


def _words(variable: DerivedVariable, *, language: str) -> str:
    """Say how a variable is made of a column."""
    values: dict[str, object] = {"name": variable.name, "of": variable.of}
    if not variable.is_banded:
        key = "derived_recode"
    elif variable.is_period:
        key = f"derived_{variable.width}"
    elif variable.width is not None:
        key, values["width"] = "derived_width", variable.width
    elif isinstance(variable.bands, Mapping):
        key, values["number"] = "derived_named", len(variable.bands)
    else:
        bounds = [str(bound) for bound in variable.bands or ()]
        few = [*bounds[:_FIRST], "…", bounds[-1]] if len(bounds) > _MOST_BOUNDS else bounds
        key, values["bounds"] = "derived_bands", ", ".join(few)
    words = say(key, language).format(**values)
    if variable.missing is None:
        return words
    missing = say("derived_missing", language)
    return f"{words} {missing.format(of=variable.of, missing=variable.missing)}"
