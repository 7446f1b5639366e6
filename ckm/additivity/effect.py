"""Deprecated: what was here lies in `ckm.methods.additivity.effect`."""

from footing.lazy import EVERY, moved

__getattr__ = moved(__name__, {EVERY: "ckm.methods.additivity.effect"})
