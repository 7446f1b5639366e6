"""Probabilities as whole numbers of keys, and their order in the key range."""
