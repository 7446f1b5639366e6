"""Where people are, for as long as they like: RAPPOR for cells of a grid or regions."""
