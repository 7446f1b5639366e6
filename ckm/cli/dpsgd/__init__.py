"""``ckm dpsgd``: private training."""
