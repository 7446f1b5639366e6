"""Write the made-up data of the recipes into this folder: nobody in them exists.

Run it once:  python make_data.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(2027)
HERE = Path()

# Persons of three regions and their communes, whose codes begin with the region's.
n = 6_000
region = rng.choice(["01", "02", "03"], n, p=[0.5, 0.3, 0.2])
age = rng.integers(0, 100, n)
works = (age >= 15) & (age < 67) & (rng.random(n) < 0.7)
people = pd.DataFrame(
    {
        "person_id": [f"P{i:06}" for i in range(n)],
        "region": region,
        "commune": [f"{r}{c}" for r, c in zip(region, rng.integers(1, 6, n), strict=True)],
        "sex": rng.choice(["F", "M"], n),
        "age": age,
        "status": np.where(works, "1", np.where(age < 15, "3", "2")),
        "occupation": rng.choice(["1110", "1120", "2110", "2120", "2210"], n),
        "income": np.where(works, rng.lognormal(10, 0.5, n).round(), 0).astype(int),
        "balance": rng.normal(0, 900, n).round().astype(int),
        "w": rng.choice([9.5, 10.0, 12.25], n),
    }
)
people.to_parquet("people.parquet")

# A year later some have moved, some have left, others have come.
later = people.iloc[400:].copy()
moved = later.index[rng.random(len(later)) < 0.05]
later.loc[moved, "commune"] = later.loc[moved, "region"] + "1"
new = people.iloc[:450].assign(person_id=[f"N{i:06}" for i in range(450)])
pd.concat([later, new]).to_parquet("people-2028.parquet")

# As Excel saves it in French: semicolons, decimal commas, codes with leading zeros.
french = people[["person_id", "region", "sex", "age"]].assign(
    salaire=[f"{x:.2f}".replace(".", ",") for x in people["income"] / 12]
)
french.to_csv("enquete.csv", sep=";", index=False, encoding="utf-8-sig")

# Firms, with few large ones in some branches, and the groups that own them.
m = 900
branch = rng.choice(["A1", "A2", "B1", "B2", "C1"], m, p=[0.4, 0.3, 0.2, 0.08, 0.02])
pd.DataFrame(
    {
        "firm_id": [f"F{i:05}" for i in range(m)],
        "section": [b[0] for b in branch],
        "branch": branch,
        "region": rng.choice(["01", "02", "03"], m),
        "turnover": (rng.pareto(1.1, m) * 1_000 + 50).round().astype(int),
        "employees": rng.integers(1, 250, m),
        "group_id": [f"G{i // 2:05}" if i < 60 else f"F{i:05}" for i in range(m)],
    }
).to_parquet("firms.parquet")

# Occupations as a tree: each line a code and the code above it.
Path("occupations.csv").write_text(
    "code,parent\n1,\n2,\n11,1\n21,2\n22,2\n1110,11\n1120,11\n2110,21\n2120,21\n2210,22\n",
    encoding="utf-8",
)
Path("regions.csv").write_text(
    "code,en,fr\n01,North,Nord\n02,Centre,Centre\n03,South,Sud\n", encoding="utf-8"
)

try:
    import pyreadstat
except ModuleNotFoundError:
    print("people.sav is left out: it needs `pip install pyreadstat`")
else:
    pyreadstat.write_sav(
        people[["person_id", "region", "sex", "age"]],
        HERE / "people.sav",
        variable_value_labels={"sex": {"F": "Women", "M": "Men"}},
    )
