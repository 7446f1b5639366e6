"""Cells of amounts from which one contributor could be estimated."""
