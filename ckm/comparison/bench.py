"""The records of a job, or a sample of them, on which methods are asked the same questions."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.config.job.report import JobReport
from ckm.config.job.table import JobTable
from ckm.errors import ConfigError
from footing.disclosive import Disclosive
from footing.messages import Argument, Message, Name
from risk.criteria.answers import Answer, Answers, Slice, Sought, identity_of_labels
from tables.sample import CODE, ROW
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.comparison.trials import Trial
    from ckm.config.comparison.method_settings import Experiment
    from ckm.config.job.job import Job
    from ckm.engine.published_table import PublishedTable
    from ckm.engine.request import TableRequest
    from footing.arrays import Codes, Integers
    from footing.progress import Progress
    from tables import Cells, HashedKeys, Request, Secret, StoredKeys
    from tables.cells.axes import Axis
    from tables.sample import RecordSample

#: Larger tables, margins included, are left out.
_MAX_CELLS = 100_000
#: So many tables are asked for that nobody planned, and so many slices of each that is.
_UNPLANNED, _MOST_SLICES = 20, 50
_RECORDS = "records.parquet"
_SECRET = "secret.key"  # noqa: S105  (a name)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFilter:
    """Which records a question is about.

    Parameters
    ----------
    dimension, codes
        Those of some finest categories of a dimension; None for no such condition.
    row
        The record that is left out; None for none.
    others
        The filter of the planned table.
    """

    dimension: str | None = None
    codes: tuple[int, ...] = ()
    row: int | None = None
    others: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Questions(Disclosive):
    """What is asked of every method beside the planned tables.

    Parameters
    ----------
    requests, filters
        Name → table, and the records that it is about.
    slices
        Name → the planned table, and the identity of its category that was filtered.
    sought
        For each person the identity of what is sought, and the names of two tables.
    unplanned
        Names of tables that nobody planned.
    """

    requests: Mapping[str, TableRequest]
    filters: Mapping[str, QuestionFilter]
    slices: Mapping[str, tuple[str, int]]
    sought: Sequence[tuple[int, str, str]]
    unplanned: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Bench(Disclosive):
    """Records in a private file, the planned tables, and further questions.

    Parameters
    ----------
    job, plain
        The job with the file in place of its data, and the same without its method.
    sample
        The records as codes.
    names
        The dimensions of the tables.
    geography, target
        The dimension of areas, None for none, and what an intruder wants to know.
    moving
        Further dimensions that move with a household.
    counted
        Name → planned table, as far as it counts records.
    questions
        What else is asked.
    cells
        Name → the cells of every planned table and every question, as they are.
    left_out
        Names of tables that are too large.
    folder
        A private folder that goes with the bench.
    """

    job: Job
    plain: Job
    sample: RecordSample
    names: tuple[str, ...]
    geography: str | None
    target: str
    moving: tuple[str, ...]
    counted: Mapping[str, TableRequest]
    questions: Questions
    cells: Mapping[str, Cells]
    left_out: tuple[str, ...]
    folder: Path
    _truths: dict[str, Answer] = field(default_factory=dict)

    @property
    def n_records(self) -> int:
        """How many records are tried."""
        return len(self.sample)

    @property
    def file(self) -> Path:
        """The records."""
        return self.folder / _RECORDS

    def code_of(self, name: str) -> str:
        """Return the column that numbers the finest categories of a dimension."""
        return f"{CODE}{self.names.index(name)}"

    def truth(self, name: str) -> Answer:
        """Return a table as it is."""
        if name in self._truths:
            return self._truths[name]
        cells = self.cells[name]
        request = self.counted.get(name) or self.questions.requests[name]
        self._truths[name] = Answer(
            axes=cells.axes,
            ranks=cells.ranks,
            level_sets=cells.level_sets,
            count=cells.count,
            published=cells.count.astype(np.float64),
            population=request.where or "",
        )
        return self._truths[name]

    def answers(self, trial: Trial) -> Answers:
        """Ask a method for all that criteria look at."""
        planned = trial.planned()
        names = list(planned)
        replies = trial.ask(self.questions.requests)

        def answer(name: str) -> Answer:
            reply = replies[name]
            return self.truth(name).refused() if reply is None else reply

        return Answers(
            planned=list(planned.values()),
            again=list(trial.again().values()),
            alone=(list(trial.alone(1).values()), list(trial.alone(2).values())),
            slices=[
                Slice(table=names.index(table), category=category, answer=answer(name))
                for name, (table, category) in self.questions.slices.items()
                if table in names
            ],
            sought=[
                Sought(category=category, present=answer(present), absent=answer(absent))
                for category, present, absent in self.questions.sought
            ],
            unplanned=[answer(name) for name in self.questions.unplanned],
        )


def answer_of(truth: Answer, table: PublishedTable, column: str) -> Answer:
    """Return what a published table shows of every cell; a cell that it leaves out is 0."""
    sizes = [axis.size for axis in truth.axes]
    flat, rows = (np.zeros(n, np.int64) for n in (len(truth.count), table.n_rows))
    is_known = np.ones(table.n_rows, bool)
    for axis, own, size in zip(truth.axes, truth.ranks, sizes, strict=True):
        flat = flat * size + own
        rank = _ranks(axis, [table.dimensions[name] for name in axis.columns])
        is_known &= rank >= 0
        rows = rows * size + rank
    numbers = np.ma.filled(np.ma.asarray(table.measures[column]).astype(np.float64), np.nan)
    rows, numbers = rows[is_known], numbers[is_known]
    order = np.argsort(rows)
    near = np.minimum(np.searchsorted(rows, flat, sorter=order), max(len(rows) - 1, 0))
    published = np.zeros(len(flat))
    if len(rows):
        at = order[near]
        published = np.where(rows[at] == flat, numbers[at], 0.0)
    return replace(truth, published=published)


def _ranks(axis: Axis, coded: Sequence[tuple[Codes, Sequence[str]]]) -> Integers:
    """Return the rank on an axis of what stands in the columns of every row; -1 for none."""
    place, sizes = np.zeros(len(coded[0][0]), np.int64), [len(texts) for _, texts in coded]
    for (codes, _), size in zip(coded, sizes, strict=True):
        place = place * size + codes
    places, row = np.unique(place, return_inverse=True)
    digits = np.unravel_index(places, sizes) if len(places) else [places] * len(sizes)
    columns = [
        [texts[code] for code in digit.tolist()]
        for (_, texts), digit in zip(coded, digits, strict=True)
    ]
    ranks = {texts: rank for rank, texts in enumerate(zip(*axis.labels, strict=True))}
    own_ranks = [ranks.get(texts, -1) for texts in zip(*columns, strict=True)]
    return np.array(own_ranks, np.int64)[row.ravel()]


@contextlib.contextmanager
def open_bench(
    job: Job,
    experiment: Experiment,
    *,
    secret: Secret | None,
    households: Sequence[str] = (),
    progress: Progress,
    **resources: Any,
) -> Iterator[Bench]:
    """Copy the records of a job, a sample where there are many, and ask for all cells."""
    if job.data.cells is not None:
        raise ConfigError(
            Message("Methods are tried on records, and the data of the job are cells."),
            hint=Message("compare designs of noise: ckm compare JOB.toml DESIGNS.toml"),
        )
    spill = SpillFolder()
    try:
        progress("scan", 0, 1)
        maker = _Maker(job, experiment, secret, spill.path)
        yield maker.bench(households, resources)
    finally:
        spill.remove()


class _Maker:
    """Copies records into a private folder, and asks for the cells of all questions."""

    def __init__(
        self, job: Job, experiment: Experiment, secret: Secret | None, folder: Path
    ) -> None:
        self._job, self._experiment, self._folder = job, experiment, folder
        self._keys = _record_keys(job, secret, experiment.seed)
        self._requests = dimensions_of(job)
        self._geography, self._target = _roles(job, experiment, tuple(self._requests))

    def bench(self, households: Sequence[str], resources: Mapping[str, Any]) -> Bench:
        """Make the bench."""
        job, folder, names = self._job, self._folder, tuple(self._requests)
        sample = self._copied(households, resources)
        requests = {
            name: replace(table, measures=("count",), missing_values="stop")
            for name, table in job.tables.items()
        }
        roles = (self._geography, self._target)
        asker = _Asker(self._experiment, sample, self._requests, requests, roles)
        questions = asker.questions()
        on_sample = self._on_sample()
        plain = keyed_job(on_sample, folder, seed=self._experiment.seed, ptable=folder)
        cells = {
            **cells_of(plain, requests),
            **cells_of(answering(plain), questions.requests),
        }
        left_out = tuple(name for name in requests if len(cells[name]) > _MAX_CELLS)
        tables = {name: table for name, table in requests.items() if name not in left_out}
        if not tables:
            raise ConfigError(
                Message(
                    "Every table has more than {max_cells:,} cells, or no dimension.",
                    max_cells=_MAX_CELLS,
                ),
                hint=Message("compare on a job with a smaller table, or take fewer areas"),
            )
        return Bench(
            job=on_sample,
            plain=plain,
            sample=sample,
            names=names,
            geography=self._geography,
            target=self._target,
            moving=_moving(job, self._experiment, self._requests, self._geography),
            counted=tables,
            questions=questions,
            cells=cells,
            left_out=left_out,
            folder=folder,
        )

    def _on_sample(self) -> Job:
        """Return the job with the copy in place of its data."""
        data = self._job.data.changed(
            path=self._folder / _RECORDS,
            database=None,
            table=None,
            query=None,
            types={},
            text=False,
            decimal=".",
            missing=[],
            engine="duckdb",
            master=None,
        )
        checks = "warn" if self._job.checks == "warn" else "skip"  # all records were checked
        keys = self._job.keys.changed(checks=checks)
        return self._job.changed(data=data, keys=keys)

    def _copied(self, households: Sequence[str], resources: Mapping[str, Any]) -> RecordSample:
        from tables import open_source
        from tables.recoding.derive import derive_variables
        from tables.sample import read_sample

        data, experiment = self._job.data.local, self._experiment
        with open_source(
            data.place, table=data.table, options=data.read_options, **resources
        ) as source:
            derive_variables(source, self._job.derived)
            return read_sample(
                source,
                self._keys,
                requests=self._requests,
                area=self._geography,
                groups=tuple(dict.fromkeys(households)),
                most_records=experiment.records,
                most_areas=experiment.most_areas,
                seed=experiment.seed,
                tolerate_missing_keys=self._job.keys.checks != "stop",
                copy=self._folder / _RECORDS,
            )


def _record_keys(job: Job, secret: Secret | None, seed: int) -> HashedKeys | StoredKeys:
    from tables import HashedKeys, StoredKeys

    if job.data.id is not None:
        return HashedKeys(column=job.data.id, secret=secret or drawn_secret(seed))
    return StoredKeys(column=str(job.data.record_key), key_range=job.data.key_range)


def drawn_secret(seed: int) -> Secret:
    """Return a secret for methods that need one, of a job that has none."""
    from tables import Secret

    return Secret(np.random.default_rng([seed, 0x5EC]).bytes(32))


def tables_of(requests: Mapping[str, TableRequest]) -> tuple[JobTable, ...]:
    """Return requests as tables of a job."""
    return tuple(
        JobTable(
            name=name,
            dimensions=tuple(request.dimensions),
            measures=tuple(request.measures),
            margins=request.margins
            if request.margins in {"all", "none"}
            else tuple(tuple(margin) for margin in request.margins),
            where=request.where,
            empty_cells=request.empty_cells,
            missing_values=request.missing_values,
        )
        for name, request in requests.items()
    )


def without_method(job: Job, *, additive: bool = False, **changes: Any) -> Job:
    """Return a job without its own method, ledger and limits, and with another."""
    nothing = {"ptable": None, "suppression": None, "rounding": None, "ledger": None}
    output = job.output.changed(
        additive=additive, stream=False, place=None, publish_noise=False
    )
    return job.changed(**{**nothing, "output": output, **changes})


def keyed_job(bench_job: Job, folder: Path, *, seed: int, ptable: Path, **method: Any) -> Job:
    """Return a job with other noise; where there is no noise there may be no secret."""
    keys = bench_job.keys
    if not bench_job.has_noise and keys.secret is None:
        path = folder / _SECRET
        if not path.exists():
            drawn_secret(seed).write(path)
        keys = keys.changed(secret=path)
    report = JobReport(sensitive=bench_job.report.sensitive)
    return without_method(bench_job, ptable=ptable, keys=keys, report=report, **method)


def answering(job: Job) -> Job:
    """Return a job as it answers questions: declared categories would be listed in each."""
    return job.changed(categories={})


def cells_of(job: Job, requests: Mapping[str, TableRequest]) -> dict[str, Cells]:
    """Tabulate tables as they are."""
    from ckm.release.job_inputs import open_engine
    from ptable import PTable

    no_noise = PTable(noise=[[0]], upper=[[8]], key_range=8)  # type: ignore[arg-type]
    with open_engine(job, no_noise, noises={}) as engine:
        return {each.name: each.cells for each in engine.protect_tables(requests)}


class _Asker:
    """Makes up the questions, by the seed of the experiment."""

    def __init__(
        self,
        experiment: Experiment,
        sample: RecordSample,
        requests: Mapping[str, Request],
        planned: Mapping[str, TableRequest],
        roles: tuple[str | None, str],
    ) -> None:
        self._rng = np.random.default_rng(experiment.seed)
        self._persons = experiment.persons
        self._sample, self._requests, self._planned = sample, requests, planned
        self._geography, self._target = roles
        self._names = list(requests)
        self._made: dict[str, TableRequest] = {}
        self._filters: dict[str, QuestionFilter] = {}

    def questions(self) -> Questions:
        """Ask for slices, for persons, and for tables that nobody planned."""
        sought = list(self._sought())
        unplanned = [self._unplanned(number) for number in range(_UNPLANNED)]
        slices = dict(chain.from_iterable(map(self._slices, self._planned)))
        return Questions(
            requests=self._made,
            filters=self._filters,
            slices=slices,
            sought=sought,
            unplanned=unplanned,
        )

    def _present(self, name: str) -> list[int]:
        """Return the finest categories of a dimension that records have."""
        return [*map(int, np.unique(self._sample.dimensions[name].codes[0]))]

    def _identities(self, name: str) -> list[int]:
        """Return the identity of every finest category of a dimension."""
        columns = self._requests[name].output_columns_of(name)
        total = self._requests[name].total_label
        labels = self._sample.dimensions[name].labels[0]
        return [identity_of_labels(columns, label, total=total) for label in labels]

    def _ask(self, name: str, dimensions: Sequence[str], about: QuestionFilter) -> str:
        from ckm.engine.request import TableRequest

        conditions = [] if about.others is None else [f"({about.others})"]
        if about.dimension is not None:
            column = f"{CODE}{self._names.index(about.dimension)}"
            conditions.append(f"{column} in ({', '.join(map(str, about.codes))})")
        if about.row is not None:
            conditions.append(f"{ROW} not in ({about.row})")
        where = " and ".join(conditions) or None
        request = TableRequest(dimensions=dimensions, where=where, empty_cells="drop")
        self._made[name] = request
        self._filters[name] = about
        return name

    def _sought(self) -> Iterator[tuple[int, str, str]]:
        """Ask for the target in the area of persons, with each of them and without."""
        n_records = len(self._sample)
        n_sought = min(self._persons, n_records)
        sought = self._rng.choice(n_records, n_sought, replace=False).tolist()
        categories = self._identities(self._target)
        codes = self._sample.dimensions[self._target].codes[0]
        for person in sought:
            area = QuestionFilter()
            if self._geography is not None:
                own = int(self._sample.dimensions[self._geography].codes[0][person])
                area = QuestionFilter(dimension=self._geography, codes=(own,))
            present = "-".join(["area", *map(str, area.codes)])
            if present not in self._made:
                self._ask(present, [self._target], area)
            absent = self._ask(f"without-{person}", [self._target], replace(area, row=person))
            yield categories[codes[person]], present, absent

    def _unplanned(self, number: int) -> str:
        """Ask for a planned table of half of the categories of another dimension."""
        tables = list(self._planned.values())
        table = tables[int(self._rng.integers(len(tables)))]
        others = [name for name in self._names if name not in table.dimensions]
        by = str(self._rng.choice(others or table.dimensions[:1]))
        present = self._present(by)
        half = self._rng.choice(len(present), max(1, len(present) // 2), replace=False)
        dimensions = table.dimensions if others else table.dimensions[1:] or table.dimensions
        codes = tuple(present[place] for place in half.tolist())
        about = QuestionFilter(dimension=by, codes=codes, others=table.where)
        return self._ask(f"unplanned-{number}", dimensions, about)

    def _slices(self, name: str) -> Iterator[tuple[str, tuple[str, int]]]:
        """Ask for the categories of the first dimension of a planned table, or some of many."""
        table = self._planned[name]
        first, *rest = table.dimensions
        identities = self._identities(first)
        present = self._present(first)
        if len(present) > _MOST_SLICES:
            places = np.linspace(0, len(present) - 1, _MOST_SLICES).round().astype(int)
            present = [present[place] for place in places.tolist()]
        for code in present:
            about = QuestionFilter(dimension=first, codes=(code,), others=table.where)
            question = self._ask(f"slice-{name}-{code}", rest or [first], about)
            yield question, (name, identities[code])


def dimensions_of(job: Job) -> dict[str, Request]:
    """Ask for every dimension of a job's tables by itself, with hierarchy and categories."""
    from ckm.engine.inputs import as_hierarchy, find_categories
    from ckm.engine.request_fitting import nested_columns
    from tables import Request

    names = dict.fromkeys(name for table in job.tables.values() for name in table.dimensions)
    if not names:
        raise ConfigError(
            Message("No table of the job has a dimension."),
            hint=Message("name one to compare on"),
        )
    every = {name: as_hierarchy(name, h) for name, h in job.hierarchies.items()}
    nested = {name: hierarchy for name, hierarchy in every.items() if name in names}
    declared = {
        name: find_categories(name, c, nested=nested.get(name))
        for name, c in job.categories.items()
        if name in names
    }
    return {
        name: Request(
            dimensions=[name],
            hierarchies=nested,
            categories=declared,
            total_label=job.output.total_label,
            missing_label=job.output.missing_label,
            discrete=(*nested_columns(every.values()), *job.continuous),
        )
        for name in names
    }


