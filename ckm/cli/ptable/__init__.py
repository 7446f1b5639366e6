"""``ckm ptable``: choose, build, look at, check and convert perturbation tables."""

import click

from ckm.cli.ptable.advise import advise
from ckm.cli.ptable.build import build
from ckm.cli.ptable.check import check
from ckm.cli.ptable.convert import convert
from ckm.cli.ptable.explore import explore
from ckm.cli.ptable.frontier import frontier
from ckm.cli.ptable.show import show
from ckm.cli.terminal.click_group import Group

__all__ = ["ptable"]


@click.group(cls=Group)
def ptable() -> None:
    """Choose, build, show, check and convert perturbation tables."""


for _verb in (advise, build, check, convert, explore, frontier, show):
    ptable.add_command(_verb)
