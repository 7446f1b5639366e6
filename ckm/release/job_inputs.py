"""What a job needs before it can run: its p-table, its secret, its data."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict

from ckm.config.problems import JobError, problems_of_error
from ckm.errors import ConfigError
from footing.errors import ExplainedError
from footing.messages import Enumeration, Message, Name, said
from footing.progress import Progress
from tables import Secret, SourceError
from tables.recoding.variable import words_of
from tables.secret import SECRET_VARIABLE, SecretCommand
from tables.source.spill import SpillFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Unpack

    import pyarrow as pa

    from ckm.config.job.job import Job
    from ckm.config.job.ledger import JobLedger, LedgerPlace
    from ckm.engine.engine import Engine
    from ckm.engine.magnitudes import MagnitudeNoise
    from ckm.engine.request import TableRequest
    from ckm.ledger import Ledger
    from ckm.ledger.watch import Watch
    from ckm.methods.noise import CellKeyNoise
    from ptable import InfeasibleError, NoiseSpec, PTable

#: Called with an event and a sentence when a part of a job is found right.
Step: TypeAlias = "Callable[[str, str], None]"

logger = logging.getLogger(__name__)


_OF_DATA = (
    *("id", "record_key", "key_range", "cells", "count", "cell_key"),
    *("weight", "table", "types", "text", "decimal", "engine", "master", "allow_empty"),
)


class Resources(TypedDict, total=False):
    """What reading the data may take of the machine, where it is not all there is."""

    memory_limit: str | None
    threads: int | None


def load_ptable(job: Job, *, is_quick: bool = False) -> PTable:
    """Read the p-table of a job, or solve it. Only solving loads a solver.

    Quickly, Newton's method makes and proves the same integers without one.
    """
    if job.ptable is None:
        raise ConfigError(
            Message(
                "The job {path!r} has no noise: it is one for suppression or rounding.",
                path=Name(job.path.name),
            ),
            hint=Message("ckm release makes its release; this needs a job with [ptable]"),
        )
    from ptable import InfeasibleError

    try:
        table = _read_or_solve(job.ptable, is_quick=is_quick)
    except InfeasibleError as error:
        job.place(error, ("ptable",))
        raise
    for text in cautions_of(table):
        logger.warning("%s", text, extra={"event": "noise"})
    return table


def cautions_of(table: PTable) -> tuple[str, ...]:
    """Return what to warn of in a p-table that was solved."""
    from ptable import NoiseSpec
    from ptable.advice.figures import cautions
    from ptable.design.stack import StackedSpec

    proof, spec = table.certificate, table.spec
    if proof is None or not isinstance(spec, NoiseSpec | StackedSpec):
        return ()
    return cautions(spec, proof=proof)


def load_noises(job: Job, *, is_quick: bool = False) -> dict[str, MagnitudeNoise]:
    """Read or solve the p-tables of the variables that a job sums."""
    by_source: dict[NoiseSpec | Path, PTable] = {}
    noises = {}
    for variable, magnitude in job.magnitudes.items():
        for source in magnitude.ptables.values():
            if source not in by_source:
                by_source[source] = _read_or_solve(source, is_quick=is_quick)
        tables = {name: by_source[source] for name, source in magnitude.ptables.items()}
        try:
            noises[variable] = magnitude.noise(tables)
        except ConfigError as error:
            raise ConfigError(
                Message(
                    "[[magnitude]] of {variable!r}: {problem}",
                    variable=Name(variable),
                    problem=said(error.problem),
                ),
                hint=error.hint,
            ) from None
    return noises


def _read_or_solve(source: NoiseSpec | Path, *, is_quick: bool) -> PTable:
    from ptable import PTable
    from ptable.design.mechanisms import Mechanism

    if isinstance(source, Path):
        table = PTable.read(source)
        if table.certificate is None and not isinstance(table.spec, Mechanism):
            logger.warning(
                "%s",
                Message(
                    "The p-table {name!r} has no certificate: its bias and variance are "
                    "not proven.",
                    name=Name(source.name),
                ),
                extra={"event": "p-table without certificate", "file": source.name},
            )
        return table
    if source.limits is not None:
        raise ConfigError(
            Message("A table by limits is chosen once and kept: a release never solves one."),
            hint=Message("ckm ptable build makes the file that path in [ptable] names"),
        )
    from ptable import solve
    from ptable.solver.solve import polished

    return polished(source) if is_quick else solve(source)


def _state_of(ptable: PTable) -> Message:
    """Say what is known of a p-table that was read or solved."""
    from ptable.design.mechanisms import Mechanism

    if ptable.certificate is not None:
        return Message("the p-table exists and its certificate holds")
    if isinstance(ptable.spec, Mechanism):
        return Message("the p-table can be read: its noise is that of a known mechanism")
    return Message("the p-table can be read: it has no certificate")


def zero_sums_caution(job: Job, ptable: PTable) -> str | None:
    """Tell how many sums of few records become 0, if a job asks for it."""
    names = [name for name in job.tables if job.zeroes_sums(name)]
    last = int(ptable.counts[-1])
    shares = {}
    for count in {1, 2, 3} & {*ptable.counts.tolist(), *range(last, 4)}:
        units = ptable.units(min(count, last))
        shares[count] = 1 - units.get(-count * ptable.step, 0) / ptable.key_range
    if not names or shares.get(1, 1.0) == 1:
        return None
    listing = ", ".join(f"{share:.2f} ({count})" for count, share in sorted(shares.items()))
    return Message(
        "[[table]] {names!r}: by zero_with_count a sum is 0 where the noisy count "
        "is, so that sums of small cells are too low on average. The mean of "
        "published over true, by records of the cell: {listed}.",
        names=Enumeration(" and ", Name.each(names)),
        listed=Name(listing),
    )


def load_secret(job: Job) -> Secret | None:
    """Read the secret of a job from its file or from the environment."""
    if not job.needs_secret and not _is_given(job.keys.place):
        return None
    return read_secret(
        job.keys.place,
        problem=Message(
            "The job needs a secret: [keys] names no file and CKM_SECRET is not set."
        ),
    )


def _is_given(place: Path | SecretCommand | None) -> bool:
    return place is not None or bool(os.environ.get(SECRET_VARIABLE))


def read_secret(place: Path | SecretCommand | None, *, problem: str) -> Secret:
    """Read a secret from its file or a command, or without one from the environment."""
    if not _is_given(place):
        raise ConfigError(problem, hint=Message("make one with: ckm keys secret secret.key"))
    try:
        return Secret.from_place(place)
    except SourceError as error:
        raise ConfigError(error.problem, hint=error.hint) from None


@contextlib.contextmanager
def opened_ledger(
    ledger: LedgerPlace | None,
    *,
    secret: Path | SecretCommand | None,
    noise: str | None = None,
    allows_second_noise: bool = False,
    is_kept: bool = True,
) -> Iterator[Ledger | None]:
    """Open a ledger for the time of a block; None where a file names none.

    `secret` is where the secret is read, `noise` what noise depends on beside it, and
    `allows_second_noise` whether somebody allowed another one.
    """
    if ledger is None:
        yield None
        return
    from ckm.ledger import Ledger
    from ckm.ledger.storage.store import has_ledger

    target = ledger.target
    sealing = read_secret(
        secret,
        problem=Message(
            "A ledger is sealed with the secret: [keys] names no file and CKM_SECRET "
            "is not set."
        ),
    )
    with contextlib.ExitStack() as stack:
        create = is_kept
        if not (is_kept or has_ledger(target)):
            _require_place(target)
            folder = SpillFolder()
            stack.callback(folder.remove)
            create, target = True, folder.path / "ledger.db"
        yield stack.enter_context(
            Ledger.open(
                target,
                secret=sealing,
                noise=noise,
                allows_second_noise=allows_second_noise,
                create=create,
                **ledger.model_dump(include={"threshold", "smallest"}),
            )
        )


def tell_ledger(ledger: LedgerPlace | None, *, is_there: bool, step: Step) -> None:
    """Tell that the ledger of a job can be used."""
    if ledger is not None:
        state = (
            Message("can be used")
            if is_there
            else Message("is not there yet; a release makes it")
        )
        step("ledger checked", Message("the ledger {state}", state=state))


def _require_place(target: Path | str) -> None:
    """Refuse a folder in which no ledger can be made."""
    if isinstance(target, Path) and not os.access(target.parent, os.W_OK | os.X_OK):
        from ckm.ledger import LedgerError

        raise LedgerError(
            Message(
                "The ledger {target!r} cannot be opened: {reason}.",
                target=Name(target.name),
                reason=said(os.strerror(errno.EACCES)),
            ),
            hint=Message("look at the file's permissions"),
        )


def open_engine(
    job: Job,
    ptable: PTable,
    *,
    noises: Mapping[str, MagnitudeNoise] | None = None,
    **resources: Unpack[Resources],
) -> Engine:
    """Open the data of a job with its keys and its p-table."""
    from ckm.engine.engine import Engine

    data = job.data if job.data.is_distributed else job.data.local
    engine = Engine(
        data.place,
        **{name: getattr(data, name) for name in _OF_DATA},
        spark=data.spark_settings or None,
        secret=load_secret(job),
        ptable=ptable,
        hierarchies=dict(job.hierarchies) or None,
        categories=dict(job.categories) or None,
        variables=job.derived,
        mix=job.keys.mix,
        key_version=job.keys.version,
        checks=job.checks,
        magnitudes=load_noises(job) if noises is None else noises,
        total_label=job.output.total_label,
        missing_label=job.output.missing_label,
        **resources,
    )
    engine._allow_continuous(job.continuous)  # noqa: SLF001  (no switch for anybody else)
    return engine


def job_cells(job: Job) -> pa.Table:
    """Tabulate what the tables of a job are made of; for suppression, without keys."""
    from ptable import NoiseSpec, solve
    from tables.cells.cube import cell_table

    if job.suppression is not None:
        from ckm.methods.suppression.original_cells import open_originals

        if job.suppression.holding is not None or job.suppression.request is not None:
            raise ConfigError(
                Message(
                    "Cells of holdings, or of who asked, are not written: other records than "
                    "those of the table would have to be known."
                ),
                hint=Message("remove holding and request, or suppress where the records are"),
            )
        if job.suppression.shadow:
            raise ConfigError(
                Message("The rules of [suppression] read other variables than those shown."),
                hint=Message("remove shadow, or suppress where the records are"),
            )
        with open_originals(job) as originals:
            originals.require_some()
            requests = list(originals.requests.values())
            return cell_table(originals.source, originals.keys, requests).drop_columns(
                "cell_key"
            )
    any_noise = solve(NoiseSpec(max_noise=2, variance=1.0))
    with open_engine(job, any_noise, noises={}) as engine:
        return engine.cells(job.tables)


def noise_label(job: Job, ptable: PTable) -> str:
    """Return what a ledger knows the noise of a job by: p-table, mix, version of the keys."""
    # 0.1.0 did not write the version of its keys.
    keys = "" if not job.data.id or job.keys.version == 1 else f" keys {job.keys.version}"
    return f"{ptable.id} {'mixed' if job.keys.mix else 'plain'}{keys}"


def silent(*_arguments: object) -> None:
    """Tell nobody of a step or of progress."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedJob:
    """What a job works with: its engine, its noise, its ledger."""

    engine: Engine
    ptable: PTable
    noises: Mapping[str, MagnitudeNoise]
    ledger: Ledger | None

    def method(self, watch: Watch | None) -> CellKeyNoise:
        """Return the noise of the job, whose tables a watch sees on their way."""
        from ckm.methods.noise import CellKeyNoise
        from ckm.methods.settings import NoiseSettings

        settings = NoiseSettings(ptable=self.ptable, noises=self.noises)
        return CellKeyNoise(settings, watch=watch)


