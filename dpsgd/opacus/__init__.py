"""Scripts, checkpoints and accounts of Opacus, under a plan and on a ledger.

Opacus is imported when its engine is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpsgd.opacus.history import OpacusStep, charge_opacus, opacus_history, read_history
from footing.messages import Message, Name

if TYPE_CHECKING:
    from dpsgd.opacus.engine import PrivacyEngine

__all__ = [
    "OpacusStep",
    "PrivacyEngine",
    "charge_opacus",
    "opacus_history",
    "read_history",
]


def __getattr__(name: str) -> Any:
    if name != "PrivacyEngine":
        raise AttributeError(
            Message(
                "module {name!r} has no attribute {name_2!r}",
                name=Name(__name__),
                name_2=Name(name),
            )
        )
    return import_module("dpsgd.opacus.engine").PrivacyEngine
