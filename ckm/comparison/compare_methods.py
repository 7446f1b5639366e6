"""Measure methods by the same criteria on the records and tables of a job."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ckm.comparison.cell_key import AdditiveMethod, KeyedMethod, LedgerMethod
from ckm.comparison.private_tables import PrivateMethod
from ckm.comparison.suppression import SuppressionMethod
from ckm.comparison.swapped_or_synthetic import SyntheticMethod, read_synthetic, swapped_records
from ckm.comparison.testbed import Testbed, open_testbed
from ckm.config.comparison.method_settings import (
    DEFAULTS,
    CellKeyDesign,
    Experiment,
    MethodChoice,
)
from ckm.config.job.job import Job
from ckm.errors import CkmError, ConfigError
from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from ptable.errors import PTableError
from ptable.pictures import Picture
from risk.criteria.coded import CountingMethod, CubeRequest, LookedUpMethod, RecordMethod
from risk.criteria.criteria import MakeMethod, measure_criteria, small_counts_found
from risk.criteria.result import Criteria
from risk.errors import RiskError
from synth.guarantee import Guarantee, guarantee_beside
from tables import Secret, TablesError

Numbers = NDArray[np.float64]

logger = logging.getLogger(__name__)

#: Cells that a ledger compares where the job has none: those of services.
_SMALLEST = 10


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
    seconds
        How long it took.
    """

    choice: MethodChoice
    criteria: Criteria | None = None
    reason: str = ""
    n_records: int = 0
    facts: Mapping[str, float | None] = field(default_factory=dict)
    guarantee: Guarantee | None = None
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
    testbed
        The records and tables.
    experiment
        What was asked of them.
    results
        One per method.
    """

    testbed: Testbed
    experiment: Experiment
    results: tuple[MethodResult, ...]

    def result(self, name: str) -> MethodResult:
        """Return what was measured of a method."""
        for result in self.results:
            if result.choice.name == name:
                return result
        raise ConfigError(f"No method {name!r} was compared.")

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
    progress: Callable[[str, int, int], None] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> MethodComparison:
    """Try methods on the records and tables of a job, and measure the criteria of each.

    The records are a sample where there are many, and the same for all methods, as are the
    persons sought. Nothing is published.
    """
    from ckm.release.job_inputs import load_ptable, load_secret

    report_progress = progress or (lambda _stage, _done, _total: None)
    asked = experiment or Experiment()
    secret = load_secret(job)
    ptable = load_ptable(job)
    report_progress("scan", 0, 1)
    taken = [choice.parameters for choice in methods.values()]
    groups = [given[name] for given in taken for name in ("household", "unit") if name in given]
    testbed = open_testbed(
        job,
        asked,
        secret=secret,
        households=groups,
        memory_limit=memory_limit,
        threads=threads,
    )
    report_progress("scan", 1, 1)
    builder = _Builder(job, testbed, ptable, secret, asked, report_progress)
    results = []
    for done, choice in enumerate(methods.values()):
        report_progress("methods", done, len(methods))
        results.append(_tried(builder, choice))
    report_progress("methods", len(methods), len(methods))
    return MethodComparison(testbed=testbed, experiment=asked, results=tuple(results))


def _tried(builder: _Builder, choice: MethodChoice) -> MethodResult:
    started = time.perf_counter()
    asked = builder.experiment
    promised = _promised(choice)
    with ExitStack() as stack:
        try:
            choice = builder.completed(choice)
            testbed = builder.bench_of(choice)
            if asked.most_found is not None:
                choice = builder.tuned(choice, testbed, asked.most_found)
            criteria = measure_criteria(
                builder.maker(choice, testbed, stack),
                testbed.records,
                tables=testbed.tables,
                geography=testbed.geography,
                sensitive=testbed.target,
                rng=np.random.default_rng(asked.seed),
                method=choice.name,
                simple=choice.simple or "",
                n_persons=asked.persons,
                small=builder.job.report.sensitive,
            )
            facts = builder.facts()
        except (CkmError, PTableError, RiskError, TablesError) as error:
            return MethodResult(choice=choice, reason=error.problem, guarantee=promised)
    seconds = time.perf_counter() - started
    logger.info("method measured", extra={"method": choice.name, "method_s": round(seconds, 2)})
    return MethodResult(
        choice=choice,
        criteria=criteria,
        n_records=len(testbed.records),
        facts=facts,
        guarantee=promised,
        seconds=seconds,
    )


def _promised(choice: MethodChoice) -> Guarantee | None:
    """Read the certificate beside synthetic records; other methods have none."""
    if choice.kind != "synthetic":
        return None

    return guarantee_beside(choice.parameters["path"])


@dataclass(slots=True, eq=False, repr=False)
class _Builder:
    """Make methods from choices; `facts` tells what else there is to tell of the last one."""

    job: Job
    testbed: Testbed
    ptable: PTable
    secret: Secret | None
    experiment: Experiment
    progress: Callable[[str, int, int], None]
    facts: Callable[[], Mapping[str, float | None]] = dict

    def bench_of(self, choice: MethodChoice) -> Testbed:
        """Return the records that a method is tried on: fewer where it takes long."""
        if choice.kind != "suppression":
            return self.testbed
        most = choice.parameters["most_cells"]
        return self.testbed.narrowed(most, seed=self.experiment.seed)

    def maker(self, choice: MethodChoice, testbed: Testbed, stack: ExitStack) -> MakeMethod:
        """Return what makes a method; the stack closes what it opens."""
        self.facts = dict
        makers: dict[str, Callable[[], MakeMethod]] = {
            "exact": lambda: lambda _office, _planned: RecordMethod(self.testbed.records),
            "discrete-gaussian": lambda: self._private(choice),
            "swapping": lambda: self._swapping(choice),
            "synthetic": lambda: self._synthetic(choice),
            "suppression": lambda: self._suppression(choice, testbed),
            "cell-key": lambda: self._keyed(self.ptable),
            "cell-key-design": lambda: self._of_its_own(choice),
            "cell-key-additive": lambda: self._additive(self._keyed(self.ptable), choice),
            "controlled-rounding": lambda: self._additive(
                lambda _office, _planned: RecordMethod(testbed.records), choice
            ),
            "cell-key-ledger": lambda: self._behind_ledger(choice, stack),
        }
        return makers.get(choice.kind, lambda: self._looked_up(choice))()

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

    def tuned(self, choice: MethodChoice, testbed: Testbed, most: float) -> MethodChoice:
        """Return a method with the least strength at which no more small counts are found."""
        settings = choice.settings
        if choice.kind == "cell-key":
            settings = CellKeyDesign(variance=1.0)
        if settings.strength is None:
            return choice
        name, values = settings.strength
        least = 1.0
        for value in values:
            tried = replace(choice, settings=settings.changed(**{name: value}))
            with ExitStack() as stack:
                share = small_counts_found(
                    self.maker(tried, testbed, stack),
                    testbed.records,
                    tables=testbed.tables,
                    small=self.job.report.sensitive,
                )
            least = min(least, share or 0.0)
            if least <= most:
                return tried
        raise ConfigError(
            f"No {name} up to {values[-1]:g} lets no more than {most:.0%} of the small counts"
            f" be found; the least is {least:.1%}."
        )

    def _of_its_own(self, choice: MethodChoice) -> MakeMethod:
        variance, most = choice.parameters["variance"], choice.parameters.get("max_noise")
        widest = math.ceil(3 * math.sqrt(variance)) if most is None else most
        spec = NoiseSpec(max_noise=widest, variance=variance, variance_rule="at-most")
        return self._keyed(solve(spec))

    def _looked_up(self, choice: MethodChoice) -> MakeMethod:
        given = {"name": choice.kind, **choice.parameters}
        keys = given.pop("keys", "cell")
        ptable = Mechanism.from_dict(given).build()
        if keys == "cell":
            return self._keyed(ptable)
        seed = self.experiment.seed
        return lambda office, _planned: LookedUpMethod(
            self.testbed.records,
            ptable,
            keys="fresh",
            rng=np.random.default_rng([seed, office]),
        )

    def _keyed(self, ptable: PTable) -> MakeMethod:
        method = KeyedMethod(
            self.testbed, ptable, secret=self.secret if self.job.keys.mix else None
        )

        def make(_office: int, planned: Sequence[CubeRequest]) -> CountingMethod:
            for request in planned:  # what is wrong with a p-table is no refusal of a table
                method.publish(request)
            return method

        return make

    def _additive(self, make: MakeMethod, choice: MethodChoice) -> MakeMethod:
        return lambda office, planned: AdditiveMethod(
            self.testbed, make(office, planned), **choice.parameters
        )

    def _behind_ledger(self, choice: MethodChoice, stack: ExitStack) -> MakeMethod:
        if self.secret is None:
            raise ConfigError("A ledger is sealed with a secret, and the job has none.")
        secret = self.secret

        def make(_office: int, planned: Sequence[CubeRequest]) -> CountingMethod:
            method = LedgerMethod(
                self.testbed,
                self.ptable,
                secret=secret,
                mix=self.job.keys.mix,
                planned=planned,
                **choice.parameters,
            )
            stack.callback(method.close)
            return method

        return make

    def _private(self, choice: MethodChoice) -> MakeMethod:
        def make(office: int, planned: Sequence[CubeRequest]) -> CountingMethod:
            rng = np.random.default_rng([self.experiment.seed, office])
            method = PrivateMethod(self.testbed, planned, **choice.parameters, rng=rng)
            if not office:
                self.facts = method.facts
            return method

        return make

    def _swapping(self, choice: MethodChoice) -> MakeMethod:
        swapped, facts = swapped_records(
            self.testbed, **choice.parameters, seed=self.experiment.seed
        )
        self.facts = lambda: facts
        return lambda _office, _planned: RecordMethod(swapped)

    def _synthetic(self, choice: MethodChoice) -> MakeMethod:
        made, facts = read_synthetic(choice.parameters["path"], self.job, self.testbed)
        self.facts = lambda: facts
        return lambda _office, _planned: SyntheticMethod(made)

    def _suppression(self, choice: MethodChoice, testbed: Testbed) -> MakeMethod:
        taken = {n: v for n, v in choice.parameters.items() if n != "most_cells"}

        def make(office: int, planned: Sequence[CubeRequest]) -> CountingMethod:
            method = SuppressionMethod(
                testbed.records, planned, progress=self.progress, **taken
            )
            if not office:
                self.facts = method.facts
            return method

        return make
