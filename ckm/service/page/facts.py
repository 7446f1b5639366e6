"""From an answer, or from what is wrong, to the facts of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ckm.formats import FORMATS
from ckm.service.answering.messages import notice_of, say
from ckm.service.answering.render import file_name
from ckm.service.page.alternatives import starts_of, tries_of
from ckm.service.page.form import (
    across_choices,
    example_of,
    field_of,
    in_filter,
    measure_choices,
)
from ckm.service.page.grid import grid_of
from reports.service import Download, PageFacts, Problem, Reader, Unpublished, Withheld

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.service.access.rate_limits import Budget
    from ckm.service.access.tokens import Caller
    from ckm.service.answering.answer import Answer
    from ckm.service.answering.messages import ClientError, Refusal
    from ckm.service.page.page_state import PageState
    from ckm.service.table_service import TableService

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
_MAX_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a request: nothing was asked, mistakes, a refusal or an answer."""

    mistakes: Sequence[ClientError] = ()
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
    table_service: TableService,
    asked: PageState,
    outcome: Outcome,
    *,
    language: str,
    visitor: Visitor,
) -> PageFacts:
    """Gather all that the page shows."""
    service, variables = table_service.service, table_service.variables
    notice = notice_of(service, language)
    labels = {name: v.offer.labels[language] for name, v in variables.items()}
    idents = {name: f"v{place}" for place, name in enumerate(variables, start=1)}
    facts = PageFacts(
        title=service.about.title[language],
        description=service.about.description.get(language, ""),
        source=service.about.source.get(language, ""),
        unit=service.about.unit.get(language, ""),
        contact=service.about.contact,
        updated="" if service.about.updated is None else service.about.updated.isoformat(),
        languages={
            other: replace(asked, language=other).href()
            for other in service.about.languages
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
        example=example_of(table_service.answerer.kinds, variables),
        across=across_choices(asked, variables, language=language),
        measures=measure_choices(
            _chosen(table_service, asked), table_service.measures, language=language
        ),
        problems=tuple(
            _problem(m, idents, labels, language) for m in outcome.mistakes[:_MAX_LISTED]
        ),
        permalink=replace(asked, sort=0, first=0).href(),
        notes=() if notice else (say("method", language),),
        notice=notice,
        sign_in=_sign_in(visitor, language),
        reader=_reader(table_service, visitor, language),
    )
    if outcome.refusal is not None:
        why = _why(outcome.refusal, table_service, asked, language)
        return replace(facts, unpublished=Unpublished(**why))
    if outcome.answer is None:
        if outcome.mistakes:
            return facts
        starts = starts_of(table_service, language=language, is_given=bool(asked.language))
        return replace(facts, starts=starts)
    return replace(
        facts,
        grid=grid_of(outcome.answer, asked, table_service.variables, language=language),
        withheld=_withheld(outcome.answer, table_service, asked, language),
        restrictions=_restrictions(outcome.answer, table_service, language),
        downloads=_downloads(outcome.answer, table_service, asked),
    )


def _sign_in(visitor: Visitor, language: str) -> str:
    """Return the address of the form for signing in, which knows the way back."""
    if not visitor.can_sign_in or visitor.caller is not None:
        return ""
    return "sign-in?" + urlencode({"lang": language, "back": visitor.address})


def _reader(table_service: TableService, visitor: Visitor, language: str) -> Reader | None:
    if visitor.caller is None or visitor.budget is None:
        return None
    return Reader(
        role=say(f"role_{visitor.caller.role}", language),
        n_left=visitor.budget.remaining,
        limit=visitor.budget.limit,
        most_cells=table_service.rules(visitor.caller).maximum_cells,
        proof=visitor.leaving,
        back=visitor.address,
    )


def _chosen(table_service: TableService, asked: PageState) -> tuple[str, ...]:
    if "*" in asked.measures or len(asked.measures) > 1:
        return table_service.measures
    return asked.measures or table_service.measures[:1]


def _problem(
    client_error: ClientError, idents: dict[str, str], labels: dict[str, str], language: str
) -> Problem:
    field_id = idents.get(str(client_error.filled.get("variable", "")), "")
    if client_error.key == "no_token":
        return Problem(text=say("sign_in_needed", language))
    if client_error.key in {"bad_filter", "no_weight"}:
        field_id = "filter" if client_error.key == "bad_filter" else "measures"
    filled = dict(client_error.filled)
    if filled.get("variable") in labels:
        filled["variable"] = labels[str(filled["variable"])]
    text = say(client_error.key, language, **filled)
    return Problem(text=text, field=field_id, suggestion=client_error.suggestion)


def _why(
    refusal: Refusal, table_service: TableService, asked: PageState, language: str
) -> dict[str, Any]:
    """Say why something is not published, and what to try."""
    return {
        "rule": refusal.reason,
        "detail": refusal.detail[language],
        "advice": refusal.tries[language],
        "tries": tries_of(refusal, asked, table_service, language=language),
    }


def _withheld(
    answer: Answer, table_service: TableService, asked: PageState, language: str
) -> tuple[Withheld, ...]:
    """Gather the areas that are not published by reason, most areas first."""
    area = table_service.service.area
    by_reason: dict[int, tuple[Refusal, list[str]]] = {}
    for code, refusal in answer.withheld.items():
        by_reason.setdefault(id(refusal), (refusal, []))[1].append(code)
    if area is None:
        return ()
    variable = table_service.variables[area]
    ranks = {code: rank for rank, code in enumerate(variable.codes)}
    found = []
    for refusal, codes in sorted(by_reason.values(), key=lambda pair: -len(pair[1])):
        names = [variable.label(ranks[code], language) for code in codes]
        why = _why(refusal, table_service, asked, language)
        found.append(Withheld(areas=tuple(names), **why))
    return tuple(found)


def _restrictions(
    answer: Answer, table_service: TableService, language: str
) -> tuple[tuple[str, str], ...]:
    """Say in words who is counted."""
    said = []
    for chosen in answer.query.within:
        variable = table_service.variables[chosen.variable]
        names = [variable.label(rank, language) for rank in chosen.ranks[:_MAX_LISTED]]
        more = [] if len(chosen.ranks) <= _MAX_LISTED else ["…"]
        said.append((variable.offer.labels[language], ", ".join([*names, *more])))
    if answer.query.where:
        said.append((answer.query.where, ""))
    return tuple(said)


def _downloads(
    answer: Answer, table_service: TableService, asked: PageState
) -> tuple[Download, ...]:
    plain = replace(asked, sort=0, first=0)
    shown = [selection.variable for selection in answer.selections]
    names = sorted(FORMATS, key=lambda name: (name not in _FIRST, name))
    return tuple(
        Download(
            label=_NAMES.get(name, name),
            href=plain.href(outputFormat=name),
            file=file_name(table_service.service.about.id, shown, format=name),
            is_common=name in _FIRST,
        )
        for name in names
    )
