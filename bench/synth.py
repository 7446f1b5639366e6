"""Utility, CPU seconds and memory of synthetic records, on public microdata.

Bins, splits and measures are those of the reference figures (see ``shared/reference/synth``):
two-way total variation on declared categories, single integers where there are at most 50,
otherwise 20 quantile bins of the real data; a boosted classifier trained on the synthetic and
tested on the real records. The codes given to the engine come from public bins: single years
and hours, geometric bins for amounts. Noise is simulated, so that seeds can be given.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import synth
from bench.measure import in_process, peak_mb, show
from dp import Adjacency

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARED = Path(os.environ.get("CKM_SHARED", Path(__file__).parents[2] / "shared"))
DELTA = 1e-5
EPSILONS = (0.1, 0.5, 1.0, 2.0, 8.0)
PARTS = (
    "adult",
    "compas",
    "acs",
    "acs12",
    "acs24",
    "schema",
    "bounds",
    "methods",
    "speed",
    "audit",
)
# What the default is compared with. The engines have DELTA, the baselines pure epsilon. As
# published, the vine chooses among all families, at a cost of minutes; kernels come nearer.
METHODS = (
    "synth",
    "synth, replace",
    "copula, replace",
    "DP-Copula",
    "COPULA-SHIRLEY, published",
    "COPULA-SHIRLEY, kernels",
    "independent",
)
# Ten features of persons and households; the age in years.
ACS = ("AGEP", "SEX", "RAC1P", "HISP", "MSP", "EDU", "NOC", "NPF", "OWN_RENT", "PUMA")
# Nothing was tuned on these: the same with industry and income, and all features of the file.
ACS_12 = (*ACS, "INDP_CAT", "PINCP_DECILE")


def _amounts(top: int) -> list[int]:
    return [0, 1, *np.unique(np.round(np.geomspace(100, top + 1, 24)).astype(int)).tolist()]


def _geometric(low: int, high: int) -> list[int]:
    """Cut wide bounds finer around 0, unseen; `low` and `high` have cells of their own."""
    steps = np.round(np.geomspace(10, max(-low, high) + 1, 40)).astype(int)
    around = np.array([low, low + 1, *-steps, -1, 0, 1, *steps, high])
    return np.unique([*around[(around >= low) & (around <= high)], high + 1]).tolist()


def _days() -> list[int]:
    ahead = [1, 2, 4, 8, 16, 31, 61, 121, 241, 481, 1058]
    behind = [-597, *(1 - days for days in (481, 241, 121, 61, 31, 16, 8, 4, 3, 2, 1))]
    return sorted({*behind, 0, *ahead})


class World:
    """A public file with its domains, the engine's codes and the bins of the evaluation."""

    def __init__(self, name: str) -> None:
        self.train, self.test, schema = _loaded(name)
        self.label = schema.get("label")
        self.columns = list(self.train.columns)
        self.categories: dict[str, list[Any]] = schema["categories"]
        self.edges: dict[str, list[int]] = {}
        self.bins: dict[str, np.ndarray] = {}
        for column, (low, high) in schema["integer_bounds"].items():
            if column in {"capital-gain", "capital-loss"}:
                self.edges[column] = _amounts(high)
            elif column == "days_b_screening_arrest":
                self.edges[column] = _days()
            elif high - low > 200:
                self.edges[column] = _geometric(low, high)
            else:
                self.edges[column] = list(range(low, high + 2))
            self.bins[column] = _evaluation_bins(self.train[column].to_numpy(), low, high)
        self.sizes = [
            len(self.categories[c]) if c in self.categories else len(self.edges[c]) - 1
            for c in self.columns
        ]
        self.ordered = [c not in self.categories for c in self.columns]

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the codes of the engine."""
        return self._codes(frame, self.edges, shift=1)

    def decode(self, codes: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
        """Return records for codes, even within bins."""
        found: dict[str, Any] = {}
        for place, column in enumerate(self.columns):
            if column in self.categories:
                found[column] = np.array(self.categories[column], object)[codes[:, place]]
            else:
                edges = np.array(self.edges[column])
                low, high = edges[codes[:, place]], edges[codes[:, place] + 1]
                found[column] = low + np.floor(rng.random(len(codes)) * (high - low)).astype(
                    int
                )
        return pd.DataFrame(found)

    def distances(self, frame: pd.DataFrame) -> tuple[float, float, float]:
        """Return mean total variation of one, two and three columns (300 triples drawn)."""
        real, drawn = (self._codes(f, self.bins, shift=0) for f in (self.train, frame))
        sizes = (np.maximum(real.max(axis=0), drawn.max(axis=0)) + 1).tolist()
        ways: list[float] = []
        for number in (1, 2, 3):
            found = []
            sets = list(combinations(range(len(sizes)), number))
            if len(sets) > 300:
                picked = np.random.default_rng(0).choice(len(sets), 300, replace=False)
                sets = [sets[one] for one in picked]
            for some in sets:
                shape = [sizes[place] for place in some]
                shares = [
                    np.bincount(np.ravel_multi_index(t[:, list(some)].T, shape)) / len(t)
                    for t in (real, drawn)
                ]
                cells = max(len(share) for share in shares)
                first, second = (np.pad(share, (0, cells - len(share))) for share in shares)
                found.append(0.5 * np.abs(first - second).sum())
            ways.append(float(np.mean(found)))
        return ways[0], ways[1], ways[2]

    def auc(self, frame: pd.DataFrame) -> float:
        """Return the area under the curve on real test records, trained on the frame."""
        if self.label is None:
            return float("nan")
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import roc_auc_score

        model = HistGradientBoostingClassifier(random_state=0).fit(*self._features(frame))
        features, truth = self._features(self.test)
        return float(roc_auc_score(truth, model.predict_proba(features)[:, 1]))

    def _features(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        features = [
            pd.Categorical(frame[c], categories=self.categories[c]).codes
            if c in self.categories
            else frame[c].to_numpy()
            for c in self.columns
            if c != self.label
        ]
        truth = frame[self.label].isin([">50K", 1]).to_numpy()
        return np.column_stack(features).astype(float), truth.astype(int)

    def _codes(self, frame: pd.DataFrame, edges: dict[str, Any], *, shift: int) -> np.ndarray:
        found = [
            pd.Categorical(frame[c], categories=self.categories[c]).codes.astype(int)
            if c in self.categories
            else np.searchsorted(edges[c], frame[c].to_numpy(), side="right") - shift
            for c in self.columns
        ]
        return np.column_stack(found)


def _evaluation_bins(values: np.ndarray, low: int, high: int) -> np.ndarray:
    if high - low <= 50:
        return np.arange(low, high + 2)
    has_heap = (values == 0).mean() > 0.3
    cuts = np.quantile(values[values != 0] if has_heap else values, np.linspace(0, 1, 21))
    return np.unique([*cuts, 0, 1] if has_heap else cuts)


def _made_up(name: str) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Return made-up firms or persons, with what their schemas declare."""
    from bench.synth_persons import persons
    from bench.synth_vine import firms

    frame, schema = firms("unseen", 20_000, 100) if name == "firms" else persons(20_000, 100)
    categories, bounds = dict[str, list[Any]](), dict[str, tuple[int, int]]()
    for column in schema.columns:
        if isinstance(column, synth.Whole):
            bounds[column.name] = (int(column.bounds[0]), int(column.bounds[1]))
        elif isinstance(column, synth.Category):
            categories[column.name] = list(column.known)
    return frame, frame, {"categories": categories, "integer_bounds": bounds}


