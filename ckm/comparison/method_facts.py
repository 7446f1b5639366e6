"""From a comparison of methods to what a page and a file say of it."""

from __future__ import annotations

import csv
import io
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.comparison.compare_methods import OWN
from ckm.config.comparison.method_settings import DEFAULTS
from footing.version import engine_version
from reports.facts.copying import fact_of
from reports.facts.methods import CriterionFact, MethodFact, MethodFacts, ReleasedFact
from reports.facts.release import ComparisonFacts, ScenarioFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckm.comparison.compare_methods import MethodComparison, MethodResult
    from ckm.comparison.released import ReleasedTables
    from ckm.config.comparison.method_settings import MethodChoice
    from reports.facts.release import Text

_NO_PART_OF_A_METHOD = "limit_s"
_VARIANTS = ("way", "keys", "others")
_CLOSE = 1e-9
#: Shares that are 1 where the same question has the same answer.
_SAME = ("same_answer", "same_by_another_route", "decentral")


def method_facts(comparison: MethodComparison) -> MethodFacts:
    """Give all that a page says of the methods."""
    bench = comparison.bench
    methods = tuple(_method(result) for result in comparison.results)
    planned, own = bench.job.tables, comparison.results[0].released
    return fact_of(
        MethodFacts,
        comparison.experiment,
        methods=methods,
        conclusion=conclusion_of(methods),
        tables=tuple(tuple(table.dimensions) for table in bench.counted.values()),
        geography=bench.geography or "",
        target=bench.target,
        records=bench.n_records,
        all_records=bench.sample.n_records,
        drawn=bench.sample.drawn,
        left_out=bench.left_out,
        summed=tuple(n for n, t in planned.items() if tuple(t.measures) != ("count",)),
        standing=standing_of(methods, own),
        released=() if own is None else tuple(fact_of(ReleasedFact, m) for m in own.measures),
        stopped="" if own is None else own.stopped,
        has_ledger=own is not None and own.has_ledger,
    )


def standing_of(
    methods: Sequence[MethodFact], released: ReleasedTables | None
) -> dict[str, dict[str, float | str]]:
    """Say where the job's own method stands, the first, and only then what is better.

    A method is better that finds no more and loses no more, and less of one of them: of small
    counts, of persons, of counts. Where none is, the one is named that finds less and loses
    least, and the one that loses less and finds least.
    """
    own, *others = methods
    if not own.criteria:
        return {"own-not-tried": {"method": own.name, "reason": own.reason}}
    now = _numbers(own)
    figures = {name: number for name, number in now.items() if number is not None}
    change = None if released is None else released.mean_change
    lost = now["lost"]
    if released is not None and released.cells:
        lost = released.hidden / released.cells
    sentence_figures: dict[str, float | str] = {
        **figures,
        "method": own.name,
        "lost": lost or 0.0,
    }
    if now["loss"] is None:
        amount = [m.lost for m in (released.measures if released else ()) if m.lost is not None]
        return {
            "own-amounts": {**sentence_figures, "amount": max(amount, default=0.0)},
            "only-counts": {},
        }
    sentence_figures["change"] = change if change is not None else own.mean_change or 0.0
    sentences: dict[str, dict[str, float | str]] = {}
    sentences["own" if now["small"] is not None else "own-none-small"] = sentence_figures
    rivals = [
        (method, numbers)
        for method in others
        if method.criteria and method.kind != "exact"
        for numbers in [_numbers(method)]
        if numbers["loss"] is not None
    ]
    for name, (method, numbers) in _beside(now, rivals).items():
        own_numbers = {f"own_{key}": value for key, value in now.items()}
        both = {**numbers, **own_numbers, "method": method.name}
        sentences[name] = {key: 0.0 if value is None else value for key, value in both.items()}
    if len(sentences) == 1 and rivals:
        sentences["none-better"] = {"tried": len(rivals)}
    return sentences


def _numbers(method: MethodFact) -> dict[str, float | None]:
    share = {c.name: c.share for c in method.criteria}
    persons = {c.name: c.base for c in method.criteria}["found_by_differencing"]
    return {
        "small": share["small_counts_found"],
        "found": round((share["found_by_differencing"] or 0.0) * persons),
        "persons": persons,
        "loss": method.mean_loss,
        "lost": share["cells_lost"],
    }


