"""From the choice of a method to its trial on a bench: another job, where a release has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.comparison.bench import keyed_job, tables_of, without_method
from ckm.comparison.other_records import swapped_trial, synthetic_trial
from ckm.comparison.private_tables import PrivateTrial
from ckm.comparison.trials import (
    BatchTrial,
    CountedTrial,
    NoiseTrial,
    ledger_trial,
    noise_trial,
)
from ckm.config.job.ledger import JobLedger
from ckm.config.job.report import JobReport
from ckm.errors import ConfigError
from footing.messages import Message
from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism

if TYPE_CHECKING:
    from contextlib import ExitStack

    from ckm.comparison.bench import Bench
    from ckm.comparison.trials import Trial
    from ckm.config.comparison.method_settings import MethodChoice
    from ckm.config.job.job import Job
    from footing.arrays import Floats
    from footing.progress import Progress
    from risk.criteria.answers import Answer

#: Cells that a ledger compares where the job has none: those of services.
_SMALLEST = 10
_WORD = 2**64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rivals:
    """Puts methods to work on a bench.

    Parameters
    ----------
    job
        The job as it is.
    bench
        The records and the questions.
    ptable
        The p-table of the job; None where it has none.
    seed
        Of all that is drawn.
    progress
        Called with a stage, how much of it is done, and how much there is.
    batches
        Trials whose planned tables other choices share.
    """

    job: Job
    bench: Bench
    ptable: PTable | None
    seed: int
    progress: Progress
    batches: dict[str, BatchTrial] = field(default_factory=dict)

    def completed(self, choice: MethodChoice) -> MethodChoice:
        """Return the choice with the parameters that the job tells."""
        rest: dict[str, int] = {}
        if choice.kind == "suppression":
            rest = {"least": self.job.report.sensitive + 1}
        elif choice.kind == "cell-key-ledger":
            ledger = self.job.ledger
            rest = {
                "threshold": 2 if ledger is None else ledger.threshold,
                "smallest": _SMALLEST if ledger is None else ledger.smallest,
            }
        settings = choice.settings.changed(**{**rest, **choice.parameters})
        return replace(choice, settings=settings)

    def trial(self, choice: MethodChoice, stack: ExitStack) -> Trial:
        """Put a method to work; the stack closes what it opens."""
        makers: dict[str, Callable[[Mapping[str, Any], ExitStack], Trial]] = {
            "exact": lambda *_: CountedTrial(self.bench, _as_they_are),
            "discrete-gaussian": lambda parameters, _: PrivateTrial(
                self.bench, seed=self.seed, **parameters
            ),
            "swapping": lambda parameters, _: swapped_trial(
                self.bench, seed=self.seed, **parameters
            ),
            "synthetic": lambda parameters, _: synthetic_trial(self.bench, **parameters),
            "suppression": self._suppression,
            "controlled-rounding": self._rounding,
            "cell-key": lambda _, stack: self._noise(self._own(), stack),
            "cell-key-design": self._design,
            "cell-key-additive": self._additive,
            "cell-key-ledger": self._ledger,
        }
        if choice.kind in makers:
            return makers[choice.kind](choice.parameters, stack)
        return self._looked_up({"name": choice.kind, **choice.parameters}, stack)

    def _own(self) -> PTable:
        if self.ptable is None:
            raise ConfigError(
                Message("The job has no p-table."),
                hint=Message('try method = "cell-key-design", with a variance'),
            )
        return self.ptable

    def _job(self, **method: Any) -> Job:
        """Return the job of the bench with another method, for tables of counts."""
        tables = tables_of(self.bench.counted)
        report = JobReport(sensitive=self.job.report.sensitive)
        return without_method(self.bench.job, table=tables, report=report, **method)

    def _keyed_job(self, ptable: PTable, **method: Any) -> Job:
        """Return the same with noise."""
        path = self.bench.folder / f"pt-{ptable.id[:32]}.parquet"
        if not path.exists():
            ptable.write(path)
        tables, folder = tables_of(self.bench.counted), self.bench.folder
        sections: dict[str, Any] = {"seed": self.seed, "ptable": path, "table": tables}
        return keyed_job(self.bench.job, folder, **sections, **method)

    def _noise(self, ptable: PTable, stack: ExitStack, **method: Any) -> NoiseTrial:
        job = self._keyed_job(ptable, **method)
        return noise_trial(self.bench, job, stack, tables=self.bench.counted)

    def _design(self, parameters: Mapping[str, Any], stack: ExitStack) -> Trial:
        variance, most = parameters["variance"], parameters.get("max_noise")
        widest = math.ceil(3 * math.sqrt(variance)) if most is None else most
        spec = NoiseSpec(max_noise=widest, variance=variance, variance_rule="at-most")
        return self._noise(solve(spec), stack)

    def _additive(self, parameters: Mapping[str, Any], stack: ExitStack) -> Trial:
        if parameters.get("bound") is not None:
            raise ConfigError(
                Message("A release that adds up has no bound of its own."),
                hint=Message("remove bound"),
            )
        return self._noise(self._own(), stack, additive=True)

    def _ledger(self, parameters: Mapping[str, Any], stack: ExitStack) -> Trial:
        path = self.bench.folder / "rival.db"
        job = self._keyed_job(self._own(), ledger=JobLedger(path=path, **parameters))
        return ledger_trial(self.bench, job, stack)

    def _looked_up(self, parameters: dict[str, Any], stack: ExitStack) -> Trial:
        keys = parameters.pop("keys", "cell")
        ptable = Mechanism.from_dict(parameters).build()
        if keys == "cell":
            return self._noise(ptable, stack)

        def publish(truth: Answer, rng: np.random.Generator) -> Floats:
            draws = rng.integers(0, _WORD, len(truth.count), dtype=np.uint64)
            noise = ptable.lookup(truth.count, draws, key_range=_WORD)
            return (truth.count + noise).astype(np.float64)

        return CountedTrial(self.bench, publish, seed=self.seed)

    def _rounding(self, parameters: Mapping[str, Any], stack: ExitStack) -> Trial:
        from ckm.config.job.rounding import JobRounding

        del stack
        job = self._job(rounding=JobRounding(**parameters))
        return BatchTrial(self.bench, job, self.bench.counted, others="alone")

    def _suppression(self, parameters: Mapping[str, Any], stack: ExitStack) -> Trial:
        from ckm.config.job.suppression import JobSuppression

        del stack
        n_cells = sum(len(self.bench.cells[name]) for name in self.bench.counted)
        if n_cells > parameters["most_cells"]:
            raise ConfigError(
                Message(
                    "Suppression is tried on tables of up to {most_cells:,} cells, and these "
                    "have more.",
                    most_cells=parameters["most_cells"],
                ),
                hint=Message(
                    "allow more with most_cells, which takes time, or take fewer areas"
                ),
            )
        rules = JobSuppression(
            threshold=parameters["least"],
            method=parameters["search"],
            limit_s=parameters["limit_s"],
        )
        key = str(rules)
        if key not in self.batches:
            self.batches[key] = BatchTrial(
                self.bench,
                self._job(suppression=rules),
                self.bench.counted,
                progress=self.progress,
            )
        return self.batches[key].answering(parameters["others"])


def _as_they_are(truth: Answer, rng: np.random.Generator) -> Floats:
    del rng
    return truth.count.astype(np.float64)
