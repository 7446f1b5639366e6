"""A program that spends until it is refused or killed; run by the tests of the ledger."""

from __future__ import annotations

import sys

from dp import BudgetLedger, BudgetSpentError, Guarantee


def main() -> None:
    """Spend 0.001 again and again; tell of each charge after it is made."""
    path, who = sys.argv[1], sys.argv[2]
    ledger = BudgetLedger.open(path)
    cost = Guarantee(epsilon=0.001, adjacency=ledger.settings.adjacency)
    while True:
        try:
            entry = ledger.spend(cost, who=who, what="a count")
        except BudgetSpentError:
            return
        print(entry.number, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
