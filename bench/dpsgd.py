"""Accuracy and time of private training on Adult."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch

from dpsgd import Category, Number, Plan, Schema
from dpsgd.estimators import DPClassifier

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

# Bounds, cuts and codes from the questionnaire of the census, not from the file.
WORK = (
    "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay "
    "Never-worked"
)
MARRIED = (
    "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse"
)
JOB = (
    "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces"
)
RELATION = "Wife Own-child Husband Not-in-family Other-relative Unmarried"
RACE = "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"


def adult_schema(target: str) -> Schema:
    def codes(name: str, words: str) -> Category:
        return Category(name=name, values=tuple(words.split()), may_be_missing=True)

    return Schema(
        columns=[
            Number(
                name="age",
                low=17,
                high=90,
                cuts=(22, 25, 28, 31, 35, 40, 45, 50, 55, 60, 65, 70),
            ),
            Number(name="education_num", low=1, high=16, cuts=range(2, 17)),
            Number(
                name="hours_per_week", low=0, high=99, cuts=(20, 30, 35, 40, 41, 45, 50, 60)
            ),
            Number(
                name="capital_gain",
                low=0,
                high=100_000,
                cuts=(
                    1,
                    1000,
                    2000,
                    3000,
                    4000,
                    5000,
                    6000,
                    7000,
                    8000,
                    10_000,
                    15_000,
                    20_000,
                ),
            ),
            Number(
                name="capital_loss",
                low=0,
                high=5000,
                cuts=(1, 1500, 1750, 1850, 2000, 2250, 2500),
            ),
            codes("workclass", WORK),
            codes("marital_status", MARRIED),
            codes("occupation", JOB),
            codes("relationship", RELATION),
            codes("race", RACE),
            codes("sex", "Female Male"),
        ],
        target=Category(name=target, values=("<=50K", ">50K")),
    )


def adult(
    *, epsilons: list[float], seeds: int, rate: float, norm: float, hidden: list[int]
) -> None:
    frames = []
    for part in ("train", "test"):
        frame = pq.read_table(SHARED / f"adult_{part}.parquet").to_pandas()
        frame.columns = [c.replace("-", "_").replace(".", "_") for c in frame.columns]
        frames.append({c: frame[c] for c in frame.columns})
    target = list(frames[0])[-1]
    for frame in frames:
        for name, column in frame.items():
            if column.dtype.kind not in "iuf":
                frame[name] = column.astype(str).str.strip().str.rstrip(".")
    train, test = frames
    schema = adult_schema(target)
    for epsilon in epsilons:
        scores, start = [], time.process_time()
        for seed in range(seeds):
            plan = Plan.for_budget(
                epsilon,
                delta=1e-5,
                dataset_size=32_561,
                batch_size=1024,
                steps=640,
                clipping_norm=norm,
                schema=schema,
                seed=seed,
            )
            model = DPClassifier(plan, learning_rate=rate, average=0.99, hidden=hidden)
            scores.append(model.fit(train).score(test))
        spent = (time.process_time() - start) / seeds
        print(
            f"Adult  hidden {list(hidden)}  epsilon {epsilon:4g}  accuracy "
            f"{np.mean(scores):.4f} ± {np.std(scores):.4f}  {spent:.1f} CPU s a run",
            flush=True,
        )


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--rate", type=float, default=4.0)
    parser.add_argument("--norm", type=float, default=0.5)
    parser.add_argument("--hidden", type=int, nargs="*", default=[])
    given = parser.parse_args()
    adult(
        epsilons=given.epsilon,
        seeds=given.seeds,
        rate=given.rate,
        norm=given.norm,
        hidden=given.hidden,
    )
