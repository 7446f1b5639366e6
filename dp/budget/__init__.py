"""A budget that lasts, in a file."""
