"""What a p-table can be made from, and back from plain values."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from footing.messages import Argument, Message, Shape
from ptable.design.mechanisms import Mechanism
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import PTableError

Design: TypeAlias = NoiseSpec | StackedSpec | Mechanism


def design_from_dict(fields: Mapping[str, Any]) -> Design:
    """Build a design from what its ``to_dict`` gave."""
    if not isinstance(fields, Mapping):
        raise PTableError(
            Message("A design is a mapping of fields, not a {name}.", name=Shape(type(fields)))
        )
    rest = dict(fields)
    kind = rest.pop("kind", "noise")
    kinds: dict[str, Callable[[Mapping[str, Any]], Design]] = {
        "noise": NoiseSpec.from_dict,
        "stacked": StackedSpec.from_dict,
        "mechanism": Mechanism.from_dict,
    }
    if not isinstance(kind, str) or kind not in kinds:
        raise PTableError(
            Message(
                "The design is of kind {kind!r}; this program knows {kinds}.",
                kind=Argument(kind),
                kinds=Argument(sorted(kinds)),
            ),
            hint=Message("read it with a newer version of this program"),
        )
    return kinds[kind](rest)
