"""The job file: one TOML file that says what to release, from what, and how."""

from ckm.config.comparison.comparanda import read_designs
from ckm.config.job.data import JobData, JobKeys
from ckm.config.job.job import Job
from ckm.config.job.output import JobOutput
from ckm.config.job.report import Allowance, JobLimits, JobReport
from ckm.config.problems import JobError, Problem
from ckm.config.read import job_schema, read_job, read_noise_spec

__all__ = [
    "Allowance",
    "Job",
    "JobData",
    "JobError",
    "JobKeys",
    "JobLimits",
    "JobOutput",
    "JobReport",
    "Problem",
    "job_schema",
    "read_designs",
    "read_job",
    "read_noise_spec",
]
