"""The secret that a command names, or that of the environment."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tables import Secret


def secret_of(file: Path | None) -> Secret:
    """Return the secret of a file, or else of the environment."""
    from tables import Secret

    with as_part_of_the_command():
        return Secret.from_env() if file is None else Secret.from_file(file)


@contextlib.contextmanager
def as_part_of_the_command() -> Iterator[None]:
    """Say what is wrong with a secret as what it is: part of the command, not of the data."""
    from ckm.errors import ConfigError
    from tables import SourceError

    try:
        yield
    except SourceError as error:
        raise ConfigError(error.problem, hint=error.hint) from None
