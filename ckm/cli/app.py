"""The verbs of the command line."""

from __future__ import annotations

import sys

import click

from ckm.cli.check import check
from ckm.cli.compare.compare import compare
from ckm.cli.completion import completion
from ckm.cli.demo import demo
from ckm.cli.dp.dp import dp
from ckm.cli.dpsgd.dpsgd import dpsgd
from ckm.cli.dpsgd.report import report as dpsgd_report
from ckm.cli.job import job
from ckm.cli.keys import keys
from ckm.cli.ledger import ledger
from ckm.cli.ptable import ptable
from ckm.cli.rappor.decode import decode as rappor_decode
from ckm.cli.rappor.decode import report as rappor_report
from ckm.cli.rappor.location import location as rappor_location
from ckm.cli.rappor.rappor import rappor
from ckm.cli.release import release
from ckm.cli.report import report
from ckm.cli.serve import serve, token
from ckm.cli.suppress import suppress
from ckm.cli.swap import swap
from ckm.cli.synth.synth import synth
from ckm.cli.terminal.click_group import Root

__all__ = ["app"]


def _show_version(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
    if not value or ctx.resilient_parsing:
        return
    from ckm import __version__

    click.echo(f"ckm {__version__}, Python {sys.version.split()[0]}")
    ctx.exit()


@click.group(
    cls=Root,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Start here:
  ckm demo                            a register, six protected tables, designs compared
  ckm check job.toml                  is this job right?
  ckm release job.toml -o out/        release its tables, with a report

\b
Exit codes: 0 done, 1 a check failed, 2 the command or the job is wrong,
3 the data do not fit, 4 no such p-table exists, 70 a bug of ckm.
""",
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
    """Protected tables from microdata, by the cell key method."""


for _command in (
    release,
    check,
    report,
    compare,
    swap,
    suppress,
    demo,
    serve,
    token,
    ptable,
    keys,
    ledger,
    rappor,
    dp,
    synth,
    dpsgd,
    job,
    completion,
):
    app.add_command(_command)
for _command in (rappor_decode, rappor_report, rappor_location):
    rappor.add_command(_command)
dpsgd.add_command(dpsgd_report)
