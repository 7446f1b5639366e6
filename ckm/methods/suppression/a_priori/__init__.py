"""What an office says of single cells, before any is chosen."""