def _loaded(name: str) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    if name in ("firms", "persons"):
        return _made_up(name)
    data = SHARED / "data"
    if name.startswith("acs"):
        texts = json.loads((data / "acs_schema.json").read_text())["schema"]
        some = {"acs": ACS, "acs12": ACS_12, "acs24": tuple(texts)}[name]
        frame = pd.read_parquet(data / "acs_national_2019.parquet")[list(some)]
        bounds = {c: (texts[c]["min"], texts[c]["max"]) for c in some if "min" in texts[c]}
        if "DENSITY" in bounds:  # of the PUMA, and published: one of twenty figures
            texts["DENSITY"]["values"] = sorted(set(frame["DENSITY"].map(int)))
            frame["DENSITY"] = frame["DENSITY"].map(int)
            del bounds["DENSITY"]
        for column in {"PINCP", "POVPIP"} & {*some}:  # not applicable: a code of its own, below
            frame[column] = pd.to_numeric(frame[column]).fillna(bounds[column][0] - 1)
            bounds[column] = (bounds[column][0] - 1, bounds[column][1])
        for column in bounds:
            frame[column] = np.floor(frame[column]).astype(np.int64)
        categories = {c: [str(v) for v in texts[c]["values"]] for c in some if c not in bounds}
        for column in categories:
            values = frame[column]
            is_number = values.dtype.kind in "iuf"
            frame[column] = values.map(
                lambda v, n=is_number: "N" if pd.isna(v) else str(int(v)) if n else v
            )
        return frame, frame, {"categories": categories, "integer_bounds": bounds}
    schema = json.loads((SHARED / "reference" / "synth" / f"{name}_schema.json").read_text())
    if name == "adult":
        parts = [pd.read_parquet(data / f"adult_{part}.parquet") for part in ("train", "test")]
        return *(part.drop(columns="fnlwgt") for part in parts), schema
    frame = pd.read_parquet(data / "compas.parquet")
    order = np.random.default_rng(0).permutation(len(frame))
    cut = round(0.8 * len(frame))
    parts = [frame.iloc[order[:cut]], frame.iloc[order[cut:]]]
    return *(part.reset_index(drop=True) for part in parts), schema


