"""The whole evaluation: every figure for the synthetic records and for each control."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from footing.messages import Message, Name
from footing.serialisation import plain_fields
from reports.catalogues.synthesis import FIGURES, GROUPS
from synth.errors import EvaluationError
from synth.evaluation.measures import margins
from synth.evaluation.measures.amounts import amount_figures, amounts_of, main_category
from synth.evaluation.measures.dependence import broken_rules, rank_change, tail_change
from synth.evaluation.measures.disclosure import (
    attribute_inference,
    closeness,
    exact_matches,
    replicated_uniques,
)
from synth.evaluation.measures.learning import Learner, classification, detection, regression
from synth.evaluation.measures.membership import density_ratio, monte_carlo
from synth.evaluation.records import Kind, Records, encode
from synth.evaluation.result import Evaluation, Figure

#: Real records that the synthesis never saw; a bootstrap of the training records; independent
#: columns with the margins of the training records; the training records themselves.
Control: TypeAlias = Literal["train", "bootstrap", "holdout", "independent"]
CONTROLS: tuple[Control, ...] = ("train", "bootstrap", "holdout", "independent")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """What is measured, and how.

    Parameters
    ----------
    classes, numbers
        Columns to predict: categories, and numbers.
    keys, sensitive
        What an intruder knows, and wants.
    amounts
        The columns whose totals, means and quantiles are measured; by default numbers with many
        values.
    by
        The column of categories by which they are measured, too; by default that by which they
        differ most.
    groups
        Which groups of figures; by default all.
    controls
        Which controls; by default all that the records allow.
    learner
        The classifier; see `synth.evaluation.measures.learning`.
    repetitions, attacked, drawn
        Of the membership attack: how often, how many members, how many synthetic records.
    tables
        At most so many tables of three columns.
    seed
        Of all choices.

    Examples
    --------
    >>> EvaluationPlan(classes=("income",)).learner
    'histogram'
    """

    classes: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    amounts: tuple[str, ...] = ()
    by: str | None = None
    groups: tuple[str, ...] = tuple(GROUPS)
    controls: tuple[Control, ...] = CONTROLS
    learner: Learner = "histogram"
    repetitions: int = 10
    attacked: int = 2000
    drawn: int = 500
    tables: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for choices, catalogue in ((self.groups, GROUPS), (self.controls, CONTROLS)):
            unknown = [name for name in choices if name not in catalogue]
            if unknown:
                raise EvaluationError(
                    Message("There is no {names!r}.", names=Name(unknown[0])),
                    hint=Message("take some of {names}", names=Name.each(catalogue)),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """Records put in the place of synthetic ones, and what they are compared with."""

    plan: EvaluationPlan
    train: Records
    made: Records
    holdout: Records | None


#: So many of the tables that cannot be trusted are named.
_NAMED = 5
#: Name, subject, value and reason of a figure; of an amount, what it is besides.
_Line = (
    tuple[str, str, "float | None", str]
    | tuple[str, str, "float | None", str, Mapping[str, Any]]
)


def evaluate(
    train: pd.DataFrame,
    synthetic: pd.DataFrame,
    *,
    holdout: pd.DataFrame | None = None,
    kinds: Mapping[str, Kind] | None = None,
    plan: EvaluationPlan | None = None,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Measure synthetic records against real ones, with controls beside every figure.

    Parameters
    ----------
    train
        The records that the synthesis learned from.
    synthetic
        What it made.
    holdout
        Real records that it never saw. Without them nothing is learned, attacked or compared
        with a holdout.
    kinds
        Declared kinds of columns; see `synth.evaluation.records`.
    plan
        What is measured.
    progress
        Told what is measured now.

    Notes
    -----
    Tables, correlations and detection compare with the training records; what was learned is
    tested on the holdout.

    Examples
    --------
    >>> import pandas as pd
    >>> real = pd.DataFrame({"a": range(40), "b": [0, 1] * 20})
    >>> found = evaluate(
    ...     real, real, plan=EvaluationPlan(groups=("tables",), controls=("independent",))
    ... )
    >>> found.value("tvd2"), found.find("tvd2").controls["independent"] > 0
    (0.0, True)
    """
    plan = plan or EvaluationPlan()
    frames = [train, synthetic, *([] if holdout is None else [holdout])]
    coded = encode(*frames, kinds=kinds)
    case = _Case(
        plan=plan, train=coded[0], made=coded[1], holdout=coded[2] if len(coded) > 2 else None
    )
    cases = {"": case, **_controls(case)}
    lines: dict[tuple[str, str], Figure] = {}
    seconds = {}
    for group in plan.groups:
        start = time.perf_counter()
        for control, some in cases.items():
            if progress is not None:
                progress(f"{group}, {control}" if control else group)
            for name, subject, value, reason, *more in _MEASURED[group](some):
                figure = Figure(
                    name=name, value=value, subject=subject, reason=reason, **dict(*more)
                )
                _enter(lines, control, figure)
        seconds[group] = round(time.perf_counter() - start, 3)
    order = list(FIGURES)
    return Evaluation(
        figures=tuple(sorted(lines.values(), key=lambda figure: order.index(figure.name))),
        settings={
            **plain_fields(plan),
            "train": len(case.train),
            "synthetic": len(case.made),
            "holdout": 0 if case.holdout is None else len(case.holdout),
            "columns": list(case.train.names),
        },
        seconds={str(group): took for group, took in seconds.items()},
    )


