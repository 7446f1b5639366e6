"""Other records in place of the true ones: swapped, or synthetic."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ckm.comparison.testbed import Testbed, dimensions_of
from ckm.config.job.job import Job
from ckm.errors import ConfigError
from risk.criteria.coded import CodedRecords, CubeRequest

Numbers = NDArray[np.float64]

_PLACE, _HOME = "place", "home"
_MAX_SYNTHETIC = 5_000_000


def swapped_records(
    testbed: Testbed,
    *,
    k: int,
    rate: float,
    seed: int,
    household: str | None = None,
    risk: Sequence[str] | None = None,
) -> tuple[CodedRecords, Mapping[str, float | None]]:
    """Swap households between areas, and tell what moved."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tables import open_source
    from tables.swapping import swap_records

    codes = testbed.records.codes
    fixed = {testbed.geography, *testbed.moving}
    rest = [place for place in range(codes.shape[1]) if place not in fixed]
    wanted = rest if risk is None else [testbed.place(name) for name in risk]
    if fixed & set(wanted):
        raise ConfigError(
            "risk names dimensions of areas, which cannot say what is alike.",
            hint="name others",
        )
    areas = {f"g{n}": code for n, code in enumerate(testbed.coarser)}
    areas |= {f"a{place}": codes[:, place] for place in (testbed.geography, *testbed.moving)}
    home = np.arange(len(codes)) if household is None else testbed.households[household]
    records = pa.table(
        {
            _PLACE: np.arange(len(codes)),
            _HOME: home,
            **areas,
            **{f"a{place}": codes[:, place] for place in rest},
        }
    )
    with tempfile.TemporaryDirectory() as folder, open_source(records) as source:
        path = Path(folder) / "swapped.parquet"
        report = swap_records(
            source,
            household=_HOME,
            geography=list(areas),
            risk=[f"a{place}" for place in wanted],
            k=k,
            rate=rate,
            seed=seed,
            path=path,
        )
        moved = pq.read_table(path)
    swapped = codes.copy()
    order = moved[_PLACE].to_numpy()
    for place in fixed:
        swapped[order, place] = moved[f"a{place}"].to_numpy()
    n = max(1, report.households)
    return CodedRecords(swapped, sizes=testbed.records.sizes), {
        "moved_households": report.share,
        "moved_records": report.share_of_records,
        "at_risk": sum(report.needed) / n,
        "not_moved": sum(report.not_moved) / n,
    }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticMethod:
    """Count synthetic records; nobody of the true ones is among them to be left out.

    Parameters
    ----------
    records
        The synthetic records.
    """

    records: CodedRecords

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Count the records."""
        return self.records.counts(replace(request, without=())).astype(np.float64)


def read_synthetic(
    path: Path, job: Job, testbed: Testbed
) -> tuple[CodedRecords, Mapping[str, float | None]]:
    """Read synthetic records of the same columns, those that the bench has categories for."""
    from tables import derive_variables, open_source
    from tables.sample import read_sample

    requests = {
        name: replace(request, categories={}) for name, request in dimensions_of(job).items()
    }
    with open_source(str(path)) as source:
        derive_variables(source, job.derived)
        found = read_sample(source, None, requests=requests, most_records=_MAX_SYNTHETIC)
    codes = np.zeros((len(found), len(testbed.names)), np.int64)
    for place, name in enumerate(testbed.names):
        if name:
            level = testbed.depths[place]
            dimension = found.dimensions[name]
            numbers = {label: number for number, label in enumerate(testbed.labels[place])}
            known = [numbers.get(label, -1) for label in dimension.labels[level]]
            codes[:, place] = np.array(known, np.int64)[dimension.codes[level]]
    fits = np.asarray((codes >= 0).all(axis=1))
    if not fits.any():
        raise ConfigError(
            "No synthetic record has the categories of the sample.",
            hint="codes must be written as in the data of the job",
        )
    share = float(np.count_nonzero(~fits)) / len(fits)
    kept = CodedRecords(codes[fits], sizes=testbed.records.sizes)
    return kept, {"left_out": share, "size": len(kept) / len(testbed.records)}
