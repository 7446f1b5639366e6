"""Why a published number is what it is: its cell, count, key, row of the p-table and noise.

What is found follows from original records: it stays inside.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ckm.config.job.job import Job
from ckm.config.problems import did_you_mean
from ckm.engine.key_mixing import mix_keys
from ckm.engine.magnitudes.measures import noise_name
from ckm.engine.magnitudes.noise.alike import CountNoise
from ckm.engine.magnitudes.noise.perturb import trace_own
from ckm.engine.magnitudes.quantiles import quantile_noise
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.engine.protection import Protected
from ckm.engine.published_table import PublishedTable, measure_columns
from ckm.engine.request import TableRequest, quantile_of, variable_of
from ckm.errors import ConfigError, InternalError
from ckm.ledger import CellName, Definition
from ckm.ledger.release_check import ReleaseCheck
from ckm.release.job_inputs import OpenedJob, load_secret, opened_job
from footing.arrays import Flags
from footing.messages import Enumeration, Message, Name, joined, said
from footing.progress import Progress
from ptable import PTable
from ptable.lookup import intervals, row_of
from tables import Cells
from tables.errors import DataError

#: Categories that a message names at most, the total among them.
_LISTED = 26
_LEFT_OUT = "nothing: the file leaves this cell out, as others whose published count is 0"


def explain(
    job: Job,
    table: str,
    cell: Mapping[str, str],
    *,
    measure: str = "count",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Explain one number of a job, from the records as they are now; nothing is recorded.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    table
        The name of the table.
    cell
        Column → category; columns that are left out are totals.
    measure
        A measure of the table, such as ``"count"``, ``"weighted"`` or ``"sum:income"``.
    progress
        Called with a stage, how much of it is done, and how much there is.

    Returns
    -------
    dict
        The name of each step and what it gives, in order; then the further cells of the job,
        and the entries of its ledger, with the same records. Keep them inside.

    Raises
    ------
    ConfigError, tables.DataError
        If there is no such number, or the job is not one that is explained.

    Examples
    --------
    >>> explain(job, "people", {"sex": "F"})["published"]  # doctest: +SKIP
    0
    """
    _require_explained(job, table, cell, measure)
    steps: dict[str, Any] = {"notice": Message("INTERNAL: original counts and keys")}
    same: list[str] = []
    is_quantile = quantile_of(measure) is not None
    variable = None if is_quantile else variable_of(measure)

    def add(protected: Protected) -> None:
        name, request = protected.name, protected.request
        cells, published_table = protected.cells, protected.table
        here = np.zeros(len(cells), bool)
        if name == table:  # the first one
            ranks = _ranks(cells, cell)
            here = np.all([~here, *map(np.equal, cells.ranks, ranks)], axis=0)
            words = _name(cells, ranks, name, request)
            steps["number"] = f"{measure} of {words}"
            steps.update(_noise(job, inputs.ptable, cells, here))
            if protected.counts[here].sum() != steps["count with noise"]:
                raise InternalError(
                    Message("The steps do not give the number that is published.")
                )
            if variable is not None and here.any():
                steps.update(_sum_steps(job, inputs, cells, here, variable))
            elif is_quantile and here.any():
                steps.update(_rank_steps(job, inputs, cells, here, measure))
            elif measure != "count" and cells.weight is not None:
                weight = float(cells.weight[here].sum())
                noisy = weight / max(steps["original count"], 1) * steps["count with noise"]
                steps.update({"original weight": weight, "weight with noise": noisy})
            steps["published"] = _number(published_table, words, request, measure)
            if inputs.ledger is not None:
                entry = inputs.ledger.entry(cells, Definition(name=name), shown=here)
                steps["in the ledger"] = list(inputs.ledger.showing(entry))
        is_same = (cells.count == steps["original count"]) & ~here
        places = np.flatnonzero(is_same & (cells.cell_key == steps.get("cell key")))
        others = ([int(rank[place]) for rank in cells.ranks] for place in places)
        same.extend(str(_name(cells, ranks, name, request)) for ranks in others)

    with opened_job(job, is_kept=False, progress=progress) as inputs:
        method = inputs.method(ReleaseCheck(inputs.ledger, job.ledger).watch)
        requests = {table: job.tables[table], **job.tables}  # the one that is asked for first
        for protected in method.protect(inputs.engine, requests, progress=progress):
            add(protected)
            del protected  # its cells, before those of the next table are protected
    return {**steps, "in this job, by count and cell key": same}


def _require_explained(job: Job, table: str, cell: Mapping[str, str], measure: str) -> None:
    if not job.has_noise or job.output.additive:
        what = Message("hides cells") if job.suppression else Message("makes counts add up")
        raise ConfigError(
            Message(
                "The job {path!r} {what}: ckm explain covers noise only.",
                path=Name(job.path.name),
                what=what,
            ),
            hint=Message("internal/ in the folder of the release tells what was done"),
        )
    _require_known(Message("table"), [table], job.tables)
    request = job.tables[table]
    nested = ((name, job.hierarchies.get(name)) for name in request.dimensions)
    columns = [c for name, h in nested for c in (h if isinstance(h, list) else [name])]
    _require_known(Message("column"), cell, columns)
    _require_known(Message("measure"), [measure], request.measures)


def _require_known(what: Message, names: Iterable[str], choices: Collection[str]) -> None:
    for name in names:
        if name not in choices:
            hint = did_you_mean(name, choices) or Message(
                "there are: {names}", names=Name.each(choices) if choices else Message("none")
            )
            raise ConfigError(
                Message("There is no {what} {name!r}.", what=what, name=Name(name)),
                hint=hint,
            )