def measured(name: str, epsilon: float, seed: int) -> dict[str, float]:
    """Fit, draw and evaluate once."""
    world = World(name)
    codes = world.encode(world.train)
    label = world.columns.index(world.label) if world.label else None
    rng = np.random.default_rng(1000 + seed)
    started = time.process_time()
    model = synth.fit_codes(
        codes,
        sizes=world.sizes,
        ordered=world.ordered,
        rho=synth.Budget(epsilon=epsilon, delta=DELTA).concentrated(),
        label=label,
        noise=synth.SimulatedNoise(seed=seed),
    )
    drawn = model.sample(len(codes), rng=rng)
    spent = time.process_time() - started
    peak = peak_mb()
    frame = world.decode(drawn, rng)
    one, two, three = world.distances(frame)
    return {
        "one": one,
        "two": two,
        "three": three,
        "auc": world.auc(frame),
        "cpu": spent,
        "peak": peak,
    }


def from_bounds(name: str, epsilon: float, seed: int) -> dict[str, float]:
    """Fit by names, types and bounds alone, draw and evaluate once."""
    world, bounds = World(name), _loaded(name)[2]["integer_bounds"]
    columns = [
        synth.Whole(name=c, low=bounds[c][0], high=bounds[c][1])
        if c in bounds
        else synth.Category(name=c, values=world.categories[c])
        for c in world.columns
    ]
    maker = synth.Synthesizer(schema=synth.Schema(columns=tuple(columns)), label=world.label)
    budget = synth.Budget(epsilon=epsilon, delta=DELTA)
    started = time.process_time()
    model = maker.fit(world.train, budget, noise=synth.SimulatedNoise(seed=seed))
    frame = model.sample(len(world.train), rng=np.random.default_rng(1000 + seed))
    spent, peak = time.process_time() - started, peak_mb()
    one, two, three = world.distances(frame)
    found = {"one": one, "two": two, "three": three}
    return {**found, "auc": world.auc(frame), "cpu": spent, "peak": peak}


def acs_schema(world: World) -> synth.Schema:
    """Return the schema of all 24 columns: bins, weight, and what the data dictionary says."""
    columns = [
        synth.Whole(name=c, low=world.edges[c][0], high=world.edges[c][-1] - 1,
                    edges=world.edges[c][:-1])
        if c in world.edges
        else synth.Category(name=c, values=world.categories[c])
        for c in world.columns
    ]  # fmt: skip
    frame, rules = world.train, list[str]()
    for column, least in (
        ("MSP", 15),
        ("PINCP_DECILE", 15),
        ("EDU", 3),
        ("DREM", 5),
        ("DPHY", 5),
    ):
        rules += [f"if AGEP < {least} then {column} == 'N'"]
        rules += [f"if AGEP >= {least} then {column} != 'N'"]
    none = world.edges["PINCP"][0]  # how no income is written
    rules += [f"if AGEP < 15 then PINCP == {none}", f"if AGEP >= 15 then PINCP > {none}"]
    rules += ["if AGEP < 16 then INDP_CAT == 'N'"]
    for one in ("OWN_RENT == '0'", "NOC == 'N'", "WGTP == 0"):
        rules += [f"if HOUSING_TYPE != '1' then {one}"]
        rules += [f"if HOUSING_TYPE == '1' then not ({one})"]
    rules += ["if HOUSING_TYPE != '1' then NPF == 'N'"]
    lists = (dict(zip(frame[fine], frame[coarse], strict=True))
             for fine, coarse in (("INDP", "INDP_CAT"), ("PUMA", "DENSITY")))  # fmt: skip
    codes = [synth.code_hierarchy(fine, coarse, parents=one) for (fine, coarse), one in zip(
        (("INDP", "INDP_CAT"), ("PUMA", "DENSITY")), lists, strict=True)]  # fmt: skip
    rules += [one for found in codes for one in found]
    return synth.Schema(columns=tuple(columns), rules=tuple(rules), weight="PWGTP")


