"""All ways to share places, on the same people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rappor.location.noisy import geo_indistinguishable, rappor_cells
from rappor.location.strategies import cloaking, dummies, mix_zones, open_traces

if TYPE_CHECKING:
    import numpy as np

    from rappor.client.permanent import SecretKey
    from rappor.location.areas import Grid
    from rappor.location.collect import Collection
    from rappor.location.outcome import Outcome
    from rappor.location.people import Traces


def compare(
    traces: Traces,
    *,
    grid: Grid,
    collection: Collection,
    secret: SecretKey,
    rng: np.random.Generator,
    k: int = 10,
    n_zones: int = 10,
    n_dummies: int = 5,
    epsilon: float = 0.5,
) -> tuple[Outcome, ...]:
    """Judge pseudonyms, mix-zones, cloaking, dummies, geo-indistinguishability and RAPPOR.

    Parameters
    ----------
    traces
        The people.
    grid
        The cells.
    collection
        How people report by RAPPOR; its areas are those of the grid.
    secret
        From which permanent responses derive.
    rng
        Source of chance: same seed, same figures.
    k
        Size of the crowd of cloaking.
    n_zones
        Number of mix-zones.
    n_dummies
        Number of dummies a report.
    epsilon
        Loss of one geo-indistinguishable report per unit of distance.

    Examples
    --------
    >>> import numpy as np
    >>> from tables import Secret
    >>> from rappor.location.areas import Grid
    >>> from rappor.location.collect import Collection
    >>> from rappor.location.people import moving_people
    >>> rng = np.random.default_rng(1)
    >>> grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 3))
    >>> people = moving_people(40, n_days=7, grid=grid, rng=rng)
    >>> design = Collection(areas=grid.areas(), f=0.5, p=0.25, q=0.75)
    >>> found = compare(people, grid=grid, collection=design, secret=Secret(bytes(16)), rng=rng)
    >>> [outcome.name for outcome in found][-2:]
    ['geo-indistinguishability', 'RAPPOR']
    """
    return (
        open_traces(traces, grid=grid, rng=rng),
        mix_zones(traces, grid=grid, n_zones=n_zones, rng=rng),
        cloaking(traces, grid=grid, k=k, rng=rng),
        dummies(traces, grid=grid, n_dummies=n_dummies, rng=rng),
        geo_indistinguishable(traces, grid=grid, epsilon=epsilon, rng=rng),
        rappor_cells(traces, collection=collection, secret=secret, rng=rng),
    )
