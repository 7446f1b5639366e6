"""A first protected table, from people who do not exist.

Run it:  python examples/first_table.py
"""

import numpy as np
from ckm_engine.ckm.demo import job_seekers
from ckm_engine.ptable import NoiseSpec, solve

from ckm_engine import ckm

# Five thousand made-up job seekers. Any Parquet, CSV or DuckDB file would do, and so would a
# pandas, polars or Arrow table.
people = job_seekers(np.random.default_rng(1), persons=5_000).people

# No published count is further than 5 from the truth, and none is 1 or 2.
table = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))

# A real office keeps its secret in a file, made once by `ckm keys secret secret.key`:
# with another secret every cell would get other noise.
secret = ckm.Secret.generate()

with ckm.Engine(people, id="person_id", secret=secret, ptable=table) as engine:
    by_region = engine.tabulate(["region", "sex"])
    young = engine.tabulate(["region"], where="age < 25", margins="none")

print(by_region.to_pandas().head(12).to_string(index=False))
print()
print("Younger than 25:")
print(young.to_pandas().head(5).to_string(index=False))
