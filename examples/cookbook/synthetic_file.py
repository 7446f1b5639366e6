"""A synthetic file: records of nobody, drawn from noisy tables of the true ones.

python synthetic_file.py
ckm dp ledger create synthesis.db --epsilon 1 --delta 1e-6 --unit record
ckm synth fit for-synthesis.parquet --schema schema.json --epsilon 1 --delta 1e-7 --ledger synthesis.db --who Ada -o model
ckm synth sample model -n 6000 -o synthetic.parquet
"""  # noqa: E501

import pandas as pd
from ckm_engine.synth import Category, Schema, Whole

people = pd.read_parquet("people.parquet")[["region", "sex", "age", "status"]]
people.to_parquet("for-synthesis.parquet")

# What may stand in each column comes from the code book, never from the records.
Schema(
    columns=[
        Category(name="region", values=["01", "02", "03"], declared_by="code book"),
        Category(name="sex", values=["F", "M"], declared_by="code book"),
        Whole(name="age", low=0, high=110, bins=22, declared_by="questionnaire"),
        Category(name="status", values=["1", "2", "3"], declared_by="code book"),
    ]
).write("schema.json")
