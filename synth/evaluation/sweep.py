"""Cross-validated sweeps: every way to synthesise, on every fold; resumable; their means."""

import hashlib
import itertools
import math
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from footing.messages import Argument, Message, Name
from reports.catalogues.synthesis import FIGURES
from synth.errors import EvaluationError
from synth.evaluation.evaluate import EvaluationPlan, evaluate
from synth.evaluation.journal import Journal
from synth.evaluation.records import Kind

_FIT, _TIME = "fit_seconds", "fit_cpu_seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One way to synthesise on one fold.

    Parameters
    ----------
    name
        Of the way.
    fold
        From 0.
    figures
        Name of a figure, with its column → its value; seconds included. Empty where it failed.
    error
        The type of the error that ended it; empty where none did.

    Examples
    --------
    >>> Run(name="eps=1", fold=0, figures={"tvd2": 0.04}).error
    ''
    """

    name: str
    fold: int
    figures: Mapping[str, float | None]
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All runs of a sweep.

    Parameters
    ----------
    runs
        In the order of their names and folds.

    Examples
    --------
    >>> runs = [Run(name="a", fold=k, figures={"tvd2": 0.1 * k}) for k in range(3)]
    >>> Sweep(runs=tuple(runs)).aggregate("tvd2").round(3).values.tolist()
    [[0.1, 0.1, 3.0]]
    """

    runs: tuple[Run, ...]

    def table(self, name: str) -> pd.DataFrame:
        """Give the figures of one way: a line per figure, a column per fold.

        Parameters
        ----------
        name
            The way.

        Examples
        --------
        >>> Sweep(runs=(Run(name="a", fold=0, figures={"tvd2": 0.1}),)).table("a").shape
        (1, 1)
        """
        runs = [run for run in self.runs if run.name == name]
        if not runs:
            raise EvaluationError(Message("The sweep has no run of {name!r}.", name=Name(name)))
        return pd.DataFrame({run.fold: dict(run.figures) for run in runs}, dtype=np.float64)

    def aggregate(self, figure: str, *, over: str | None = None) -> pd.DataFrame:
        """Give mean and standard deviation of a figure over the folds, a line per way.

        Parameters
        ----------
        figure
            Its name.
        over
            A factor: ways that differ in it alone are one.

        Examples
        --------
        >>> Sweep(runs=(Run(name="a", fold=0, figures={}),)).aggregate("tvd2").loc["a", "folds"]
        np.int64(0)
        """
        lines = {}
        names = [_without(run.name, over) for run in self.runs]
        if over is not None and names == [run.name for run in self.runs]:
            raise EvaluationError(Message("No way has a factor {over!r}.", over=Name(over)))
        for name in dict.fromkeys(names):
            of_it = [run for run, one in zip(self.runs, names, strict=True) if one == name]
            figures = [run.figures.get(figure) for run in of_it]
            values = np.array([value for value in figures if value is not None])
            lines[name] = {
                "mean": float(values.mean()) if len(values) else math.nan,
                "sd": float(values.std(ddof=1)) if len(values) > 1 else math.nan,
                "folds": len(values),
            }
        return pd.DataFrame.from_dict(lines, orient="index", columns=["mean", "sd", "folds"])


def grid(
    fit: Callable[..., pd.DataFrame], **factors: Any
) -> dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]]:
    """Name every combination of factors, each a way to synthesise.

    Parameters
    ----------
    fit
        Called with the training records, ``seed=`` and one value of each factor; gives
        synthetic records.
    factors
        Name of a factor → its values.

    Examples
    --------
    >>> ways = grid(lambda train, *, seed, epsilon, ratio: train, epsilon=[1, 8], ratio=[0.5])
    >>> list(ways)
    ['epsilon=1, ratio=0.5', 'epsilon=8, ratio=0.5']
    """
    ways = {}
    for values in itertools.product(*factors.values()):
        choice = dict(zip(factors, values, strict=True))
        name = ", ".join(f"{factor}={value}" for factor, value in choice.items())
        ways[name] = _bound(fit, choice)
    return ways


