"""``ckm synth``: synthetic microdata."""

from __future__ import annotations

import click

from ckm.cli.root import Group
from ckm.cli.synth_evaluate import compare, evaluate

__all__ = ["synth"]


@click.group(cls=Group)
def synth() -> None:
    """Judge synthetic records against real ones."""


for _command in (evaluate, compare):
    synth.add_command(_command)
