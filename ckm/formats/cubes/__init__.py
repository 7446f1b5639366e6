"""Formats that lay a table out as a cube: JSON-stat and PX."""
