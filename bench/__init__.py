"""Benchmarks: run them all with ``python -m bench``, or one with ``python -m bench.marginals``."""