def _roles(job: Job, experiment: Experiment, names: tuple[str, ...]) -> tuple[str | None, str]:
    """Say which dimension tells areas, and which one an intruder wants to know."""
    for what, name in (
        ("geography", experiment.geography),
        ("target", experiment.target),
        *(("areas", area) for area in experiment.areas),
    ):
        if name is not None and name not in names:
            raise ConfigError(
                Message(
                    "{what} must be a dimension of the tables, not {name!r}.",
                    what=Name(what),
                    name=Name(name),
                ),
                hint=Message("they have {names!r}", names=Name.each(names)),
            )
    if len(names) == 1:
        return None, names[0]
    areas = [n for n in names if n in job.variables and job.variables[n].is_area]
    nested = [n for n in names if n in job.hierarchies]
    geography = experiment.geography
    if geography is None:
        free = [n for n in (*areas, *nested, *names) if n != experiment.target]
        geography = free[0]
    target = experiment.target or _target(job, geography, {*areas, *experiment.areas}, names)
    if target == geography:
        raise ConfigError(
            Message("geography and target are both {target!r}.", target=Argument(target)),
            hint=Message("an intruder knows the area and wants to know something else"),
        )
    return geography, target


def _target(job: Job, geography: str, areas: set[str], names: tuple[str, ...]) -> str:
    tables = [t.dimensions for t in job.tables.values() if geography in t.dimensions]
    for candidates in (*tables, names):
        rest = [name for name in candidates if name != geography]
        free = [name for name in rest if name not in areas]
        if free or (candidates is names and rest):
            return (free or rest)[-1]
    raise ConfigError(Message("No dimension is left that an intruder could want to know."))


def _moving(
    job: Job,
    experiment: Experiment,
    requests: Mapping[str, Request],
    geography: str | None,
) -> tuple[str, ...]:
    """Return the dimensions that say where somebody lives, beside the geography."""
    if geography is None:
        return ()
    columns = set(requests[geography].columns)
    return tuple(
        name
        for name in requests
        if name != geography
        and (
            name in experiment.areas
            or (name in job.variables and job.variables[name].is_area)
            or columns & set(requests[name].columns)
        )
    )
