"""The experiments of the sources: populations, idle candidates, what was printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from footing.messages import Message, Name
from rappor.client.simulate import simulate_counts
from rappor.errors import RapporError
from rappor.parameters import Parameters
from rappor.presets import PRESETS

if TYPE_CHECKING:
    from footing.arrays import Floats, Integers
    from rappor.counts import Counts

ExperimentName = Literal["normal", "exponential", "google"]
_VALUES = 100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SourceExperiment:
    """A population that a source tried RAPPOR on.

    Parameters
    ----------
    name
        Of the experiment.
    parameters
        Of the reports.
    values
        All that is held or looked for.
    weights
        How often each is held, relative to the others; 0 for candidates that nobody holds.
    is_candidate
        Which are looked for: some that are held may be missing.
    n_reports
        How many reports the source took.
    printed
        What the source printed, as sentences.
    """

    name: str
    parameters: Parameters
    values: tuple[Any, ...]
    weights: Floats
    is_candidate: tuple[bool, ...]
    n_reports: int
    printed: tuple[Message, ...]

    def draw(
        self, *, n_reports: int | None = None, rng: np.random.Generator
    ) -> tuple[Integers, Counts]:
        """Draw who holds what, and the sums of the reports.

        Parameters
        ----------
        n_reports
            By default those of the source.
        rng
            Source of chance.

        Examples
        --------
        >>> numbers, counts = source_experiment("google").draw(
        ...     n_reports=1000, rng=np.random.default_rng(1)
        ... )
        >>> int(numbers.sum()), counts.total, int(numbers[-1])
        (1000, 1000, 0)
        """
        total = self.n_reports if n_reports is None else n_reports
        numbers = rng.multinomial(total, self.weights / self.weights.sum())
        counts = simulate_counts(
            list(self.values), numbers, parameters=self.parameters, rng=rng
        )
        return numbers, counts

    @property
    def candidates(self) -> tuple[Any, ...]:
        """What is looked for."""
        return tuple(
            value
            for value, is_sought in zip(self.values, self.is_candidate, strict=True)
            if is_sought
        )


def source_experiment(name: ExperimentName) -> SourceExperiment:
    """Give an experiment of a source.

    Parameters
    ----------
    name
        ``"normal"`` and ``"exponential"`` are sections 5.1 and 5.2 of Erlingsson, Pihur and
        Korolova (2014); ``"google"`` is the third demonstration of google/rappor.

    Raises
    ------
    RapporError
        If there is no such experiment.

    Notes
    -----
    The paper does not print its exponential population. 200 candidates, of which 100 have
    weights ``exp(-10 x)`` for x from 0 to 1/2 in even steps, fit all 20 rows of its table 1.

    Examples
    --------
    >>> paper = source_experiment("exponential")
    >>> len(paper.candidates), int((paper.weights > 0).sum())
    (200, 100)
    """
    if name not in get_args(ExperimentName):
        raise RapporError(
            Message("There is no experiment {name!r}.", name=Name(str(name))),
            hint=Message("take one of {names!r}", names=Name.each(get_args(ExperimentName))),
        )
    return {"normal": _normal, "exponential": _exponential, "google": _google}[name]()


def _normal() -> SourceExperiment:
    place = np.arange(_VALUES, dtype=float)
    return SourceExperiment(
        name="normal",
        parameters=Parameters.basic(_VALUES, f=0.0, p=0.5, q=0.75),
        values=tuple(range(_VALUES)),
        weights=np.exp(-0.5 * ((place - 50) / 10) ** 2),
        is_candidate=(True,) * _VALUES,
        n_reports=1_000_000,
        printed=(
            Message("the paper: 10,000 reports do not show the bell, 100,000 do"),
            Message("the paper: 1,000,000 reports trace it"),
        ),
    )


def _exponential() -> SourceExperiment:
    n_unheld = _VALUES
    weights = np.exp(-10 * np.linspace(0, 0.5, _VALUES))
    return SourceExperiment(
        name="exponential",
        parameters=PRESETS["paper"].parameters,
        values=tuple(f"V_{number + 1}" for number in range(_VALUES + n_unheld)),
        weights=np.concatenate([weights, np.zeros(n_unheld)]),
        is_candidate=(True,) * (_VALUES + n_unheld),
        n_reports=1_000_000,
        printed=(
            Message(
                "the paper: 47 found, 2 of them false; every one above 1 per cent is found"
            ),
            Message(
                "its decoder on 200 such populations: 45.5 ± 3.0 found by "
                "Benjamini-Hochberg, 1.7 of them false; 33.8 ± 2.0 by Bonferroni"
            ),
        ),
    )


def _google() -> SourceExperiment:
    n_unheld = _VALUES
    names = tuple(f"v{number + 1}" for number in range(_VALUES + n_unheld))
    return SourceExperiment(
        name="google",
        parameters=PRESETS["google-demo"].parameters,
        values=names,
        weights=np.concatenate([np.exp(-5 * np.arange(_VALUES) / _VALUES), np.zeros(n_unheld)]),
        is_candidate=tuple(
            number >= _VALUES or not name.endswith("9") for number, name in enumerate(names)
        ),
        n_reports=1_000_000,
        printed=(
            Message("google/rappor of 2017 on such counts: 57 found, 7 of them false"),
            Message(
                "its decoder of 2014: 47 found by Benjamini-Hochberg, 1 of them false; 34 by "
                "Bonferroni"
            ),
        ),
    )
