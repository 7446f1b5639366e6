"""What happens on a client: from a value to a report."""
