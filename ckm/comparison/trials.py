"""A method at work on a bench: how an office asks it, and what comes out."""

from __future__ import annotations

import contextlib
import copy
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from ckm._packages import PACKAGES
from ckm.comparison.bench import Bench, answer_of, answering, tables_of
from ckm.engine.published_table import measure_columns
from ckm.errors import CkmError, ConfigError
from ckm.formats.words import MISSING
from ckm.methods.additivity.method import Additivity
from ckm.methods.additivity.release_step import Restorer
from ckm.release.job_inputs import silent
from ckm.release.opening import job_method
from ckm.release.warnings_log import Notes
from footing.messages import Message
from footing.progress import Progress
from risk.criteria.answers import Answer
from tables import TablesError

if TYPE_CHECKING:
    from contextlib import ExitStack

    from ckm.config.job.job import Job
    from ckm.engine.engine import Engine
    from ckm.engine.protection import Protected
    from ckm.engine.request import TableRequest
    from ckm.ledger import Ledger
    from ckm.methods.method import Method, Statement
    from ckm.release.opening import OpenedMethod
    from footing.arrays import Floats, Integers
    from tables import Cells

#: Whether a table that was not planned is refused, or protected by itself.
Others = Literal["refused", "alone"]


class Trial(Protocol):
    """What an office does with a method; answers are by the name of their table."""

    def planned(self) -> dict[str, Answer]:
        """Publish the planned tables."""

    def again(self) -> dict[str, Answer]:
        """Publish them a second time."""

    def alone(self, office: int) -> dict[str, Answer]:
        """Publish each as an office does that knows nothing of the others."""

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Answer further questions; None is a refusal."""

    def facts(self) -> Mapping[str, float | None]:
        """Tell what else there is to tell of the planned tables."""


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Let nothing of what is tried reach a log: it is no release, and hundreds of tables."""
    loggers = [logging.getLogger(name) for name in PACKAGES]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


@contextlib.contextmanager
def opened_method(
    job: Job, *, progress: Progress = silent, **resources: Any
) -> Iterator[OpenedMethod]:
    """Open the method of a job as a release does, for nothing to be kept."""
    options: dict[str, Any] = {"notes": Notes([]), "is_kept": False, "step": silent}
    with job_method(job).open(job, **options, progress=progress, **resources) as session:
        session.method.require(job.tables)
        if session.noise is None or not isinstance(session.method, Additivity):
            yield session
            return
        # The same tables, without a look at what an intruder finds out of each.
        restorer = Restorer(session.method.settings, with_effect=False)
        yield replace(session, method=Additivity(session.noise.method(None), restorer))


def shown(truth: Answer, protected: Protected) -> Answer:
    """Return what a protected table shows of its cells."""
    table, measures = protected.table, protected.request.measures
    columns = measure_columns(measures, table.dimensions)
    column = next((name for name, of in columns.items() if of == "count"), None)
    if column is not None:
        return answer_of(truth, table, column)
    hidden = np.isnan(answer_of(truth, table, next(iter(columns))).published)
    counts = np.where(hidden, np.nan, truth.count)
    return replace(truth, published=counts, has_counts=False)


class CountedTrial:
    """Counts that are changed one by one, by no method of a release: controls and rivals.

    Parameters
    ----------
    bench
        The records.
    publish
        Makes published counts of true ones, with chance.
    seed
        Of what is drawn.
    """

    def __init__(
        self,
        bench: Bench,
        publish: Callable[[Answer, np.random.Generator], Floats],
        *,
        seed: int = 0,
    ) -> None:
        self._bench, self._publish, self._seed = bench, publish, seed
        self._rng = np.random.default_rng([seed, 0])

    def planned(self) -> dict[str, Answer]:
        """Publish each table."""
        return self._published(self._bench.counted, self._rng)

    again = planned

    def alone(self, office: int) -> dict[str, Answer]:
        """Draw as another office does."""
        rng = np.random.default_rng([self._seed, office])
        return self._published(self._bench.counted, rng)

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Answer everything."""
        return self._published(questions, self._rng)

    def facts(self) -> Mapping[str, float | None]:
        """Tell nothing more."""
        return {}

    def _published(
        self, names: Mapping[str, object], rng: np.random.Generator
    ) -> dict[str, Answer]:
        truths = {name: self._bench.truth(name) for name in names}
        return {n: replace(t, published=self._publish(t, rng)) for n, t in truths.items()}


class NoiseTrial:
    """Noise by the keys of cells: whatever is asked is answered, alike everywhere.

    Parameters
    ----------
    bench
        The records.
    opened
        The open method.
    tables
        The planned tables.
    answering
        The same method as it answers further questions.
    """

    def __init__(
        self,
        bench: Bench,
        session: OpenedMethod,
        tables: Mapping[str, TableRequest],
        *,
        answering: OpenedMethod,
    ) -> None:
        self._bench, self._opened, self._tables = bench, session, tables
        self._answering = answering

    def planned(self) -> dict[str, Answer]:
        """Publish all together."""
        return self._published(self._tables, self._opened)

    again = planned

    def alone(self, office: int) -> dict[str, Answer]:
        """Publish one after the other; offices share the secret."""
        del office
        names = {name: {name: table} for name, table in self._tables.items()}
        return {n: self._published(table, self._opened)[n] for n, table in names.items()}

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Answer everything."""
        return self._published(questions, self._answering)

    def facts(self) -> Mapping[str, float | None]:
        """Tell nothing more."""
        return {}

    def _published(
        self, tables: Mapping[str, TableRequest], session: OpenedMethod
    ) -> dict[str, Answer]:
        answers = {}
        for protected in session.method.protect(session.data, tables):
            answers[protected.name] = shown(self._bench.truth(protected.name), protected)
            del protected  # its cells, before those of the next table are protected
        return answers


