"""Other records in place of the true ones: swapped, or synthetic."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ckm.comparison.bench import Bench, answering, cells_of, dimensions_of
from ckm.errors import ConfigError
from footing.messages import Message, Name
from risk.criteria.answers import Answer, identity_of
from tables.sample import CODE, ROW

if TYPE_CHECKING:
    from ckm.config.job.job import Job
    from ckm.engine.request import TableRequest
    from tables import Cells

_PLACE, _HOME = "place", "home"
_MAX_SYNTHETIC = 5_000_000


class RecordsTrial:
    """Count other records as if they were the true ones.

    Parameters
    ----------
    bench
        The true records.
    job
        A job with the others in place of them.
    facts
        What is to be told of them.
    has_persons
        Whether the true persons are among them, so that one can be left out.
    """

    def __init__(
        self,
        bench: Bench,
        job: Job,
        facts: Mapping[str, float | None],
        *,
        has_persons: bool,
    ) -> None:
        self._bench, self._facts = bench, facts
        requests = dict(bench.questions.requests)
        if not has_persons:
            requests |= {
                absent: requests[present] for _, present, absent in bench.questions.sought
            }
        self._cells = {**cells_of(job, bench.counted), **cells_of(answering(job), requests)}

    def planned(self) -> dict[str, Answer]:
        """Count."""
        return {name: self._counted(name) for name in self._bench.counted}

    again = planned

    def alone(self, office: int) -> dict[str, Answer]:
        """Count: offices share the records."""
        del office
        return self.planned()

    def ask(self, questions: Mapping[str, TableRequest]) -> Mapping[str, Answer | None]:
        """Count."""
        return {name: self._counted(name) for name in questions}

    def facts(self) -> Mapping[str, float | None]:
        """Tell what was done to the records."""
        return self._facts

    def _counted(self, name: str) -> Answer:
        return counted_as(self._bench.truth(name), self._cells[name])


def counted_as(truth: Answer, cells: Cells) -> Answer:
    """Return the counts of other cells in the places of the true ones; 0 where there is none.

    Other cells of the same categories stand behind them, with a true count of 0.
    """
    other = Answer(
        axes=cells.axes,
        ranks=cells.ranks,
        level_sets=cells.level_sets,
        count=np.zeros(len(cells), np.int64),
        published=cells.count.astype(np.float64),
    )
    here, there = truth.common(other)
    published = np.zeros(len(truth.count))
    published[here] = other.published[there]
    rest = np.setdiff1d(np.arange(len(cells)), there)
    ranks = []
    for axis, own, rank in zip(truth.axes, cells.axes, cells.ranks, strict=True):
        rank_of = {category: r for r, category in enumerate(identity_of(axis).tolist())}
        places = [rank_of.get(category, -1) for category in identity_of(own).tolist()]
        ranks.append(np.array(places, np.int32)[rank[rest]])
    is_known = np.ones(len(rest), bool)
    for rank in ranks:
        is_known &= rank >= 0
    more = [rank[is_known] for rank in ranks]
    return replace(
        truth,
        ranks=tuple(np.append(r, m) for r, m in zip(truth.ranks, more, strict=True)),
        count=np.append(truth.count, np.zeros(int(is_known.sum()), np.int64)),
        published=np.append(published, other.published[rest[is_known]]),
    )


def swapped_trial(
    bench: Bench,
    *,
    k: int,
    rate: float,
    seed: int,
    household: str | None = None,
    risk: Sequence[str] | None = None,
) -> RecordsTrial:
    """Swap households between areas, and count."""
    if bench.geography is None:
        raise ConfigError(Message("No dimension tells areas, and households change areas."))
    moved = (bench.geography, *bench.moving)
    codes, facts = _swapped_codes(
        bench, moved, k=k, rate=rate, seed=seed, household=household, risk=risk
    )
    file = bench.folder / "swapped.parquet"
    _write_moved(bench, codes, file)
    data = bench.job.data.changed(path=file)
    return RecordsTrial(bench, bench.plain.changed(data=data), facts, has_persons=True)


def _swapped_codes(
    bench: Bench,
    moved: Sequence[str],
    *,
    k: int,
    rate: float,
    seed: int,
    household: str | None,
    risk: Sequence[str] | None,
) -> tuple[dict[str, np.ndarray], Mapping[str, float | None]]:
    """Return the new codes of what moved, by dimension."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ckm.methods.settings import SwapSettings
    from ckm.methods.swapping import RecordSwapping
    from tables import open_source
    from tables.swapping.plan import SwapPlan

    dimensions = bench.sample.dimensions
    rest = [name for name in bench.names if name not in moved]
    columns = rest if risk is None else list(risk)
    for name in columns:
        if name not in bench.names:
            raise ConfigError(
                Message("The tables have no dimension {name!r}.", name=Name(name)),
                hint=Message("they have {names!r}", names=Name.each(bench.names)),
            )
    if set(moved) & set(columns):
        raise ConfigError(
            Message("risk names dimensions of areas, which cannot say what is alike."),
            hint=Message("name others"),
        )
    above = dimensions[moved[0]].codes[1:]
    areas = {f"g{number}": code for number, code in enumerate(reversed(above))}
    areas |= {_alias(bench, name): dimensions[name].codes[0] for name in moved}
    n = bench.n_records
    home = np.arange(n) if household is None else bench.sample.groups[household]
    fixed = {_alias(bench, name): dimensions[name].codes[0] for name in rest}
    records = pa.table({_PLACE: np.arange(n), _HOME: home, **areas, **fixed})
    with tempfile.TemporaryDirectory() as folder, open_source(records) as source:
        path = Path(folder) / "swapped.parquet"
        aliases = tuple(_alias(bench, name) for name in columns)
        plan = SwapPlan(
            household=_HOME,
            geography=tuple(areas),
            risk=aliases,
            similar=((),),
            k=k,
            rate=rate,
        )
        report = RecordSwapping(SwapSettings(plan=plan, seed=seed)).write(source, path)
        table = pq.read_table(path)
    order = table[_PLACE].to_numpy()
    codes = {}
    for name in moved:
        codes[name] = np.empty(n, np.int64)
        codes[name][order] = table[_alias(bench, name)].to_numpy()
    households = max(1, report.households)
    return codes, {
        "moved_households": report.share,
        "moved_records": report.share_of_records,
        "at_risk": sum(report.needed) / households,
        "not_moved": sum(report.not_moved) / households,
    }


