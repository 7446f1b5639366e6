"""The pages of private training."""
