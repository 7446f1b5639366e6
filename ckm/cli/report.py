"""``ckm report``: the pages of a release, made again from what it keeps of its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal


@click.command(cls=Command)
@click.argument("folder", type=PATH, metavar="OUT")
@click.option(
    "--public",
    "edition",
    flag_value="public",
    default="public",
    help="For everybody: the method and its effect in words.",
)
@click.option(
    "--internal", "edition", flag_value="internal", help="For the office: every number."
)
@click.option(
    "--lang",
    "languages",
    type=click.Choice(["en", "fr"]),
    multiple=True,
    help="The language, or both by repeating it; by default those of the release.",
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
    terminal.step("release verified", "the files are those that were released")
    for page in pages:
        terminal.step(
            f"page {page.state}", f"{page.path.name}: {page.state}", file=page.path.name
        )
    if not dry_run:
        for page in pages:
            click.echo(str(page.path))