def _noise(job: Job, ptable: PTable, cells: Cells, here: Flags) -> dict[str, Any]:
    """Return the steps from a cell to its count with noise, apart from what a release runs."""
    if not here.any():
        none = "none: a cell without records has no key and stays 0"
        return {"original count": 0, "noise": none, "count with noise": 0}
    ((count,), (key,)) = cells.count[here].tolist(), cells.cell_key[here].tolist()
    key_range = cells.key_range
    steps = {"original count": count, "cell key": key, "range of cell keys": key_range}
    secret = load_secret(job) if job.keys.mix else None
    if secret is not None:
        (key,), key_range = mix_keys(cells.cell_key[here], secret=secret).tolist(), 2**32
        steps["mixed key"] = key
    row = row_of(ptable, count)
    for noise, *edges in intervals(ptable.noise[row], ptable.upper[row]):
        start, end = (-(-edge * key_range // ptable.key_range) for edge in edges)
        if start <= key < end:
            steps["row of p-table"] = row
            steps["keys of this noise"] = f"{start} to {end - 1} of {key_range}"
            steps |= {"noise": noise, "count with noise": count + noise}
    return steps


def _sum_steps(
    job: Job, inputs: OpenedJob, cells: Cells, here: Flags, variable: str
) -> dict[str, Any]:
    """Return the steps from the amounts of a cell to its sum with noise."""
    noise, ptable = VariableNoises(inputs.noises)[variable], inputs.ptable
    secret = load_secret(job)
    if noise.rules != "ckm" or secret is None:
        raise ConfigError(
            Message(
                "The sums of {variable!r} have the noise of another tool, {rules}.",
                variable=Name(variable),
                rules=said(noise.rules),
            ),
            hint=Message('only sums with rules = "ckm" are explained'),
        )
    all_of_it = (cells.magnitudes or {})[variable]
    arrays = {
        field.name: getattr(all_of_it, field.name)[here]
        for field in fields(all_of_it)
        if field.name not in {"variable", "key_range", "variation"}
    }
    full_name = noise_name(variable, job.data.weight)
    own = replace(all_of_it, variable=full_name, **arrays)
    counts = CountNoise(ptable=ptable, secret=secret if job.keys.mix else None)
    return trace_own(own, noise, secret=secret, counts=counts)


def _rank_steps(
    job: Job, inputs: OpenedJob, cells: Cells, here: Flags, measure: str
) -> dict[str, Any]:
    """Return the steps to the rank of a quantile."""
    noises = VariableNoises(inputs.noises)
    noise = quantile_noise(measure, ptable=inputs.ptable, noises=noises)
    keys, secret = cells.cell_key[here], load_secret(job)
    if secret is None:
        raise InternalError(Message("A quantile was published without noise."))
    return {
        "rank": int(noise.ranks(cells)[here][0]),
        "noise of the rank": int(noise.noise(keys, secret=secret)[0]),
        "least published count": noise.least_count,
    }


def _ranks(cells: Cells, categories: Mapping[str, str]) -> list[int]:
    """Find the category of each axis; totals where none is wanted."""
    all_ranks, levels = [], []
    for axis in cells.axes:
        is_wanted, is_finer = np.ones(axis.size, bool), True
        for column, labels in zip(axis.columns[::-1], axis.labels[::-1], strict=True):
            if column in categories or is_finer:
                is_wanted &= labels == categories.get(column, labels[0])
                is_finer = is_finer and column not in categories
        ranks = np.flatnonzero(is_wanted).tolist()
        if len(ranks) != 1:
            pairs = zip(axis.columns, axis.labels, strict=True)
            names = {column: labels for column, labels in pairs if column in categories}
            for column, labels in names.items():
                _require_category(column, categories[column], list(dict.fromkeys(labels)))
            raise DataError(
                Message(
                    "{number} categories of {names} fit what is given, not one.",
                    number=len(ranks),
                    names=Enumeration(" and ", Name.each(names)),
                ),
                hint=Message("write codes as the file does, and those above them"),
            )
        all_ranks += ranks
        level_ranks = (level.ranks[level.is_shown] for level in axis.levels)
        levels += [height for height, members in enumerate(level_ranks) if ranks[0] in members]
    if tuple(levels) not in cells.level_sets:
        raise ConfigError(
            Message("The table does not publish this margin."),
            hint=Message("give a category of each dimension, or see margins in the job"),
        )
    return all_ranks


def _require_category(column: str, category: str, categories: list[str]) -> None:
    """Refuse a category that is not there; what is there is told on the terminal alone."""
    if category not in categories:
        names = [*categories[1:_LISTED], *["…"] * (len(categories) > _LISTED)]
        there = Message("there are: {names}", names=Name.each(names))
        raise DataError(
            Message(
                "The column {column!r} has no category {category!r}.",
                column=Name(column),
                category=Name(category),
            ),
            hint=Message("write codes as the file does; a terminal lists them"),
            inside=joined(" ", filter(None, [did_you_mean(category, categories), there])),
        )


def _name(cells: Cells, ranks: list[int], table: str, request: TableRequest) -> CellName:
    words = tuple(
        (column, str(labels[rank]))
        for axis, rank in zip(cells.axes, ranks, strict=True)
        for column, labels in zip(axis.columns, axis.labels, strict=True)
    )
    return CellName(table=table, where=request.where, categories=words)


def _number(table: PublishedTable, cell: CellName, request: TableRequest, measure: str) -> Any:
    """Return the number of a cell as the files hold it."""
    here = np.ones(table.n_rows, bool)
    for column, label in cell.categories:
        codes, labels = table.dimensions[column]
        here &= codes == (labels.index(label) if label in labels else -1)
    columns = measure_columns(request.measures, table.dimensions)
    numbers = {name: table.measures[column] for column, name in columns.items()}
    return next(iter(numbers[measure][here].tolist()), _LEFT_OUT)
