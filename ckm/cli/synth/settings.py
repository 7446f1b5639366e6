"""Settings that a command takes as NAME=VALUE."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Sequence


def settings_from(texts: Sequence[str]) -> dict[str, Any]:
    """Read settings as a file of TOML would: numbers are numbers, all else is text."""
    values: dict[str, Any] = {}
    for one in texts:
        name, sign, text = one.partition("=")
        if not sign:
            raise click.UsageError(
                Message("A setting is a name, =, and a value: --set truncation=2.")
            )
        try:
            values[name.strip()] = json.loads(text)
        except (ValueError, RecursionError):
            values[name.strip()] = text.strip()
    return values
