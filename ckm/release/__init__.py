"""Batch jobs: the tables of a job into a folder that appears complete or not at all."""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
    from ckm.release.perturbed import release

__all__ = ["release"]

__getattr__, __dir__ = lazy(__name__, {"release": "ckm.release.perturbed"})
