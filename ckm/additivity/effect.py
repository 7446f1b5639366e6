"""Deprecated: what was here lies in `ckm.methods.additivity.effect`."""

from footing.lazy import moved_module

__getattr__ = moved_module("ckm.additivity.effect", "ckm.methods.additivity.effect")
