"""Tables of many designs are the same to the last key, whatever solver began."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ptable.solver.solve as solving
from ptable import NoiseSpec, PTableWarning, StackedSpec, solve
from ptable.design.presets import PRESETS

#: Made by Newton's method from its own start, before cvxpy was asked (README.md).
IDS = json.loads((Path(__file__).parent / "ptable_ids.json").read_text(encoding="utf-8"))
NEAREST = {"variance_rule": "nearest"}
SPECS = {
    **{f"preset {name}": preset.spec for name, preset in PRESETS.items()},
    "2, 0.5": NoiseSpec(max_noise=2, variance=0.5),
    "2, 1": NoiseSpec(max_noise=2, variance=1.0),
    "2, 2: an end": NoiseSpec(max_noise=2, variance=2.0),
    "5, 3": NoiseSpec(max_noise=5, variance=3.0),
    "8, 6.5, 4": NoiseSpec(max_noise=8, variance=6.5, small=4),
    "10, 5, 2": NoiseSpec(max_noise=10, variance=5.0, small=2),
    "30, 15": NoiseSpec(max_noise=30, variance=15.0),
    "left": NoiseSpec(
        max_noise=5, variance=3.0, small=2, monotone="left", min_probability=1e-8, **NEAREST
    ),
    "stay": NoiseSpec(max_noise=6, variance=4.0, p_stay=0.3),
    "stay at least": NoiseSpec(
        max_noise=7, variance=3.0, small=1, p_stay=0.4, p_stay_rule="at-least"
    ),
    "stay at most": NoiseSpec(
        max_noise=7, variance=3.0, small=1, p_stay=0.1, p_stay_rule="at-most"
    ),
    "both": NoiseSpec(max_noise=5, variance=1.5, monotone="both", **NEAREST),
    "one peak": NoiseSpec(max_noise=6, variance=2.5, monotone="unimodal"),
    "one peak, ends": NoiseSpec(max_noise=6, variance=5.5, monotone="unimodal", **NEAREST),
    "symmetric": NoiseSpec(max_noise=5, variance=2.0, symmetric=True, **NEAREST),
    "zeros": NoiseSpec(max_noise=5, variance=2.0, zero_bias=0.2),
    "zeros of a variance": NoiseSpec(
        max_noise=5, variance=2.0, zero_bias=0.2, zero_variance=0.5
    ),
    "positive": NoiseSpec(max_noise=6, variance=3.0, small=2, positive_bias=0.5, **NEAREST),
    "magnitudes": NoiseSpec(max_noise=3, variance=1.5, step=10, anchors=(3, 10, 100)),
    "a hair from the end": NoiseSpec(
        max_noise=1, variance=0.00020000066646666667, min_probability=0.0001
    ),
    "r 10": NoiseSpec.r_ptable(10, 15.0, small=4),
    "r 2": NoiseSpec.r_ptable(2, 1.0),
    "stacked": StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=5, variance=3.0, small=2)),
            (20, NoiseSpec(max_noise=10, variance=8.0, small=2)),
        )
    ),
}

pytestmark = pytest.mark.filterwarnings("ignore::ptable.PTableWarning")


def multipliers(table):
    return [row.multipliers for row in table.certificate.rows]


def test_every_design_has_its_id():
    assert SPECS.keys() == IDS.keys()


@pytest.mark.parametrize("name", SPECS)
def test_a_design_gives_the_table_it_always_gave(name):
    assert solve(SPECS[name]).id == IDS[name]


@pytest.mark.parametrize("moved", [1e-6, 1e-2])
@pytest.mark.parametrize(
    "name", ["8, 6.5, 4", "left", "stay at least", "one peak, ends", "zeros"]
)
def test_a_start_that_is_moved_changes_no_byte(name, moved, monkeypatch):
    plain = solve(SPECS[name])
    rng = np.random.default_rng(40)
    answers = solving.answers

    def moving(rows):
        for row, answer in answers(rows):
            there = [np.array(prices) for prices in answer.multipliers]
            there = [x + moved * rng.normal(size=len(x)) * (1 + abs(x)) for x in there]
            yield row, replace(answer, multipliers=tuple(tuple(x.tolist()) for x in there))

    monkeypatch.setattr(solving, "answers", moving)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PTableWarning)
        other = solving.build(SPECS[name])
    assert other.id == plain.id == IDS[name]
    assert multipliers(other) == multipliers(plain)
