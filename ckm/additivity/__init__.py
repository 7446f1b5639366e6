"""Deprecated: what was here lies in `ckm.methods.additivity`."""

from footing.lazy import moved_module

__getattr__ = moved_module("ckm.additivity", "ckm.methods.additivity")
