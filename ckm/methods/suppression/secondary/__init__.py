"""Which further cells are hidden, so that no sum opens the first ones."""
