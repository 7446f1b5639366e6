"""What an audit costs: estimated before it starts, and limited."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from ckm.audit.query_space import QuerySpace
from risk.reconstruction.blocks import Blocks
from risk.reconstruction.count_probabilities import messages_size

#: Bytes of a joint cell while blocks pass messages, and of a published cell with the history of
#: the solver; of a number of a message.
_OF_JOINT, _OF_PUBLISHED, _OF_MESSAGE = 40, 800, 8
#: Steps of messages between sums and parts, and seconds of a number of their convolutions.
_STEPS_OF_MESSAGES, _SECONDS_OF_NUMBER = 15, 2.5e-8
#: Steps of both fits, and what bounds and differences take of each cell and table.
_STEPS_OF_FIT, _SECONDS_OF_CELL = 200, 2e-6


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """A limit on the CPU seconds of this process from now on.

    Parameters
    ----------
    seconds
        None for none.
    """

    seconds: float | None = None
    start: float = field(default_factory=time.process_time)

    def is_over(self) -> bool:
        """Tell whether the seconds are spent."""
        return self.seconds is not None and time.process_time() - self.start >= self.seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What attacking all tables once is about to cost.

    Parameters
    ----------
    seconds
        Of CPU, without advice and the attacks of fewer tables.
    megabytes
        Of memory, beyond what is held already.
    """

    seconds: float
    megabytes: float


def estimated_cost(space: QuerySpace, *, max_noise: int) -> Cost:
    """Estimate the cost of an audit: from one step of its fit, and from numbers of cells.

    Parameters
    ----------
    space
        The tables.
    max_noise
        Of the p-table.
    """
    tables, lattice = space.shown, space.lattice
    blocks = Blocks(lattice.groups, list(tables))
    exponents = {table: np.zeros(lattice.shape_of(table)) for table in tables}
    start = time.process_time()
    blocks.sums([np.full(size, 1 / size) for size in blocks.sizes], 1.0, exponents)
    step = time.process_time() - start
    n_cells = sum(one.published.size for one in tables.values())
    seconds = _STEPS_OF_FIT * step + _SECONDS_OF_CELL * n_cells * len(tables)
    n_parts, n_numbers = messages_size(lattice, list(tables), max_noise=max_noise)
    seconds += _STEPS_OF_MESSAGES * _SECONDS_OF_NUMBER * n_numbers
    of_messages = _OF_MESSAGE * (2 * max_noise + 1) * n_parts
    megabytes = (_OF_JOINT * blocks.n_cells + _OF_PUBLISHED * n_cells + of_messages) / 1e6
    return Cost(seconds=seconds, megabytes=megabytes)
