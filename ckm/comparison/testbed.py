"""The records and tables of a job as a bench on which any method can be tried."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ConfigError
from risk.criteria.coded import CodedRecords

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.config.comparison.method_settings import Experiment
    from ckm.config.job.job import Job
    from tables import HashedKeys, Request, Secret, StoredKeys
    from tables.sample import Label, RecordSample, SampledDimension

    Codes = NDArray[np.int64]

#: A coarser level of a hierarchy is taken where a finer one has more categories.
_MAX_CATEGORIES = 100
#: Larger tables, margins included, are left out.
_MAX_CELLS = 50_000
_EVERYWHERE = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Testbed:
    """Records as codes, and the tables that are planned of them. Disclosive.

    Parameters
    ----------
    records
        The records.
    names
        The dimension behind each attribute; empty for one that holds everybody.
    labels
        The categories of each attribute.
    depths
        The level of each attribute in its dimension, 0 for the finest.
    tables
        The attributes of each planned table.
    geography, target
        The attribute of areas, and the one that an intruder wants to know.
    coarser
        Codes of the areas that hold those of the geography, broad to fine.
    moving
        Attributes that move with a household beside the geography.
    record_keys, key_range
        The key of every record.
    households
        Column → which household every record belongs to.
    n_records
        How many records the job has.
    drawn
        How the sample was drawn, see `tables.sample.RecordSample`.
    left_out
        Names of tables that are too large.
    filtered, summed, levels
        Names of tables whose filter was left out and whose sums were, and dimension → the
        column of the level that was taken where it is not the finest.
    """

    records: CodedRecords
    names: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    depths: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]
    geography: int
    target: int
    coarser: tuple[Codes, ...]
    moving: tuple[int, ...]
    record_keys: NDArray[np.uint64]
    key_range: int
    households: Mapping[str, Codes] = field(default_factory=dict)
    n_records: int = 0
    drawn: str = "all"
    left_out: tuple[str, ...] = ()
    filtered: tuple[str, ...] = ()
    summed: tuple[str, ...] = ()
    levels: Mapping[str, str] = field(default_factory=dict)

    def place(self, name: str) -> int:
        """Return the attribute of a dimension."""
        if name not in self.names:
            known = ", ".join(repr(n) for n in self.names if n)
            raise ConfigError(
                f"The tables have no dimension {name!r}.", hint=f"they have {known}"
            )
        return self.names.index(name)

    @property
    def n_cells(self) -> int:
        """How many cells the tables have, margins and empty ones included."""
        sizes = self.records.sizes
        return sum(int(np.prod([sizes[place] + 1 for place in t])) for t in self.tables)

    def narrowed(self, most_cells: int, *, seed: int) -> Testbed:
        """Return the records of fewer areas, so that the tables have at most so many cells."""
        n_areas = self.records.sizes[self.geography]
        order = np.random.default_rng(seed).permutation(n_areas)
        found = self
        while found.n_cells > most_cells:
            n_areas = n_areas * 2 // 3
            if n_areas < 2:
                raise ConfigError(
                    f"The tables of two areas have more than {most_cells:,} cells.",
                    hint="allow more with most_cells, which takes time",
                )
            found = self._of_areas(order[:n_areas])
        return found

    def _of_areas(self, areas: Codes) -> Testbed:
        kept = np.isin(self.records.codes[:, self.geography], areas)
        codes, labels = [], []
        for column, known in zip(self.records.codes[kept].T, self.labels, strict=True):
            present, dense = np.unique(column, return_inverse=True)
            codes.append(dense)
            labels.append(tuple(known[code] for code in present.tolist()))
        return replace(
            self,
            records=CodedRecords(
                np.column_stack(codes), sizes=tuple(len(used) for used in labels)
            ),
            labels=tuple(labels),
            coarser=tuple(code[kept] for code in self.coarser),
            record_keys=self.record_keys[kept],
            households={name: code[kept] for name, code in self.households.items()},
        )


def open_testbed(
    job: Job,
    experiment: Experiment,
    *,
    secret: Secret | None,
    households: Sequence[str] = (),
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Testbed:
    """Read the records of a job, a sample where there are many, and plan its tables.

    Filters and sums are left out: all tables count all records. Every other dimension is
    taken at its finest level of at most 100 categories.
    """
    from tables import derive_variables, open_source
    from tables.sample import read_sample

    if job.data.cells is not None:
        raise ConfigError(
            "Methods are tried on records, and the data of the job are cells.",
            hint="compare designs of noise: ckm compare JOB.toml DESIGNS.toml",
        )
    requests = dimensions_of(job)
    geography, target = _roles(job, experiment, tuple(requests))
    data = job.data.local
    with open_source(
        data.place,
        table=data.table,
        options=data.read_options,
        memory_limit=memory_limit,
        threads=threads,
    ) as source:
        derive_variables(source, job.derived)
        sample = read_sample(
            source,
            _record_keys(job, secret),
            requests=requests,
            area=geography,
            groups=tuple(dict.fromkeys(households)),
            most_records=experiment.records,
            most_areas=experiment.most_areas,
            seed=experiment.seed,
            tolerate_missing_keys=job.keys.checks != "stop",
        )
    return _testbed(job, experiment, requests, sample, (geography, target))


def _record_keys(job: Job, secret: Secret | None) -> HashedKeys | StoredKeys:
    from tables import HashedKeys, StoredKeys

    if job.data.id is not None and secret is not None:
        return HashedKeys(column=job.data.id, secret=secret)
    return StoredKeys(column=str(job.data.record_key), key_range=job.data.key_range)


def dimensions_of(job: Job) -> dict[str, Request]:
    """Ask for every dimension of a job's tables by itself, with hierarchy and categories."""
    from ckm.engine.inputs import as_hierarchy, find_categories
    from ckm.engine.request_fitting import nested_columns
    from tables import Request

    names = dict.fromkeys(name for table in job.tables.values() for name in table.dimensions)
    if not names:
        raise ConfigError("No table of the job has a dimension.", hint="name one to compare on")
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
            known = ", ".join(map(repr, names))
            raise ConfigError(
                f"{what} must be a dimension of the tables, not {name!r}.",
                hint=f"they have {known}",
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
            f"geography and target are both {target!r}.",
            hint="an intruder knows the area and wants to know something else",
        )
    return geography, target


