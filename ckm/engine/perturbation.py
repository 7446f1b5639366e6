"""Cells in, published counts out: the cell key method itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ckm.engine.key_mixing import mix_keys
from ckm.errors import ConfigError
from footing.messages import Message

if TYPE_CHECKING:
    from footing.arrays import Integers, Words
    from ptable import PTable
    from tables import Cells, Secret


def perturb(cells: Cells, *, ptable: PTable, secret: Secret | bytes | None) -> Integers:
    """Return the published count of every cell.

    Parameters
    ----------
    cells
        The cells, non-empty.
    ptable
        The perturbation table.
    secret
        The secret that mixes the cell keys before the lookup, or the key of the mix; None
        looks them up as they are, which replays other tools.

    Returns
    -------
    numpy.ndarray
        Published counts, int64, none negative.

    Raises
    ------
    ConfigError
        If the p-table would publish a negative count.

    Notes
    -----
    published = count + noise(count, key), where noise is the p-table's row of the count,
    read at the cell's key. The key depends on the set of records in the cell, the secret
    and nothing else.

    References
    ----------
    Fraser and Wooton (2005), A proposed method for confidentialising tabular output to
    protect against differencing, UNECE/Eurostat work session on confidentiality.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from ptable import NoiseSpec, solve
    >>> from tables import HashedKeys, Request, Secret, cube, open_source
    >>> secret = Secret(bytes(16))
    >>> with open_source(pa.table({"id": range(40)})) as source:
    ...     keys = HashedKeys(column="id", secret=secret)
    ...     (cells,) = cube(source, keys, [Request(dimensions=[])])
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> abs(int(perturb(cells, ptable=table, secret=secret)[0]) - 40) <= 2
    True
    """
    return perturb_counts(
        cells.count, cells.cell_key, key_range=cells.key_range, ptable=ptable, secret=secret
    )


def perturb_counts(
    counts: Integers,
    keys: Words,
    *,
    key_range: int,
    ptable: PTable,
    secret: Secret | bytes | None,
) -> Integers:
    """Return the published counts of sets of records, from their counts and summed keys."""
    if secret is None:
        noise = ptable.lookup(counts, keys, key_range=key_range)
    else:
        noise = ptable.lookup(counts, mix_keys(keys, secret=secret), key_range=2**32)
    published = np.where(counts > 0, counts + noise, 0)
    if (published < 0).any():
        raise ConfigError(
            Message("The p-table would publish negative counts."),
            hint=Message("its noise must not go below minus the count"),
        )
    return np.asarray(published, np.int64)
