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
    known = {variable.name: variable for variable in derived}
    found: dict[str, str] = {}
    for column in columns:
        name = column
        while name in known and name not in found:
            found[name] = _words(known[name], language=language)
            name = known[name].of
    return tuple(found.values())


def _words(variable: DerivedVariable, *, language: str) -> str:
    """Say how a variable is made of a column."""
    said: dict[str, object] = {"name": variable.name, "of": variable.of}
    if not variable.is_banded:
        key = "derived_recode"
    elif variable.is_period:
        key = f"derived_{variable.width}"
    elif variable.width is not None:
        key, said["width"] = "derived_width", variable.width
    elif isinstance(variable.bands, Mapping):
        key, said["number"] = "derived_named", len(variable.bands)
    else:
        shown = [str(bound) for bound in variable.bands or ()]
        few = [*shown[:_FIRST], "…", shown[-1]] if len(shown) > _MOST_BOUNDS else shown
        key, said["bounds"] = "derived_bands", ", ".join(few)
    return say(key, language).format(**said)
