"""What a verb without a job is told of the columns of CSV files."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ckm.cli.terminal.click_group import options
from footing.messages import Message, Name

_TYPES = ("text", "integer", "decimal", "date")


def csv_options(verb: Callable[..., Any]) -> Any:
    """Add ``--type``, ``--text``, ``--decimal``, ``--missing``: the verb's ``reading``."""

    @wraps(verb)
    def read(
        *args: Any,
        types: tuple[str, ...],
        text: bool,
        decimal: str,
        missing: tuple[str, ...],
        **options: Any,
    ) -> Any:
        from tables import ReadOptions

        declared = dict(map(_declared, types))
        reading = ReadOptions(types=declared, text=text, decimal=decimal, missing=missing)
        return verb(*args, reading=reading, **options)

    return options(
        click.option(
            "--type",
            "types",
            multiple=True,
            metavar="NAME=TYPE",
            help=f"Of CSV: a column's type, {', '.join(_TYPES)}; may be given several times.",
        ),
        click.option("--text", is_flag=True, help="Of CSV: all other columns are texts."),
        click.option(
            "--decimal",
            type=click.Choice([".", ","]),
            default=".",
            help="Of CSV: the decimal mark.",
        ),
        click.option(
            "--missing",
            multiple=True,
            metavar="TEXT",
            help="Of CSV: a text that stands for a missing value; may be given several times.",
        ),
    )(read)


def _declared(text: str) -> tuple[str, str]:
    name, mark, word = text.rpartition("=")
    if not mark or not name or word not in _TYPES:
        raise click.UsageError(
            Message(
                "--type reads NAME=TYPE, where TYPE is one of {types}.", types=Name.each(_TYPES)
            )
        )
    return name, word
