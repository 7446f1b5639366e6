"""The six-column toy data of the published comparison."""

import numpy as np
import pandas as pd

REFERENCE = {"A-B": 0.9145, "A-C": -0.9567, "A-D": 0.2307, "A-E": -0.1593, "A-F": 0.4215}


def toy_data(n=5000, *, seed=76543):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    frame = {"A": a}
    for name, spearman in zip("BCDE", (0.9150, -0.9565, 0.2319, -0.1701), strict=True):
        r = 2 * np.sin(np.pi * spearman / 6)
        frame[name] = r * a + np.sqrt(1 - r**2) * rng.standard_normal(n)
    noise = rng.standard_normal(n)
    frame["F"] = np.where(a < 0, a + 0.4153 * noise, -0.2270 * a + 1.0663 * noise)
    return pd.DataFrame(frame)


def correlations(frame):
    """Spearman of A with every column, and with F on either side of 0."""
    found = {f"A-{name}": spearman(frame["A"], frame[name]) for name in "BCDEF"}
    for name, part in (("A<0", frame[frame["A"] < 0]), ("A>0", frame[frame["A"] > 0])):
        found[name] = spearman(part["A"], part["F"])
    return found


def spearman(one, other):
    return float(one.corr(other, method="spearman"))
