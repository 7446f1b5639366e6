"""What follows from an evaluation, in named sentences; the words are those of reports."""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean

from footing.messages import Message
from reports.catalogues.synthesis import FIGURES, TELLING, UNPROTECTED
from reports.facts.copying import fact_of
from reports.facts.synthesis import (
    SpreadFact,
    SweptFigure,
    SynthesisFacts,
    SynthesisFigure,
    SynthesisFinding,
)
from synth.errors import EvaluationError
from synth.evaluation.measures.margins import CELL_SIZES
from synth.evaluation.measures.scores import auc_interval
from synth.evaluation.result import Evaluation, Figure
from synth.evaluation.sweep import Sweep
from synth.guarantee import Guarantee

#: Areas whose interval is known from the numbers of records.
_AREAS = {"detection_auc": 8000, "domias": 1000}
_BROKEN = 0.01  # a share of the synthetic records
_EPSILON = re.compile(r"(?:^|, )epsilon=([-+.e\d]+)(?=, |$)")
_LEARNER = {"histogram": "HistGradientBoostingClassifier", "xgboost": "XGBClassifier"}


def conclusions(evaluation: Evaluation) -> tuple[SynthesisFinding, ...]:
    """Say what follows from the figures and their controls."""
    return tuple(
        SynthesisFinding(name=name, values=values) for name, values in _concluded(evaluation)
    )


def facts_of(
    evaluations: Mapping[str, Evaluation], *, title: str, version: str
) -> SynthesisFacts:
    """Give all that a page says of one or several sets of synthetic records."""
    if not evaluations:
        raise EvaluationError(Message("A page needs at least one evaluation."))
    first = next(iter(evaluations.values())).settings
    names = [f.name for e in evaluations.values() for f in e.figures if f.value is not None]
    return SynthesisFacts(
        title=title,
        version=version,
        train=first.get("train", 0),
        holdout=first.get("holdout", 0),
        synthetic={
            name: evaluation.settings.get("synthetic", 0)
            for name, evaluation in evaluations.items()
        },
        columns=tuple(map(str, first.get("columns", ()))),
        learner=_learner(first.get("learner", ""), names),
        figures={
            name: tuple(_figure(figure, evaluation) for figure in evaluation.figures)
            for name, evaluation in evaluations.items()
        },
        findings={name: conclusions(evaluation) for name, evaluation in evaluations.items()},
        guarantees={
            name: Guarantee.from_dict(evaluation.settings["guarantee"]).fact()
            for name, evaluation in evaluations.items()
            if "guarantee" in evaluation.settings
        },
    )


def sweep_facts(
    sweep: Sweep,
    *,
    controls: Collection[str] = (),
    rows: int,
    learner: str,
    title: str,
    version: str,
) -> SynthesisFacts:
    """Give all that a page says of a sweep: each figure by way and epsilon, over the folds."""
    folds = len({run.fold for run in sweep.runs})
    keys = dict.fromkeys(key for run in sweep.runs for key in run.figures)
    candidates = (
        _measure(sweep, key, controls) for key in keys if key.partition(":")[0] in FIGURES
    )
    measures = tuple(measure for measure in candidates if measure.spreads)
    return SynthesisFacts(
        title=title,
        version=version,
        train=rows - rows // folds,
        holdout=rows // folds,
        synthetic={},
        columns=(),
        learner=_learner(learner, [measure.name for measure in measures]),
        figures={},
        findings={"": tuple(_of_sweep(measures))},
        measures=measures,
        folds=folds,
    )


def _learner(name: str, figures: Collection[str]) -> str:
    """Name what was trained for these figures, if anything was."""
    return _LEARNER.get(name, "") if {"detection_auc", "class_auc"} & {*figures} else ""


def _measure(sweep: Sweep, key: str, controls: Collection[str]) -> SweptFigure:
    values: dict[str, list[float]] = {}
    for run in sweep.runs:
        if (value := run.figures.get(key)) is not None:
            values.setdefault(run.name, []).append(value)
    spreads = tuple(_spread(way, v) for way, v in values.items() if way not in controls)
    name, _, subject = key.partition(":")
    return SweptFigure(
        name=name,
        subject=subject,
        spreads=spreads,
        controls={way: fmean(values[way]) for way in controls if way in values},
        leads=tuple(_leads(name, spreads)),
        part=subject.partition(", ")[2] if FIGURES[name].group == "amounts" else "",
    )


