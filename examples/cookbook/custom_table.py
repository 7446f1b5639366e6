"""Tables on demand: many small requests of one set of records, each protected alike.

python custom_table.py
"""

from ckm_engine.ptable import NoiseSpec, solve

from ckm_engine import ckm

ptable = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
secret = ckm.Secret.from_file("secret.key")

with ckm.Engine("people.parquet", id="person_id", secret=secret, ptable=ptable) as engine:
    regions = engine.tabulate(["region", "sex"])
    women = engine.tabulate(["region"], where="sex = 'F'", margins="none")

# The same records have the same noise, however they are asked for.
wide = regions.to_pandas().pivot(index="region", columns="sex", values="count")
again = women.to_pandas().set_index("region")["count"]
print(wide)
print("Alike:", (wide.loc[again.index, "F"] == again).all())