def from_schema(name: str, epsilon: float, seed: int) -> dict[str, float]:
    """Fit all columns of ACS by a schema with rules and a weight; draw and evaluate once."""
    world = World(name)
    schema = acs_schema(world)
    budget = synth.Budget(epsilon=epsilon, delta=DELTA)
    started = time.process_time()
    maker = synth.Synthesizer(schema=schema)
    model = maker.fit(world.train, budget, noise=synth.SimulatedNoise(seed=seed))
    drawn = model.draw(len(world.train), rng=np.random.default_rng(1000 + seed))
    spent, peak = time.process_time() - started, peak_mb()
    frame = synth.frames.from_codes(drawn.codes, numbers=drawn.numbers, schema=model.schema)
    one, two, three = world.distances(frame)
    total = frame["PWGTP"].sum() / world.train["PWGTP"].sum() - 1
    broken = sum(model.violations(drawn).values()) / len(frame)
    found = {"one": one, "two": two, "three": three, "total": abs(total), "broken": broken}
    return {**found, "cpu": spent, "peak": peak}


def compared(name: str, method: str, epsilon: float, seed: int) -> dict[str, float]:
    """Fit, draw and evaluate one method; the published one is not DP as claimed."""
    world = World(name)
    codes = world.encode(world.train)
    rng = np.random.default_rng(1000 + seed)
    started = time.process_time()
    if method.startswith(("synth", "copula", "independent")):
        drawn = _engine(world, codes, method, epsilon, seed).sample(len(codes), rng=rng)
    else:
        drawn = _baseline(world, codes, method, epsilon, rng)
    spent = time.process_time() - started
    frame = world.decode(drawn, rng)
    return {"two": world.distances(frame)[1], "auc": world.auc(frame), "cpu": spent}


def _engine(world: World, codes: np.ndarray, method: str, epsilon: float, seed: int) -> Any:
    from synth.marginals.measuring import Neighbours
    from synth.methods import fitter_of

    near = "replace" if method.endswith("replace") else "add-remove"
    known = {"synth": "tables", "copula": "copula", "independent": "histogram"}
    kind = known[method.partition(",")[0]]
    label = world.columns.index(world.label) if world.label else None
    return fitter_of(kind)(
        codes,
        sizes=world.sizes,
        ordered=world.ordered,
        rho=synth.Budget(epsilon=epsilon, delta=DELTA).concentrated(),
        label=label if kind == "tables" else None,
        neighbours=Neighbours(adjacency=Adjacency(near)),
        noise=synth.SimulatedNoise(seed=seed),
    )


def _baseline(
    world: World, codes: np.ndarray, method: str, epsilon: float, rng: np.random.Generator
) -> np.ndarray:
    """Fit a baseline to the engine's codes, categories by name; return codes."""
    from synth.baselines import copula_shirley, dp_copula
    from synth.copulas import FAMILIES

    domains = {
        column: world.categories.get(column, list(range(size)))
        for column, size in zip(world.columns, world.sizes, strict=True)
    }
    records = pd.DataFrame(
        {c: np.array(domains[c])[codes[:, place]] for place, c in enumerate(world.columns)}
    )
    if method == "DP-Copula":
        model = dp_copula(records, epsilon=epsilon, domains=domains, rng=rng)
    else:
        model = copula_shirley(
            records,
            epsilon=epsilon,
            domains=domains,
            encoder="woe",
            target=world.label,
            families=("tll",) if method.endswith("kernels") else FAMILIES,
            rng=rng,
        )
    drawn = model.sample(len(codes), rng)
    return np.column_stack(
        [pd.Categorical(drawn[c], categories=domains[c]).codes for c in world.columns]
    ).astype(np.int64)


