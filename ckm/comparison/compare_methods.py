"""The method of a job as it would be released, and others beside it by the same criteria."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ckm.comparison.bench import Bench, open_bench
from ckm.comparison.released import ReleasedTables, released_tables
from ckm.comparison.rivals import Rivals
from ckm.comparison.trials import (
    BatchTrial,
    Trial,
    ledger_trial,
    noise_trial,
    opened_method,
    quietly,
)
from ckm.config.comparison.method_settings import (
    DEFAULTS,
    AsReleased,
    CellKeyDesign,
    Experiment,
    MethodChoice,
    Way,
)
from ckm.config.job.ledger import JobLedger
from ckm.errors import CkmError, ConfigError
from ckm.release.job_inputs import silent
from footing.messages import Message, Name
from ptable.errors import PTableError
from risk.criteria.criteria import judge, share_of_small_counts
from risk.errors import RiskError
from synth.guarantee import Guarantee, guarantee_beside
from tables import TablesError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ckm.config.job.job import Job
    from footing.progress import Progress
    from ptable import PTable
    from ptable.pictures import Picture
    from risk.criteria.result import Criteria

logger = logging.getLogger(__name__)

#: What a job's own method is called among the others.
OWN = "job"
_FAILURES = (CkmError, PTableError, RiskError, TablesError)
#: A way of releasing → the method of the defaults that is the same.
_SAME = {
    "noise": "cell-key",
    "noise-ledger": "cell-key-ledger",
    "noise-additive": "cell-key-additive",
    "suppression": "suppression",
}
#: Methods of the defaults that need the p-table of the job.
_OF_PTABLE = ("cell-key", "cell-key-ledger", "cell-key-additive")
_DESIGN = CellKeyDesign(variance=3.0, max_noise=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """What was measured of one method; for inside.

    Parameters
    ----------
    choice
        The method, with all parameters that it was tried with.
    criteria
        The criteria; None where it could not be tried.
    reason
        Why it could not.
    n_records
        How many records it was tried on.
    facts
        What else there is to tell: cells that were hidden, households that moved.
    guarantee
        Of synthetic records, what the certificate beside them promises; None for others.
    released
        Of the job's own method, its tables as they would be released; None for others.
    seconds
        How long it took.
    """

    choice: MethodChoice
    criteria: Criteria | None = None
    reason: str = ""
    n_records: int = 0
    facts: Mapping[str, float | None] = field(default_factory=dict)
    guarantee: Guarantee | None = None
    released: ReleasedTables | None = None
    seconds: float = field(default=0.0, compare=False)

    @property
    def mean_change(self) -> float | None:
        """How far shown numbers of cells with records lie from the truth, on average."""
        return None if self.criteria is None else self.criteria.mean_change

    @property
    def mean_loss(self) -> float | None:
        """The same of all cells with records, as if those that are hidden were shown as 0."""
        return None if self.criteria is None else self.criteria.mean_loss


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MethodComparison:
    """All methods on one bench; for inside, as it follows from original counts.

    Parameters
    ----------
    bench
        The records and the questions; its file is gone.
    experiment
        What was asked of them.
    results
        One per method, that of the job first.
    """

    bench: Bench
    experiment: Experiment
    results: tuple[MethodResult, ...]

    def result(self, name: str) -> MethodResult:
        """Return what was measured of a method."""
        for result in self.results:
            if result.choice.name == name:
                return result
        raise ConfigError(Message("No method {name!r} was compared.", name=Name(name)))

    def plot(self, *, language: str = "en") -> Picture:
        """Draw the methods by persons found and changes, as on the page; for inside."""
        from ckm.comparison.method_facts import method_facts
        from reports.plots import comparison_plot

        return comparison_plot(method_facts(self), language=language)

    def __repr__(self) -> str:
        return f"MethodComparison({len(self.results)} methods)"


def compare_methods(
    job: Job,
    methods: Mapping[str, MethodChoice] = DEFAULTS,
    *,
    experiment: Experiment | None = None,
    named: Collection[str] = (),
    progress: Progress | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> MethodComparison:
    """Make the tables of a job as they would be released, and try other methods on them.

    The job's own method comes first: what `ckm release` would publish now of all records, and
    by the criteria of all methods. These are measured on a sample where there are many
    records, the same for all, as are the persons sought. Nothing is published, and no ledger
    written.

    Parameters
    ----------
    job
        The job.
    methods
        Name → method.
    experiment
        What the methods are tried on.
    named
        Names of methods that were asked for: a method of the defaults that is the job's own,
        or cannot be had of the job, is left out unless it is one of them.
    progress
        Called with a stage, how much of it is done, and how much there is.
    memory_limit, threads
        Limits of the tabulation; they never change a result.
    """
    from ckm.release.job_inputs import load_ptable, load_secret

    report_progress = progress or silent
    settings = experiment or Experiment()
    secret = load_secret(job)
    ptable = load_ptable(job) if job.ptable is not None else None
    resources: dict[str, Any] = {"memory_limit": memory_limit, "threads": threads}
    parameters = [choice.parameters for choice in methods.values()]
    groups = [
        values[name]
        for values in parameters
        for name in ("household", "unit")
        if name in values
    ]
    own = _own_choice(job, ptable)
    with open_bench(
        job, settings, secret=secret, households=groups, progress=report_progress, **resources
    ) as bench:
        report_progress("scan", 1, 1)
        rivals = Rivals(
            job=job, bench=bench, ptable=ptable, seed=settings.seed, progress=report_progress
        )
        choices = _beside(own, methods, named)
        results = [_own_result(own, rivals, resources)]
        for done, choice in enumerate(choices.values(), start=1):
            report_progress("methods", done, len(choices) + 1)
            results.append(_tried(rivals, choice, settings))
        report_progress("methods", len(choices) + 1, len(choices) + 1)
    return MethodComparison(bench=bench, experiment=settings, results=tuple(results))


def _own_choice(job: Job, ptable: PTable | None) -> MethodChoice:
    """Say what the method of a job is, in its parameters."""
    from dataclasses import fields

    parameters: dict[str, Any] = {}
    way: Way
    if job.suppression is not None:
        way, settings = "suppression", job.suppression.settings
        parameters = {
            f.name: _in_words(getattr(settings, f.name))
            for f in fields(settings)
            if getattr(settings, f.name) not in (f.default, ())
        }
    elif job.rounding is not None:
        way, parameters = "rounding", {"base": job.rounding.base}
    else:
        way = "noise-additive" if job.output.additive else "noise"
        way = "noise-ledger" if job.ledger is not None else way
        if ptable is not None:
            parameters = {"max_noise": ptable.max_noise}
            spec = ptable.spec
            for name in ("variance", "small"):
                if isinstance(value := getattr(spec, name, None), int | float) and value:
                    parameters[name] = value
    settings_of = AsReleased(
        way=way, given={n: v for n, v in parameters.items() if v is not None}
    )
    return MethodChoice(name=OWN, settings=settings_of)


def _in_words(value: Any) -> Any:
    """Return a setting as a page shows it: numbers and words, of files how many there are."""
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, tuple) and all(isinstance(each, int | float) for each in value):
        return " ".join(f"{each:g}" for each in value)
    return len(value) if isinstance(value, tuple | list) else "yes"


def _beside(
    own: MethodChoice, methods: Mapping[str, MethodChoice], named: Collection[str]
) -> dict[str, MethodChoice]:
    """Return what is tried beside the job's own method."""
    way = own.parameters["way"]
    is_noise = way.startswith("noise")
    gone = {_SAME.get(way)} | (set() if is_noise else set(_OF_PTABLE))
    choices = {
        name: choice
        for name, choice in methods.items()
        if name in named or name not in gone or choice != DEFAULTS.get(name)
    }
    if not is_noise and not named and "cell-key-design" not in choices:
        choices["cell-key-design"] = MethodChoice(name="cell-key-design", settings=_DESIGN)
    return choices


