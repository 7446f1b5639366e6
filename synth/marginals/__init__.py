"""The default engine: noisy tables of few columns, and records drawn from them."""