def _spread(way: str, values: Sequence[float]) -> SpreadFact:
    match = _EPSILON.search(way)
    return SpreadFact(
        line=_EPSILON.sub("", way, count=1).removeprefix(", "),
        epsilon=None if match is None else float(match[1]),
        mean=fmean(values),
        low=min(values),
        high=max(values),
        values=tuple(values),
    )


def _leads(
    name: str, spreads: Sequence[SpreadFact]
) -> Iterator[tuple[str, float | None, float | None]]:
    """Give the best way for each stretch of epsilons; of attacks, none is the best.

    A way whose claim does not hold is none: its epsilon is not one.
    """
    if FIGURES[name].good not in {"low", "high"}:
        return
    spreads = [s for s in spreads if UNPROTECTED not in s.line]
    choose = min if FIGURES[name].good == "low" else max
    epsilons: list[float | None] = [
        *sorted({e for s in spreads if (e := s.epsilon) is not None})
    ]
    best = [
        (choose((s for s in spreads if s.epsilon == at), key=lambda s: s.mean).line, at)
        for at in epsilons or [None] * bool(spreads)
    ]
    for line, stretch in groupby(best, key=lambda one: one[0]):
        each = [at for _, at in stretch]
        yield line, each[0], each[-1]


def _of_sweep(measures: Sequence[SweptFigure]) -> Iterator[SynthesisFinding]:
    """Say from which epsilon on the best way keeps more than independent columns do."""
    candidates = [one for one in measures if one.leads and one.name in TELLING]
    if not candidates:
        return
    first = min(candidates, key=lambda one: TELLING.index(one.name))
    line, _, most = first.leads[-1]
    own = sorted(
        (s for s in first.spreads if s.line == line and (s.epsilon is None) == (most is None)),
        key=lambda s: s.epsilon or 0.0,
    )
    far, near = first.controls.get("independent"), first.controls.get("bootstrap")
    if far is None or near is None or far == near or most is None:
        yield SynthesisFinding(name="best", values={"line": line, "value": own[-1].mean})
    else:
        shares = [(far - s.mean) / (far - near) for s in own]
        figures: dict[str, float | str] = {"line": line, "largest": most, "share": shares[-1]}
        nearer = [k for k in range(len(own)) if all(share > 0 for share in shares[k:])]
        start = own[nearer[0]].epsilon or 0.0 if nearer else 0.0
        name = "kept" if nearer else "lost"
        yield SynthesisFinding(name=name, values=figures | {"epsilon": start})
    yield SynthesisFinding(name="judged-by", values={"figure": first.name})


def _figure(figure: Figure, evaluation: Evaluation) -> SynthesisFigure:
    low = high = None
    n = _sizes(evaluation).get(figure.name)
    if figure.value is not None and n:
        low, high = auc_interval(figure.value, n, n)
    return fact_of(SynthesisFigure, figure, low=low, high=high)


