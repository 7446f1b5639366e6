"""What callers are told, in English and in French."""
