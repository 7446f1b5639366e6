"""From an answer to the bytes of a file, with what is said about the table."""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckm.formats import FORMATS, TableAbout, to_bytes
from ckm.formats.about import with_noise
from ckm.formats.content import checked
from ckm.formats.csv_text import without_formulas
from ckm.formats.cubes.json_stat import write_json_stat
from ckm.formats.derivations import derivations_of
from ckm.formats.words import category_labels
from ckm.service.answering.documentation import documentation_of
from ckm.service.answering.messages import say
from footing.messages import Message
from risk.inference.exact_margins import ExactMargin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckm.config.service.service import Service
    from ckm.service.answering.answer import Answer
    from ckm.service.answering.variables import Variable

_MAX_SIGNS = 120
_HUNDRED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The bytes of an answer, ready to be sent again."""

    body: bytes = field(repr=False)
    media_type: str
    etag: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, body: bytes, media_type: str, headers: Mapping[str, str]) -> Rendered:
        """Return bytes under the tag that they have."""
        return cls(body=body, media_type=media_type, etag=etag_of(body), headers=headers)


def etag_of(body: bytes) -> str:
    """Return the entity tag of some bytes."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def file_name(table: str, names: Iterable[str], *, format: str) -> str:  # noqa: A002
    """Name a file after the table and the variables in it."""
    kind = FORMATS[format]
    suffix = ".zip" if kind.media_type == "application/zip" else kind.suffixes[0]
    parts = [re.sub(r"[^A-Za-z0-9_]+", "_", part) for part in (table, *names)]
    return "-".join(parts)[:_MAX_SIGNS] + suffix


def named_by(answer: Answer) -> list[str]:
    """Return what tells a table from others: its population and its variables."""
    population = [] if answer.query.population is None else [answer.query.population]
    return [*population, *(selection.variable for selection in answer.selections)]


def about_answer(
    answer: Answer, *, service: Service, variables: Mapping[str, Variable], language: str
) -> TableAbout:
    """Say what an answer's table is about."""
    own_variables = {s.variable: variables[s.variable] for s in answer.selections}
    labels = {name: v.offer.labels[language] for name, v in own_variables.items()}
    for measure in answer.query.measures:
        labels.setdefault(measure, measure_label(measure, answer, service, language))
    area = service.area if service.area in own_variables else ""
    time = service.time if service.time in own_variables else ""
    title = service.about.title[language]
    if answer.query.population is not None:
        title += f" ({service.populations[answer.query.population].title[language]})"
    notes = [say(service.method, language)]
    notes += [service.about.description[language]] if service.about.description else []
    notes += figure_notes(answer, service, own_variables, language)
    nested = [service.hierarchies.get(name) for name in own_variables]
    columns = [*own_variables, *(column for h in nested if isinstance(h, list) for column in h)]
    notes += derivations_of(service.job.derived, columns, language=language)
    about = TableAbout(
        id="-".join(filter(None, (service.about.id, answer.query.population))),
        title=title,
        language=language,
        source=service.about.source.get(language, ""),
        contact=service.about.contact,
        notes=list(dict.fromkeys(notes)),
        labels=labels,
        category_labels=_category_labels(answer, own_variables, language),
        unit=service.about.unit.get(language, ""),
        units=_units(answer, service, own_variables, language),
        updated=service.about.updated,
        geography=area or "",
        time=time,
        totals={
            s.variable: own_variables[s.variable].total
            for s in answer.selections
            if 0 in s.ranks
        },
        withheld={area: list(answer.withheld)} if area and answer.withheld else {},
        withheld_label=say("withheld", language),
        suppressed_label=say("suppressed", language),
    )
    return about if answer.margin is None else with_noise(about, answer.margin)


def measure_label(name: str, answer: Answer, service: Service, language: str) -> str:
    """Return what readers call a column: a measure, a figure, an end of its interval."""
    figure = answer.figure
    if figure is None or name not in figure.measures:
        return say(name, language)
    own, low, high = figure.measures
    if name in {low, high}:
        label = measure_label(own, answer, service, language)
        return say("figure_low" if name == low else "figure_high", language, figure=label)
    if figure.rate:
        return service.rates[figure.rate].title[language]
    return say("count" if figure.kind == "count" else f"figure_{figure.kind}", language)


def _base_label(answer: Answer, variables: Mapping[str, Variable], language: str) -> str:
    """Return what readers call the category that figures are against; empty for none."""
    figure = answer.figure
    if figure is None or not figure.base:
        return ""
    variable = variables[figure.of[0]]
    rank = variable.chosen(figure.base)
    return figure.base if rank is None else variable.label(rank, language)


