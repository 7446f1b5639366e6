"""What an intruder can learn from protected tables, and what a user loses."""

__all__: list[str] = []
