"""What the tests of inference share: small p-tables, and Bayes' rule in exact fractions."""

from fractions import Fraction

from ptable import PTable

#: A p-table in twelfths: noise at 1, ties between originals, and rows that take turns beyond 4.
ROWS = (
    {0: 12},
    {-1: 4, 0: 4, 1: 4},
    {-2: 1, -1: 3, 0: 4, 1: 3, 2: 1},
    {-2: 2, 0: 8, 2: 2},
    {-1: 6, 1: 6},
)
TABLE = PTable.from_units([dict(row) for row in ROWS], key_range=12, large_counts="cycle:2")

#: Whole numbers, so that posterior probabilities are fractions; none of 5, ties, and a tail.
WEIGHTS = (40, 12, 12, 6, 3, 0, 2, 2, 1)


def row_of(original, table=TABLE):
    """Give P(noise | original); rows of larger counts take turns or are the last."""
    n_rows = table.n_rows
    cycle = 2 if table.large_counts == "cycle:2" else 1
    row = original if original < n_rows else n_rows - cycle + (original - n_rows) % cycle
    return {v: Fraction(n, table.key_range) for v, n in table.units(row).items() if n}


def transition(original, published, table=TABLE):
    """Give P(published | original)."""
    return row_of(original, table).get(published - original, Fraction(0))


def posterior(published, weights=WEIGHTS, table=TABLE):
    """Give P(original | published) of every original that may be; empty where none may."""
    joint = {i: weight * transition(i, published, table) for i, weight in enumerate(weights)}
    total = sum(joint.values())
    return {i: chance / total for i, chance in joint.items() if chance} if total else {}