def _own_result(
    own: MethodChoice, rivals: Rivals, resources: Mapping[str, Any]
) -> MethodResult:
    """Make the tables of the job as they would be released, and ask its method on the bench."""
    released, job, progress = None, rivals.job, rivals.progress
    if not job.output.stream and job.output.place is None:  # else no machine holds them
        report = job.report.changed(designs=None)
        try:
            released = released_tables(
                job.changed(report=report), progress=progress, **resources
            )
        except _FAILURES as error:  # as ckm release would fail
            released = ReleasedTables(stopped=error.problem)

    def trial(choice: MethodChoice, stack: ExitStack) -> Trial:
        del choice
        return own_trial(rivals.bench, stack, progress=progress)

    return replace(_measured(rivals, own, trial), released=released)


def own_trial(bench: Bench, stack: ExitStack, *, progress: Progress = silent) -> Trial:
    """Put the method of a job to work on its bench, as a release has it.

    A ledger is replaced by one of the trial's own. What is no method with noise makes the
    tables of the job, and no others.
    """
    job = bench.job
    output = job.output.changed(stream=False, place=None)
    tables = tuple(table for table in job.table if table.name in bench.counted)
    report = job.report.changed(designs=None)
    own = job.changed(output=output, table=tables, report=report, ledger=None)
    if job.ledger is not None and job.has_noise:
        ledger = JobLedger(
            path=bench.folder / "own.db",
            threshold=job.ledger.threshold,
            smallest=job.ledger.smallest,
        )
        return ledger_trial(bench, own.changed(ledger=ledger), stack)
    with opened_method(own) as session:
        is_noise = session.noise is not None
    if is_noise:
        return noise_trial(bench, own, stack, tables=own.tables)
    return BatchTrial(bench, own, own.tables, progress=progress)


