"""Compare designs of noise on the tables of a job; original counts stay in the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptable.table import PTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckm.config.job import Job
    from risk.designs import MapDesign
    from risk.map_result import RiskUtilityMap

__all__ = ["compare"]


def compare(
    job: Job,
    designs: Mapping[str, MapDesign],
    *,
    sensitive: Sequence[int] = (1, 2, 3, 4),
    n_draws: int = 1,
    seed: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> RiskUtilityMap:
    """Tabulate the tables of a job once and map the risk and the utility of designs.

    The map is for inside: its figures follow from original counts.

    Parameters
    ----------
    job
        The job, from `ckm.config.read_job`.
    designs
        Name → design, see `risk.map.risk_utility_map`.
    sensitive, n_draws
        As there.
    seed
        Of the keys that are drawn; the same seed gives the same map.
    progress
        Called with a stage, how much of it is done, and how much there is.
    memory_limit, threads
        Limits of the tabulation; they never change a result.

    Examples
    --------
    >>> from ckm.config import read_designs, read_job
    >>> job = read_job("job.toml")  # doctest: +SKIP
    >>> compare(job, read_designs("designs.toml"))  # doctest: +SKIP
    """
    from ckm.opening import open_engine
    from risk.map import risk_utility_map

    no_noise = PTable(noise=[[0]], upper=[[8]], key_range=8)  # type: ignore[arg-type]
    with open_engine(job, no_noise, memory_limit=memory_limit, threads=threads) as engine:
        histograms = engine.histograms(job.tables, progress=progress)
    return risk_utility_map(
        designs,
        histograms,
        rng=np.random.default_rng(seed),
        sensitive=sensitive,
        n_draws=n_draws,
        progress=progress,
    )
