"""From an answer, or from what is wrong, to the facts of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ckm.formats import FORMATS
from ckm.service.answering.render import file_name
from ckm.service.answering.words.messages import notice_of, say
from ckm.service.page.alternatives import tries_of
from ckm.service.page.form import (
    across_choices,
    example_of,
    field_of,
    in_filter,
    measure_choices,
)
from ckm.service.page.grid import grid_of
from ckm.service.page.suggested_tables import starts_of
from reports.service import Download, PageFacts, Problem, Reader, Unpublished, Withheld

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.service.access.rate_limits import Budget
    from ckm.service.access.tokens import Caller
    from ckm.service.answering.answer import Answer
    from ckm.service.answering.client_error import Mistake
    from ckm.service.answering.refusal import Refusal
    from ckm.service.page.page_state import Asked
    from ckm.service.table_service import Desk

__all__ = ["Outcome", "Visitor", "page_facts"]

_FIRST = ("csv", "xlsx")
_NAMES = {
    "csv": "CSV",
    "xlsx": "Excel (XLSX)",
    "json-stat2": "JSON-stat 2.0",
    "parquet": "Parquet",
    "px": "PX",
    "sdmx-csv": "SDMX-CSV 2.0",
    "sdmx-csv-1": "SDMX-CSV 1.0",
    "csvw": "CSVW (ZIP)",
}
_MOST_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a request: nothing was asked, mistakes, a refusal or an answer."""

    mistakes: Sequence[Mistake] = ()
    answer: Answer | None = None
    may_filter: bool = True

    @property
    def refusal(self) -> Refusal | None:
        """Why there is no table."""
        return None if self.answer is None else self.answer.refusal

    @property
    def status(self) -> int:
        """The status code of HTTP."""
        if self.mistakes:
            return self.mistakes[0].status
        return 200 if self.refusal is None else 403


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who looks at the page.

    Parameters
    ----------
    can_sign_in
        Whether there are tokens to sign in with.
    address
        The words of the address, for the way back.
    caller, budget, leaving
        Who signed in, what is left of the budget, and what the form for signing out shows.
    """

    can_sign_in: bool = False
    address: str = ""
    caller: Caller | None = None
    budget: Budget | None = None
    leaving: str = ""


def page_facts(
    desk: Desk, asked: Asked, outcome: Outcome, *, language: str, visitor: Visitor
) -> PageFacts:
    """Gather all that the page shows.

    Parameters
    ----------
    desk
        Where requests are answered.
    asked, outcome
        The address, and what came of it.
    language
        ``"en"`` or ``"fr"``.
    visitor
        Who looks at it.
    """
    service, variables = desk.service, desk.variables
    notice = notice_of(service, language)
    labels = {name: v.offer.labels[language] for name, v in variables.items()}
    idents = {name: f"v{place}" for place, name in enumerate(variables, start=1)}
    facts = PageFacts(
        title=service.title[language],
        description=service.description.get(language, ""),
        source=service.source.get(language, ""),
        unit=service.unit.get(language, ""),
        contact=service.contact,
        updated="" if service.updated is None else service.updated.isoformat(),
        languages={
            other: replace(asked, language=other).href()
            for other in service.languages
            if other != language
        },
        language_given=language if asked.language else "",
        fields=()
        if outcome.status == 401
        else tuple(
            field_of(variable, asked.of(name), ident=idents[name], language=language)
            for name, variable in variables.items()
        ),
        filter=asked.where,
        columns=tuple(
            dict.fromkeys(
                in_filter(column) for v in variables.values() for column in v.axis.columns
            )
        )
        if outcome.may_filter and outcome.status != 401
        else (),
        example=example_of(desk.answerer.kinds, variables),
        across=across_choices(asked, variables, language=language),
        measures=measure_choices(_chosen(desk, asked), desk.measures, language=language),
        problems=tuple(
            _problem(m, idents, labels, language) for m in outcome.mistakes[:_MOST_LISTED]
        ),
        permalink=replace(asked, sort=0, first=0).href(),
        notes=() if notice else (say("method", language),),
        notice=notice,
        sign_in=_sign_in(visitor, language),
        reader=_reader(desk, visitor, language),
    )
    if outcome.refusal is not None:
        why = _why(outcome.refusal, desk, asked, language)
        return replace(facts, unpublished=Unpublished(**why))
    if outcome.answer is None:
        if outcome.mistakes:
            return facts
        starts = starts_of(desk, language=language, is_given=bool(asked.language))
        return replace(facts, starts=starts)
    return replace(
        facts,
        grid=grid_of(outcome.answer, asked, desk.variables, language=language),
        withheld=_withheld(outcome.answer, desk, asked, language),
        restrictions=_restrictions(outcome.answer, desk, language),
        downloads=_downloads(outcome.answer, desk, asked),
    )


def _sign_in(visitor: Visitor, language: str) -> str:
    """Return the address of the form for signing in, which knows the way back."""
    if not visitor.can_sign_in or visitor.caller is not None:
        return ""
    return "sign-in?" + urlencode({"lang": language, "back": visitor.address})


def _reader(desk: Desk, visitor: Visitor, language: str) -> Reader | None:
    if visitor.caller is None or visitor.budget is None:
        return None
    return Reader(
        role=say(f"role_{visitor.caller.role}", language),
        n_left=visitor.budget.remaining,
        limit=visitor.budget.limit,
        most_cells=desk.rules(visitor.caller).maximum_cells,
        proof=visitor.leaving,
        back=visitor.address,
    )


def _chosen(desk: Desk, asked: Asked) -> tuple[str, ...]:
    if "*" in asked.measures or len(asked.measures) > 1:
        return desk.measures
    return asked.measures or desk.measures[:1]


def _problem(
    mistake: Mistake, idents: dict[str, str], labels: dict[str, str], language: str
) -> Problem:
    field_id = idents.get(str(mistake.filled.get("variable", "")), "")
    if mistake.key == "no_token":
        return Problem(text=say("sign_in_needed", language))
    if mistake.key in {"bad_filter", "no_weight"}:
        field_id = "filter" if mistake.key == "bad_filter" else "measures"
    filled = dict(mistake.filled)
    if filled.get("variable") in labels:
        filled["variable"] = labels[str(filled["variable"])]
    text = say(mistake.key, language, **filled)
    return Problem(text=text, field=field_id, suggestion=mistake.suggestion)


def _why(refusal: Refusal, desk: Desk, asked: Asked, language: str) -> dict[str, Any]:
    """Say why something is not published, and what to try."""
    return {
        "rule": refusal.reason,
        "detail": refusal.detail[language],
        "advice": refusal.tries[language],
        "tries": tries_of(refusal, asked, desk, language=language),
    }


def _withheld(answer: Answer, desk: Desk, asked: Asked, language: str) -> tuple[Withheld, ...]:
    """Gather the areas that are not published by reason, most areas first."""
    area = desk.service.area
    by_reason: dict[int, tuple[Refusal, list[str]]] = {}
    for code, refusal in answer.withheld.items():
        by_reason.setdefault(id(refusal), (refusal, []))[1].append(code)
    if area is None:
        return ()
    variable = desk.variables[area]
    ranks = {code: rank for rank, code in enumerate(variable.codes)}
    found = []
    for refusal, codes in sorted(by_reason.values(), key=lambda pair: -len(pair[1])):
        names = [variable.label(ranks[code], language) for code in codes]
        why = _why(refusal, desk, asked, language)
        found.append(Withheld(areas=tuple(names), **why))
    return tuple(found)


def _restrictions(answer: Answer, desk: Desk, language: str) -> tuple[tuple[str, str], ...]:
    """Say in words who is counted."""
    said = []
    for chosen in answer.query.within:
        variable = desk.variables[chosen.variable]
        names = [variable.label(rank, language) for rank in chosen.ranks[:_MOST_LISTED]]
        more = [] if len(chosen.ranks) <= _MOST_LISTED else ["…"]
        said.append((variable.offer.labels[language], ", ".join([*names, *more])))
    if answer.query.where:
        said.append((answer.query.where, ""))
    return tuple(said)


def _downloads(answer: Answer, desk: Desk, asked: Asked) -> tuple[Download, ...]:
    plain = replace(asked, sort=0, first=0)
    shown = [selection.variable for selection in answer.selections]
    names = sorted(FORMATS, key=lambda name: (name not in _FIRST, name))
    return tuple(
        Download(
            label=_NAMES.get(name, name),
            href=plain.href(outputFormat=name),
            file=file_name(desk.service.id, shown, format=name),
            is_common=name in _FIRST,
        )
        for name in names
    )
