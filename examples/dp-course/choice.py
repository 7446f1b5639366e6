"""A choice instead of a number: the exponential mechanism."""

from ckm_engine import dp

counts = {"French": 6, "German": 5, "Swiss": 3, "Italian": 2}
choice = dp.Exponential(epsilon=2, sensitivity=1, adjacency="add-remove")
for name, chance in zip(counts, choice.probabilities([*counts.values()]), strict=True):
    print(f"{name}: {chance:.2f}")

# A price with noise sells nothing: a cent above 1 loses three buyers of four.
offers = [1, 1, 1, 3.01]
for price in (1, 1.01, 3.01, 3.02):
    revenue = price * sum(offer >= price for offer in offers)
    print(f"at {price:.2f}: {revenue:.2f}")
