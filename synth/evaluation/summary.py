"""A sweep in few numbers: means over the folds, beside those of the controls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from reports.catalogues.synthesis import FIGURES
from synth.evaluation.result import Evaluation, Figure

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from synth.evaluation.sweep import Sweep


def summarise(
    found: Sweep, *, controls: Collection[str] = (), settings: Mapping[str, Any] | None = None
) -> dict[str, Evaluation]:
    """Return for each way the means of its figures over the folds.

    A figure that is not defined in some folds is the mean over the others; one that is not
    defined in any is left out.
    """
    means = {name: _means(found, name) for name in dict.fromkeys(r.name for r in found.runs)}
    evaluations = {}
    for name, figures in means.items():
        if name in controls:
            continue
        evaluations[name] = Evaluation(
            figures=tuple(
                _figure(key, value, {one: means[one].get(key) for one in controls})
                for key, value in figures.items()
                if value is not None and key.partition(":")[0] in FIGURES
            ),
            settings=dict(settings or {}),
        )
    return evaluations


def lines_of(found: Sweep) -> pd.DataFrame:
    """Return one line per way, fold and figure, seconds of the fits among them."""
    lines: list[tuple[Any, ...]] = []
    for run in found.runs:
        for key, value in run.figures.items():
            figure, _, subject = key.partition(":")
            lines.append((run.name, run.fold + 1, figure, subject, value, ""))
        if run.error:
            lines.append((run.name, run.fold + 1, "", "", None, run.error))
    columns = ["way", "fold", "figure", "subject", "value", "error"]
    return pd.DataFrame(lines, columns=columns)


def _means(found: Sweep, name: str) -> dict[str, float | None]:
    runs = [run for run in found.runs if run.name == name]
    keys = dict.fromkeys(key for run in runs for key in run.figures)
    means: dict[str, float | None] = {}
    for key in keys:
        known = [v for run in runs if (v := run.figures.get(key)) is not None]
        means[key] = float(np.mean(known)) if known else None
    return means


def _figure(key: str, value: float, controls: Mapping[str, float | None]) -> Figure:
    name, _, subject = key.partition(":")
    return Figure(name=name, value=value, controls=controls, subject=subject)
