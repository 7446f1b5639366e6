"""Made-up persons with 13 columns, declared as an office would: lists of codes, bounds.

Nothing was tuned on them. Columns hang together by age, place and education.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import synth


def persons(records: int, seed: int) -> tuple[pd.DataFrame, synth.Schema]:
    """Return persons and their schema."""
    rng = np.random.default_rng(seed)

    def among(level: np.ndarray, cuts: list[float], prefix: str) -> np.ndarray:
        places = np.searchsorted(cuts, level + rng.normal(0, 0.8, records))
        return np.array([f"{prefix}{one}" for one in range(len(cuts) + 1)])[places]

    district = rng.choice(60, records, p=(weights := rng.pareto(1.2, 60) + 0.1) / weights.sum())
    of_district = rng.normal(0, 0.6, 60)[district]
    age = np.minimum(rng.integers(0, 90, records) + rng.integers(0, 12, records), 99)
    is_adult = age >= 16
    learning = of_district + rng.normal(0, 1, records) - np.abs(age - 42) / 60
    education = among(learning, [-1.2, -0.5, 0.2, 0.9, 1.6], "E")
    education = np.where(is_adult, education, "none")
    works = is_adult & (rng.random(records) < np.where(age < 65, 0.75, 0.08))
    trade = np.where(works, among(learning * 2, [-3, -2, -1, 0, 1, 2, 3], "T"), "none")
    hours = np.where(
        works, np.where(rng.random(records) < 0.55, 40, rng.integers(4, 61, records)), 0
    )
    wage = np.exp(9.8 + 0.35 * learning + rng.normal(0, 0.5, records)) * (hours / 40)
    other = np.where(rng.random(records) < 0.2, 300 * (rng.pareto(1.8, records) + 1), 0)
    state = np.where(age < 16, "child", among(age / 20.0, [1.2, 2.2, 3.6], "M"))
    size = 1 + rng.poisson(np.where(age < 16, 2.5, 1.2))
    frame = pd.DataFrame(
        {
            "region": np.array([f"R{one:02d}" for one in district // 6]),
            "district": np.array([f"D{one:02d}" for one in district]),
            "sex": rng.choice(["F", "M"], records),
            "state": state,
            "education": education,
            "trade": trade,
            "home": among(of_district + age / 40, [0.8, 1.8], "H"),
            "birth": among(of_district * 2, [0.5, 1.5, 2.0, 2.4], "B"),
            "age": age,
            "hours": hours,
            "household": np.minimum(size, 12),
            "wage": np.minimum(wage, 10_000_000).astype(np.int64),
            "other": np.minimum(other, 10_000_000).astype(np.int64),
        }
    )
    bounds = {"age": 99, "hours": 80, "household": 12, "wage": 10**7, "other": 10**7}
    columns: list[synth.Whole | synth.Category] = [
        synth.Whole(name=name, low=int(name == "household"), high=bounds[name])
        if name in bounds
        else synth.Category(name=name, values=tuple(sorted(set(frame[name]))))
        for name in map(str, frame)
    ]
    return frame, synth.Schema(columns=tuple(columns))
