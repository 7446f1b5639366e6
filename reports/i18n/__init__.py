"""Languages: messages, numbers and dates."""
