"""The addresses of tables: the link that a document has to itself, and those of a catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ckm.service.answering.messages import ClientError
from ckm.service.answering.pxweb_selection import (
    CONTENTS,
    codelists_of,
    ranks_of,
    split_codes,
)
from risk.inference.exact_margins import ExactMargin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.config.service.service import Service
    from ckm.service.answering.answer import Answer
    from ckm.service.answering.query import Query, Selection
    from ckm.service.answering.variables import Variable

_LONGEST = 4000  # characters of an address that every server and browser takes
_MEASURES = ("count", "weighted")


def absolute(path: str, service: Service) -> str:
    """Return an address of the service: with its host where the service file names it."""
    return service.about.address.rstrip("/") + path


def address_of_answer(
    answer: Answer, *, service: Service, variables: Mapping[str, Variable], language: str
) -> str | None:
    """Return the address that answers with this table; None where a body alone asks for it."""
    if answer.variables:  # zones, of which a body can name several
        return None
    figure = answer.figure
    more = {}
    if figure is not None:
        more = {
            "figure": figure.rate or figure.kind,
            "of": ",".join(figure.of),
            "base": figure.base,
        }
    margin = answer.figure_margin
    if isinstance(margin, ExactMargin):
        more |= {"margin": "exact", "level": f"{margin.level:g}"}
    return address_of_query(
        answer.query, service=service, variables=variables, language=language, more=more
    )


def address_of_query(
    query: Query,
    *,
    service: Service,
    variables: Mapping[str, Variable],
    language: str,
    more: Mapping[str, str] | None = None,
) -> str | None:
    """Return the address that asks a query; None where no address does.

    Parameters
    ----------
    query
        What is asked for.
    service, variables, language
        Where, and in which language.
    more
        Further parameters; empty ones are left out.
    """
    if query.within or query.margins is not None:
        return None
    pairs: list[tuple[str, str]] = [("lang", language)]
    for selection in query.selections:
        words = _words_of(selection, variables[selection.variable])
        if words is None:
            return None
        pairs += [(f"{word}[{selection.variable}]", text) for word, text in words.items()]
    measures = [name for name in query.measures if name in _MEASURES]
    if measures and measures != [_MEASURES[0]]:
        pairs.append((f"valuecodes[{CONTENTS}]", ",".join(measures)))
    plain = {"population": query.population, "filter": query.where, **(more or {})}
    pairs += [(name, text) for name, text in plain.items() if text]
    address = absolute(f"/tables/{service.about.id}/data?{urlencode(pairs)}", service)
    return address if len(address) <= _LONGEST and query.selections else None


def _words_of(selection: Selection, variable: Variable) -> dict[str, str] | None:
    """Return how an address selects these categories, in their order; None where none does."""
    for name, level in codelists_of(variable).items():
        if tuple(variable.ranks(level).tolist()) == selection.ranks:
            return {"codelist": name, "valuecodes": "*"} if level is not None else _ALL
    if "[" in variable.name or "]" in variable.name or len(selection.ranks) > _LONGEST:
        return None
    words = [variable.word(rank) for rank in selection.ranks]
    text = ",".join(f"[{word}]" if "," in word and "(" not in word else word for word in words)
    try:
        ranks = ranks_of(variable, codes=split_codes(text, variable))
    except ClientError:
        return None
    return {"valuecodes": text} if ranks == selection.ranks else None


_ALL = {"valuecodes": "*"}
