"""Tables to start with: for readers who do not know yet what there is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ckm.service.answering.pxweb_selection import codelists_of
from ckm.service.page.page_state import PageState, Wanted, is_fine
from reports.service import Choice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckm.service.answering.variables import Variable
    from ckm.service.table_service import TableService

_BY = " \N{MULTIPLICATION SIGN} "
_MOST = 4
_MAX_CATEGORIES = 100


def starts_of(
    table_service: TableService, *, language: str, is_given: bool
) -> tuple[Choice, ...]:
    """Return addresses of small tables whose shape breaks no rule, each with its name."""
    variables, mandatory = table_service.variables, table_service.service.rules.mandatory
    small = [name for name, v in variables.items() if len(_coarsest(v)[1]) <= _MAX_CATEGORIES]
    found: dict[tuple[str, ...], Choice] = {}
    for names in _combinations(small, table_service.service.area):
        chosen = tuple(dict.fromkeys((*names, *mandatory)))
        asked = PageState(
            wanted={name: Wanted(codelist=_coarsest(variables[name])[0]) for name in chosen},
            language=language if is_given else "",
        )
        if chosen not in found and is_fine(asked, table_service):
            label = _BY.join(_words(variables[name], language) for name in chosen)
            found[chosen] = Choice(value=asked.href(), label=label)
    return tuple(islice(found.values(), _MOST))


def _combinations(names: list[str], area: str | None) -> Iterator[tuple[str, ...]]:
    """Give the area by another variable, two others, and each alone."""
    others = [name for name in names if name != area]
    if area in names and area is not None:
        yield from ((area, other) for other in others[:2])
    if len(others) > 1:
        yield (others[0], others[1])
    yield from ((name,) for name in names)


def _coarsest(variable: Variable) -> tuple[str, list[int]]:
    """Return the code list of the broadest level; of a variable without levels, all of it."""
    lists = codelists_of(variable)
    if len(lists) == 2:
        return variable.name, variable.ranks().tolist()
    name, level = list(lists.items())[1]
    return name, variable.ranks(level).tolist()


def _words(variable: Variable, language: str) -> str:
    label = variable.offer.labels[language]
    names = variable.level_names
    if len(names) < 2:
        return label
    return f"{label} ({variable.level_label(len(names) - 1, language)})"
