"""Facts that no page may show: numbers that are none, and names without words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, TypeAlias, get_args

from reports.catalogues.comparison import CRITERIA, DETAILS, DRAWN, FINDINGS, METHODS
from reports.catalogues.decoding import CORRECTIONS, PARAMETERS, SUSPICIONS
from reports.catalogues.release import ATTACKS, CHECKS, OWN_PRIORS, PRIORS
from reports.catalogues.synthesis import CONCLUSIONS, CONTROLS, REASONS
from reports.catalogues.synthesis import FIGURES as SYNTHESIS_FIGURES
from reports.catalogues.training import (
    ADJACENCIES,
    CHOICES,
    DOUBTS,
    INVERSIONS,
    SAMPLINGS,
    TUNING,
    WORTHS,
)
from reports.errors import ReportError
from reports.facts.decoding import DecodingFacts
from reports.facts.release import ComparisonFacts, Outcome, PublicFacts, ReleaseFacts
from reports.facts.synthesis import SynthesisFacts
from reports.facts.training import AuditFacts, CardFacts, StudyFacts, SweepFacts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from reports.facts.release import ScenarioFacts

__all__ = ["Facts", "require_sound", "walk"]

#: What pages are made of.
Facts: TypeAlias = (
    ReleaseFacts
    | PublicFacts
    | ComparisonFacts
    | DecodingFacts
    | SynthesisFacts
    | StudyFacts
    | SweepFacts
    | AuditFacts
    | CardFacts
)

_OUTCOMES = get_args(Outcome)
_MAX_PROBLEMS = 10
_LARGEST = 10**30 - 1
_BROKEN = re.compile("[\ud800-\udfff]")


def walk(facts: object, place: str = "") -> Iterator[tuple[str, object]]:
    """Give every text and number of facts with its place.

    Parameters
    ----------
    facts
        A tree of data classes, mappings and sequences.
    place
        Where it stands.

    Examples
    --------
    >>> from reports.facts.release import FileFact
    >>> list(walk(FileFact(file="a.csv", bytes=7, sha256="00")))
    [('file', 'a.csv'), ('bytes', 7), ('sha256', '00')]
    """
    if is_dataclass(facts):
        for member in fields(facts):
            yield from walk(getattr(facts, member.name), f"{place}.{member.name}".strip("."))
    elif isinstance(facts, Mapping):
        for key, value in facts.items():
            yield f"{place}, a name", key
            yield from walk(value, f"{place}[{key!r}]")
    elif isinstance(facts, (tuple, list)):
        for number, value in enumerate(facts):
            yield from walk(value, f"{place}[{number}]")
    else:
        yield place, facts


def require_sound(
    facts: Facts,
) -> None:
    """Refuse facts with numbers that are none, and names that no catalogue has words for.

    Parameters
    ----------
    facts
        What a page is to be made of.

    Examples
    --------
    >>> from reports.facts.release import PublicFacts
    >>> try:
    ...     require_sound(
    ...         PublicFacts(
    ...             id="",
    ...             title="",
    ...             date="",
    ...             contact="",
    ...             version="1",
    ...             ptable_label="",
    ...             checks={"smell": "passed"},
    ...             tables=(),
    ...         )
    ...     )
    ... except ReportError as error:
    ...     print(error)
    There is no page of these facts: the check 'smell' is in no catalogue.
      hint: reports.catalogues has the names that pages know
    """
    problems = [*_bad_values(facts), *_unknown_names(facts)]
    if problems:
        shown = "; ".join(problems[:_MAX_PROBLEMS])
        more = len(problems) - _MAX_PROBLEMS
        raise ReportError(
            f"There is no page of these facts: {shown}{f'; and {more} more' * (more > 0)}.",
            hint="reports.catalogues has the names that pages know"
            if "catalogue" in shown
            else "give None, with a reason, where a number is not defined",
        )


def _bad_values(facts: object) -> Iterator[str]:
    for place, value in walk(facts):
        if isinstance(value, str) and not value.isascii() and _BROKEN.search(value):
            yield f"{place} holds half a character"
        if value is None or isinstance(value, (str, bool)):
            continue
        if isinstance(value, int):
            if abs(value) > _LARGEST:
                yield f"{place} has more than {len(str(_LARGEST))} digits"
        elif not isinstance(value, float):
            yield f"{place} is a {type(value).__name__}, not a number or a text"
        elif not math.isfinite(value):
            yield f"{place} is {value}, not a number"


def _unknown_names(
    facts: Facts,
) -> Iterator[str]:
    if isinstance(facts, (StudyFacts, SweepFacts, AuditFacts, CardFacts)):
        yield from _unknown_of_training(facts)
        return
    if isinstance(facts, SynthesisFacts):
        yield from _unknown_of_synthesis(facts)
        return
    if isinstance(facts, DecodingFacts):
        yield from _unknown("correction", [facts.correction], CORRECTIONS)
        yield from _unknown("parameter", facts.parameters, PARAMETERS)
        yield from _unknown("suspicion", [fact.name for fact in facts.diagnostics], SUSPICIONS)
        return
    if isinstance(facts, PublicFacts):
        yield from _unknown("check", facts.checks, CHECKS)
        yield from _unknown("outcome", facts.checks.values(), _OUTCOMES)
        return
    from risk.utility import DEFINITIONS

    if isinstance(facts, ReleaseFacts):
        yield from _unknown("check", [check.name for check in facts.checks], CHECKS)
        yield from _unknown("outcome", [check.outcome for check in facts.checks], _OUTCOMES)
        yield from _unknown("attack", [attack.name for attack in facts.risk.attacks], ATTACKS)
        yield from _unknown("prior", [facts.risk.prior], PRIORS)
        yield from _unknown("prior", [fact.prior for fact in facts.risk.worst], OWN_PRIORS)
        yield from _unknown("measure", [fact.name for fact in facts.utility], DEFINITIONS)
    else:
        yield from _unknown_of_methods(facts)
        measures = [fact.name for several in facts.utility.values() for fact in several]
        yield from _unknown("measure", measures, DEFINITIONS)
        yield from _unknown("finding", facts.conclusion, FINDINGS)
        for designs in facts.by_table.values():
            yield from _unknown_figures([name for design in designs for name in design.figures])
    if facts.scenarios is not None:
        yield from _unknown_figures(_figures(facts.scenarios))


def _unknown_of_methods(facts: ComparisonFacts) -> Iterator[str]:
    if facts.methods is None:
        return
    several = facts.methods.methods
    yield from _unknown("sample", [facts.methods.drawn], DRAWN)
    yield from _unknown("method", [method.kind for method in several], METHODS)
    criteria = [criterion.name for method in several for criterion in method.criteria]
    yield from _unknown("criterion", criteria, CRITERIA)
    details = [name for method in several for name in method.facts]
    yield from _unknown("detail", details, DETAILS)


def _unknown_of_synthesis(facts: SynthesisFacts) -> Iterator[str]:
    figures = [figure for several in facts.figures.values() for figure in several]
    findings = [finding.name for several in facts.findings.values() for finding in several]
    yield from _unknown("figure", [figure.name for figure in figures], SYNTHESIS_FIGURES)
    yield from _unknown("control", [c for f in figures for c in f.controls], CONTROLS)
    yield from _unknown("reason", [f.reason for f in figures if f.reason], REASONS)
    yield from _unknown("conclusion", findings, CONCLUSIONS)


def _unknown_of_training(
    facts: StudyFacts | SweepFacts | AuditFacts | CardFacts,
) -> Iterator[str]:
    samplings, adjacencies = _schemes(facts)
    yield from _unknown("sampling", samplings, SAMPLINGS)
    yield from _unknown("adjacency", adjacencies, ADJACENCIES)
    if isinstance(facts, StudyFacts):
        yield from _unknown("choice", [series.name for series in facts.series], CHOICES)
        yield from _unknown("worth", [claim.worth for claim in facts.claims], WORTHS)
    elif isinstance(facts, SweepFacts):
        yield from _unknown("choice", [c for o in facts.outcomes for c in o.choices], CHOICES)
        yield from _unknown("way to choose", [fact.name for fact in facts.tuning], TUNING)
    elif isinstance(facts, AuditFacts):
        names = [one.name for model in facts.models for one in model.inversions]
        yield from _unknown("inversion", names, INVERSIONS)
    else:
        yield from _unknown("doubt", facts.doubts, DOUBTS)


def _schemes(
    facts: StudyFacts | SweepFacts | AuditFacts | CardFacts,
) -> tuple[list[str], list[str]]:
    if isinstance(facts, StudyFacts):
        several: list[tuple[str, str]] = [(c.sampling, c.adjacency) for c in facts.claims]
        if facts.plan is not None:
            several.append((facts.plan.sampling, facts.plan.adjacency))
    elif isinstance(facts, SweepFacts):
        several = [(facts.sampling, facts.adjacency)]
    elif isinstance(facts, AuditFacts):
        several = [(model.sampling, model.adjacency) for model in facts.models]
    else:
        several = [(facts.sampling, facts.adjacency), (facts.accounted_sampling, "")]
    return [s for s, _ in several if s], [a for _, a in several if a]


def _figures(scenarios: ScenarioFacts) -> list[str]:
    names = [name for design in scenarios.designs for name in design.figures]
    return [scenarios.risk, scenarios.utility, *names]


def _unknown_figures(names: Collection[str]) -> Iterator[str]:
    from risk.risk_map.catalogue import FIGURES

    yield from _unknown("figure", names, FIGURES)


def _unknown(what: str, names: Collection[str], known: Collection[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if name not in known:
            yield f"the {what} {name!r} is in no catalogue"
