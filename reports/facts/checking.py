"""Facts that no page may show: numbers that are none, and names without words."""

import math
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TypeAlias, get_args

from footing.messages import Message, Name, Shape, joined
from reports.catalogues import comparison as comparison_words
from reports.catalogues import frontier as frontier_words
from reports.catalogues import pages as page_words
from reports.catalogues import release as release_words
from reports.catalogues import synthesis as synthesis_words
from reports.catalogues import training as training_words
from reports.errors import ReportError
from reports.facts import (
    decoding,
    dp_tables,
    exposure,
    frontier,
    meaning,
    methods,
    mobility,
    release,
    suppression,
    synthesis,
    training,
)
from reports.facts.parts import walk

#: What pages are made of.
Facts: TypeAlias = (
    release.ReleaseFacts
    | release.PublicFacts
    | release.IndexFacts
    | release.ComparisonFacts
    | decoding.DecodingFacts
    | dp_tables.DPTablesFacts
    | exposure.ExposureFacts
    | frontier.FrontierFacts
    | meaning.MeaningFacts
    | mobility.MobilityFacts
    | suppression.SuppressionFacts
    | suppression.PublicSuppressionFacts
    | synthesis.SynthesisFacts
    | training.StudyFacts
    | training.SweepFacts
    | training.AuditFacts
    | training.CardFacts
)

_PLAIN = (str, int, float, type(None))
_OUTCOMES = get_args(release.Outcome)
#: Facts about how batches are drawn, and about neighbours.
_SCHEMES = (
    training.ClaimFact,
    training.PlanFact,
    training.SweepFacts,
    training.ModelFact,
    training.CardFacts,
)
_MAX_PROBLEMS = 10
_LARGEST = 10**30 - 1
_BROKEN = re.compile("[\ud800-\udfff]")


def require_sound(facts: Facts) -> None:
    """Refuse facts with numbers that are none, and names that no catalogue has words for."""
    problems = list(dict.fromkeys((*_bad_values(facts), *_unknown_names(facts))))
    if problems:
        listing = joined("; ", problems[:_MAX_PROBLEMS])
        more = len(problems) - _MAX_PROBLEMS
        raise ReportError(
            Message(
                "There is no page of these facts: {problems}{more}.",
                problems=listing,
                more=Message("; and {number} more", number=more) if more > 0 else Message(),
            ),
            hint=Message("reports.catalogues has the names that pages know")
            if "catalogue" in listing
            else Message("give None, with a reason, where a number is not defined"),
        )


def _bad_values(facts: object) -> Iterator[str]:
    for place, value in walk(facts):
        if isinstance(value, str) and not value.isascii() and _BROKEN.search(value):
            yield Message("{place} holds half a character", place=Name(place))
        if value is None or isinstance(value, (str, bool)):
            continue
        if isinstance(value, int):
            if abs(value) > _LARGEST:
                yield Message(
                    "{place} has more than {number} digits",
                    place=Name(place),
                    number=len(str(_LARGEST)),
                )
        elif not isinstance(value, float):
            yield Message(
                "{place} is a {kind}, not a number or a text",
                place=Name(place),
                kind=Shape(type(value)),
            )
        elif not math.isfinite(value):
            yield Message("{place} is {value}, not a number", place=Name(place), value=value)


