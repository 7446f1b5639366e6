"""``ckm dp``: budgets, noise and what a guarantee means."""
