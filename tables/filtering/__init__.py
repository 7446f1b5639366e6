"""Filters of a request: parsed, checked against the columns, never pasted into SQL."""
