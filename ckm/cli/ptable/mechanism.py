"""``--mechanism``: a p-table of rounding, random rounding or noise of differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ptable.design.mechanisms import Mechanism

_Command = TypeVar("_Command", bound="Callable[..., Any]")

#: What each mechanism needs, and what it takes besides.
_OPTIONS: dict[str, tuple[set[str], set[str]]] = {
    "rounding": ({"base"}, set()),
    "random-rounding": ({"base"}, set()),
    "small-count-rounding": ({"base"}, set()),
    "ons-10-5": (set(), set()),
    "discrete-laplace": ({"epsilon", "max_noise"}, {"edge"}),
    "discrete-gaussian": ({"variance", "max_noise"}, {"edge"}),
}
_OWN = ("base", "epsilon", "edge")


def mechanism_options(command: _Command) -> _Command:
    """Add ``--mechanism`` and the options that go with it."""
    for option in (
        click.option(
            "--edge",
            type=click.Choice(["clamp", "fold", "truncate"]),
            help="What becomes of results below 0.",
        ),
        click.option("--epsilon", type=float, help="Rate of the discrete Laplace law."),
        click.option("--base", type=click.IntRange(min=2), help="What rounding rounds to."),
        click.option(
            "--mechanism",
            type=click.Choice(list(_OPTIONS)),
            help="A known mechanism instead of solving.",
        ),
    ):
        command = option(command)
    return command


def asked_mechanism(
    ctx: click.Context, options: Mapping[str, Any], *, has_file: bool
) -> Mechanism | None:
    """Return the mechanism that the options name, or None where they name none."""
    from ptable.design.mechanisms import Mechanism

    rest = dict(options)
    name = rest.pop("mechanism", None)
    if name is None:
        own = [option for option in _OWN if option in rest]
        if own:
            raise click.UsageError(f"{_named(own)} can only go with --mechanism.", ctx)
        return None
    if has_file:
        raise click.UsageError("Give a file or --mechanism, not both.", ctx)
    needs, takes = _OPTIONS[name]
    missing = sorted(needs - rest.keys())
    foreign = sorted(rest.keys() - needs - takes)
    problems = []
    if missing:
        problems.append(f"needs {_named(missing)}")
    if foreign:
        problems.append(f"does not take {_named(foreign)}")
    if problems:
        raise click.UsageError(f"--mechanism {name} {' and '.join(problems)}.", ctx)
    return Mechanism.ons_10_5() if name == "ons-10-5" else Mechanism(name=name, **rest)


def _named(options: Collection[str]) -> str:
    return ", ".join("--" + option.replace("_", "-") for option in options)