def _sizes(evaluation: Evaluation) -> dict[str, int]:
    """Give the records on each side of an area under the curve."""
    train, synthetic, out = (
        evaluation.settings.get(k, 0) for k in ("train", "synthetic", "holdout")
    )
    return {
        "detection_auc": min(train, synthetic, _AREAS["detection_auc"]),
        "domias": min(train, out // 2, _AREAS["domias"]),
    }


def _beside(figure: Figure | None, control: str) -> dict[str, float | str]:
    """Give a figure and its control by name; nothing where one of them is unknown."""
    out = None if figure is None else figure.controls.get(control)
    if figure is None or figure.value is None or out is None:
        return {}
    return {"value": figure.value, control: out}


def _of_amounts(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, float | str]]]:
    """Say first what an office asks first: totals, then quantiles, of all records."""
    some = [f for f in evaluation.figures if f.name.startswith("amount_") and not f.part]
    for name, limit in (("amounts-near", 0.05), ("amounts-quantiles", 0.1)):
        is_total = name == "amounts-near"
        values = [
            (one.value, one)
            for one in some
            if one.value is not None and (one.name == "amount_total") == is_total
        ]
        if not values:
            continue
        worst, figure = max(values, key=lambda pair: pair[0])
        yield (
            name,
            {
                "good": sum(value <= limit for value, _ in values),
                "number": len(values),
                "subject": figure.subject,
                "off": worst,
                "figure": figure.name,
                "sampling": figure.sampling or 0.0,
            },
        )
    if values_of_tails := _beside(evaluation.find("tail_change"), "independent"):
        yield "tails", values_of_tails
    broken = [one for one in evaluation.figures if one.name == "follows"]
    far = [(one.value, one) for one in broken if (one.value or 0) > _BROKEN]
    if far:
        share, figure = max(far, key=lambda pair: pair[0] or 0)
        yield (
            "follows",
            {"number": len(far), "subject": figure.subject, "error": share or 0.0},
        )


def _concluded(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, float | str]]]:
    yield from _of_amounts(evaluation)
    yield from _of_trust(evaluation)
    yield from _of_tables(evaluation)
    for figure in evaluation.figures:
        if figure.name == "class_auc" and (values := _beside(figure, "train")):
            yield "learning", {"subject": figure.subject, **values}
    area = evaluation.value("detection_auc")
    if area is not None:
        yield "detected", {"value": area}
    yield from _of_members(evaluation)
    if values := _beside(evaluation.find("exact_matches"), "holdout"):
        yield "copies", values
    if evaluation.value("nearer_train") is not None:
        yield "nearness", {}
    for figure in evaluation.figures:
        if figure.name == "inferred" and (values := _beside(figure, "holdout")):
            yield "guesses-above", {"subject": figure.subject, **values}


def _of_trust(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, float | str]]]:
    """Say which tables can be used, and how far cells are off by their size."""
    figure = evaluation.find("trusted")
    if figure is not None and figure.value is not None:
        number = math.comb(len(evaluation.settings.get("columns", ())), 2)
        values: dict[str, float | str] = {
            "number": number,
            "good": round(figure.value * number),
        }
        if not figure.subject:
            yield "trusted-all", values
        else:
            name = "trusted-some" if figure.value else "trusted-none"
            yield name, {**values, "subject": figure.subject}
    for size in reversed(CELL_SIZES):
        error = evaluation.value(f"cells_{size}")
        if error is not None:
            ends = {"size": size, "error": error}
            if size == CELL_SIZES[-1]:
                yield "cells-from", {**ends}
            else:
                yield "cells-between", {**ends, "last": 10 * size - 1}


def _of_tables(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, float | str]]]:
    figure = evaluation.find("tvd2")
    if figure is None or figure.value is None:
        return
    apart, bootstrap = figure.controls.get("independent"), figure.controls.get("bootstrap")
    if apart is not None and figure.value >= apart:
        values, columns = (
            {"value": figure.value, "independent": apart},
            evaluation.value("tvd1"),
        )
        if columns is not None and columns > figure.value / 3:
            yield "columns-off", {**values, "columns": columns}
        else:
            yield "tables-no-better", {**values}
    elif apart is not None and bootstrap is not None:
        yield (
            "tables-better",
            {"value": figure.value, "independent": apart, "bootstrap": bootstrap},
        )
    share = evaluation.value("subsample")
    if share is not None:
        yield "sample", {"share_pct": round(100 * share, 1)}
    worst = evaluation.find("tvd2_largest")
    if worst is not None and worst.value is not None:
        yield "worst-table", {"subject": worst.subject, "value": worst.value}


def _of_members(evaluation: Evaluation) -> Iterator[tuple[str, dict[str, float | str]]]:
    figure = evaluation.find("domias")
    if figure is None or figure.value is None:
        return
    low, _ = auc_interval(figure.value, *[max(_sizes(evaluation)["domias"], 1)] * 2)
    if low <= 0.5:
        yield "members-hidden", {}
    elif values := _beside(figure, "holdout"):
        yield "members-found", values
