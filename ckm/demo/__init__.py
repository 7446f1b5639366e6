"""A made-up register, and a whole release of it to look at."""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
    from ckm.demo.register import job_seekers

__all__ = ["job_seekers"]

__getattr__, __dir__ = lazy(__name__, {"job_seekers": "ckm.demo.register"})
