"""Deprecated: what was here lies in `ckm.methods.additivity.restore`."""

from footing.lazy import moved_module

__getattr__ = moved_module("ckm.additivity.restore", "ckm.methods.additivity.restore")
