"""The verbs of the command line."""

import sys

import click

from ckm.cli.terminal.click_group import Root
from footing.version import engine_version


def _show_version(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
    if not value or ctx.resilient_parsing:
        return
    click.echo(f"ckm {engine_version()}, Python {sys.version.split()[0]}")
    ctx.exit()


_VERBS = {
    "protect": "ckm.cli.protect:protect",
    "release": "ckm.cli.release:release",
    "check": "ckm.cli.check:check",
    "upgrade": "ckm.cli.upgrade:upgrade",
    "report": "ckm.cli.report:report",
    "explain": "ckm.cli.report:explain",
    "figures": "ckm.cli.compare.figures:figures",
    "compare": "ckm.cli.compare.compare:compare",
    "swap": "ckm.cli.swap:swap",
    "suppress": "ckm.cli.release:suppress",
    "demo": "ckm.cli.demo:demo",
    "audit": "ckm.cli.audit:audit",
    "anonymity": "ckm.cli.anonymity:anonymity",
    "serve": "ckm.cli.serve:serve",
    "token": "ckm.cli.serve:token",
    "ptable": "ckm.cli.ptable:ptable",
    "keys": "ckm.cli.keys:keys",
    "ledger": "ckm.cli.ledger:ledger",
    "rappor": "ckm.cli.rappor.rappor:rappor",
    "dp": "ckm.cli.dp.dp:dp",
    "synth": "ckm.cli.synth.synth:synth",
    "dpsgd": "ckm.cli.dpsgd.dpsgd:dpsgd",
    "job": "ckm.cli.job:job",
    "service": "ckm.cli.job:service",
    "schema": "ckm.cli.job:schema",
    "docs": "ckm.cli.docs:docs",
    "completion": "ckm.cli.completion:completion",
}


@click.group(
    cls=Root,
    verbs=_VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def app() -> None:
    r"""Protected tables from microdata, by the cell key method.

    Start here
    ----------
    ckm demo                            a register, six protected tables, designs compared
    ckm protect --help                  a first table of your data, in one line
    ckm job init people.parquet         a job drafted from your data: job.toml
    ckm check job.toml                  is this job right?
    ckm release job.toml -o out/        release its tables, with a report

    \b
    Exit codes: 0 done, 1 a check failed, 2 the command or the job is wrong,
    3 the data do not fit, 4 no such p-table exists, 70 a bug of ckm.
    """
