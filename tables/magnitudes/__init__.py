"""Sums of amounts that no order of records can change, and largest contributions."""
