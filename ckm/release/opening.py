"""Which method a job asks for, and what that needs: its data, its p-tables, its ledger."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ckm.errors import InternalError
from ckm.release.files.manifest import KIND
from ckm.release.job_inputs import load_secret, opened_job, opened_ledger, tell_ledger
from ckm.release.review import NoReview
from footing.messages import Message, Name
from tables.recoding.variable import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Unpack

    import pyarrow as pa

    from ckm.config.job.job import Job
    from ckm.engine.engine import Engine
    from ckm.methods.method import Method, RecordedMethod
    from ckm.methods.suppression.original_cells import Originals
    from ckm.release.job_inputs import OpenedJob, Resources, Step
    from ckm.release.review import Review, ReviewTools
    from ckm.release.warnings_log import Notes
    from footing.places import FileState
    from footing.progress import Progress
    from risk.risk_map.designs import MapDesign


#: Finest cells of a table that come to this machine where workers write what becomes of them.
_MOST_CELLS = 2_000_000


def _no_workers(_rows: pa.Table, _place: str) -> None:
    raise InternalError(Message("Workers of Spark write tables, and there are none."))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedMethod:
    """A method with the data that it protects, both open.

    Parameters
    ----------
    method, data
        The method, and what its `protect` takes.
    files, far_files, labels
        Of the records: their files, those that lie on no disk of this machine or below a place
        that is named, and what they call categories.
    tell_keys
        Tells what the look at the keys of the records found.
    review
        Makes what judges the tables before they are published.
    noise
        Of a job with noise, all that it works with.
    written
        Of tables that workers write: their folders, and the files in each.
    write_rows, require_few_cells
        Has workers write rows into a new folder; refuses tables of too many cells for this
        machine.
    place
        Tells the method where the release will lie, and whether anything of it is kept.
    """

    method: Method[Any]
    data: Any
    files: tuple[str, ...]
    far_files: Callable[..., Mapping[str, FileState]]
    labels: Mapping[str, Mapping[str, str]]
    tell_keys: Callable[[Step], None]
    review: Callable[[ReviewTools], Review] = NoReview
    noise: OpenedJob | None = None
    written: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    place: Callable[..., None] = lambda _target, **_options: None
    write_rows: Callable[[pa.Table, str], None] = _no_workers
    require_few_cells: Callable[[], None] = lambda: None


def read_job_designs(job: Job) -> dict[str, MapDesign]:
    """Read the designs that a job compares, before anything takes long."""
    if job.report.designs is None:
        return {}
    from ckm.config.comparison.comparanda import read_designs

    return read_designs(job.report.designs)


class JobMethod(NamedTuple):
    """A method that a job can ask for.

    Parameters
    ----------
    kind
        What the internal manifest calls its releases.
    event
        What the log calls a release that is complete.
    open
        Opens the method and the data of a job.
    """

    kind: str
    event: str
    open: Callable[..., AbstractContextManager[OpenedMethod]]


@contextmanager
def opened_noise(
    job: Job,
    *,
    notes: Notes,
    is_kept: bool,
    is_quick: bool = False,
    step: Step,
    progress: Progress,
    **resources: Unpack[Resources],
) -> Iterator[OpenedMethod]:
    """Open the data with the keys, the p-tables and the ledger."""
    from ckm.ledger.release_check import ReleaseCheck
    from ckm.methods.additivity.method import Additivity
    from ckm.methods.additivity.release_step import Restorer
    from ckm.methods.settings import AdditivitySettings

    designs = read_job_designs(job)
    notes.add(job.warnings)
    with opened_job(
        job, is_kept=is_kept, is_quick=is_quick, step=step, progress=progress, **resources
    ) as inputs:
        release_check = ReleaseCheck(inputs.ledger, job.ledger)
        method: Method[Any] = inputs.method(release_check.watch)
        if job.output.additive:
            steps = AdditivitySettings.of(
                inputs.ptable,
                hierarchies=job.hierarchies,
                total_label=job.output.total_label,
            )
            method = Additivity(method, Restorer(steps))

        def tell_keys(step: Step) -> None:
            if job.checks == "skip":
                step(
                    "keys not checked", Message('record keys: not checked, for checks = "skip"')
                )
            elif (quality := inputs.engine.check_keys()).is_sound:
                step("keys checked", quality.summary())

        def review(tools: ReviewTools) -> Review:
            from ckm.release.noise_review import NoiseReview  # with all that pages need

            return NoiseReview(inputs, release_check, designs, tools)

        engine = inputs.engine
        opened_method = OpenedMethod(
            method=method,
            data=engine,
            files=engine.files,
            far_files=engine.far_files,
            labels=engine.labels,
            tell_keys=tell_keys,
            review=review,
            noise=inputs,
            write_rows=engine.write_rows,
            require_few_cells=partial(_require_few_cells, job, engine),
        )
        with _naming_tables(opened_method, notes):
            yield opened_method


def _require_few_cells(job: Job, engine: Engine) -> None:
    """Refuse a table of more cells than this machine is to hold, before it is fetched."""
    engine.check_keys()  # first of all, and records are kept ready from then on
    for name, request in job.tables.items():
        _require_few(job, name, engine.n_finest_cells(request))


def _require_few_originals(job: Job, originals: Originals) -> None:
    """Refuse such a table of a method that begins with original numbers."""
    from ckm.engine.distributed import n_finest_cells

    originals.require_some()
    for name, request in originals.requests.items():
        _require_few(job, name, n_finest_cells(originals.source, request))


def _require_few(job: Job, table: str, n_cells: int) -> None:
    from ckm.release.files.place import features_with_cells, too_many_cells

    if n_cells > _MOST_CELLS:
        raise too_many_cells(table, most=_MOST_CELLS, features=features_with_cells(job))


@contextmanager
def _naming_tables(opened_method: OpenedMethod, notes: Notes) -> Iterator[None]:
    """Name the tables that workers may have written for a release that failed."""
    try:
        yield
    except BaseException:
        if opened_method.written:
            text = Message(
                "No release: unless another run writes there, remove {files}",
                files=Name.each(opened_method.written),
            )
            notes.note_warning(text, event="tables left")
        raise


@contextmanager
def opened_suppression(job: Job, **options: Any) -> Iterator[OpenedMethod]:
    """Open the records, to hide cells of their tables."""
    from ckm.methods.suppression.method import CellSuppression

    if job.suppression is None:
        raise InternalError(
            Message("Cells are to be hidden, and the job has no rules for that.")
        )
    settings = replace(job.suppression.settings, public_counts=job.report.has_public_counts)
    names = ("what", "who", "when", "why")
    exceptions = [
        {name: str(getattr(entry, name)) for name in names} for entry in job.report.exceptions
    ]
    method = CellSuppression(settings, shown=job.shown, exceptions=exceptions)
    with _opened_originals(job, method, **options) as session:
        yield replace(session, place=method.place)


@contextmanager
def opened_rounding(job: Job, **options: Any) -> Iterator[OpenedMethod]:
    """Open the records, to round the counts of their tables."""
    from ckm.methods.rounding import ControlledRounding

    if job.rounding is None:
        raise InternalError(
            Message("Counts are to be rounded, and the job has no base for that.")
        )
    method = ControlledRounding(job.rounding.settings)
    with _opened_originals(job, method, **options) as session:
        yield session


@contextmanager
def _opened_originals(
    job: Job,
    method: RecordedMethod[Any],
    *,
    notes: Notes,
    is_kept: bool,
    is_quick: bool = False,
    step: Step,
    progress: Progress,
    **resources: Unpack[Resources],
) -> Iterator[OpenedMethod]:
    """Open the records for a method that begins with original numbers."""
    from ckm.engine.inputs import refuse_ledger_of_cells
    from ckm.ledger.release_check import ReleaseCheck
    from ckm.ledger.storage.store import has_ledger
    from ckm.methods.suppression.original_cells import open_originals
    from ckm.release.ledger_review import LedgerReview
    from tables.cells.sketch import require_sketchable

    del progress, is_quick

    def tell_keys(step: Step) -> None:
        if job.checks != "skip":
            step("records checked", Message("no record is there twice"))

    ledger = job.ledger
    secret = None if ledger is None else load_secret(job)
    with ExitStack() as stack:
        originals = stack.enter_context(open_originals(job, secret=secret, **resources))
        step("columns checked", Message("the data have every column, with types that fit"))
        for variable in job.derived:
            step("variable derived", words_of(variable))
        source = originals.source
        review: Callable[[ReviewTools], Review] = NoReview
        if ledger is not None:
            refuse_ledger_of_cells(source.cells)
            require_sketchable(ledger.threshold, originals.keys.resolve(source))
            is_there = has_ledger(ledger.target)
            own_ledger = stack.enter_context(
                opened_ledger(ledger, secret=job.keys.place, is_kept=is_kept)
            )
            tell_ledger(ledger, is_there=is_there, step=step)
            if own_ledger is not None:
                originals = replace(originals, sketch=own_ledger.width)
                check = ReleaseCheck(own_ledger, ledger)
                review = partial(LedgerReview, check, method, originals.requests)
        opened_method = OpenedMethod(
            method=method,
            data=originals,
            files=source.files,
            far_files=source.far_files,
            labels=source.labels,
            tell_keys=tell_keys,
            review=review,
            write_rows=source.write_rows,
            require_few_cells=partial(_require_few_originals, job, originals),
        )
        with _naming_tables(opened_method, notes):
            yield opened_method


#: Section of a job → the method that it asks for.
JOB_METHODS: dict[str, JobMethod] = {
    "suppression": JobMethod("ckm-suppression", "suppression complete", opened_suppression),
    "rounding": JobMethod("ckm-rounding", "rounding complete", opened_rounding),
    "ptable": JobMethod(KIND, "release complete", opened_noise),
}

RELEASE_KINDS = frozenset(method.kind for method in JOB_METHODS.values())


def job_method(job: Job) -> JobMethod:
    """Return the method that a job asks for."""
    names = (name for name in JOB_METHODS if getattr(job, name, None) is not None)
    return JOB_METHODS[next(names, "ptable")]
