"""``ckm ptable``: build, look at and check perturbation tables."""

import click

from ckm.cli.ptable.build import build
from ckm.cli.ptable.check import check
from ckm.cli.ptable.show import show
from ckm.cli.root import Group

__all__ = ["ptable"]


@click.group(cls=Group)
def ptable() -> None:
    """Build, look at and check perturbation tables."""


for _verb in (build, check, show):
    ptable.add_command(_verb)
