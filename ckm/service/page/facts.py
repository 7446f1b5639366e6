"""From an answer, or from what is wrong, to the facts of the page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from ckm.formats import FORMATS
from ckm.service.access.rate_limits import Budget
from ckm.service.access.tokens import Caller
from ckm.service.answering.answer import Answer
from ckm.service.answering.messages import (
    ClientError,
    Phrase,
    Refusal,
    audit_notice,
    noise_notes,
    notice_of,
)
from ckm.service.answering.render import figure_notes, file_name, named_by
from ckm.service.page.alternatives import starts_of, tries_of
from ckm.service.page.form import (
    across_choices,
    compared_names,
    example_of,
    field_of,
    in_filter,
    measure_choices,
    own_area,
    population_choices,
)
from ckm.service.page.grid import grid_of
from ckm.service.page.page_state import View, shown_ranks
from reports.facts.service import Download, PageFacts, Problem, Reader, Unpublished, Withheld

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
_FIELDS = {
    "bad_filter": "filter",
    "no_weight": "measures",
    "compare_two": "compare-1",
    "no_population": "population",
    "area": "compare-1",
    "polygon": "polygon",
    "zone": "zone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a request: nothing was asked, mistakes, a refusal or an answer."""

    mistakes: Sequence[ClientError] = ()
    answer: Answer | None = None
    may_filter: bool = True
    is_stranger: bool = False

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


def page_facts(view: View, outcome: Outcome, visitor: Visitor) -> PageFacts:
    """Gather all that the page shows."""
    about, variables, language = view.service.about, view.variables, view.language
    notice = notice_of(view.service, language)
    idents = {name: f"v{place}" for place, name in enumerate(variables, start=1)}
    is_in = outcome.status != 401 and not outcome.is_stranger
    columns = [in_filter(column) for v in variables.values() for column in v.axis.columns]
    facts = PageFacts(
        title=about.title[language],
        description=about.description.get(language, ""),
        source=about.source.get(language, ""),
        unit=about.unit.get(language, ""),
        contact=about.contact,
        updated="" if about.updated is None else about.updated.isoformat(),
        revision=about.revision.get(language, ""),
        licence=about.licence,
        languages={
            other: replace(view.asked, language=other).href()
            for other in about.languages
            if other != language
        },
        language_given=language if view.asked.language else "",
        fields=tuple(
            field_of(variable, view.asked.of(name), ident=idents[name], language=language)
            for name, variable in variables.items()
            if is_in
        ),
        populations=population_choices(view) if is_in else (),
        filter=view.asked.where,
        columns=tuple(dict.fromkeys(columns)) if outcome.may_filter and is_in else (),
        example=example_of(view.table_service.answerer.kinds, variables),
        across=across_choices(view),
        measures=measure_choices(view),
        compared=compared_names(view),
        compare=idents[view.service.area] if view.service.area and len(idents) > 1 else "",
        compare_href=_compare_href(view),
        problems=tuple(_problem(m, idents, view) for m in outcome.mistakes[:_MAX_LISTED]),
        permalink=view.asked.plain.href(),
        notes=() if notice else (view.say("method"),),
        notice=notice,
        audit=audit_notice(view.service, language),
        sign_in=_sign_in(visitor, language),
        reader=_reader(visitor, view),
        own_area=own_area(view) if is_in else None,
    )
    if outcome.refusal is not None:
        return replace(facts, unpublished=Unpublished(**_why(outcome.refusal, view)))
    if outcome.answer is None:
        return facts if outcome.mistakes else replace(facts, starts=starts_of(view))
    return replace(
        facts,
        grid=grid_of(outcome.answer, view),
        notes=(
            *facts.notes,
            *noise_notes(outcome.answer.margin, view.language),
            *figure_notes(outcome.answer, view.service, view.variables, view.language),
        ),
        withheld=_withheld(outcome.answer, view),
        restrictions=_restrictions(outcome.answer, view),
        parts=_parts(outcome.answer, view),
        downloads=_downloads(outcome.answer, view),
    )


def _compare_href(view: View) -> str:
    """Return the address that puts two ticked areas side by side; empty for others."""
    area = view.service.area or ""
    page_state = replace(view.asked, compare=area, sort=0, first=0)
    is_shown = page_state.of(area).is_shown and not view.asked.compare
    ranks = [view.variables[area].chosen(code) for code in page_state.pair] if is_shown else []
    return page_state.href() if ranks and None not in ranks else ""


