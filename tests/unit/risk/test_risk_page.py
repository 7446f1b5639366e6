"""The figures of docs/explanation/risk.md are those of the code."""

import math
import re
from itertools import product
from pathlib import Path
from statistics import NormalDist

import pytest

from ptable import NoiseSpec, solve
from risk import Inverse, Prior
from risk.attacks import (
    AdditiveKeys,
    Differencing,
    GeographicDifferencing,
    HiddenBound,
    LinearReconstruction,
    MarginBounds,
    RepeatedAnswers,
    SmallCell,
    SubsetSums,
    TwoPartition,
    pairs_available,
    pairs_needed,
)
from risk.inference.accuracy import accuracy_table
from risk.utility import DEFINITIONS

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "explanation" / "risk.md").read_text(
    encoding="utf-8"
)
DESIGNS = ((2, 1.0), (5, 3.0))


def lines_of(first_column):
    """Read the table of the page whose header starts with a word."""
    table = PAGE.split(f"| {first_column} |", 1)[1].split("\n\n", 1)[0]
    return [
        [part.strip() for part in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def figures(max_noise, variance):
    """Compute the column of a design, line by line."""
    table = solve(NoiseSpec(max_noise=max_noise, variance=variance))
    repeats = RepeatedAnswers(n_repeats=20)
    chances = [
        Differencing().closed_form(table),
        Differencing(measure="accuracy").closed_form(table),
        TwoPartition(n_categories=7).closed_form(table),
        SmallCell(n_categories=7).closed_form(table),
        repeats.closed_form(table, noise="fresh"),
        repeats.closed_form(table, noise="consistent"),
        HiddenBound(n_pairs=100).closed_form(table),
        MarginBounds(max_noise=max_noise).closed_form(table),
        AdditiveKeys(keys="mixed").closed_form(table),
        AdditiveKeys().closed_form(table),
    ]
    told = [
        GeographicDifferencing().closed_form(table),
        GeographicDifferencing(measure="exact").closed_form(table),
        LinearReconstruction(n_categories=7).closed_form(table),
        SubsetSums(n_people=100, n_queries=400).closed_form(table),
    ]
    return [f"{p:.2g}" if p < 0.001 else f"{p:.3f}" for p in (*chances, *told)]


@pytest.mark.parametrize("column", [0, 1])
def test_figures_of_the_attacks_are_computed(column):
    lines = lines_of("attack")
    assert [line[3 + column] for line in lines] == figures(*DESIGNS[column])


def test_lines_of_the_attacks_name_the_attack_that_was_computed():
    import risk.attacks

    names = [re.match(r"`(\w+)\(", line[0])[1] for line in lines_of("attack")]
    assert names == [
        *["Differencing"] * 2,
        "TwoPartition",
        "SmallCell",
        *["RepeatedAnswers"] * 2,
        "HiddenBound",
        "MarginBounds",
        *["AdditiveKeys"] * 2,
        *["GeographicDifferencing"] * 2,
        "LinearReconstruction",
        "SubsetSums",
    ]
    classes = [n for n in risk.attacks.__all__ if hasattr(getattr(risk.attacks, n), "run")]
    assert set(names) == set(classes)


def test_closed_forms_of_the_page_follow_from_the_law_of_the_noise():
    for max_noise, variance in DESIGNS:
        table = solve(NoiseSpec(max_noise=max_noise, variance=variance))
        p = {v: n / table.key_range for v, n in table.units(table.n_rows - 1).items()}
        detection = 1 - sum(p[v] * p.get(v - 1, 0) for v in p)
        wide = sum(p[v] * p[w] for v in p for w in p if abs(v + w) >= 2 * max_noise - 1)
        gaps: dict[int, float] = {}
        for (u, a), (v, b), (w, c) in product(p.items(), repeat=3):
            gaps[u + v - w] = max(gaps.get(u + v - w, 0), a * b * c)
        assert Differencing().closed_form(table) == pytest.approx(detection, rel=1e-12)
        accuracy = Differencing(measure="accuracy").closed_form(table)
        assert accuracy == pytest.approx((1 + detection) / 2, rel=1e-12)
        hidden = HiddenBound(n_pairs=100).closed_form(table)
        assert hidden == pytest.approx(1 - (1 - wide) ** 100, rel=1e-9)
        margins = MarginBounds(max_noise=max_noise).closed_form(table)
        assert margins == pytest.approx(2 * p[max_noise] ** 3, rel=1e-6)
        mixed = AdditiveKeys(keys="mixed").closed_form(table)
        assert mixed == pytest.approx(sum(gaps.values()), rel=1e-12)
        exact = GeographicDifferencing(measure="exact").closed_form(table)
        assert exact == pytest.approx(sum(q * q for q in p.values()), rel=1e-12)
        spread = sum(v * v * q for v, q in p.items())
        deviation = math.sqrt(spread / (0.25 * (400 - 100 - 1)))
        bits = SubsetSums(n_people=100, n_queries=400).closed_form(table)
        assert bits == pytest.approx(NormalDist().cdf(0.5 / deviation), rel=1e-9)
    assert 2 * pairs_available(7) == 126
    assert round(pairs_needed(1.0), 1) == 30.7


def test_half_widths_of_the_page_are_computed():
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    lines = [[int(part) for part in line] for line in lines_of("published")]
    seen = [line[0] for line in lines]
    inverse = Inverse(table=table, prior=Prior.flat())
    with_prior = accuracy_table(inverse, seen, levels=[0.9, 0.95]).half_widths
    assert lines == [[j, *widths] for j, widths in zip(seen, with_prior, strict=True)]


def test_the_result_of_the_attack_on_the_engine_is_that_of_the_page(capsys):
    (block,) = [
        b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "find_slivers" in b
    ]
    exec(compile(block, "docs/explanation/risk.md", "exec"), {})  # noqa: S102
    told = capsys.readouterr().out.strip()
    comment = block.split("print(result.words)  # ")[1].splitlines()[0]
    assert told.startswith(comment)


def test_measures_of_the_page_exist():
    names = [name for line in lines_of("measure") for name in re.findall(r"`(\w+)`", line[0])]
    assert len(names) > 15
    assert [n for n in names if n not in {*DEFINITIONS, "noise_distribution"}] == []


def test_comments_beside_the_code_are_its_results():
    from risk import difference_law, sum_law, worst_posterior

    counts = [1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 6, 9, 15, 40]
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    prior = Prior.from_counts(counts, grid_size=20, added=0.5, beyond="last")
    inverse = Inverse(table=table, prior=prior)
    found = worst_posterior(inverse, [1, 2])
    assert f"# {inverse.of_sets([1, 2], [3]):.3f}: is it" in PAGE
    seen, chance = found.set_published, found.set_probability
    assert f"# a {seen} is a 1 or a 2: {chance:.3f}" in PAGE
    assert f"# {sum_law(table, [20] * 12).variance:.0f}: twelve" in PAGE
    assert f"# {difference_law(table, (101, 100)).at(0):.3f}: one person" in PAGE
