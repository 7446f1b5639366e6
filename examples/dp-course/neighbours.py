"""Neighbours and sensitivity: how far one person can move an answer."""

import numpy as np

from ckm_engine import dp

# A data set is a histogram: how many people have each of five kinds of values.
first = np.array([1, 2, 1, 0, 1])
for name, other in {
    "D2": [2, 1, 1, 1, 0],
    "D3": [1, 2, 2, 0, 1],
    "D4": [0, 2, 1, 1, 0],
}.items():
    distance = int(abs(first - other).sum())
    print(f"D1 to {name}: {distance}{', a neighbour' if distance == 1 else ''}")

mean = dp.mean(20, 100, at_least=9)
print(f"blue eyes: {dp.count().l1:g}")
print(f"blue eyes or black eyes, apart: {dp.histogram().l1:g}")
print(f"blue eyes, and taller than 1.60 m: {dp.counts(2).l1:g}")
print(f"mean age from 20 to 100, of 9 people: {mean.l1:g}")
try:
    dp.maximum()
except dp.UnboundedError as error:
    print("the oldest, without a bound:", error.problem)
