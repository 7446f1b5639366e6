"""``ckm audit``: what everything that may be asked of a service gives away together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import with_terminal
from ckm.cli.terminal.output import check_output
from footing.files import write_whole

if TYPE_CHECKING:
    from ckm.audit.audit import Audit, Exposure
    from ckm.cli.terminal.console import Terminal

_PATH = click.Path(path_type=Path)


@click.command(
    epilog="""\b
Examples:
  ckm audit service.toml
  ckm audit service.toml --small 3 -o audit.json
  ckm audit service.toml --areas 50 --seed 1        a sample of areas, for many records

It builds all cells that the rules permit, so it takes longer than one answer, and needs the
secret. What it says is for the office alone.
"""
)
@click.argument("service", type=_PATH, metavar="SERVICE.toml")
@click.option(
    "--small",
    type=click.IntRange(1, 10),
    default=2,
    show_default=True,
    help="Counts from 1 to this are small.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 1),
    default=0.95,
    show_default=True,
    help="Share of right guesses from which on somebody is sure.",
)
@click.option("--areas", type=click.IntRange(1), help="Look at so many areas, drawn at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the draw of areas.")
@click.option("-o", "--output", type=_PATH, metavar="FILE.json", help="Write all figures.")
@click.option("--force", is_flag=True, help="Replace the output.")
@with_terminal
def audit(
    terminal: Terminal,
    /,
    *,
    service: Path,
    small: int,
    confidence: float,
    areas: int | None,
    seed: int,
    output: Path | None,
    force: bool,
) -> None:
    """Find small counts from all tables that a service permits, together."""
    from ckm.audit.audit import audit_service
    from ckm.cli.serve import require_web
    from ckm.config.service.service import read_service

    require_web()
    check_output(output, force=force, endings=(".json",), inputs=(service,))
    plan = read_service(service)
    with terminal.progress() as report_progress:
        found = audit_service(
            plan,
            small=small,
            confidence=confidence,
            areas=areas,
            seed=seed,
            progress=report_progress,
        )
    if output is not None:
        write_whole(output, json.dumps(found.to_dict(), indent=2) + "\n")
    terminal.table(
        ["variables", "tables", "cells", "small", "found alone", "together", "sure", "wrongly"],
        [_row(one) for one in found.exposures],
        title=f"Small counts are those from 1 to {small}",
        caption="alone: from the table of the cell; together: from all of them",
    )
    terminal.step("audited", _sentence(found), **found.to_dict())


def _row(one: Exposure) -> list[str]:
    return [
        str(one.n_variables),
        str(one.n_tables),
        f"{one.n_cells:,}",
        f"{one.together.n_small:,}",
        f"{one.alone.share:.1%}",
        f"{one.together.share:.1%}",
        f"{one.together.sure:,}",
        f"{one.together.sure_wrong:,}",
    ]


def _sentence(found: Audit) -> str:
    alone, together = found.alone, found.together
    areas = ""
    if found.n_areas_drawn < found.n_areas:
        areas = f" (in {found.n_areas_drawn} of {found.n_areas} areas)"
    return (
        f"whoever asks for all tables finds {together.share:.1%} of {together.n_small:,} small "
        f"counts{areas}, {alone.share:.1%} from the table of each alone, and is sure of "
        f"{together.sure:,}, of which {together.sure_wrong:,} wrongly"
    )