def _tried(rivals: Rivals, choice: MethodChoice, experiment: Experiment) -> MethodResult:
    try:
        with quietly():
            choice = rivals.completed(choice)
            if experiment.most_found is not None:
                choice = _tuned(rivals, choice, experiment.most_found)
    except _FAILURES as error:
        return MethodResult(choice=choice, reason=error.problem, guarantee=_promised(choice))
    return _measured(rivals, choice, rivals.trial)


def _measured(
    rivals: Rivals, choice: MethodChoice, make: Callable[[MethodChoice, ExitStack], Trial]
) -> MethodResult:
    started, promised = time.perf_counter(), _promised(choice)
    with quietly(), ExitStack() as stack:
        try:
            trial = make(choice, stack)
            criteria = judge(
                rivals.bench.answers(trial),
                method=choice.name,
                simple=choice.simple or "",
                small=rivals.job.report.sensitive,
            )
            facts = trial.facts()
        except _FAILURES as error:
            return MethodResult(choice=choice, reason=error.problem, guarantee=promised)
    seconds = time.perf_counter() - started
    logger.info("method measured", extra={"method": choice.name, "method_s": round(seconds, 2)})
    return MethodResult(
        choice=choice,
        criteria=criteria,
        n_records=rivals.bench.n_records,
        facts=facts,
        guarantee=promised,
        seconds=seconds,
    )


def _promised(choice: MethodChoice) -> Guarantee | None:
    """Read the certificate beside synthetic records; other methods have none."""
    if choice.kind != "synthetic":
        return None
    return guarantee_beside(choice.parameters["path"])


def _tuned(rivals: Rivals, choice: MethodChoice, most: float) -> MethodChoice:
    """Return a method with the least strength at which no more small counts are found."""
    settings = choice.settings
    if choice.kind == "cell-key":
        settings = CellKeyDesign(variance=1.0)
    if settings.strength is None:
        return choice
    name, values = settings.strength
    least = 1.0
    for value in values:
        trial = replace(choice, settings=settings.changed(**{name: value}))
        with ExitStack() as stack:
            planned = rivals.trial(trial, stack).planned()
            share = share_of_small_counts(
                list(planned.values()), small=rivals.job.report.sensitive
            )
        least = min(least, share or 0.0)
        if least <= most:
            return trial
    raise ConfigError(
        Message(
            "No {name} up to {most_value:g} lets no more than {most:.0%} of the small "
            "counts be found; the least is {least:.1%}.",
            name=Name(name),
            most_value=values[-1],
            most=most,
            least=least,
        )
    )
