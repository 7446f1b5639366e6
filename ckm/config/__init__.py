"""The job file: one TOML file that says what to release, from what, and how."""

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
