"""Risk against utility over many designs of noise."""
