"""Deprecated: what was here lies in `ckm.methods.suppression`."""

from footing.lazy import moved_module

__getattr__ = moved_module("ckm.suppression", "ckm.methods.suppression")