@cache
def _known() -> Mapping[tuple[type, str], tuple[str, Container[object]]]:
    """Give for each field that holds names what they are, and which have words."""
    from risk.risk_map.catalogue import FIGURES
    from risk.utility import DEFINITIONS

    samplings = ("sampling", {"", *training_words.SAMPLINGS})
    adjacencies = ("adjacency", {"", *training_words.ADJACENCIES})
    return {
        (release.CheckFact, "name"): ("check", release_words.CHECKS),
        (release.CheckFact, "outcome"): ("outcome", _OUTCOMES),
        (release.PublicFacts, "checks"): ("check", release_words.CHECKS),
        (release.IndexFacts, "checks"): ("check", release_words.CHECKS),
        (release.AttackFact, "name"): ("attack", release_words.ATTACKS),
        (release.RiskFacts, "prior"): ("prior", release_words.PRIORS),
        (release.AmountNoiseFact, "base"): ("base", release_words.BASES),
        (release.WorstFact, "prior"): ("prior", release_words.OWN_PRIORS),
        (release.MeasureFact, "name"): ("measure", DEFINITIONS),
        (release.DesignFact, "figures"): ("figure", FIGURES),
        (release.ScenarioFacts, "risk"): ("figure", FIGURES),
        (release.ScenarioFacts, "utility"): ("figure", FIGURES),
        (release.ComparisonFacts, "conclusion"): ("finding", comparison_words.FINDINGS),
        (frontier.FrontierFacts, "against"): ("limit", frontier_words.AGAINST),
        (frontier.FrontierFacts, "objective"): ("objective", frontier_words.LOSSES),
        (frontier.FrontierFacts, "priors"): ("prior", frontier_words.PRIORS),
        (frontier.FrontierFacts, "limits"): ("limit", frontier_words.LIMITS),
        (frontier.FrontierDesignFact, "exceeds"): ("limit", frontier_words.LIMITS),
        (frontier.AttacksFact, "allowed"): ("attack", frontier_words.ATTACK_NAMES),
        (methods.MethodFacts, "drawn"): ("sample", comparison_words.DRAWN),
        (methods.MethodFact, "kind"): ("method", comparison_words.METHODS),
        (methods.MethodFact, "facts"): ("detail", comparison_words.DETAILS),
        (methods.CriterionFact, "name"): ("criterion", comparison_words.CRITERIA),
        (decoding.DecodingFacts, "correction"): ("correction", page_words.CORRECTIONS),
        (decoding.DecodingFacts, "parameters"): ("parameter", page_words.PARAMETERS),
        (decoding.SuspicionFact, "name"): ("suspicion", page_words.SUSPICIONS),
        (synthesis.SynthesisFigure, "name"): ("figure", synthesis_words.FIGURES),
        (synthesis.SweptFigure, "name"): ("figure", synthesis_words.FIGURES),
        (synthesis.SweptFigure, "controls"): ("control", synthesis_words.CONTROLS),
        (synthesis.SynthesisFigure, "controls"): ("control", synthesis_words.CONTROLS),
        (synthesis.SynthesisFigure, "reason"): ("reason", {"", *synthesis_words.REASONS}),
        (synthesis.SynthesisFinding, "name"): ("conclusion", synthesis_words.CONCLUSIONS),
        **dict.fromkeys([(kind, "sampling") for kind in _SCHEMES], samplings),
        **dict.fromkeys([(kind, "adjacency") for kind in _SCHEMES], adjacencies),
        (training.CardFacts, "accounted_sampling"): samplings,
        (training.CardFacts, "doubts"): ("doubt", training_words.DOUBTS),
        (training.SeriesFact, "name"): ("choice", training_words.CHOICES),
        (training.ClaimFact, "worth"): ("worth", training_words.WORTHS),
        (training.OutcomeFact, "choices"): ("choice", training_words.CHOICES),
        (training.TuningFact, "name"): ("way to choose", training_words.TUNING),
        (training.InversionFact, "name"): ("inversion", training_words.INVERSIONS),
    }


def _unknown_names(facts: object) -> Iterator[str]:
    """Tell of names, in facts and in all that is in them, that have no words."""
    if isinstance(facts, _PLAIN):
        return
    if isinstance(facts, Mapping):
        facts = tuple(facts.values())
    if isinstance(facts, (tuple, list)):
        for part in facts:
            yield from _unknown_names(part)
    if not is_dataclass(facts):
        return
    for member in fields(facts):
        value = getattr(facts, member.name)
        yield from _unknown_names(value)
        if (place := (type(facts), member.name)) in _known():
            what, catalogue = _known()[place]
            names = [value] if isinstance(value, str) else list(value)
            yield from (
                f"the {what} {n!r} is in no catalogue" for n in names if n not in catalogue
            )
    if isinstance(facts, release.PublicFacts):
        wrong = [outcome for outcome in facts.checks.values() if outcome not in _OUTCOMES]
        yield from (f"the outcome {outcome!r} is in no catalogue" for outcome in wrong)
