"""Stub."""

from __future__ import annotations


class Mark: ...


def scan(*a, **k):
    return ()
