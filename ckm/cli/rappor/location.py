"""``ckm rappor location``: places of persons."""

import click

from ckm.cli.terminal.click_group import Group


@click.group(cls=Group, verbs={"audit": "ckm.cli.rappor.audit:audit"})
def location() -> None:
    """Places of persons: what trips give away.

    Examples
    --------
    ckm rappor location audit trips.parquet --person id --time at --x east --y north
    """
