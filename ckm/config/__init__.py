"""The job file: one TOML file that says what to release, from what, and how."""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
    from ckm.config.comparison.comparanda import read_designs
    from ckm.config.job.job import Job
    from ckm.config.problems import JobError
    from ckm.config.read import read_job, read_noise_spec

__all__ = [
    "Job",
    "JobError",
    "read_designs",
    "read_job",
    "read_noise_spec",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Job": "ckm.config.job.job",
        "JobError": "ckm.config.problems",
        "read_designs": "ckm.config.comparison.comparanda",
        "read_job": "ckm.config.read",
        "read_noise_spec": "ckm.config.read",
    },
)
