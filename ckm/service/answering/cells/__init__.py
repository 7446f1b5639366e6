"""Cells kept in memory between answers."""