def figure_notes(
    answer: Answer, service: Service, variables: Mapping[str, Variable], language: str
) -> list[str]:
    """Say what the figures of a table are, and how their margins are meant."""
    figure = answer.figure
    if figure is None:
        return []
    notes = []
    if figure.kind != "count":
        names = [service.variables[name].labels[language] for name in figure.of]
        base = _base_label(answer, variables, language)
        filled: dict[str, object] = {"of": ", ".join(names), "base": base}
        if figure.rate:
            filled["per"] = service.rates[figure.rate].per
        notes.append(say(f"figure_{figure.kind}_note", language, **filled))
    if answer.variables:
        notes.append(say("zone_note", language))
    if isinstance(answer.figure_margin, ExactMargin):
        kind = "exact_rank_margin" if figure.kind == "rank" else "figure_margin"
        notes.append(
            say(kind, language, level=_percentage(answer.figure_margin.level, language))
        )
        notes.append(say("exact_note", language))
    elif answer.figure_margin is not None:
        kind = "figure_rank_margin" if figure.kind == "rank" else "figure_margin"
        notes.append(say(kind, language, level=answer.figure_margin.level))
    return notes


def _percentage(level: float, language: str) -> str:
    """Write a level as the language has it."""
    return f"{level:g}".replace(".", "," if language == "fr" else ".")


def _units(
    answer: Answer, service: Service, variables: Mapping[str, Variable], language: str
) -> dict[str, str]:
    """Return the units of figures that are not counts of what the table counts."""
    figure = answer.figure
    if figure is None or figure.kind in {"count", "difference"}:
        return {}
    unit = "%"
    if figure.kind == "rank":
        unit = say("figure_rank", language)
    elif figure.kind == "index":
        base = _base_label(answer, variables, language)
        unit = say("figure_index_unit", language, base=base)
    elif figure.rate and service.rates[figure.rate].per != _HUNDRED:
        unit = say("figure_rate_unit", language, per=service.rates[figure.rate].per)
    return dict.fromkeys(figure.measures, unit)


def _category_labels(
    answer: Answer, variables: Mapping[str, Variable], language: str
) -> dict[str, dict[str, str]]:
    by_variable = {}
    for selection in answer.selections:
        variable = variables[selection.variable]
        labels = {variable.codes[r]: variable.label(r, language) for r in selection.ranks}
        by_variable[selection.variable] = category_labels(labels)
    return {name: labels for name, labels in by_variable.items() if labels}


def _document(
    answer: Answer,
    about: TableAbout,
    *,
    service: Service,
    variables: Mapping[str, Variable],
    language: str,
) -> bytes:
    """Write JSON-stat with all that is known of the table: one document, data and metadata."""
    assert answer.table is not None  # noqa: S101  (the caller looked)
    abouts = {language: about}
    for other in service.about.languages:
        if other != language:
            abouts[other] = about_answer(
                answer, service=service, variables=variables, language=other
            )
    more = documentation_of(
        answer, abouts, service=service, variables=variables, language=language
    )
    stream = io.BytesIO()
    write_json_stat(checked(answer.table), stream, about, more=more)
    return stream.getvalue()


def render(
    answer: Answer,
    *,
    service: Service,
    variables: Mapping[str, Variable],
    format: str,  # noqa: A002  (the word of requests)
    language: str,
) -> Rendered:
    """Write an answer's table in a format."""
    if answer.table is None:
        msg = Message("a refusal has no table")
        raise TypeError(msg)
    own = {**variables, **answer.variables}
    about = about_answer(answer, service=service, variables=own, language=language)
    escapes = format == "csv" and service.job.output.csv_formulas == "escape"
    table = without_formulas(answer.table) if escapes else answer.table
    kind = FORMATS[format]
    if kind.name == "json-stat2":
        body = _document(answer, about, service=service, variables=own, language=language)
    else:
        body = to_bytes(table, format, about=about)
    headers = {"Content-Language": language}
    if isinstance(answer.figure_margin, ExactMargin):
        headers["Cache-Control"] = "no-store"  # of nobody's cache but the officer's own file
    if answer.withheld:
        reasons = Counter(refusal.reason for refusal in answer.withheld.values())
        headers["CKM-Withheld"] = ", ".join(f"{n}={c}" for n, c in sorted(reasons.items()))
    if kind.name != "json-stat2":
        name = file_name(service.about.id, named_by(answer), format=format)
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return Rendered.of(body, kind.media_type, headers)
