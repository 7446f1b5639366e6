"""What two vintages of priority zones tell of those who live between the boundaries.

Run it after run.py:  python examples/qpv/slivers.py qpv            (about half a minute)

496 zones of 2024 differ by one to four people from their zone of 2015. An intruder knows the
p-table and the boundaries, and subtracts what the release publishes.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from ckm_engine.ckm.config import read_job
from ckm_engine.ckm.demo.register import OUTSIDE
from ckm_engine.ckm.release.job_inputs import open_engine
from ckm_engine.ptable import Mechanism, NoiseSpec, PTable, solve
from ckm_engine.ptable.design.presets import PRESETS, RULES
from ckm_engine.risk.attacks.reconstruction.geographic import Sliver, find_slivers

INNER = ["sex", "category", "age_group"]
R = RULES["r-ptable"]


def designs() -> dict[str, PTable]:
    """Build what is attacked: exact counts as the control, rounding, and both rules."""
    found = {
        "exact counts": PTable(noise=[[0]], upper=[[8]], key_range=8),
        "rounding to 5": Mechanism.rounding(5).build(),
        "random rounding to 5, by cell keys": Mechanism.random_rounding(5).build(),
    }
    for max_noise, variance, small in ((5, 3.0, 2), (8, 6.5, 0), (8, 6.5, 4)):
        name = f"D={max_noise} V={variance:g} js={small}"
        fields = {"max_noise": max_noise, "variance": variance, "small": small}
        found[name] = solve(NoiseSpec(**fields))
        found[f"{name}, rule r-ptable"] = solve(NoiseSpec(**fields, **R))
    found["D=10 V=15 js=4, 8.11 for count 1"] = solve(
        NoiseSpec(max_noise=10, variance=(8.11, *[15.0] * 14), small=4)
    )
    found["insee-qpv (D=10 V=15 js=4, rule r-ptable)"] = solve(PRESETS["insee-qpv"].spec)
    return found


def main() -> None:
    """Attack the same slivers under every design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("qpv"))
    folder = parser.parse_args().folder
    job = read_job(folder / "job.toml")
    people = pd.read_parquet(folder / "register.parquet")
    slivers = find_slivers(people["zone_2015"], people["zone_2024"], largest=4)
    between = people[people["zone_2015"] != people["zone_2024"]]
    sizes = Counter(sliver.n_only_zone for sliver in slivers)
    print(f"{len(slivers)} slivers, {len(between)} people: {dict(sorted(sizes.items()))}")
    lines = {
        name: attacked(job, ptable, slivers, between) for name, ptable in designs().items()
    }
    print(pd.DataFrame.from_dict(lines, orient="index").to_string())


def attacked(
    job: object, ptable: PTable, slivers: tuple[Sliver, ...], between: pd.DataFrame
) -> dict[str, str]:
    """Publish both vintages and subtract one from the other."""
    with open_engine(job, ptable) as engine:
        tables = {year: job.tables[f"zones_{year}"] for year in (2015, 2024)}
        found = engine.tabulate_all(tables)
    wide = [
        table.to_pandas().rename(columns={f"zone_{year}": "zone"}).set_index(["zone", *INNER])
        for year, table in found.items()
    ]
    both = pd.concat([frame["count"] for frame in wide], axis=1).fillna(0)
    change = (both.iloc[:, 0] - both.iloc[:, 1]).astype(int).sort_index()
    total = change.xs(("Total", "Total", "Total"), level=INNER)
    gaps = [total[s.zone] * (1 if s.zoning == "old" else -1) for s in slivers]
    truth = [s.n_only_zone for s in slivers]
    likely = guesses(ptable, [s.zone_count for s in slivers])
    guessed = [max(range(1, 5), key=lambda n: likely[n].get(gap, 0.0)) for gap in gaps]
    zone = between["zone_2015"].where(between["zone_2015"] != OUTSIDE, between["zone_2024"])
    places = [tuple(place) for place in between.assign(zone=zone)[["zone", *INNER]].to_numpy()]
    told = [change.get(place, 0) != 0 for place in places]
    return {
        "somebody lives there": percent([gap != 0 for gap in gaps]),
        "difference is right": percent([a == b for a, b in zip(gaps, truth, strict=True)]),
        "best guess is right": percent([a == b for a, b in zip(guessed, truth, strict=True)]),
        "people whose cell is told": percent(told),
    }


def guesses(ptable: PTable, counts: list[int]) -> dict[int, Counter[int]]:
    """Say how likely each difference is for a sliver of 1 to 4, over zones of these counts."""
    last = int(ptable.counts[-1])
    law = {c: ptable.units(min(c, last)) for c in {n - k for n in counts for k in range(5)}}
    if ptable.large_counts != "last":
        start = last + 1 - int(ptable.large_counts.partition(":")[2])
        law = {
            c: ptable.units(c if c <= last else start + (c - start) % (last + 1 - start))
            for c in law
        }
    found = {}
    for n in range(1, 5):
        found[n] = Counter()
        for count, many in Counter(counts).items():
            for v, p in law[count].items():
                for w, q in law[count - n].items():
                    found[n][n + v - w] += many * p * q / ptable.key_range**2
    return found


def percent(flags: list[bool]) -> str:
    """Write a share."""
    return f"{100 * np.mean(flags):.1f} %"


if __name__ == "__main__":
    main()