def noise_trial(
    bench: Bench, job: Job, stack: ExitStack, *, tables: Mapping[str, TableRequest]
) -> NoiseTrial:
    """Put the noise of a job to work; what the bench tabulated is not tabulated again."""
    planned = stack.enter_context(opened_method(job))
    questions = stack.enter_context(opened_method(answering(job)))
    # Reaching behind the face: only a comparison has another engine's cells.
    planned.data._take_cells(bench.counted, bench.cells)  # noqa: SLF001
    questions.data._take_cells(bench.questions.requests, bench.cells)  # noqa: SLF001
    return NoiseTrial(bench, planned, tables, answering=questions)


def ledger_trial(bench: Bench, job: Job, stack: ExitStack) -> LedgerTrial:
    """Put noise behind a ledger to work; the ledger is made anew, and goes again."""
    session = stack.enter_context(opened_method(job))
    if session.noise is None or session.noise.ledger is None:
        raise ConfigError(Message("A ledger is sealed with a secret, and the job has none."))
    return LedgerTrial(
        bench, session, job.tables, engine=session.noise.engine, ledger=session.noise.ledger
    )


class LedgerTrial:
    """The same behind a ledger: planned tables pass, others where they differ by enough.

    The ledger is one of the trial's own, and goes with it.

    Parameters
    ----------
    bench, opened, tables
        As for `NoiseTrial`.
    engine, ledger
        Those of the open method.
    """

    def __init__(
        self,
        bench: Bench,
        session: OpenedMethod,
        tables: Mapping[str, TableRequest],
        *,
        engine: Engine,
        ledger: Ledger,
    ) -> None:
        self._bench, self._tables = bench, tables
        self._noise = NoiseTrial(bench, session, tables, answering=session)
        self._engine, self._ledger = engine, ledger

    def planned(self) -> dict[str, Answer]:
        """Publish all together: the office has looked at them."""
        from ckm.ledger import Watch

        watch, answers = Watch(self._ledger), {}
        for protected in watch.tables(self._engine, self._tables):
            answers[protected.name] = shown(self._bench.truth(protected.name), protected)
        watch.publish(policy="flag")
        return answers

    def again(self) -> dict[str, Answer]:
        """Publish them a second time: the ledger has them."""
        return self._noise.planned()

    def alone(self, office: int) -> dict[str, Answer]:
        """Publish one after the other, as offices with a ledger each do."""
        return self._noise.alone(office)

    def facts(self) -> Mapping[str, float | None]:
        """Tell nothing more."""
        return {}

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Answer one question after the other, and record what was answered."""
        from ckm.ledger import ThinDifferenceError, Watch

        requests = self._engine.requests_of_cells(questions)
        answers: dict[str, Answer | None] = {}
        for protected in self._engine.protect_tables(questions, sketch=self._ledger.width):
            name, watch = protected.name, Watch(self._ledger)
            watch.add_table(
                name, requests[name], protected.cells, where=protected.request.where
            )
            try:
                watch.publish(policy="refuse")
            except ThinDifferenceError:
                answers[name] = None
            else:
                answers[name] = shown(self._bench.truth(name), protected)
        return answers


class BatchTrial:
    """A method that makes the tables of one job, all together.

    Parameters
    ----------
    bench
        The records.
    job
        The job that asks for the method.
    tables
        The planned tables.
    others
        What happens to a table that is none of them.
    progress
        Called with a stage, how much of it is done, and how much there is.
    """

    def __init__(
        self,
        bench: Bench,
        job: Job,
        tables: Mapping[str, TableRequest],
        *,
        others: Others = "refused",
        progress: Progress = silent,
    ) -> None:
        self._bench, self._job, self._tables = bench, job, tables
        self._others, self._progress = others, progress
        # What was published once, for this trial and others of the same planned tables.
        self._published: dict[str, dict[str, Answer]] = {}
        self._statements: list[Statement] = []

    def answering(self, others: Others) -> BatchTrial:
        """Return the same trial with other answers to what is not planned."""
        trial = copy.copy(self)
        trial._others = others  # noqa: SLF001  (its own copy)
        return trial

    def planned(self) -> dict[str, Answer]:
        """Publish all together, once: who asks again is shown the same tables."""
        if "planned" not in self._published:
            answers, statement = self._released(self._tables, self._progress)
            self._published["planned"] = answers
            self._statements.append(statement)
        return self._published["planned"]

    again = planned

    def alone(self, office: int) -> dict[str, Answer]:
        """Publish each by itself; nothing is left to chance between offices."""
        del office
        if "alone" not in self._published:
            tables = {name: {name: table} for name, table in self._tables.items()}
            is_one = len(tables) == 1
            self._published["alone"] = {
                name: self.planned()[name] if is_one else self._released(table)[0][name]
                for name, table in tables.items()
            }
        return self._published["alone"]

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Refuse what was not planned, or protect each table by itself."""
        if self._others == "refused":
            return dict.fromkeys(questions)
        with opened_method(self._job_of(self._tables)) as session:
            return {
                name: self._by_itself(session.method, name, request)
                for name, request in questions.items()
            }

    def facts(self) -> Mapping[str, float | None]:
        """Tell what the method says of the planned tables."""
        return facts_of(self._statements[0]) if self._statements else {}

    def _by_itself(
        self, method: Method[Any], name: str, request: TableRequest
    ) -> Answer | None:
        cells = self._bench.cells[name]
        if not len(cells):
            return self._bench.truth(name)
        try:
            (protected,) = method.protect(SingleTable(name, cells), {name: request})
        except (CkmError, TablesError):
            return None
        return shown(self._bench.truth(name), protected)

    def _job_of(self, tables: Mapping[str, TableRequest]) -> Job:
        return self._job.changed(table=tables_of(tables))

    def _released(
        self, tables: Mapping[str, TableRequest], progress: Progress = silent
    ) -> tuple[dict[str, Answer], Statement]:
        job = self._job_of(tables)
        with opened_method(job) as session:
            answers = {
                protected.name: shown(self._bench.truth(protected.name), protected)
                for protected in session.method.protect(
                    session.data, job.tables, progress=progress
                )
            }
            return answers, session.method.statement()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SingleTable:
    """The cells of one table with all its margins, for methods that begin with true numbers.

    Parameters
    ----------
    name
        The table.
    table
        Its cells.
    """

    name: str
    table: Cells

    @property
    def key_identity(self) -> str:
        """That of no release: the keys of a trial are its own."""
        return "trial"

    @property
    def missing_label(self) -> str:
        """What missing values are called."""
        return MISSING

    def cells(self, *, progress: Progress | None = None) -> dict[str, Cells]:
        """Return the cells."""
        del progress
        return {self.name: self.table}

    def groups(self) -> list[Any]:
        """Return nothing: a table with all its margins is made of no other groups."""
        return []

    def groups_and_sizes(self) -> tuple[list[Any], Integers]:
        """Return the groups of records of one table, its finest cells, and their sizes."""
        axes = zip(self.table.axes, self.table.ranks, strict=True)
        is_finest = np.ones(len(self.table), bool)
        for axis, ranks in axes:
            is_finest &= np.isin(ranks, axis.levels[0].ranks)
        ranks_of_groups = tuple(ranks[is_finest] for ranks in self.table.ranks)
        groups = [(np.ones(int(is_finest.sum()), bool), ranks_of_groups)]
        return groups, np.asarray(self.table.count[is_finest], np.int64)

    def finest(self) -> None:
        """Return nothing: one table is linked to no other."""

    def whole(self) -> list[Any]:
        """Return no margins beside those that are shown."""
        return []

    @property
    def equations(self) -> tuple[Any, ...]:
        """None: a trial is of counts."""
        return ()

    @property
    def implied(self) -> Mapping[str, tuple[str, ...]]:
        """No sums: there are no equations."""
        return {}

    @property
    def requests(self) -> Mapping[str, Any]:
        """None: one table is linked to no other."""
        return {}

    def known(self, requests: Mapping[str, Any]) -> dict[str, Any]:
        """Return tables as they are."""
        return dict(requests)


def facts_of(statement: Statement) -> dict[str, float | None]:
    """Return what a method says of its tables in numbers that a page has words for."""
    if not statement.measures:
        return {}
    first, *_ = statement.measures
    facts: dict[str, float | None] = {
        "cells": float(first["cells"]),
        "primary": float(first["primary"]),
        "secondary": float(first["hidden"] - first["primary"]),
    }
    if first.get("audit"):
        facts["exact"] = float(first["audit"]["hidden_in_vain"])
        facts["under_protected"] = float(first["audit"]["under_protected"])
    return facts
