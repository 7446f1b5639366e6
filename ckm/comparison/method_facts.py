"""From a comparison of methods to what a page and a file say of it."""

from __future__ import annotations

import csv
import io
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm import __version__
from ckm.config.comparison.method_settings import DEFAULTS
from reports.facts.copying import fact_of
from reports.facts.methods import CriterionFact, MethodFact, MethodFacts
from reports.facts.release import ComparisonFacts, ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.comparison.compare_methods import MethodComparison, MethodResult
    from ckm.config.comparison.method_settings import MethodChoice
    from reports.facts.release import Text

_VARIANTS = ("keys", "others")
#: Shares that are 1 where the same question has the same answer.
_SAME = ("same_answer", "same_by_another_route", "decentral")


def method_facts(found: MethodComparison) -> MethodFacts:
    """Give all that a page says of the methods."""
    testbed = found.testbed
    methods = tuple(_method(result) for result in found.results)
    return fact_of(
        MethodFacts,
        found.experiment,
        testbed,
        methods=methods,
        conclusion=conclusion_of(methods),
        tables=tuple(
            tuple(testbed.names[place] for place in table) for table in testbed.tables
        ),
        geography=testbed.names[testbed.geography],
        target=testbed.names[testbed.target],
        records=len(testbed.records),
        all_records=testbed.n_records,
    )


def conclusion_of(methods: Sequence[MethodFact]) -> dict[str, dict[str, float | str]]:
    """Recommend, of the methods that keep three rules, the one that moves counts least.

    The rules: the same question has the same answer, no cell of the planned tables is lost, and
    two tables that differ by one person find nobody. What was not measured keeps no rule, and
    exact counts are the control.
    """
    tried = [m for m in methods if m.criteria and m.kind != "exact"]
    steady = [found for found in map(_outcome, tried) if found["same"] and not found["lost"]]
    steady.sort(key=itemgetter("change"))
    if not tried or not steady:
        return {"none": {"tried": len(tried)}} if tried else {}
    best = min(steady, key=itemgetter("found"))
    numbers = {**best, "tried": len(tried), "keep": sum(not found["found"] for found in steady)}
    if best["found"]:
        return {"none-private": numbers}
    return {"recommended": numbers} | ({} if steady[0] is best else {"other": steady[0]})


def _outcome(method: MethodFact) -> dict[str, Any]:
    share = {c.name: c.share for c in method.criteria}
    persons = {c.name: c.base for c in method.criteria}["found_by_differencing"]
    if method.mean_change is None or None in share.values():
        return {"same": False}
    known = {name: number for name, number in share.items() if number is not None}
    return {
        "method": method.name,
        "same": all(known[name] == 1 for name in _SAME),
        "change": method.mean_change,
        "persons": persons,
        "found": round(known["found_by_differencing"] * persons),
        "lost": known["cells_lost"],
        "gaps": 1 - known["additive"],
        "refused": 1 - known["on_demand"],
    }


def comparison_of_methods(found: MethodComparison, *, title: Text) -> ComparisonFacts:
    """Give what a page says where methods alone were compared."""
    return ComparisonFacts(
        title=title,
        version=__version__,
        tables={},
        sensitive=(),
        scenarios=ScenarioFacts(designs=(), refused={}),
        by_table={},
        sets=(),
        posteriors={},
        utility={},
        conclusion={},
        methods=method_facts(found),
    )


def methods_csv(found: MethodComparison) -> str:
    """Write one line per method and criterion, and further numbers, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["method", "kind", "parameters", "name", "number", "base"])
    for result in found.results:
        choice = result.choice
        shown = "; ".join(f"{name}={value}" for name, value in _shown(choice).items())
        head = [choice.name, choice.kind, shown]
        if result.guarantee is not None:
            writer.writerow([*head, "guarantee", result.guarantee.text, ""])
        if result.criteria is None:
            writer.writerow([*head, "reason", result.reason, ""])
            continue
        for criterion in result.criteria.measured:
            share = "" if criterion.share is None else repr(criterion.share)
            writer.writerow([*head, criterion.name, share, criterion.base])
        rest = {
            "mean_change": result.mean_change,
            "mean_loss": result.mean_loss,
            **result.facts,
        }
        for name, number in rest.items():
            writer.writerow([*head, name, "" if number is None else repr(float(number)), ""])
        writer.writerow([*head, "simple", choice.simple, ""])
    return text.getvalue()


def _method(result: MethodResult) -> MethodFact:
    choice = result.choice
    default = DEFAULTS.get(choice.name)
    measured = () if result.criteria is None else result.criteria.measured
    return fact_of(
        MethodFact,
        result,
        name=choice.name,
        kind=_kind(choice),
        is_default=default is not None and _kind(default) == _kind(choice),
        parameters=_shown(choice),
        simple=choice.simple or "",
        records=result.n_records,
        criteria=tuple(fact_of(CriterionFact, criterion) for criterion in measured),
        guarantee=None if result.guarantee is None else result.guarantee.fact(),
    )


def _kind(choice: MethodChoice) -> str:
    """Name the kind together with the parameter that makes another method of it."""
    variant = [choice.parameters[name] for name in _VARIANTS if name in choice.parameters]
    return "-".join([choice.kind, *variant])


def _shown(choice: MethodChoice) -> dict[str, str | float]:
    """Write parameters as somebody sets them; of a path, the name."""
    shown: dict[str, str | float] = {}
    for name, value in choice.parameters.items():
        if name in _VARIANTS:
            continue
        if name == "path":
            shown[name] = Path(value).name
        else:
            shown[name] = " ".join(value) if isinstance(value, tuple) else value
    return shown