def _target(job: Job, geography: str, areas: set[str], names: tuple[str, ...]) -> str:
    tables = [t.dimensions for t in job.tables.values() if geography in t.dimensions]
    for listed in (*tables, names):
        rest = [name for name in listed if name != geography]
        free = [name for name in rest if name not in areas]
        if free or (listed is names and rest):
            return (free or rest)[-1]
    raise ConfigError("No dimension is left that an intruder could want to know.")


def _testbed(
    job: Job,
    experiment: Experiment,
    requests: Mapping[str, Request],
    sample: RecordSample,
    roles: tuple[str | None, str],
) -> Testbed:
    geography, target = roles
    names, codes, labels, depths, levels = [], [], [], [], {}
    for name, dimension in sample.dimensions.items():
        level = _level(dimension, is_geography=name == geography)
        if level:
            columns = requests[name].columns_of(name)
            levels[name] = columns[-1 - level] if level < len(columns) else f"level {level}"
        dense, used = _used(dimension, level)
        names.append(name)
        codes.append(dense)
        labels.append(used)
        depths.append(level)
    coarser: tuple[Codes, ...] = ()
    if geography is None:
        names.append(_EVERYWHERE)
        codes.append(np.zeros(len(sample), np.int64))
        labels.append((("",),))
        depths.append(0)
    else:
        above = sample.dimensions[geography].codes[1:]
        coarser = tuple(code for code in reversed(above))
    sizes = tuple(len(used) for used in labels)
    kept, left_out = _plan(job, names, sizes)
    return Testbed(
        records=CodedRecords(np.column_stack(codes), sizes=sizes),
        names=tuple(names),
        labels=tuple(labels),
        depths=tuple(depths),
        tables=kept,
        geography=names.index(geography or _EVERYWHERE),
        target=names.index(target),
        coarser=coarser,
        moving=_moving(job, experiment, requests, names, geography),
        record_keys=sample.record_keys,
        key_range=sample.key_range,
        households=sample.groups,
        n_records=sample.n_records,
        drawn=sample.drawn,
        left_out=left_out,
        filtered=tuple(n for n, t in job.tables.items() if t.where is not None),
        summed=tuple(n for n, t in job.tables.items() if tuple(t.measures) != ("count",)),
        levels=levels,
    )


def _level(dimension: SampledDimension, *, is_geography: bool) -> int:
    """Return the finest level that is not too fine, or else the coarsest."""
    if is_geography:
        return 0
    sizes = [len(np.unique(codes)) for codes in dimension.codes]
    fitting = [level for level, size in enumerate(sizes) if size <= _MAX_CATEGORIES]
    return fitting[0] if fitting else len(sizes) - 1


def _used(dimension: SampledDimension, level: int) -> tuple[Codes, tuple[Label, ...]]:
    """Give the categories that records have numbers without a gap."""
    present, dense = np.unique(dimension.codes[level], return_inverse=True)
    labels = dimension.labels[level]
    return dense.astype(np.int64), tuple(labels[code] for code in present.tolist())


def _plan(
    job: Job, names: Sequence[str], sizes: tuple[int, ...]
) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """Return the distinct tables that are small enough, and the names of the others."""
    kept: dict[frozenset[int], tuple[int, ...]] = {}
    too_large = []
    for name, table in job.tables.items():
        places = tuple(names.index(dimension) for dimension in table.dimensions)
        cells = np.prod([float(sizes[place] + 1) for place in places])
        if not places or cells > _MAX_CELLS:
            too_large.append(name)
        else:
            kept.setdefault(frozenset(places), places)
    if not kept:
        raise ConfigError(
            f"Every table has more than {_MAX_CELLS:,} cells, or no dimension.",
            hint="compare on a job with a smaller table, or take fewer areas",
        )
    return tuple(kept.values()), tuple(too_large)


def _moving(
    job: Job,
    experiment: Experiment,
    requests: Mapping[str, Request],
    names: Sequence[str],
    geography: str | None,
) -> tuple[int, ...]:
    """Return the attributes that say where somebody lives, beside the geography."""
    if geography is None:
        return ()
    columns = set(requests[geography].columns)
    found = [
        name
        for name in names
        if name not in {geography, _EVERYWHERE}
        and (
            name in experiment.areas
            or (name in job.variables and job.variables[name].is_area)
            or columns & set(requests[name].columns)
        )
    ]
    return tuple(names.index(name) for name in found)
