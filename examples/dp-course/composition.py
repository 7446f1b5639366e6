"""What several answers cost together."""

import tempfile

from ckm_engine import dp

half = dp.Guarantee(epsilon=0.5, adjacency="add-remove")
print("two on the same people:", dp.basic([half, half]))
print("two on different people:", dp.parallel([half, half]))
print("the same, one person replaced:", dp.parallel([half, half], adjacency="replace"))

tenth = dp.Guarantee(epsilon=0.1, delta=1e-6, adjacency="add-remove")
added, advanced = dp.basic([tenth] * 100), dp.advanced(tenth, times=100, slack=1e-5)
print(f"a hundred, added up: {added.epsilon:.4f}")
print(f"a hundred, by the advanced theorem: {advanced.epsilon:.4f}")

ledger = dp.BudgetLedger.create(
    f"{tempfile.mkdtemp()}/budget.db", epsilon=1, adjacency="add-remove"
)
for what in ("gastric conditions", "mean age"):
    ledger.spend(half, who="Ada", what=what)
try:
    ledger.spend(half, who="Ada", what="mean age, once more")
except dp.BudgetSpentError as error:
    print("the ledger:", error.problem)
