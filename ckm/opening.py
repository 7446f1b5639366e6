"""What a job needs before it can run: its p-table, its secret, its data."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from tables import Secret, SourceError
from tables.secret import SECRET_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckm.config.job import Job, JobLedger
    from ckm.engine import Engine
    from ckm.ledger import Ledger
    from ckm.magnitudes import MagnitudeNoise
    from ptable import NoiseSpec, PTable


__all__ = ["load_noises", "load_ptable", "load_secret", "open_engine", "opened_ledger"]

logger = logging.getLogger(__name__)


def load_ptable(job: Job) -> PTable:
    """Read the p-table of a job, or solve it. Only solving loads a solver.

    Parameters
    ----------
    job
        The job.

    Raises
    ------
    PTableError
        If the file holds no sound p-table, or no p-table satisfies the specification.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> load_ptable(read_job("demo/job.toml"))  # doctest: +SKIP
    """
    if job.ptable is None:
        raise ConfigError(
            f"The job {job.path.name!r} has no noise: it is one for suppression.",
            hint="ckm suppress takes it; ckm release needs [ptable] instead of [suppression]",
        )
    from ptable import NoiseSpec
    from ptable.stack import StackedSpec

    table = _read_or_solve(job.ptable)
    proof, spec = table.certificate, table.spec
    if proof is not None and isinstance(spec, NoiseSpec | StackedSpec):
        from ptable.figures import name_few_outcomes

        if text := name_few_outcomes(spec, proof=proof):
            logger.warning("%s", text, extra={"event": "noise of few outcomes"})
    return table


def load_noises(job: Job) -> dict[str, MagnitudeNoise]:
    """Read or solve the p-tables of the variables that a job sums.

    Parameters
    ----------
    job
        The job.

    Returns
    -------
    dict
        Variable → its noise; empty where all tables hold counts.

    Raises
    ------
    ConfigError, PTableError
        If a p-table cannot be had or does not fit the noise.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> load_noises(read_job("demo/job.toml"))  # doctest: +SKIP
    {}
    """
    made: dict[NoiseSpec | Path, PTable] = {}
    noises = {}
    for variable, magnitude in job.magnitudes.items():
        for wanted in magnitude.ptables.values():
            if wanted not in made:
                made[wanted] = _read_or_solve(wanted)
        tables = {name: made[wanted] for name, wanted in magnitude.ptables.items()}
        try:
            noises[variable] = magnitude.noise(tables)
        except ConfigError as error:
            raise ConfigError(
                f"[[magnitude]] of {variable!r}: {error.problem}", hint=error.hint
            ) from None
    return noises


def _read_or_solve(wanted: NoiseSpec | Path) -> PTable:
    from ptable import PTable
    from ptable.mechanisms import Mechanism

    if isinstance(wanted, Path):
        table = PTable.read(wanted)
        if table.certificate is None and not isinstance(table.spec, Mechanism):
            logger.warning(
                "The p-table %r has no certificate: nobody has proved its bias and variance.",
                wanted.name,
                extra={"event": "p-table without certificate", "file": wanted.name},
            )
        return table
    from ptable import solve

    return solve(wanted)


def load_secret(job: Job) -> Secret | None:
    """Read the secret of a job from its file or from the environment.

    Parameters
    ----------
    job
        The job.

    Raises
    ------
    ConfigError
        If the job needs a secret and there is none, or it cannot be used.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> load_secret(read_job("demo/job.toml"))  # doctest: +SKIP
    Secret(…)
    """
    path = job.keys.secret
    if path is None and not os.environ.get(SECRET_VARIABLE):
        if not job.needs_secret:
            return None
        raise ConfigError(
            "The job needs a secret: [keys] names no file and CKM_SECRET is not set.",
            hint="make one with: ckm keys secret secret.key",
        )
    try:
        if path is None:
            return Secret.from_env(SECRET_VARIABLE)
        return Secret.from_file(path)
    except SourceError as error:
        raise ConfigError(error.problem, hint=error.hint) from None


@contextlib.contextmanager
def opened_ledger(
    ledger: JobLedger | None,
    job: Job,
    *,
    ptable: PTable,
    noises: Mapping[str, MagnitudeNoise] | None = None,
    create: bool = True,
) -> Iterator[Ledger | None]:
    """Open the ledger of a job for the time of a block; None where there is none.

    Parameters
    ----------
    ledger
        What the job, or the service over it, says of its ledger.
    job
        The job, whose secret seals the ledger.
    ptable
        Its p-table; a ledger is for the noise of one.
    noises
        The noise of the variables that it sums, from `load_noises`; they keep that which they
        were published with.
    create
        Make it where it is not yet there.

    Yields
    ------
    ckm.ledger.Ledger or None
        The ledger.

    Raises
    ------
    ConfigError, LedgerError
        If it cannot be opened, or has another secret, noise or threshold.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> job = read_job("demo/job.toml")  # doctest: +SKIP
    >>> with opened_ledger(
    ...     job.ledger, job, ptable=load_ptable(job)
    ... ) as ledger:  # doctest: +SKIP
    ...     pass
    """
    if ledger is None:
        yield None
        return
    from ckm.ledger import Ledger
    from ckm.ledger.store import has_ledger
    from ckm.magnitudes import noise_identities

    if not (create or has_ledger(ledger.target)):
        yield None
        return

    with Ledger.open(
        ledger.target,
        secret=_secret_of_ledger(job),
        threshold=ledger.threshold,
        noise=f"{ptable.id} {'mixed' if job.keys.mix else 'plain'}",
        create=create,
        smallest=ledger.smallest,
    ) as opened:
        if noises:
            opened.require_amounts(noise_identities(noises, noises, weight=job.data.weight))
        yield opened


def _secret_of_ledger(job: Job) -> Secret:
    if job.keys.secret is None and not os.environ.get(SECRET_VARIABLE):
        raise ConfigError(
            "A ledger is sealed with the secret: [keys] names no file and CKM_SECRET is not "
            "set.",
            hint="make one with: ckm keys secret secret.key",
        )
    try:
        if job.keys.secret is None:
            return Secret.from_env(SECRET_VARIABLE)
        return Secret.from_file(job.keys.secret)
    except SourceError as error:
        raise ConfigError(error.problem, hint=error.hint) from None


def open_engine(
    job: Job,
    ptable: PTable,
    *,
    noises: Mapping[str, MagnitudeNoise] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Engine:
    """Open the data of a job with its keys and its p-table.

    Parameters
    ----------
    job
        The job.
    ptable
        Its p-table.
    noises
        The noise of the variables that it sums; by default from `load_noises`.
    memory_limit, threads
        Limits of the tabulation; they never change a result.

    Raises
    ------
    TablesError
        If the data cannot be opened or lack a column that the job names.

    Examples
    --------
    >>> from ckm.config import read_job
    >>> job = read_job("demo/job.toml")  # doctest: +SKIP
    >>> open_engine(job, load_ptable(job))  # doctest: +SKIP
    """
    from ckm.engine import Engine

    data = job.data
    return Engine(
        str(data.path),
        id=data.id,
        record_key=data.record_key,
        key_range=data.key_range,
        weight=data.weight,
        secret=load_secret(job),
        ptable=ptable,
        hierarchies=dict(job.hierarchies) or None,
        categories=dict(job.categories) or None,
        mix=job.keys.mix,
        checks=job.keys.checks,
        magnitudes=load_noises(job) if noises is None else noises,
        total_label=job.output.total_label,
        missing_label=job.output.missing_label,
        table=data.table,
        engine=data.engine,
        master=data.master,
        memory_limit=memory_limit,
        threads=threads,
    )
