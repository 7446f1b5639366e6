"""Many training runs over lists of choices."""
