"""``ckm demo``: everything once, on people who do not exist."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.cli.terminal.console import Terminal
    from ckm.demo.demo import Demo, ZonePair

_SHOWN_ZONES = 3
_BAR = 28
_BINS = (
    ("-5 or less", -(10**9), -5),
    ("-4 to -1", -4, -1),
    ("0", 0, 0),
    ("+1 to +4", 1, 4),
    ("+5 or more", 5, 10**9),
)


@click.command(cls=Command)
@click.option("--out", "-o", default="demo", type=PATH, help="The folder to make.")
@click.option(
    "--persons",
    default=400_000,
    type=click.IntRange(min=1000, max=50_000_000),
    help="Size of the register.",
)
@click.option(
    "--seed",
    default=2024,
    type=click.IntRange(min=0),
    help="Seed of the random numbers: the same seed gives the same register and tables.",
)
@click.option("--force", is_flag=True, help="Replace an earlier demonstration.")
@click.option("--dry-run", is_flag=True, help="Check the folder, write nothing.")
@with_terminal
def demo(terminal: Terminal, /, *, out: Path, **options: Any) -> None:
    """Simulate a register, release six tables and compare methods of protection.

    Examples
    --------
    ckm demo
    ckm demo --out /tmp/demo --persons 1000000
    """
    from ckm.demo.demo import compare_zones, make_demo

    with terminal.progress() as report_progress:
        demonstration = make_demo(out, progress=report_progress, **options)
    if demonstration is None:
        terminal.step(
            "dry run complete", Message("dry run: a demonstration would go to {out}", out=out)
        )
        return
    terminal.step(
        "released",
        Message(
            "{number} tables, {cells:,} cells, {seconds:.1f} s",
            number=len(demonstration.release.tables),
            cells=demonstration.release.cells,
            seconds=demonstration.release.seconds,
        ),
        tables=len(demonstration.release.tables),
        cells=demonstration.release.cells,
        seconds=round(demonstration.release.seconds, 3),
    )
    if not terminal.is_quiet:
        _show_files(terminal, demonstration)
        _show_sample(terminal, demonstration)
        _show_zones(
            terminal, compare_zones(demonstration.release.folder, demonstration.moved_zones)
        )
        _show_comparison(terminal, demonstration)
        _show_next(terminal, demonstration)


def _heading(terminal: Terminal, text: str) -> None:
    terminal.out.print()
    terminal.out.print(text, style="bold")


def _show_files(terminal: Terminal, demonstration: Demo) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 3))
    for name, words in (
        ("register.parquet", "a made-up register: nobody in it exists"),
        ("job.toml", "which tables, and how they are protected"),
        ("designs.toml", "other ways to protect them"),
        ("service.toml", "the same people for tables on request"),
        ("secret.key", "for this demonstration, never for real data"),
        ("out/public/", "what may be published: tables and report"),
        ("out/internal/", "what an office keeps: the full report"),
        ("comparison/", "all of these compared, to be kept inside"),
    ):
        table.add_row(Text(f"  {demonstration.folder}/{name}", "bold"), words)
    terminal.out.print()
    terminal.out.print(table)


def _show_sample(terminal: Terminal, demonstration: Demo) -> None:
    from ckm.demo.demo import sample_table

    frame = sample_table(
        demonstration.release.folder,
        "jobseekers",
        where={"department": "01", "commune": "01001"},
    )
    rows = list(dict.fromkeys(frame["sex"].astype(str)))
    columns = list(dict.fromkeys(frame["category"].astype(str)))
    counts = {
        (str(sex), str(category)): int(count)
        for sex, category, count in zip(
            frame["sex"], frame["category"], frame["count"], strict=True
        )
    }
    _heading(terminal, "Job seekers of commune 01001, as published")
    terminal.table(
        ("sex", *columns),
        # A cell that was not published is not told apart from a published zero.
        ((row, *(str(counts.get((row, column), 0)) for column in columns)) for row in rows),
        left=("sex",),
    )
    terminal.out.print("Parts need not add up to their total: each cell has noise of its own.")


def _show_zones(terminal: Terminal, pairs: Sequence[ZonePair]) -> None:
    """Tell what a reader learns by subtracting the old zones from the new ones: nothing."""
    from rich.table import Table

    moved = [pair for pair in pairs if pair.is_moved]
    stayed = [pair for pair in pairs if not pair.is_moved]
    same = sum(pair.difference == 0 for pair in stayed)
    count_histogram = {
        words: sum(low <= pair.difference <= high for pair in moved)
        for words, low, high in _BINS
    }
    bars = Table.grid(padding=(0, 1))
    for words, cases in count_histogram.items():
        width = round(_BAR * cases / max(1, *count_histogram.values()))
        bars.add_row(f"  {words:>10}", "█" * width, str(cases))
    _heading(terminal, "Zones whose boundary moved, as published")
    terminal.table(
        ("zone", "2015", "2024", "difference"),
        (
            (pair.zone, str(pair.before), str(pair.after), _signed(pair.difference))
            for pair in moved[:_SHOWN_ZONES]
        ),
        left=("zone",),
    )
    terminal.out.print(
        f"From 2015 to 2024 the boundaries of {len(moved)} zones moved by one to four people.\n"
        "Exact counts would single them out by subtraction. The published differences:",
        soft_wrap=True,
    )
    terminal.out.print(bars)
    terminal.out.print(
        f"Where no boundary moved, the people are the same and so is the noise:\n"
        f"{same} of {len(stayed)} such zones have one published count in both tables.",
        soft_wrap=True,
    )


def _signed(number: int) -> str:
    return f"{number:+d}" if number else "0"


def _show_comparison(terminal: Terminal, demonstration: Demo) -> None:
    """Tell what a rule of the office costs, and where all designs stand compared."""
    facts = demonstration.comparison.facts()
    n_designs = len(facts.scenarios.designs)
    cells = demonstration.comparison.count_histogram.distinct
    _heading(terminal, f"{n_designs} ways to protect {cells:,} cells, compared")
    price = facts.conclusion.get("price-of-forbidding")
    if price is not None and "cost_pct" in price:
        terminal.out.print(
            f"Never publishing a count of 1 to {max(facts.sensitive)} costs "
            f"{price['cost_pct']:.0f} % more loss at the same noise,\nand the most that a "
            f"published count tells falls from {price['other_risk']:.2f} to "
            f"{price['risk']:.2f}.",
            soft_wrap=True,
        )
    page = f"{demonstration.folder}/comparison/comparison.en.html"
    terminal.out.print(f"More in {page}", soft_wrap=True, markup=False)


def _show_next(terminal: Terminal, demonstration: Demo) -> None:
    _heading(terminal, "Try next")
    ckm, job = _own_name(), f"{demonstration.folder}/job.toml"
    for command in (
        (ckm, "ptable", "show", f"{demonstration.release.folder}/internal/pt.parquet"),
        (ckm, "compare", job, f"{demonstration.folder}/designs.toml"),
        (ckm, "release", job, "-o", f"{demonstration.folder}-again"),
        (ckm, "serve", f"{demonstration.folder}/service.toml"),
    ):
        terminal.out.print(f"  {shlex.join(command)}", soft_wrap=True, markup=False)


def _own_name() -> str:
    """Return what to type for this program: with its path where the shell would not find it."""
    name = sys.argv[0]
    return name if Path(name).name == "ckm" and shutil.which("ckm") is None else "ckm"
