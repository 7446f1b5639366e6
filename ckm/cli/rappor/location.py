"""``ckm rappor location``: places of persons."""

import click

from ckm.cli.terminal.click_group import Group


@click.group(
    cls=Group,
    verbs={
        "audit": "ckm.cli.rappor.audit:audit",
        "collect": "ckm.cli.rappor.places:collect",
        "map": "ckm.cli.rappor.places:map_command",
        "compare": "ckm.cli.rappor.strategies:compare",
    },
)
def location() -> None:
    r"""Places of persons: disclosure by trips, and maps from randomised reports.

    Examples
    --------
    ckm rappor location audit trips.parquet --person id --time at --x east --y north
    ckm rappor location collect trips.parquet --person id --time at --x east --y north \
        --box 640000,6850000,672000,6882000 --levels 2,4 --secret secret.key -o places.json
    ckm rappor location map places.json -o map.svg
    ckm rappor location compare --seed 1
    """
