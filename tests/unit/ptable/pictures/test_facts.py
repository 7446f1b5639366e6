"""What is said of the rows of a p-table, and which of them are drawn."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, PTable, PTableError, PTableWarning, solve
from ptable.pictures.facts import (
    bin_width,
    binned,
    chosen_rows,
    never_near,
    never_published,
    row_facts,
    row_name,
    row_of,
    span,
    table_notes,
)


def magnitude():
    rows = [{0: 40}, {-2: 10, -1: 10, 0: 8, 1: 6, 4: 6}, {-7: 10, -1: 10, 0: 10, 3: 10}]
    return PTable.from_units(rows, key_range=40, step=4, anchors=[0, 1, 500])


def alike(n_rows, **other):
    return PTable.from_units([{0: 8}] * n_rows, key_range=8, **other)


def test_the_figures_of_a_row_are_exact_and_in_units():
    row = row_facts(magnitude(), 1)
    assert (row.count, row.name) == (1, "1")
    assert list(row.law.items()) == [
        (-2, Fraction(1, 4)),
        (-1, Fraction(1, 4)),
        (0, Fraction(1, 5)),
        (1, Fraction(3, 20)),
        (4, Fraction(3, 20)),
    ]
    assert row.mean == Fraction(-20 - 10 + 6 + 24, 160)
    assert row.variance == Fraction(4 * 10 + 10 + 6 + 16 * 6, 640) - row.mean**2
    assert row.stays == Fraction(1, 5)
    moved = row_facts(PTable.from_units([{0: 8}, {1: 8}], key_range=8), 1)
    assert (moved.stays, moved.mean) == (0, 1)


def test_rows_of_foreign_tables_are_compared_with_the_last():
    table = PTable.from_units(
        [{0: 4}, {-1: 1, 0: 2, 1: 1}, {0: 4}, {0: 3, 1: 1}, {-1: 1, 0: 2, 1: 1}], key_range=4
    )
    flags = [[words for words, _ in row_facts(table, row).flags] for row in range(5)]
    assert flags == [[], [], ["variance differs"], ["variance differs", "mean is not 0"], []]
    assert [sentence for _, sentence in row_facts(table, 3).flags] == [
        "Count 3: variance 0.1875; the last row has 0.5.",
        "Count 3: the noise has mean 0.25, not 0.",
    ]


def test_rows_in_turn_have_no_last_row_to_be_compared_with():
    rows = [{0: 5} if i == 0 else {-i: 5 - i, 5 - i: i} for i in range(5)]
    table = PTable.from_units(rows, key_range=5, large_counts="cycle:5")
    assert all(row_facts(table, row).flags == () for row in range(5))


def test_differences_that_rounding_explains_are_no_flag():
    def words(moved):
        law = {-1: 2500 + moved, 0: 5000 - 2 * moved, 1: 2500 + moved}
        table = PTable.from_units(
            [{0: 10_000}, law, {-1: 2500, 0: 5000, 1: 2500}], key_range=10_000
        )
        return [flag for flag, _ in row_facts(table, 1).flags]

    assert words(2) == []
    assert words(3) == ["variance differs"]

    def bias(moved):
        law = {-1: 2500, 0: 5000 - moved, 1: 2500 + moved}
        table = PTable.from_units([{0: 10_000}, law, law], key_range=10_000)
        return [flag for flag, _ in row_facts(table, 1).flags]

    assert bias(10) == []
    assert bias(11) == ["mean is not 0"]


def test_noise_on_zeros_is_compared_too():
    table = PTable.from_units([{0: 7, 1: 1}, {-1: 2, 0: 4, 1: 2}], key_range=8)
    assert [words for words, _ in row_facts(table, 0).flags] == [
        "variance differs",
        "mean is not 0",
    ]


def test_rows_that_are_not_as_asked_say_what_the_certificate_says():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PTableWarning)
        table = solve(NoiseSpec(max_noise=5, variance=1.0, small=2, variance_rule="nearest"))
    assert row_facts(table, 1).flags == (("not as asked", "Count 1: variance 2 instead of 1."),)
    assert [row_facts(table, row).flags for row in (0, 3, 8)] == [(), (), ()]


def test_a_declared_bias_of_zeros_is_not_flagged():
    solved = solve(NoiseSpec(max_noise=1, variance=0.5))
    table = PTable.from_units([{0: 7, 1: 1}, {-1: 2, 0: 4, 1: 2}], key_range=8)
    declared = table.with_proof(solved.spec, solved.certificate)
    assert row_facts(declared, 0).flags == ()


def test_only_a_last_row_serves_more_than_its_count():
    assert [row_name(alike(3), row) for row in range(3)] == ["0", "1", "2 and more"]
    turns = alike(3, large_counts="cycle:2")
    assert [row_name(turns, row) for row in range(3)] == ["0", "1", "2"]
    assert row_name(magnitude(), 2) == "500 and more"


def test_the_row_of_a_count_is_the_one_that_lookup_takes():
    noise = np.random.default_rng(1).integers(-3, 4, (260, 16)).clip(-np.arange(260)[:, None])
    ends = tuple(range(1, 17))
    table = PTable(
        noise=tuple(map(tuple, noise.tolist())),
        upper=(ends,) * 260,
        key_range=16,
        large_counts="cycle:250",
    )
    for count in (0, 1, 259, 260, 509, 510, 10_000):
        keys = np.arange(16)
        expected = table.lookup([row_of(table, count)] * 16, keys, key_range=16)
        assert (table.lookup([count] * 16, keys, key_range=16) == expected).all()
    assert [row_of(magnitude(), count) for count in (0, 1, 500, 501, 10**9)] == [0, 1, 2, 2, 2]
    with pytest.raises(PTableError, match="Count 2 has no row; there are rows for 0 to 1, 500"):
        row_of(magnitude(), 2)


def test_up_to_64_rows_are_drawn_and_of_more_the_first_and_the_last():
    assert chosen_rows(alike(64)) == list(range(64))
    assert chosen_rows(alike(65)) == [*range(40), 64]
    assert chosen_rows(alike(65, large_counts="cycle:2")) == list(range(41))


def test_rows_that_are_not_drawn_are_named():
    assert table_notes(alike(65), chosen_rows(alike(65))) == ["Rows 40 to 63 are not drawn."]
    assert table_notes(alike(4), [0, 1, 3]) == ["Row 2 is not drawn."]
    assert table_notes(alike(5), [0, 1, 4]) == ["Rows 2 to 3 are not drawn."]
    assert table_notes(alike(3), [0, 1, 2]) == []
    assert table_notes(alike(4), [0, 1, 2]) == ["Row 3 is not drawn."]
    assert table_notes(alike(10, large_counts="cycle:4"), list(range(10))) == [
        "Counts from 10 on take rows 6 to 9 in turn."
    ]
    assert table_notes(magnitude(), [0, 2]) == [
        "Row 1 is not drawn.",
        "A magnitude between two rows takes a mixture of both.",
    ]


@pytest.mark.parametrize(
    "table",
    [
        Mechanism.rounding(5).build(),
        Mechanism.small_count_rounding(4).build(),
        PTable.from_units([{0: 4}, {-1: 2, 1: 2}, {-2: 2, 2: 2}], key_range=4),
        PTable.from_units([{0: 4}, {-2: 2, 4: 2}, {-4: 2, 6: 2}], key_range=4, step=2),
    ],
)
def test_what_is_never_published_is_what_no_count_leads_to(table):
    reached = {
        count * table.step + v
        for count in range(80)
        for v in set(table.noise[row_of(table, count)])
    }
    for first, last in ((0, 12), (3, 9), (-4, 5), (10, 10)):
        expected = set(range(max(0, first), last + 1)) - reached
        assert never_published(table, first, last) == expected
    for counts, reach in (([0, 1, 2], 3), ([1, 9], 2), ([4], 0)):
        near = {
            j
            for count in counts
            for j in range(count * table.step - reach, count * table.step + reach + 1)
        }
        assert never_near(table, counts, reach) == {j for j in near if j >= 0} - reached


def test_of_magnitudes_nothing_is_said_to_be_never_published():
    assert never_published(magnitude(), 0, 50) == set()


def test_rows_are_counted_from_one_to_another():
    rows = [row_facts(alike(3), row) for row in range(3)]
    assert span(rows) == "3 rows, from count 0 to 2 and more"
    assert span(rows[:1]) == "one row, for count 0"


@pytest.mark.parametrize(
    ("reach", "most"), list(itertools.product([1, 7, 80, 5000], [3, 9, 160]))
)
def test_columns_are_as_few_as_asked_and_odd_many_values_wide(reach, most):
    wide = bin_width(reach, most)
    assert wide % 2 == 1
    places = {(v + wide // 2) // wide for v in range(-reach, reach + 1)}
    assert len(places) <= most
    assert (0 + wide // 2) // wide == 0
    if 1 < wide < 99:  # two less would not do
        narrow = {(v + (wide - 2) // 2) // (wide - 2) for v in range(-reach, reach + 1)}
        assert len(narrow) > most


def test_wide_columns_are_no_wider_than_twice_what_is_needed():
    for reach in (10**5, 10**6, 3 * 10**7):
        wide = bin_width(reach, 160)
        assert 2 * (reach // wide) + 1 > 75


def test_neighbours_are_summed_around_no_noise():
    law = {v: Fraction(1, 9) for v in range(-4, 5)}
    assert binned(law, 1) == law
    assert binned(law, 3) == {-1: Fraction(1, 3), 0: Fraction(1, 3), 1: Fraction(1, 3)}
    assert binned({-5: Fraction(1, 4), 0: Fraction(3, 4)}, 5) == {
        -1: Fraction(1, 4),
        0: Fraction(3, 4),
    }