def _sign_in(visitor: Visitor, language: str) -> str:
    """Return the address of the form for signing in, which knows the way back."""
    if not visitor.can_sign_in or visitor.caller is not None:
        return ""
    return "sign-in?" + urlencode({"lang": language, "back": visitor.address})


def _reader(visitor: Visitor, view: View) -> Reader | None:
    if visitor.caller is None or visitor.budget is None:
        return None
    return Reader(
        role=view.say(f"role_{visitor.caller.role}"),
        n_left=visitor.budget.remaining,
        limit=visitor.budget.limit,
        most_cells=view.table_service.rules(visitor.caller).maximum_cells,
        proof=visitor.leaving,
        back=visitor.address,
    )


def _problem(client_error: ClientError, idents: dict[str, str], view: View) -> Problem:
    filled = dict(client_error.filled)
    variable = str(filled.get("variable", ""))
    field_id = idents.get(variable, "")
    if client_error.key == "no_token":
        return Problem(text=view.say("sign_in_needed"))
    if client_error.key != "no_population" or view.service.populations:
        field_id = _FIELDS.get(client_error.key, field_id)
    detail = filled.get("detail")
    if isinstance(detail, Phrase):
        field_id = _FIELDS.get(detail.key.partition("_")[0], field_id)
    if variable in view.variables:
        filled["variable"] = view.label(variable)
    text = view.say(client_error.key, **filled)
    return Problem(text=text, field=field_id, suggestion=client_error.suggestion)


def _why(refusal: Refusal, view: View) -> dict[str, Any]:
    """Say why something is not published, and what to try."""
    return {
        "detail": refusal.detail[view.language],
        "advice": refusal.tries[view.language],
        "tries": tries_of(refusal, view),
    }


def _withheld(answer: Answer, view: View) -> tuple[Withheld, ...]:
    """Gather the areas that are not published by reason, most areas first."""
    area = view.service.area
    by_reason: dict[int, tuple[Refusal, list[str]]] = {}
    for code, refusal in answer.withheld.items():
        by_reason.setdefault(id(refusal), (refusal, []))[1].append(code)
    if area is None:
        return ()
    variable = view.variables[area]
    ranks = {code: rank for rank, code in enumerate(variable.codes)}
    groups = []
    for refusal, codes in sorted(by_reason.values(), key=lambda pair: -len(pair[1])):
        names = [variable.label(ranks[code], view.language) for code in codes]
        groups.append(Withheld(areas=tuple(names), **_why(refusal, view)))
    return tuple(groups)


def _restrictions(answer: Answer, view: View) -> tuple[tuple[str, str], ...]:
    """Say in words who is counted."""
    lines = []
    if answer.query.population is not None:
        title = view.service.populations[answer.query.population].title[view.language]
        lines.append((view.say("population"), title))
    for selection in answer.query.within:
        variable = view.variables[selection.variable]
        names = [variable.label(rank, view.language) for rank in selection.ranks[:_MAX_LISTED]]
        more = [] if len(selection.ranks) <= _MAX_LISTED else ["…"]
        lines.append((view.label(selection.variable), ", ".join([*names, *more])))
    if answer.query.where:
        lines.append((answer.query.where, ""))
    return tuple(lines)


def _parts(answer: Answer, view: View) -> tuple[str, ...]:
    """Name the areas that are added up, as far as they are published; none where none are."""
    area = view.variables.get(view.service.area or "")
    if area is None or not view.asked.zone:
        return ()
    ranks = shown_ranks(area, view.asked.of(area.name))
    return tuple(
        area.label(rank, view.language)
        for rank in ranks
        if rank and area.codes[rank] not in answer.withheld
    )


def _downloads(answer: Answer, view: View) -> tuple[Download, ...]:
    return tuple(
        Download(
            label=_NAMES.get(name) or view.say(name),
            href=view.asked.plain.href(outputFormat=name),
            file=file_name(view.service.about.id, named_by(answer), format=name),
            is_common=name in _FIRST,
        )
        for name in sorted(FORMATS, key=lambda name: (name not in _FIRST, name))
    )
