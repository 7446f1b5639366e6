"""What several releases promise together."""