@contextlib.contextmanager
def opened_job(
    job: Job,
    *,
    tables: Mapping[str, TableRequest] | None = None,
    ledger: JobLedger | None = None,
    is_kept: bool = True,
    is_quick: bool = False,
    step: Step = silent,
    progress: Progress | None = None,
    **resources: Unpack[Resources],
) -> Iterator[OpenedJob]:
    """Open all that a job needs for the time of a block, and check that it fits together.

    No row of the data is read. Checks, dry runs and releases all begin here.
    """
    from ckm.engine.magnitudes import noise_identities
    from ckm.ledger.storage.store import has_ledger
    from ptable import InfeasibleError, NoiseSpec
    from ptable.solver.solve import polished

    report_progress = progress or silent
    tables, ledger = tables or job.tables, ledger or job.ledger
    infeasible: InfeasibleError | None = None
    report_progress("p-table", 0, 1)
    try:
        ptable = load_ptable(job, is_quick=is_quick)
        noises = load_noises(job, is_quick=is_quick)
    except InfeasibleError as error:  # the columns are looked at all the same
        infeasible, noises = error, {}
        ptable = polished(NoiseSpec(max_noise=2, variance=1.0))
    else:
        step("p-table ready", _state_of(ptable))
        if noises:
            step(
                "noise of sums ready",
                Message("p-tables are there for {noises}", noises=Name.each(noises)),
            )
    report_progress("p-table", 1, 1)
    with contextlib.ExitStack() as stack:
        try:
            engine = stack.enter_context(open_engine(job, ptable, noises=noises, **resources))
            engine.validate(tables, sketch=ledger.threshold if ledger else 0)
        except ExplainedError as error:
            job.place(error)
            if infeasible is None:
                raise
            both = [*problems_of_error(infeasible), *problems_of_error(error)]
            raise JobError(job.path.name, both) from None
        if infeasible is not None:
            raise infeasible
        step("columns checked", Message("the data have every column, with types that fit"))
        for variable in job.derived:
            step("variable derived", words_of(variable))
        is_there = ledger is not None and has_ledger(ledger.target)
        own_ledger = stack.enter_context(
            opened_ledger(
                ledger,
                secret=job.keys.place,
                noise=noise_label(job, ptable),
                allows_second_noise=job.report.allows_second_ptable,
                is_kept=is_kept,
            )
        )
        if own_ledger is not None and noises:
            own_ledger.require_amounts(noise_identities(noises, noises, weight=job.data.weight))
        tell_ledger(ledger, is_there=is_there, step=step)
        yield OpenedJob(engine=engine, ptable=ptable, noises=noises, ledger=own_ledger)
