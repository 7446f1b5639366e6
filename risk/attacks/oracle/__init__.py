"""What attacks ask, how answers are counted, and what an attack achieved."""
