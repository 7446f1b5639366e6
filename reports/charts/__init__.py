"""The pictures of a page, drawn from facts."""
