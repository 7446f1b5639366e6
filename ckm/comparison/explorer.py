"""What the page for trying designs begins with: a job's p-table and prior, or textbooks'."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ckm.errors import ConfigError
from footing.messages import Message
from reports.facts.explorer import ExplorerFacts, ShownDesign

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ptable import PTable

#: Counts of the longest prior that the page has; the rest counts as the last.
_MOST = 200
#: Where the controls stand without options or a job: the preset of the demonstration.
_START = {
    "noise": 5,
    "variance": 3.0,
    "small": 2,
    "stay": 0.0,
    "sensitive": 2,
    "posterior": 0.75,
    "floor": 2.0,
}
#: What the sliders reach.
LARGEST_NOISE, LARGEST_SMALL, LARGEST_VARIANCE = 15, 9, 40.0


def explorer_facts(
    job: Path | None, start: Mapping[str, float], *, name_of_own: str, has_field: bool = True
) -> tuple[ExplorerFacts, tuple[str, ...]]:
    """Give what the page begins with, and what there is to say of the priors.

    Parameters
    ----------
    job
        The job file whose p-table and prior are shown; None for the priors of textbooks.
    start
        Where controls stand at first, where not as in the demonstration.
    name_of_own
        What the p-table of the job is called on the page.
    has_field
        Whether designs that offices documented stand beside.

    Raises
    ------
    ConfigError
        If the job cannot be read.
    """
    from ckm import __version__
    from ptable.advice.frontier import designs_of_the_field

    priors: dict[str, tuple[float, ...]] = {}
    own, title = None, ""
    cautions: tuple[str, ...] = ()
    if job is not None:
        own, prior, title, cautions = _of_job(job)
        if prior is not None:
            priors["tables"] = _shortened(prior)
    beginning = _START | (_beginning(own) if own is not None else {}) | dict(start)
    beginning["sensitive"] = start.get("sensitive", max(2, beginning["small"]))
    beginning["floor"] = start.get("floor", min(_START["floor"], beginning["variance"]))
    field = designs_of_the_field() if has_field else {}
    facts = ExplorerFacts(
        version=__version__,
        start=beginning,
        priors={**priors, **_textbook()},
        designs=tuple(shown(name, table) for name, table in field.items()),
        own=None if own is None else shown(name_of_own, own),
        title=title,
        has_records="tables" in priors,
    )
    return facts, cautions


def _of_job(job: Path) -> tuple[PTable | None, Any, str, tuple[str, ...]]:
    from ckm.config.read import read_job, read_job_for_its_tables
    from ckm.release.job_inputs import load_ptable
    from ckm.release.prior_of_tables import prior_of_tables

    title = str(read_job_for_its_tables(job).title_of() or "")
    own = load_ptable(read_job(job))
    try:
        return own, prior_of_tables(job), title, ()
    except ConfigError as error:  # so few cells tell nothing but themselves
        return own, None, title, (error.problem,)


def _textbook() -> dict[str, tuple[float, ...]]:
    from ckm.config.job.limits import TEXTBOOK

    counts = range(1, _MOST + 1)
    return {
        "textbook": _shortened(TEXTBOOK),
        "geometric": (0.0, *(2.0**-i for i in counts)),
        "even": (0.0, *(1 / _MOST for _ in counts)),
    }


def _shortened(prior: Any) -> tuple[float, ...]:
    shares = [float(one) for one in prior]
    return (*shares[:_MOST], math.fsum(shares[_MOST:])) if len(shares) > _MOST else (*shares,)


def _beginning(own: PTable) -> dict[str, float]:
    """Set the controls to a p-table of counts, as far as they reach."""
    largest = max(_variance(own, row) for row in range(own.n_rows))
    small = 0
    while small < LARGEST_SMALL and not own.transition[:, small + 1].any():
        small += 1
    return {
        "noise": min(own.max_noise, LARGEST_NOISE),
        "variance": min(round(largest, 1), LARGEST_VARIANCE),
        "small": small,
    }


def _variance(own: PTable, row: int) -> float:
    units = own.units(row)
    mean = sum(v * n for v, n in units.items()) / own.key_range
    return sum(v * v * n for v, n in units.items()) / own.key_range - mean**2


def shown(name: str, table: PTable) -> ShownDesign:
    """Give a p-table of counts as the page reads it.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> design = shown("own", solve(NoiseSpec(max_noise=1, variance=0.5)))
    >>> design.rows[1]
    ((-1, 0.25), (0, 0.5), (1, 0.25))
    """
    from ptable.lookup import cycle_length

    if table.step != 1 or table.anchors is not None:
        raise ConfigError(
            Message("The page is for p-tables of counts, not of magnitudes."),
            hint=Message("leave the job out, or take one whose p-table is for counts"),
        )
    return ShownDesign(
        name=name,
        rows=tuple(
            tuple((int(v), n / table.key_range) for v, n in table.units(row).items())
            for row in range(table.n_rows)
        ),
        cycle=cycle_length(table.large_counts, n_rows=table.n_rows),
    )
