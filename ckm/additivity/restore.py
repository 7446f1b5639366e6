"""Deprecated: what was here lies in `ckm.methods.additivity.restore`."""

from footing.lazy import EVERY, moved

__getattr__ = moved(__name__, {EVERY: "ckm.methods.additivity.restore"})
