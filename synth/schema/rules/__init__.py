"""Rules that synthetic records keep."""
