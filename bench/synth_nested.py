"""Codes that nest in synthetic records: impossible pairs, and what declaring them costs.

A made-up file of persons in 13 regions, 100 districts and 1,500 communes, of which a few are
large and most have a handful of records. ``--acs`` takes persons of the American Community
Survey, with their states, areas (PUMA), industries and groups of industries. Each is fitted
where the schema says that nothing nests, where it declares what does, and where it says
nothing. Noise is simulated, so that seeds can be given.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.measure import show
from dp import Adjacency
from synth import Budget, Category, Parents, Schema, SimulatedNoise, Synthesizer, Whole

SHARED = Path(os.environ.get("CKM_SHARED", Path(__file__).parents[2] / "shared"))
DELTA = 1e-5
_LETTERS = "abcde"
_ACS = ("PUMA", "SEX", "RAC1P", "HISP", "MSP", "EDU", "NOC", "OWN_RENT", "INDP", "INDP_CAT")


def _below(parents: list[str], number: int, rng: np.random.Generator, width: int) -> list[str]:
    """Return codes that begin with their parent; each parent has one at least."""
    others = rng.integers(0, len(parents), number - len(parents))
    above = np.sort(np.concatenate([np.arange(len(parents)), others]))
    seen: dict[int, int] = {}
    codes = []
    for one in above.tolist():
        seen[one] = seen.get(one, 0) + 1
        codes.append(f"{parents[one]}{seen[one]:0{width}d}")
    return codes


def persons(number: int, *, seed: int = 1) -> tuple[pd.DataFrame, list[Any], list[Parents]]:
    """Return people made up, their columns, and which codes nest."""
    rng = np.random.default_rng(seed)
    regions = [f"{one:02d}" for one in range(1, 14)]
    districts = _below(regions, 100, rng, 2)
    communes = _below(districts, 1500, rng, 3)
    size = rng.pareto(1.1, len(communes)) + 0.2
    place = rng.choice(len(communes), number, p=size / size.sum())
    commune = np.array(communes)[place]
    region_code = pd.factorize(pd.Series(commune).str[:2])[0]
    district_code = pd.factorize(pd.Series(commune).str[:4])[0]
    age = rng.integers(0, 100, number)
    of_region = rng.normal(0, 1, 13)[region_code]
    level = of_region + rng.normal(0, 0.7, 100)[district_code]
    level += rng.normal(0, 0.5, len(communes))[place]
    education = np.rint(2.5 + level * 0.8 + rng.normal(0, 1, number) - (age - 50) / 100)
    education = np.clip(education, 0, 6).astype(int)
    income = np.exp(9.5 + 0.3 * education + 0.3 * level + rng.normal(0, 0.6, number))
    owns = rng.random(number) < 1 / (1 + np.exp(-level - (age - 45) / 15))
    spoken = np.clip(np.rint(2 + of_region + rng.normal(0, 0.6, number)), 0, 4).astype(int)
    frame = pd.DataFrame(
        {
            "region": pd.Series(commune).str[:2],
            "district": pd.Series(commune).str[:4],
            "commune": commune,
            "age": age,
            "sex": rng.choice(["F", "M"], number),
            "education": education.astype(str),
            "home": np.where(owns, "own", "rent"),
            "language": np.array(list(_LETTERS))[spoken],
            "income": np.clip(np.rint(income), 0, 500_000).astype(int),
        }
    )
    columns = [
        Category(name="region", values=tuple(regions)),
        Category(name="district", values=tuple(districts)),
        Category(name="commune", values=tuple(communes)),
        Whole(name="age", low=0, high=99, bins=20),
        Category(name="sex", values=("F", "M")),
        Category(name="education", values=tuple(map(str, range(7))), is_ordered=True),
        Category(name="home", values=("own", "rent")),
        Category(name="language", values=tuple(_LETTERS)),
        Whole(name="income", low=0, high=500_000, bins=30, spacing="log"),
    ]
    parents = [
        Parents(child="commune", parent="district", prefix=4),
        Parents(child="district", parent="region", prefix=2),
    ]
    return frame, columns, parents


def survey() -> tuple[pd.DataFrame, list[Any], list[Parents]]:
    """Return persons of the survey, their columns, and which codes nest."""
    source = pd.read_parquet(SHARED / "data" / "acs_national_2019.parquet")
    frame = pd.DataFrame({"STATE": source["PUMA"].str[:2], "AGEP": source["AGEP"].astype(int)})
    for name in _ACS:
        texts = source[name].astype(str).str.replace(r"\.0$", "", regex=True)
        frame[name] = texts.where(source[name].notna(), "N")
    columns: list[Any] = [
        Whole(name=name, low=0, high=99, bins=20)
        if name == "AGEP"
        else Category(name=name, values=tuple(sorted(frame[name].unique())))
        for name in map(str, frame)
    ]
    industries = dict(zip(frame["INDP"], frame["INDP_CAT"], strict=True))
    parents = [
        Parents(child="PUMA", parent="STATE", prefix=2),
        Parents(child="INDP", parent="INDP_CAT", codes=industries),
    ]
    return frame, columns, parents


def _coded(frame: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with numbers in tenths of those of the true one."""
    codes = {}
    for name in frame:
        if pd.api.types.is_numeric_dtype(truth[name]):
            edges = np.unique(np.quantile(truth[name], np.linspace(0, 1, 11)))
            codes[name] = np.searchsorted(edges[1:-1], frame[name], side="right")
        else:
            codes[name] = frame[name].to_numpy()
    return pd.DataFrame(codes)


