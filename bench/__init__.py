"""Benchmarks: all with ``python -m bench``, one with ``python -m bench.marginals``."""
