"""``ckm rappor``: local differential privacy."""