def distances(true: pd.DataFrame, made: pd.DataFrame, number: int) -> dict[Any, float]:
    """Return the distance in total variation of each table of some columns."""
    one, two = _coded(true, true), _coded(made, true)
    tables = {}
    for names in combinations(one.columns, number):
        first, second = (frame.groupby(list(names)).size() / len(frame) for frame in (one, two))
        first, second = first.align(second, fill_value=0)
        tables[names] = float((first - second).abs().sum() / 2)
    return tables


def _measured(world: Any, *, epsilon: float, said: Any, seed: int, method: str) -> list[float]:
    frame, columns, parents = world
    adjacency = "replace" if method in {"copula", "priv-bayes"} else "add-remove"
    start = time.process_time()
    model = Synthesizer(schema=Schema(columns=columns, parents=said), method=method).fit(
        frame,
        Budget(epsilon=epsilon, delta=DELTA, adjacency=Adjacency(adjacency)),
        noise=SimulatedNoise(seed=seed),
    )
    made = model.sample(len(frame), rng=np.random.default_rng(seed))
    seconds = time.process_time() - start
    wrong = []
    for one in parents:
        above = (
            made[one.child].map(one.codes) if one.codes else made[one.child].str[: one.prefix]
        )
        wrong.append(float((above != made[one.parent]).mean()))
    nested = {name for one in parents for name in (one.child, one.parent)}
    pairs, triples = distances(frame, made, 2), distances(frame, made, 3)
    return [
        *wrong,
        float(np.mean([value for names, value in pairs.items() if nested & {*names}])),
        float(np.mean([value for names, value in pairs.items() if not nested & {*names}])),
        float(np.mean([*triples.values()])),
        seconds,
    ]


def learned(world: Any, *, epsilon: float, share: float, seed: int) -> list[float]:
    """Return the share of records whose code gets a wrong parent from a noisy table of both.

    The table has a share of the budget, and of each code the parent with the largest count.
    """
    frame, _, parents = world
    rho = Budget(epsilon=epsilon, delta=DELTA).concentrated() * share
    rng, wrong = np.random.default_rng(seed), []
    for one in parents:
        counts = pd.crosstab(frame[one.child], frame[one.parent]).to_numpy()
        noisy = counts + rng.normal(0, (2 * rho) ** -0.5, counts.shape)
        is_wrong = noisy.argmax(axis=1) != counts.argmax(axis=1)
        wrong.append(float(counts[is_wrong].sum() / counts.sum()))
    return wrong


def _show_learned(world: Any, epsilons: list[float], seeds: int) -> None:
    lines: list[list[object]] = []
    for epsilon in epsilons:
        for share in (0.05, 0.1, 0.3, 1.0):
            runs = [
                learned(world, epsilon=epsilon, share=share, seed=seed) for seed in range(seeds)
            ]
            means = [f"{value:.4f}" for value in np.mean(runs, axis=0)]
            lines.append([f"{epsilon:g}", f"{share:.0%}", *means])
    names = [f"wrong: {one.label}" for one in world[2]]
    show("Parents from a noisy table", ["epsilon", "of the budget", *names], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acs", action="store_true")
    parser.add_argument("--learned", action="store_true", help="Parents from records, no fit.")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 4.0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=["tables"])
    options = parser.parse_args()
    world = survey() if options.acs else persons(options.records)
    if options.learned:
        _show_learned(world, options.epsilon, options.seeds)
        return
    lines: list[list[object]] = []
    for method in options.methods:
        for epsilon in options.epsilon:
            for words, said in (
                ("nothing nests", ()),
                ("declared", world[2]),
                ("nothing", None),
            ):
                runs = [
                    _measured(world, epsilon=epsilon, said=said, seed=seed, method=method)
                    for seed in range(options.seeds)
                ]
                figures = [f"{value:.4f}" for value in np.mean(runs, axis=0)]
                lines.append([method, f"{epsilon:g}", words, *figures])
    names = [f"outside: {one.label}" for one in world[2]]
    heads = ("nested pairs", "other pairs", "triples", "CPU s")
    columns = ["method", "epsilon", "the schema says", *names, *heads]
    show("Codes that nest", columns, lines)


if __name__ == "__main__":
    main()