def _beside(
    own: Mapping[str, float | None],
    rivals: Sequence[tuple[MethodFact, dict[str, float | None]]],
) -> dict[str, tuple[MethodFact, dict[str, float | None]]]:
    """Choose what to name beside the job's own method: what is better, or what each costs."""

    def of(numbers: Mapping[str, float | None], *names: str) -> list[float]:
        return [numbers[name] or 0.0 for name in names]

    def is_less(numbers: Mapping[str, float | None], *names: str) -> bool:
        pairs = [*zip(of(numbers, *names), of(own, *names), strict=True)]
        none_more = all(theirs <= ours + _CLOSE for theirs, ours in pairs)
        return none_more and any(theirs < ours - _CLOSE for theirs, ours in pairs)

    better = [each for each in rivals if is_less(each[1], "small", "found", "loss")]
    if better:
        return {"beaten": min(better, key=lambda each: of(each[1], "loss", "small", "found"))}
    rivals_to_name = {}
    safer = [each for each in rivals if is_less(each[1], "small", "found")]
    if safer:
        rivals_to_name["safer"] = min(
            safer, key=lambda each: of(each[1], "loss", "small", "found")
        )
    nearer = [each for each in rivals if is_less(each[1], "loss")]
    if nearer:
        rivals_to_name["nearer"] = min(
            nearer, key=lambda each: of(each[1], "found", "small", "loss")
        )
    return rivals_to_name


def conclusion_of(methods: Sequence[MethodFact]) -> dict[str, dict[str, float | str]]:
    """Recommend, of the methods that keep three rules, the one that moves counts least.

    The rules: the same question has the same answer, no cell of the planned tables is lost, and
    two tables that differ by one person find nobody. What was not measured keeps no rule, and
    exact counts are the control.
    """
    candidates = [m for m in methods if m.criteria and m.kind != "exact"]
    steady = [
        outcome
        for outcome in map(_outcome, candidates)
        if outcome["same"] and not outcome["lost"]
    ]
    steady.sort(key=itemgetter("change"))
    if not candidates or not steady:
        return {"none": {"tried": len(candidates)}} if candidates else {}
    best = min(steady, key=itemgetter("found"))
    numbers = {
        **best,
        "tried": len(candidates),
        "keep": sum(not outcome["found"] for outcome in steady),
    }
    if best["found"]:
        return {"none-private": numbers}
    return {"recommended": numbers} | ({} if steady[0] is best else {"other": steady[0]})


def _outcome(method: MethodFact) -> dict[str, Any]:
    share = {c.name: c.share for c in method.criteria}
    persons = {c.name: c.base for c in method.criteria}["found_by_differencing"]
    if method.mean_change is None or None in share.values():
        return {"same": False}
    numbers = {name: number for name, number in share.items() if number is not None}
    return {
        "method": method.name,
        "same": all(numbers[name] == 1 for name in _SAME),
        "change": method.mean_change,
        "persons": persons,
        "found": round(numbers["found_by_differencing"] * persons),
        "lost": numbers["cells_lost"],
        "gaps": 1 - numbers["additive"],
        "refused": 1 - numbers["on_demand"],
    }


def comparison_of_methods(comparison: MethodComparison, *, title: Text) -> ComparisonFacts:
    """Give what a page says where methods alone were compared."""
    return ComparisonFacts(
        title=title,
        version=engine_version(),
        tables={},
        sensitive=(),
        scenarios=ScenarioFacts(designs=(), refused={}),
        by_table={},
        sets=(),
        posteriors={},
        utility={},
        conclusion={},
        methods=method_facts(comparison),
    )


def methods_csv(comparison: MethodComparison) -> str:
    """Write one line per method and criterion, and further numbers, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["method", "kind", "parameters", "name", "number", "base"])
    for result in comparison.results:
        choice = result.choice
        settings_text = "; ".join(f"{name}={value}" for name, value in _shown(choice).items())
        head = [choice.name, choice.kind, settings_text]
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
        for each in result.released.measures if result.released else ():
            of = f"{each.table} {each.measure}"
            writer.writerow([*head, f"hidden: {of}", each.hidden, each.cells])
            if each.change is not None:
                writer.writerow([*head, f"change: {of}", repr(each.change), each.cells])
    return text.getvalue()


def _method(result: MethodResult) -> MethodFact:
    choice = result.choice
    default = DEFAULTS.get(choice.name)
    criteria = () if result.criteria is None else result.criteria.measured
    return fact_of(
        MethodFact,
        result,
        name=choice.name,
        kind=_kind(choice),
        is_default=choice.name == OWN
        or (default is not None and _kind(default) == _kind(choice)),
        parameters=_shown(choice),
        simple=choice.simple or "",
        records=result.n_records,
        criteria=tuple(fact_of(CriterionFact, criterion) for criterion in criteria),
        guarantee=None if result.guarantee is None else result.guarantee.fact(),
    )


def _kind(choice: MethodChoice) -> str:
    """Name the kind together with the parameter that makes another method of it."""
    variant = [choice.parameters[name] for name in _VARIANTS if name in choice.parameters]
    return "-".join([choice.kind, *variant])


def _shown(choice: MethodChoice) -> dict[str, str | float]:
    """Write parameters as somebody sets them; of a path, the name."""
    texts: dict[str, str | float] = {}
    for name, value in choice.parameters.items():
        if name in _VARIANTS or name == _NO_PART_OF_A_METHOD:
            continue
        if name == "path":
            texts[name] = Path(value).name
        elif isinstance(value, bool):
            texts[name] = str(value).lower()
        else:
            texts[name] = " ".join(value) if isinstance(value, tuple) else value
    return texts
