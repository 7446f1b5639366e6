"""What all tables that may ever be asked give away together."""
