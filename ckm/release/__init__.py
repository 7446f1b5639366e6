"""Batch jobs: the tables of a job into a folder that appears complete or not at all."""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
    from ckm.release.perturbed import release
    from ckm.release.run import Release
    from ckm.release.suppressed import release_true_numbers
    from ckm.release.swapped import swap

__all__ = ["Release", "release", "release_true_numbers", "swap"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Release": "ckm.release.run",
        "release": "ckm.release.perturbed",
        "release_true_numbers": "ckm.release.suppressed",
        "swap": "ckm.release.swapped",
    },
)
