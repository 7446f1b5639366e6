"""``ckm upgrade``: what does this version read otherwise? Nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from ckm.cli.terminal.console import Terminal


@click.command(cls=Command)
@click.argument("folder", type=PATH, default=Path(), metavar="[FOLDER]")
@click.option(
    "--check",
    is_flag=True,
    help="Examine the folder and write nothing; no other mode exists.",
)
@with_terminal
def upgrade(terminal: Terminal, /, *, folder: Path, check: bool) -> int:  # noqa: ARG001
    """List what this version reads differently from the previous one, in a folder of releases.

    P-tables, jobs, their ledgers and the categories of their CSV files are examined; nothing is
    written. The exit code is 1 where something is read differently, or refused.

    Examples
    --------
    ckm upgrade --check releases/
    """
    from ckm.release.upgrade import compare_with_last_version

    if not folder.is_dir():
        raise click.BadParameter(
            Message("There is no folder {folder!r}.", folder=Name(str(folder))),
            param_hint="FOLDER",
        )
    count = others = 0
    for finding in compare_with_last_version(folder):
        count += 1
        others += finding.state != "same"
        text = Message("{file}: {text}", file=Name(str(finding.path)), text=said(finding.text))
        if finding.state == "same":
            terminal.step("read as before", text, file=str(finding.path))
        else:
            if finding.hint:
                text = Message("{text} ({hint})", text=said(text), hint=said(finding.hint))
            terminal.warn(f"read {finding.state}", text, file=str(finding.path))
    terminal.tell(
        Message(
            "{number} files examined, {others} for you to examine",
            number=count,
            others=others,
        )
    )
    return 1 if others else 0
