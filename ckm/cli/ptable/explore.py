"""``ckm ptable explore``: a page on which designs of noise are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.files import write_whole
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal


@click.command(cls=Command)
@click.argument("job", type=PATH, metavar="[JOB.toml]", required=False)
@output_options("An .html file.", ".html", required=True, has_lang=True)
@click.option("--lang", type=click.Choice(["en", "fr"]), help="The language of the page.")
@click.option(
    "--field/--no-field",
    "has_field",
    default=True,
    help="Show the designs that offices documented, too.",
)
@click.option(
    "--max-noise", "noise", type=click.IntRange(1, 15), help="Largest noise at first."
)
@click.option("--variance", type=click.FloatRange(0.1, 40), help="Variance at first.")
@click.option("--small", type=click.IntRange(0, 9), help="Blocked counts at first.")
@click.option(
    "--posterior", type=click.FloatRange(0.3, 1), help="Highest probability allowed at first."
)
@click.option("--sensitive", type=click.IntRange(1, 10), help="Sensitive counts 1..N at first.")
@with_terminal
def explore(
    terminal: Terminal,
    /,
    *,
    job: Path | None,
    output: Path,
    lang: str | None,
    has_field: bool,
    **start: float | None,
) -> None:
    """Write a page on which designs of noise are tried.

    Sliders set the largest noise, its variance, blocked counts and what a published count may
    reveal; the rows, the risk and the least loss that any p-table has within these limits
    move with them. The page is one file, computes in the browser and loads nothing.

    Examples
    --------
    ckm ptable explore -o designs.html
    ckm ptable explore -o designs.html --max-noise 8 --variance 6.5 --small 4
    ckm ptable explore job.toml -o inside/designs.html --lang fr

    With a job, its p-table and how frequent each count is in its tables are on the page, which
    is then internal (mode 0600). Without one nothing comes from records. What is proven is the
    p-table that `ckm ptable build` makes.
    """
    from ckm.comparison.explorer import explorer_facts
    from reports.explorer import explorer_page

    if job is not None:
        terminal.step(
            "internal",
            Message(
                "Internal: the prior follows from original counts, keep the output inside."
            ),
        )
    facts, cautions = explorer_facts(
        job,
        {name: value for name, value in start.items() if value is not None},
        name_of_own=terminal.say(Message("p-table of the job")),
        has_field=has_field,
    )
    for caution in cautions:
        terminal.warn("explore", caution)
    html = explorer_page(facts, language=lang or terminal.language)
    write_whole(output, html, is_private=job is not None, overwrite=may_replace())
    click.echo(str(output))
