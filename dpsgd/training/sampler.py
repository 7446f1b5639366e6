"""Which records are in a batch."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dp import Adjacency
from dpsgd.accounting.cost import Sampling
from dpsgd.errors import TrainingDataError
from dpsgd.plan import Plan
from footing.messages import Message


def check_size(plan: Plan, size: int) -> None:
    """Refuse data of another size, where the size is public.

    Where it is not, under ``add-remove``, a refusal would give the size away.
    """
    if plan.adjacency != Adjacency.ADD_REMOVE and size != plan.dataset_size:
        raise TrainingDataError(
            Message(
                "The plan is for {dataset_size} records, a public number; the data have "
                "another.",
                dataset_size=plan.dataset_size,
            ),
            hint=Message("plan for the data as they are, or for neighbours 'add-remove'"),
        )


def draws(
    plan: Plan, *, size: int, generator: np.random.Generator, done: int = 0
) -> Iterator[NDArray[np.intp]]:
    """Yield the records of each batch of a plan; a batch may be empty."""
    check_size(plan, size)
    batch = round(plan.expected_batch)
    rest = np.empty(0, dtype=np.intp)
    for number in range(done, plan.steps):
        if plan.sampling == Sampling.POISSON:
            # As many as coins would give, all sets of that size alike: without all the coins.
            count = generator.binomial(size, plan.sampling_rate)
            yield np.sort(generator.choice(size, count, replace=False, shuffle=False))
        elif plan.sampling == Sampling.FIXED:
            yield generator.choice(size, batch, replace=False)
        else:
            place = number % -(-size // batch)
            if place == 0:
                rest = generator.permutation(size)
            elif not rest.size:  # resumed within a pass
                raise TrainingDataError(
                    Message("A run on shuffled batches resumes between two passes only."),
                    hint=Message("save after whole passes, or draw Poisson batches"),
                )
            yield rest[place * batch : (place + 1) * batch]