def _enter(lines: dict[tuple[str, str], Figure], control: str, control_figure: Figure) -> None:
    """Add the figure of a control to that of the synthetic records."""
    place = (
        control_figure.name,
        control_figure.subject if FIGURES[control_figure.name].group != "tables" else "",
    )
    if not control:
        lines[place] = control_figure
        return
    if place not in lines:  # a rule that the synthetic records have no group of
        return
    figure = lines[place]
    lines[place] = replace(figure, controls={**figure.controls, control: control_figure.value})


def _controls(case: _Case) -> dict[str, _Case]:
    """Put known records in the place of the synthetic ones."""
    seed = case.plan.seed
    makers: dict[str, Callable[[], Records]] = {
        "train": lambda: case.train,
        "bootstrap": lambda: bootstrap(case.train, seed=seed + 1),
        "independent": lambda: independent(case.train, seed=seed + 2),
    }
    cases: dict[str, _Case] = {}
    for name in case.plan.controls:
        if name in makers:
            cases[name] = replace(case, made=makers[name]())
        elif case.holdout is not None and len(case.holdout) > 1:
            # One half stands in for synthetic records; the other stays unseen.
            half, other_half = _halves(case.holdout, seed=seed + 3)
            cases[name] = replace(case, made=half, holdout=other_half)
    return cases


def _halves(records: Records, *, seed: int) -> tuple[Records, Records]:
    """Deal records at random to two halves."""
    order = np.random.default_rng(seed).permutation(len(records))
    half = len(order) // 2
    return records.take(order[:half]), records.take(order[half:])


def _chosen_amounts(case: _Case) -> list[str]:
    for name in case.plan.amounts:
        case.train.place(name)
    return list(case.plan.amounts) or amounts_of(case.train)


def _amounts(case: _Case) -> Iterator[_Line]:
    amounts = _chosen_amounts(case)
    by = case.plan.by or main_category(case.train, amounts)
    for one in amount_figures(case.train, case.made, amounts=amounts, by=by):
        why = "the figure of the records is 0" if one.off is None else ""
        more = {part: getattr(one, part) for part in ("real", "made", "sampling", "part")}
        yield one.name, one.subject, one.off, why, more


def _dependence(case: _Case) -> Iterator[_Line]:
    amounts = _chosen_amounts(case)
    changes = {
        "rank_change": rank_change(case.train, case.made, amounts),
        "tail_change": tail_change(case.train, case.made, amounts),
    }
    yield from _lines(changes, why="there are fewer columns")
    for name, source, share in broken_rules(case.train, case.made):
        yield "follows", f"{name} ← {source}", share, ""


def _tables(case: _Case) -> Iterator[_Line]:
    plan = case.plan
    for ways in (1, 2, 3):
        if ways > len(case.train.names):
            yield f"tvd{ways}", "", None, "there are fewer columns"
            continue
        some = {"most_tables": plan.tables} if ways == 3 else {}
        distances = margins.table_distances(
            case.train, case.made, ways=ways, seed=plan.seed, **some
        )
        yield f"tvd{ways}", "", distances.mean, ""
        if ways == 2:
            far = [" × ".join(columns) for columns in distances.not_trusted]  # noqa: RUF001
            rest = [f"… +{len(far) - _NAMED}"] * (len(far) > _NAMED)
            yield "trusted", ", ".join([*far[:_NAMED], *rest]), distances.trusted, ""
            errors = margins.cell_errors(case.train, case.made, seed=plan.seed)
            for size in reversed(margins.CELL_SIZES):
                why = "" if size in errors else "there are too few records"
                yield f"cells_{size}", "", errors.get(size), why
            yield "tvd2_largest", ", ".join(map(str, distances.worst)), distances.largest, ""
            yield "k_marginal", "", 1000.0 * (1.0 - distances.mean), ""
            share = margins.subsample_equivalent(
                case.train, distances.mean, seed=plan.seed, draws=1
            )
            yield "subsample", "", share, ""


