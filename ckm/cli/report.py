"""``ckm report`` and ``explain``: the pages of a release made again, and one number told."""

import json
from pathlib import Path
from typing import Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.output import printable
from footing.messages import Message, Name, said


@click.command(cls=Command)
@click.argument("folder", type=PATH, metavar="OUT")
@click.option(
    "--public",
    "edition",
    flag_value="public",
    default="public",
    help="For the public: the method and its effect in words.",
)
@click.option(
    "--internal", "edition", flag_value="internal", help="For the office: every number."
)
@click.option(
    "--lang",
    "languages",
    type=click.Choice(["en", "fr"]),
    multiple=True,
    help="Language of the pages, or both by repeating it; by default those of the release.",
)
@click.option("--full", is_flag=True, help="Write the long lists to the internal page, too.")
@click.option("-o", "--output", type=PATH, help="A folder, or an .html or .json file.")
@click.option("--force", is_flag=True, help="Replace files that differ.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@with_terminal
def report(terminal: Terminal, /, *, folder: Path, dry_run: bool, **options: Any) -> None:
    r"""Make the report of a release again.

    Examples
    --------
    ckm report out/2027-03/                                the public pages, beside the tables
    ckm report out/2027-03/ --public --lang fr -o report.html
    ckm report out/2027-03/ --internal -o for-the-board/
    ckm report out/2027-03/ --internal --full -o all.html --lang en
    ckm report out/2027-03/ --internal -o numbers.json     every number of the page

    \b
    'ckm release' writes these pages already. This verb makes them again, without the data and
    without the secret, once it has seen that the files are those that were released.
    The public edition may be published; the internal one may not.
    """
    from ckm.release.pages.rerender import remake_report

    pages = remake_report(folder, dry_run=dry_run, **options)
    terminal.step("release verified", Message("the files are those that were released"))
    for page in pages:
        terminal.step(
            f"page {page.state}",
            Message("{name}: {text}", name=Name(page.path.name), text=said(page.state)),
            file=page.path.name,
        )
    if not dry_run:
        for page in pages:
            click.echo(str(page.path))


@click.command(cls=Command)
@click.argument("job", type=PATH, metavar="JOB.toml")
@click.argument("table")
@click.argument("cell", nargs=-1, metavar="[COLUMN=CATEGORY]...")
@click.option(
    "--measure", default="count", help="The measure, such as count, weighted or sum:income."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@with_terminal
def explain(
    terminal: Terminal,
    /,
    *,
    job: Path,
    table: str,
    cell: tuple[str, ...],
    measure: str,
    as_json: bool,
) -> None:
    """Explain how one published number was computed; internal to the office.

    Columns that are left out are totals. The data, the secret and the p-table must be those of
    the release. No file is written, and no entry in a ledger.

    Examples
    --------
    ckm explain job.toml jobseekers region=01 sex=F
    ckm explain job.toml jobseekers                     its grand total
    ckm explain job.toml jobseekers sex=F --json

    The steps: original count, cell key, row of the p-table, noise, what is published; then
    the cells of the job and the entries of its ledger that show the same records.
    """
    from ckm.config import read_job
    from ckm.release.explanation import explain as run

    categories = dict(word.partition("=")[::2] for word in cell)
    if len(categories) < len(cell) or not all("=" in word for word in cell):
        raise click.UsageError(
            Message("Write each column once, as COLUMN=CATEGORY, such as sex=F.")
        )
    plan = read_job(job)
    with terminal.progress() as report_progress:
        steps = run(plan, table, categories, measure=measure, progress=report_progress)
    if as_json:
        click.echo(json.dumps(steps, indent=2, ensure_ascii=False))
        return
    say = terminal.say
    click.echo(say(steps.pop("notice")))
    for name, value in steps.items():
        if not name.startswith("in "):  # a step, and not where else the records are
            text = ", ".join(map(str, value)) if isinstance(value, list) else say(str(value))
            click.echo(printable(f"{say(name) + ':':<20} {text}"))
            continue
        click.echo(say(Message("the same records {name}:", name=Name(name))))
        for one in value or [say(Message("nowhere else"))]:
            click.echo(printable(f"  {one}"))
