"""How many threads PyTorch uses: one a job, as jobs that share a machine hinder each other."""

import contextlib
from collections.abc import Iterator

import torch

from dp.checking import checked_count


@contextlib.contextmanager
def limited_threads(number: int = 1) -> Iterator[None]:
    """Let PyTorch use as many threads for as long as the block runs."""
    n_threads, before = checked_count(number, "threads"), torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
