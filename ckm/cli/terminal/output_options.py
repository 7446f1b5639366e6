"""The options of a verb that writes a file: where to, and whether one there is replaced."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ckm.cli.terminal.click_group import PATH, options
from ckm.cli.terminal.output import check_output


def may_replace() -> bool:
    """Whether --force was given: else a file that appears while a verb works stays, too."""
    return bool(click.get_current_context().params["force"])


def output_options(
    text: str,
    *endings: str,
    has_lang: bool = False,
    inputs: tuple[str, ...] = (),
    **settings: Any,
) -> Callable[[Any], Any]:
    """Add ``--output`` and ``--force``: the verb takes an output that may be written.

    Parameters
    ----------
    text
        What the help says of the output.
    endings
        How its name may end; nothing for any way.
    has_lang
        Whether the verb has a ``--lang`` that only a page can have.
    inputs
        Parameters of the verb that are files, which the output must not be.
    settings
        Of `click.option`, such as whether there must be an output.
    """

    def add(verb: Callable[..., Any]) -> Any:
        """Look at the output before anything is computed."""

        @wraps(verb)
        def checked(*args: Any, output: Path | None, force: bool, **options: Any) -> Any:
            check_output(
                output,
                force=force,
                lang=options["lang"] if has_lang else None,
                endings=endings,
                inputs=tuple(options[name] for name in inputs),
            )
            return verb(*args, output=output, **options)

        return options(
            click.option("-o", "--output", type=PATH, help=text, **settings),
            click.option("--force", is_flag=True, help="Replace the output if it exists."),
        )(checked)

    return add
