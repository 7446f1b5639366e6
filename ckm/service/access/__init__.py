"""Who may ask, how often, and what is noted of it."""
