"""Deprecated: what was here lies in `ckm.methods.additivity.effect`."""

import importlib
import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    """Return what has this name in the new place."""
    if name.startswith("__"):
        raise AttributeError(name)
    text = "ckm.additivity.effect is deprecated; use ckm.methods.additivity.effect"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return getattr(importlib.import_module("ckm.methods.additivity.effect"), name)
