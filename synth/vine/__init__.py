"""A private vine: copulas between numbers, tables for codes, all from noisy counts."""
