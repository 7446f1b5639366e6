"""``ckm job``: what a job file may say."""

from __future__ import annotations

import json

import click

from ckm.cli.terminal.click_group import Group, common_options


@click.group(cls=Group)
def job() -> None:
    """Tell what a job file may say."""


@job.command()
@common_options
def schema() -> None:
    """Print the JSON Schema of a job file, for editors.

    Examples
    --------
    ckm job schema > job.schema.json
    then, as the first line of job.toml:   #:schema ./job.schema.json
    """
    from ckm.config import job_schema

    click.echo(json.dumps(job_schema(), indent=2))