def speed(records: int, columns: int) -> dict[str, float]:
    """Fit and draw many records of related columns, with secure noise."""
    rng = np.random.default_rng(1)
    sizes = ([2, 3, 5, 8, 10, 16, 20, 30, 50, 90] * columns)[:columns]
    group = rng.integers(0, 6, records)
    drawn = [np.where(rng.random(records) < 0.5, rng.integers(0, k, records), group * k // 6)
             for k in sizes]  # fmt: skip
    codes = np.column_stack(drawn).astype(np.int32)
    del drawn, group
    begun, started = time.perf_counter(), time.process_time()
    model = synth.fit_codes(
        codes,
        sizes=sizes,
        ordered=[k > 16 for k in sizes],
        rho=synth.Budget(epsilon=1.0, delta=DELTA).concentrated(),
    )
    wall, fitted = time.perf_counter() - begun, time.process_time()
    model.sample(records, rng=rng)
    ended = time.process_time()
    return {
        "fit": fitted - started,
        "wall": wall,
        "rows": records / (ended - fitted),
        "peak": peak_mb(),
    }


def data_rows(
    name: str, *, epsilons: Sequence[float], seeds: int, way: Any = measured
) -> list[list[object]]:
    """Measure a public file at each epsilon: a row a seed, then mean and deviation."""
    rows: list[list[object]] = []
    for epsilon in epsilons:
        found = [in_process(way, name, epsilon, seed) for seed in range(seeds)]
        table = {key: np.array([one[key] for one in found]) for key in found[0]}
        for seed, one in enumerate(found):
            rows.append([epsilon, str(seed), *(f"{one[key]:.4f}" for key in one)])
        rows.append([epsilon, "mean", *(f"{v.mean():.4f}" for v in table.values())])
        if seeds > 1:
            rows.append([epsilon, "sd", *(f"{v.std(ddof=1):.4f}" for v in table.values())])
    return rows


def method_rows(
    name: str, *, methods: Sequence[str], epsilons: Sequence[float], seeds: int
) -> list[list[object]]:
    """Measure every method at each epsilon: means over seeds, and the spread of TVD2."""
    rows: list[list[object]] = []
    for epsilon in epsilons:
        for method in methods:
            found = [in_process(compared, name, method, epsilon, seed) for seed in range(seeds)]
            two, auc, cpu = (np.array([one[key] for one in found]) for key in found[0])
            spread = f"{two.std(ddof=1):.4f}" if seeds > 1 else ""
            means = (f"{two.mean():.4f}", spread, f"{auc.mean():.3f}", f"{cpu.mean():.1f}")
            rows.append([epsilon, method, *means])
    return rows


def show_audits(runs: int) -> None:
    """Show what audits with secure noise prove, at two budgets."""
    from bench.synth_audit import audit_engine

    rows: list[list[object]] = []
    for epsilon in (1.0, 8.0):
        audit = audit_engine(epsilon=epsilon, runs=runs)
        figures = (audit.epsilon, audit.measured, audit.found, audit.found_directly)
        texts = [f"{v:.3f}" for v in figures]
        rows.append([*texts, audit.records, audit.runs, 1 - audit.error])
    titles = ["epsilon", "from the noise", "proven", "without assumptions", "records"]
    show("audit", [*titles, "fits each", "confidence"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=3000, help="Fits for each file audited.")
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parser.add_argument("--methods", choices=METHODS, nargs="+", default=METHODS)
    parser.add_argument("--files", choices=("adult", "compas"), nargs="+")
    given = parser.parse_args()
    titles = ["epsilon", "seed", "TVD1", "TVD2", "TVD3", "AUC", "CPU s", "peak MB"]
    for name in ("adult", "compas"):
        if "bounds" in given.only and (SHARED / "data").exists():
            rows = data_rows(name, epsilons=given.epsilons, seeds=given.seeds, way=from_bounds)
            show(f"{name} from bounds alone, delta 1e-5", titles, rows)
    for name in ("adult", "compas", "acs", "acs12", "acs24"):
        if name in given.only and (SHARED / "data").exists():
            rows = data_rows(name, epsilons=given.epsilons, seeds=given.seeds)
            show(f"{name}, delta 1e-5", titles, rows)
    if "schema" in given.only and (SHARED / "data").exists():
        rows = data_rows("acs24", epsilons=given.epsilons, seeds=given.seeds, way=from_schema)
        ways = ["epsilon", "seed", "TVD1", "TVD2", "TVD3", "total off by", "rules broken"]
        show("acs24 by its schema, delta 1e-5", [*ways, "CPU s", "peak MB"], rows)
    if "methods" in given.only and (SHARED / "data").exists():
        for name in given.files or ("adult", "compas"):
            titles = ["epsilon", "method", "TVD2", "sd", "AUC", "CPU s"]
            found = method_rows(
                name, methods=given.methods, epsilons=given.epsilons, seeds=given.seeds
            )
            show(f"{name}, every method, {given.seeds} seeds", titles, found)
    if "speed" in given.only:
        many = in_process(speed, 1_000_000, 20)
        titles = ["fit CPU s", "fit wall s", "rows/s", "peak MB"]
        show("1,000,000 x 20", titles, [list(many.values())])
    if "audit" in given.only:
        show_audits(given.runs)


if __name__ == "__main__":
    main()
