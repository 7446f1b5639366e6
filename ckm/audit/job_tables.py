"""The query space of a release: all tables of a job, and the earlier ones of its ledger."""

import itertools
import json
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from ckm.audit.audit import Auditor
from ckm.audit.query_space import QuerySpace, query_space
from ckm.config.job.job import Job
from ckm.config.read import build, open_settings, read_job
from ckm.config.service.rules import RuleSettings
from ckm.config.service.service import Service
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from ckm.ledger import Definition
from ckm.ledger.ledger import list_published
from ckm.ledger.protection import NOISE
from ckm.ledger.storage.store import has_ledger
from ckm.release.job_inputs import load_ptable, open_engine
from ckm.service.answering.answer import Answerer
from ckm.service.answering.query import Query, Selection
from ckm.service.answering.variables import Variable
from ckm.service.process.server import open_answerer
from footing.errors import ExplainedError
from footing.messages import Message, Name
from footing.progress import Progress
from ptable import NoiseSpec, solve

_OF_A_JOB = ("data", "keys", "ptable")
_NO_RULES = {
    name: False
    for name, field in RuleSettings.model_fields.items()
    if type(None) in get_args(field.annotation)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseTables:
    """The tables of a release that are looked at, and those that are not.

    Parameters
    ----------
    service
        The service that has these tables and no others.
    tables
        What each that is looked at is called → what an engine is asked for.
    left_out
        Name of a table → why it is not.
    sums
        What there is to say of the sums of the job, at which the audit does not look.
    """

    service: Service
    tables: Mapping[str, TableRequest]
    left_out: Mapping[str, str]
    sums: tuple[str, ...] = ()


def open_release(
    path: Path,
    *,
    small: int = 2,
    confidence: float = 0.95,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[QuerySpace, Auditor, ReleaseTables]:
    """Build all cells of the tables of a job; return them, who attacks them, and their names.

    Earlier tables of the ledger are built from the records as they are now: where these have
    changed since, the audit takes the earlier tables for those of today.

    Parameters
    ----------
    path
        The job file.
    small, confidence
        See `ckm.audit.audit.Audit`.
    progress
        Called with a stage, what is done and all of it.
    is_over
        Asked whether to leave out the tables that were not yet built.

    Raises
    ------
    ConfigError
        If the job has no table of counts, or a table has too many combinations of levels.
    """
    job = read_job(path)
    if job.ptable is None:
        raise ConfigError(
            Message(
                "The job {path!r} has no noise: it is one for suppression or rounding.",
                path=Name(path.name),
            ),
            hint=Message(
                "ckm suppress audits its own tables; ckm audit takes jobs with [ptable]"
            ),
        )
    release = _release(path, job)
    with open_answerer(release.service, is_kept=False, is_checked=False) as answerer:
        answers = answerer()
        release = _without_nobody(release, answers)
        queries = {name: _query(one, job, answers) for name, one in release.tables.items()}
        refused = [name for name, one in queries.items() if answers.permitted(one) is None]
        if refused:
            raise ConfigError(
                Message(
                    ("[[table]] {refused!r} has too many combinations of levels to examine."),
                    refused=Name(refused[0]),
                ),
                hint=Message("fewer margins or dimensions, or split it"),
            )
        space = query_space(answers, queries.values(), progress=progress, is_over=is_over)
        table = answers.ptable
    if release.service.populations:
        filters = [of.where for of in release.service.populations.values()]
        space = replace(space, level_names=(*space.level_names[:-1], ("", *filters)))
    release = replace(release, sums=_sums(job))
    return space, Auditor(small=small, confidence=confidence, ptable=table), release


def _sums(job: Job) -> tuple[str, ...]:
    """Say which sums of a job have the noise of counts, too; refuse those that are counts."""
    summed = {name: table for name, table in job.tables.items() if table.variables}
    if not summed:
        return ()
    with open_engine(job, load_ptable(job)) as engine:
        return tuple(engine.cautions_of_sums(summed))


def _release(path: Path, job: Job) -> ReleaseTables:
    """List the tables of counts of a job, and the earlier ones that can be built again."""
    requests: dict[str, TableRequest] = {}
    left_out = {}
    for table in job.table:
        if "count" in table.measures:
            requests[table.name] = TableRequest(
                dimensions=table.dimensions, margins=table.margins, where=table.where
            )
        else:
            left_out[table.name] = "it publishes no counts"
    request_set = {*requests.values()}
    for name, earlier in _earlier(path, job):
        if earlier is None:
            left_out[name] = "the job cannot build it, or a caller chose its categories"
        elif earlier not in request_set:
            request_set.add(earlier)
            requests[name] = earlier
    if not requests:
        raise ConfigError(
            Message("No table of the job publishes counts: there is nothing to audit.")
        )
    service = _service(path, job, requests.values())
    return ReleaseTables(service=service, tables=requests, left_out=left_out)


def _earlier(path: Path, job: Job) -> Iterator[tuple[str, TableRequest | None]]:
    """Give the name of each earlier table, and the table if it can be built again."""
    ledger = job.ledger
    if ledger is None or not has_ledger(ledger.target):
        return
    with open_engine(job, solve(NoiseSpec(max_noise=2, variance=1.0)), noises={}) as engine:
        for one in list_published(ledger.target):
            has_noise = one.definition.method == NOISE
            if has_noise and one.history in {ledger.history, *ledger.also}:
                name = f"{one.definition.name} (ledger {one.number})"
                name = "".join(sign if sign.isprintable() else "?" for sign in name)
                try:
                    request = _request_of(one.definition)
                    engine.validate({name: request})
                    _service(path, job, [request])
                except (ExplainedError, RecursionError, ValueError):
                    yield name, None
                else:
                    yield name, request


def _request_of(definition: Definition) -> TableRequest:
    """Read what the ledger has of a table; a ValueError where it was chosen by a caller."""
    margins: Any = definition.margins
    if margins not in {"all", "none"}:
        lists = json.loads(margins)
        if not isinstance(lists, list) or not all(isinstance(some, list) for some in lists):
            raise ValueError
        if not all(isinstance(text, str) for some in lists for text in some):
            raise ValueError
        margins = tuple(map(tuple, lists))
    return TableRequest(
        dimensions=definition.dimensions, margins=margins, where=definition.where
    )


def _service(path: Path, job: Job, tables: Collection[TableRequest]) -> Service:
    """Describe the tables as those of a service without rules on counts."""
    reading, document = open_settings(path, kind="job")
    filters = dict.fromkeys(table.where for table in tables if table.where)
    names = dict.fromkeys(_variable(name, job) for table in tables for name in table.dimensions)
    service = build(
        Service,
        {
            "schema": 1,
            "service": {
                "title": document.get("title") or path.stem,
                "total_label": job.output.total_label,
                "missing_label": job.output.missing_label,
            },
            **{key: document[key] for key in _OF_A_JOB if key in document},
            **{
                key: {name: of for name, of in document.get(key, {}).items() if name in names}
                for key in ("hierarchies", "categories")
            },
            "variable": [{"name": name} for name in names],
            "population": [
                {"name": f"filter-{place}", "title": where, "where": where}
                for place, where in enumerate(filters)
            ],
            "rules": _NO_RULES,
        },
        reading,
    )
    levels = (h for h in job.hierarchies.values() if isinstance(h, list) and len(h) > 1)
    service.take_derived(job.variable)
    service.take_discrete([*itertools.chain.from_iterable(levels), *job.continuous])
    return service


def _columns(dimension: str, job: Job) -> list[str]:
    """Return the columns of a dimension, from broad to fine; of a code tree its name."""
    hierarchy = job.hierarchies.get(dimension)
    return list(hierarchy) if isinstance(hierarchy, list) else [dimension]


def _variable(dimension: str, job: Job) -> str:
    """Return the longest hierarchy that begins with the columns of a dimension, or itself."""
    columns = _columns(dimension, job)
    nested = [
        name for name in job.hierarchies if _columns(name, job)[: len(columns)] == columns
    ]
    return max(nested, key=lambda name: len(_columns(name, job)), default=dimension)


def _without_nobody(release: ReleaseTables, answers: Answerer) -> ReleaseTables:
    """Leave out the tables whose filter no record passes."""
    inside = answers.memberships()
    empty = {
        one.where for name, one in release.service.populations.items() if not inside[name].any()
    }
    left_out = {
        name: "no record passes its filter"
        for name, table in release.tables.items()
        if table.where in empty
    }
    tables = {name: one for name, one in release.tables.items() if name not in left_out}
    return replace(release, tables=tables, left_out={**release.left_out, **left_out})


def _query(table: TableRequest, job: Job, answers: Answerer) -> Query:
    """Return the query that has the cells of a table."""
    variables, inside = answers.variables, answers.memberships()
    sets = set(_level_sets(table, job, variables))
    names = dict.fromkeys(_variable(name, job) for name in table.dimensions)
    selections = []
    for place, name in enumerate(names):
        levels = {levels[place] for levels in sets} - {len(variables[name].level_names)}
        ranks = sorted({rank for level in levels for rank in variables[name].ranks(level)})
        selections.append(Selection(variable=name, ranks=(0, *map(int, ranks))))
    filters = {
        one.where: name
        for name, one in answers.service.populations.items()
        if not inside[name].all()  # a filter that all records pass is none
    }
    return Query(
        selections=tuple(selections),
        margins=frozenset(sets),
        population=filters.get(table.where or ""),
    )


def _level_sets(
    table: TableRequest, job: Job, variables: Mapping[str, Variable]
) -> Iterator[tuple[int, ...]]:
    """Give the combinations of levels of a table, a level for each variable."""
    dimensions = table.dimensions
    owns = [_variable(name, job) for name in dimensions]
    margins: Iterable[Collection[str]] = () if isinstance(table.margins, str) else table.margins
    if table.margins == "all":
        sizes = range(len(dimensions) + 1)
        margins = (some for size in sizes for some in itertools.combinations(dimensions, size))

    def choices(name: str, own: str, margin: Collection[str]) -> Sequence[int]:
        levels = variables[own].level_names
        mine = [column for column in reversed(_columns(name, job)) if column in levels]
        if name in margin:
            return [levels.index(column) for column in mine] or range(len(levels))
        return [levels.index(c) for c in mine if c in margin] or [len(levels)]

    pairs = list(zip(dimensions, owns, strict=True))
    finest = [choices(name, own, dimensions)[0] for name, own in pairs]
    every = itertools.chain.from_iterable(
        itertools.product(*(choices(*pair, margin) for pair in pairs)) for margin in margins
    )
    for levels in [finest, *every]:
        by_name = sorted(
            zip(owns, levels, strict=True), key=operator.itemgetter(1), reverse=True
        )
        least = dict(by_name)  # of two columns of a hierarchy the finer one tells the other
        yield tuple(least[own] for own in dict.fromkeys(owns))