def _alias(bench: Bench, name: str) -> str:
    return f"a{bench.names.index(name)}"


def _write_moved(bench: Bench, codes: Mapping[str, np.ndarray], file: Path) -> None:
    """Write the records with other values where they moved to."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    original = pq.read_table(bench.file).sort_by(ROW)  # as the codes of the sample
    requests = dimensions_of(bench.job)
    records = original
    for name, code in codes.items():
        before = bench.sample.dimensions[name].codes[0]
        _, first = np.unique(before, return_index=True)
        row_of = np.full(int(before.max()) + 1, -1)
        row_of[before[first]] = first
        rows = pa.array(row_of[code])
        for column in (*requests[name].columns, bench.code_of(name)):
            if column not in records.column_names:
                raise ConfigError(
                    Message(
                        "The areas {name!r} are made of other columns, which do not move.",
                        name=Name(name),
                    ),
                    hint=Message("name a column of the data with geography"),
                )
            number = records.column_names.index(column)
            values = original.column(column).take(rows)  # several dimensions may move
            records = records.set_column(number, records.field(column), values)
    pq.write_table(records, file)


def synthetic_trial(bench: Bench, path: Path) -> RecordsTrial:
    """Count synthetic records; nobody of the true ones is among them to be left out."""
    file = bench.folder / "synthetic.parquet"
    facts, n_records = _write_synthetic(bench, path, file)
    keys = {"id": None, "record_key": ROW, "key_range": max(2, n_records)}
    data = bench.job.data.changed(path=file, **keys)
    return RecordsTrial(bench, bench.plain.changed(data=data), facts, has_persons=False)


def _write_synthetic(
    bench: Bench, path: Path, file: Path
) -> tuple[Mapping[str, float | None], int]:
    """Write the synthetic records that the bench has categories for, with its codes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tables import open_source
    from tables.recoding.derive import derive_variables
    from tables.sample import read_sample

    requests = {
        name: replace(request, categories={})
        for name, request in dimensions_of(bench.job).items()
    }
    with open_source(str(path)) as source:
        derive_variables(source, bench.job.derived)
        sample = read_sample(
            source, None, requests=requests, most_records=_MAX_SYNTHETIC, copy=file
        )
    records, is_known = pq.read_table(file).sort_by(ROW), np.ones(len(sample), bool)
    for place, name in enumerate(bench.names):
        own = bench.sample.dimensions[name]
        present = set(np.unique(own.codes[0]).tolist())
        numbers = {label: code for code, label in enumerate(own.labels[0]) if code in present}
        dimension = sample.dimensions[name]
        own_codes = np.array(
            [numbers.get(label, -1) for label in dimension.labels[0]], np.int64
        )
        code = own_codes[dimension.codes[0]]
        is_known &= code >= 0
        column = f"{CODE}{place}"
        number = records.column_names.index(column)
        records = records.set_column(number, column, pa.array(code))
    if not is_known.any():
        raise ConfigError(
            Message("No synthetic record has the categories of the sample."),
            hint=Message("codes must be written as in the data of the job"),
        )
    records = records.filter(pa.array(is_known))
    pq.write_table(records, file)
    n_known = int(is_known.sum())
    facts = {"left_out": 1 - n_known / len(sample), "size": n_known / bench.n_records}
    return facts, len(sample)