def folds_of(n: int, *, folds: int, seed: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Share rows among folds at random; their sizes differ by one at most."""
    if not 2 <= folds <= n:
        raise EvaluationError(
            Message(
                "{number} records make from 2 to {number} folds, not {folds}.",
                number=n,
                folds=Argument(folds),
            )
        )
    order = np.random.default_rng(seed).permutation(n)
    return [np.sort(rows) for rows in np.array_split(order, folds)]


def sweep(
    frame: pd.DataFrame,
    ways: Mapping[str, Callable[[pd.DataFrame, int], pd.DataFrame]],
    *,
    folds: int = 5,
    kinds: Mapping[str, Kind] | None = None,
    plan: EvaluationPlan | None = None,
    seed: int = 0,
    left_out: Collection[str] = (),
    about: Mapping[str, Any] | None = None,
    path: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Sweep:
    """Fit every way on every training part; measure what it makes against the fold left out.

    Parameters
    ----------
    frame
        The real records.
    ways
        Name → a function of training records and a seed that gives synthetic records.
    folds
        Parts of the cross-validation.
    kinds, plan
        As for `evaluate`. Controls are left out: they are the same for every way, so that they
        may be ways themselves.
    seed
        Of the folds, and from it those of the runs.
    left_out
        Columns that the ways need and nothing is measured of: the identifier of a household.
    about
        What else two runs of one sweep have in common: digests of the data and the schema.
    path
        A file that remembers finished runs, a line of JSON each. A sweep that finds its own
        file goes on where it stopped. Runs that failed are tried again.
    progress
        Told how many runs of how many are done, and which one is next.

    Notes
    -----
    The source makes as many synthetic records as the whole input has; how many is the choice of
    each way here.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": range(30), "b": [0, 1, 2] * 10})
    >>> ways = {"copy": lambda train, seed: train}
    >>> found = sweep(frame, ways, folds=3, plan=EvaluationPlan(groups=("tables",)))
    >>> found.table("copy").loc["tvd1"].tolist()
    [0.0, 0.0, 0.0]
    """
    plan = replace(plan or EvaluationPlan(), controls=(), seed=seed)
    parts = folds_of(len(frame), folds=folds, seed=seed)
    settings = {
        "columns": [str(name) for name in frame.columns],
        "rows": len(frame),
        "folds": folds,
        "seed": seed,
        "plan": {one.name: repr(getattr(plan, one.name)) for one in fields(plan)},
        **(about or {}),
    }
    case = _Case(frame, plan, kinds or {}, frozenset(left_out))
    journal = Journal(path, settings=settings)
    tasks = [(name, fold) for name in ways for fold in range(folds)]
    runs = {}
    for done, (name, fold) in enumerate(tasks):
        if progress is not None:
            progress(done, len(tasks), f"{name}, fold {fold + 1}")
        figures = journal.find(name, fold)
        runs[name, fold] = Run(name=name, fold=fold, figures=figures or {})
        if figures is None:
            run = _run(case, ways[name], parts[fold], key=(name, fold))
            runs[name, fold] = run
            journal.add(
                {"name": name, "fold": fold, "error": run.error, "figures": run.figures}
            )
    if progress is not None:
        progress(len(tasks), len(tasks), "")
    return Sweep(runs=tuple(runs.values()))


@dataclass(frozen=True, slots=True)
class _Case:
    """What all runs have in common."""

    frame: pd.DataFrame
    plan: EvaluationPlan
    kinds: Mapping[str, Kind]
    left_out: frozenset[str]

    def measured(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are measured."""
        return frame[[name for name in frame.columns if name not in self.left_out]]


def _run(
    case: _Case,
    way: Callable[[pd.DataFrame, int], pd.DataFrame],
    out: np.ndarray[Any, np.dtype[np.int64]],
    *,
    key: tuple[str, int],
) -> Run:
    is_out = np.zeros(len(case.frame), dtype=bool)
    is_out[out] = True
    train = case.frame.loc[~is_out].reset_index(drop=True)
    holdout = case.measured(case.frame.loc[is_out].reset_index(drop=True))
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        synthetic = case.measured(way(train, _seed_of(case.plan.seed, *key)))
        seconds = {_FIT: time.perf_counter() - wall, _TIME: time.process_time() - cpu}
        real = case.measured(train)
        evaluation = evaluate(
            real, synthetic, holdout=holdout, kinds=case.kinds, plan=case.plan
        )
    except Exception as error:  # noqa: BLE001  (one failure must not cost the other runs)
        # The message of a foreign error may quote a record.
        return Run(name=key[0], fold=key[1], figures={}, error=type(error).__name__)
    figures = {_key(figure.name, figure.subject): figure.value for figure in evaluation.figures}
    return Run(name=key[0], fold=key[1], figures={**figures, **seconds})


def _without(name: str, factor: str | None) -> str:
    """Return the name of a way without one of its factors."""
    parts = [one for one in name.split(", ") if not one.startswith(f"{factor}=")]
    return ", ".join(parts) or "all"


def _key(name: str, subject: str) -> str:
    """Name a figure; the worst table is another one in each fold."""
    return f"{name}:{subject}" if subject and FIGURES[name].group != "tables" else name


def _seed_of(seed: int, name: str, fold: int) -> int:
    """Give each run a seed of its own that no other run's presence changes."""
    digest = hashlib.blake2b(f"{seed}|{name}|{fold}".encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big")


def _bound(
    fit: Callable[..., pd.DataFrame], choice: Mapping[str, Any]
) -> Callable[[pd.DataFrame, int], pd.DataFrame]:
    def way(train: pd.DataFrame, seed: int) -> pd.DataFrame:
        return fit(train, seed=seed, **choice)

    return way


def lines_of(sweep: Sweep) -> pd.DataFrame:
    """Return one line per way, fold and figure, seconds of the fits among them."""
    lines: list[tuple[Any, ...]] = []
    for run in sweep.runs:
        for key, value in run.figures.items():
            figure, _, subject = key.partition(":")
            lines.append((run.name, run.fold + 1, figure, subject, value, ""))
        if run.error:
            lines.append((run.name, run.fold + 1, "", "", None, run.error))
    columns = ["way", "fold", "figure", "subject", "value", "error"]
    return pd.DataFrame(lines, columns=columns)