def _lines(
    figures: Mapping[str, float | None], subject: str = "", *, why: str = ""
) -> Iterator[_Line]:
    """Give a line a figure, with the reason where one has no value."""
    for name, value in figures.items():
        yield name, subject, value, why if value is None else ""


def _columns(case: _Case) -> Iterator[_Line]:
    ks = margins.ks_distances(case.train, case.made)
    yield from _lines({"ks_mean": sum(ks.values()) / len(ks), "ks_largest": max(ks.values())})
    changes = {
        name: margins.correlation_change(case.train, case.made, diagonal=diagonal)
        for name, diagonal in (("spearman_change", True), ("spearman_change_pairs", False))
    }
    yield from _lines(changes, why="nothing varies")
    v = margins.cramer_change(case.train, case.made)
    mean = sum(v.values()) / len(v) if v else None
    yield from _lines({"cramer_change": mean}, why="there is one column")


def _detection(case: _Case) -> Iterator[_Line]:
    try:
        figures = detection(
            case.train, case.made, learner=case.plan.learner, seed=case.plan.seed
        )
    except EvaluationError as error:
        if "on each side" not in error.problem:
            raise
        absent = dict.fromkeys(("detection_auc", "pmse"))
        yield from _lines(absent, why="there are too few records")
    else:
        yield from _lines(figures)


def _learning(case: _Case) -> Iterator[_Line]:
    plan, lacking = case.plan, "there is no holdout"
    for target in plan.classes:
        case.train.place(target)
        if case.holdout is None:
            absent = dict.fromkeys(("class_auc", "class_mcc", "class_accuracy"))
            yield from _lines(absent, target, why=lacking)
            continue
        figures = classification(
            case.made, case.holdout, target=target, learner=plan.learner, seed=plan.seed
        )
        yield from _lines(figures, target, why="the holdout has one class")
    for target in plan.numbers:
        case.train.place(target)
        error = None
        if case.holdout is not None:
            error = regression(case.made, case.holdout, target=target)
            lacking = "no number is left"
        yield from _lines({"number_rmse": error}, target, why=lacking)


def _membership(case: _Case) -> Iterator[_Line]:
    if case.holdout is None:
        absent = dict.fromkeys(("mia_mean", "mia_worst", "mia_euclidean", "domias"))
        yield from _lines(absent, why="there is no holdout")
        return
    plan = case.plan
    attack = partial(
        monte_carlo,
        case.train,
        case.holdout,
        case.made,
        seed=plan.seed,
        n=plan.drawn,
        repetitions=plan.repetitions,
        most=plan.attacked,
    )
    result = attack(metric="hamming")
    yield from _lines({"mia_mean": result.mean, "mia_worst": result.worst})
    yield from _lines({"mia_euclidean": attack(metric="euclidean").mean})
    area = None
    if len(case.holdout) > 1:
        first_half, second_half = _halves(case.holdout, seed=plan.seed)
        area = density_ratio(
            case.train, first_half, case.made, reference=second_half, seed=plan.seed
        )
    yield from _lines({"domias": area}, why="there are too few records")


def _nearness(case: _Case) -> Iterator[_Line]:
    yield "exact_matches", "", exact_matches(case.train, case.made), ""
    yield "replicated_uniques", "", replicated_uniques(case.train, case.made), ""
    if case.holdout is not None:
        yield from _lines(closeness(case.train, case.holdout, case.made, seed=case.plan.seed))
        return
    names = ("nearer_train", "dcr_train", "dcr_holdout", "nndr_train", "nndr_holdout")
    yield from _lines(dict.fromkeys(names), why="there is no holdout")


def _inference(case: _Case) -> Iterator[_Line]:
    for target in case.plan.sensitive:
        figures = attribute_inference(case.train, case.made, keys=case.plan.keys, target=target)
        yield from _lines(figures, target, why="no keys have one value")


_MEASURED: Mapping[str, Callable[[_Case], Iterator[_Line]]] = {
    "amounts": _amounts,
    "dependence": _dependence,
    "tables": _tables,
    "columns": _columns,
    "detection": _detection,
    "learning": _learning,
    "membership": _membership,
    "nearness": _nearness,
    "inference": _inference,
}


def bootstrap(records: Records, *, seed: int) -> Records:
    """Draw as many records with replacement."""
    rng = np.random.default_rng(seed)
    return records.take(rng.integers(len(records), size=len(records)))


def independent(records: Records, *, seed: int) -> Records:
    """Shuffle every column by itself: the same margins, no dependence."""
    rng = np.random.default_rng(seed)
    return records.with_values(rng.permuted(records.values, axis=0))
