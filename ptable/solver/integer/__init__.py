"""Exact arithmetic: simplex bases, lattices and roundings in whole numbers."""
