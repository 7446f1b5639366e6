"""A classifier whose training protects every person, from people who do not exist.

Run it:  python examples/private_model.py        (needs the extra dpsgd)
"""

import tempfile
from pathlib import Path

import numpy as np

from ckm_engine import dp, dpsgd

# Bounds and codes come from the questionnaire, never from the data.
schema = dpsgd.Schema(
    columns=[
        dpsgd.Number(name="age", low=0, high=100, cuts=[62, 67]),
        dpsgd.Category(name="sex", values=["F", "M"]),
    ],
    target=dpsgd.Category(name="retired", values=["no", "yes"]),
)
plan = dpsgd.Plan.for_budget(
    1.0, delta=1e-5, dataset_size=5000, batch_size=500, epochs=10, unit="person", schema=schema
)


def people(number: int, rng: np.random.Generator) -> dict[str, object]:
    """Make people up."""
    ages = rng.uniform(20, 90, number)
    retired = np.where(ages + rng.normal(0, 4, number) > 64, "yes", "no")
    return {"age": ages, "sex": rng.choice(["F", "M"], number), "retired": retired}


rng = np.random.default_rng(1)
with tempfile.TemporaryDirectory() as folder:
    # What a budget holds is not a matter of opinion: the second run is refused.
    ledger = dp.BudgetLedger.create(
        f"{folder}/budget.db", epsilon=1.5, delta=1e-4, adjacency="add-remove", unit="person"
    )
    model = dpsgd.DPClassifier(plan, learning_rate=4.0)
    model.fit(people(5000, rng), ledger=ledger, who="Ada", what="who is retired")
    file = Path(folder) / "retired.safetensors"
    model.save(file)
    again = dpsgd.read_model(file)
    print("promise:", round(dpsgd.read_facts(file).card.epsilon, 4), "per", plan.unit)
    print("left:", ledger.left)
    print("right answers on others:", round(again.score(people(2000, rng)), 2))
    try:
        model.fit(people(5000, rng), ledger=ledger, who="Ada", what="once more")
    except dp.BudgetSpentError as error:
        print(error)
