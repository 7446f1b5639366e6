"""What a training run costs, and what is claimed of it."""
