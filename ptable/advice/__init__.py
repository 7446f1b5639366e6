"""What can be asked for instead where a specification has no solution."""
