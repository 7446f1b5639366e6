"""Differential privacy: mechanisms, sensitivity, composition, budgets, accountants."""
