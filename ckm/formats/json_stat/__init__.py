"""JSON-stat 2.0, written and read."""
