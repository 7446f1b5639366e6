"""Requests too large for one answer: they wait, run and are kept for their owner."""
