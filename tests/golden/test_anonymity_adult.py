"""Anonymity of real records."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from risk.anonymity.audit import audit_anonymity
from risk.anonymity.generalise import bins, generalise

QUASI = ["age", "sex", "race", "marital-status"]


@pytest.fixture(scope="module")
def adult(shared):
    """Read the census records, whichever way their columns are spelt."""
    frame = pd.read_parquet(shared / "data" / "adult_train.parquet")
    return frame.rename(columns=lambda name: str(name).replace("_", "-").replace(".", "-"))


def test_adult_is_audited_as_a_direct_count_says(adult):
    found = audit_anonymity(adult, quasi_identifiers=QUASI, sensitive="occupation")
    rows = list(adult[QUASI].itertuples(index=False, name=None))
    counts = Counter(rows)
    assert found.k == min(counts.values()) == 1
    assert found.n_unique == sum(n == 1 for n in counts.values())
    assert len(found.sizes) == len(counts)
    per_group = {}
    for row, job in zip(rows, adult["occupation"].fillna("?"), strict=True):
        per_group.setdefault(row, set()).add(job)
    assert found.diversity.n_homogeneous == sum(len(jobs) == 1 for jobs in per_group.values())


@pytest.mark.slow
def test_adult_is_generalised_to_5_anonymity_by_a_minimal_choice(adult):
    ages = adult["age"].unique()
    star = {name: [dict.fromkeys(adult[name].dropna().unique(), "*")] for name in QUASI[1:]}
    levels = {
        "age": [*(bins(ages, width=w) for w in (5, 10, 20, 40)), dict.fromkeys(ages, "*")]
    } | star
    found = generalise(adult, hierarchies=levels, k=5)
    assert found.k >= 5
    assert len(found.frame) == len(adult)
    assert audit_anonymity(found.frame, quasi_identifiers=QUASI).k == found.k
    # every choice, tried in full
    shape = [len(levels[name]) + 1 for name in QUASI]
    good = np.zeros(shape, dtype=bool)
    for choice in itertools.product(*map(range, shape)):
        labels = [
            adult[name].map(levels[name][level - 1]) if level else adult[name]
            for name, level in zip(QUASI, choice, strict=True)
        ]
        sizes = pd.concat(labels, axis=1).value_counts(dropna=False, sort=False)
        good[choice] = sizes.min() >= 5
    minimal = [
        choice
        for choice in np.argwhere(good).tolist()
        if not any(
            good[(*choice[:a], choice[a] - 1, *choice[a + 1 :])] for a in range(4) if choice[a]
        )
    ]
    assert [list(levels.values()) for levels in found.minimal] == minimal
