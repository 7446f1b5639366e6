"""All probabilities of originals in one matrix."""

import numpy as np
import pytest

from ptable import Mechanism
from risk.distributions.prior import Prior
from risk.errors import RiskError
from risk.inference.inverse import Inverse
from risk.inference.inverse_matrix import inverse_matrix
from tests.results import require_fixed
from tests.unit.risk.inference.support import TABLE, WEIGHTS, posterior

INVERSE = Inverse(table=TABLE, prior=Prior.supplied(WEIGHTS))


@pytest.mark.parametrize("up_to", [None, 0, 3, 9, 12])
def test_columns_are_bayes_rule_in_exact_fractions(up_to):
    last = len(WEIGHTS) - 1 + TABLE.max_noise if up_to is None else up_to
    matrix = inverse_matrix(INVERSE, up_to=up_to)
    columns = {j: posterior(j) for j in range(last + 1) if posterior(j)}
    assert matrix.published.tolist() == list(columns)
    assert matrix.originals.tolist() == list(
        range(1 + max(i for c in columns.values() for i in c))
    )
    for place, chances in enumerate(columns.values()):
        wanted = [float(chances.get(i, 0)) for i in matrix.originals.tolist()]
        assert matrix.probabilities[:, place] == pytest.approx(wanted, abs=1e-15)


def test_what_the_largest_count_of_the_prior_may_become_has_a_column():
    rounding = Mechanism.random_rounding(10).build()
    shares = Prior.supplied([5, 4, 3, 2, 1, 1, 1, 1])
    matrix = inverse_matrix(Inverse(table=rounding, prior=shares))
    assert matrix.published.tolist() == [0, 10]
    assert matrix.originals.tolist() == list(range(8))
    assert matrix.probabilities.sum(axis=0) == pytest.approx(1)
    assert matrix.probabilities[0, 1] == 0


def test_a_flat_prior_lists_the_count_0_unless_told_how_far():
    inverse = Inverse(table=Mechanism.random_rounding(3).build(), prior=Prior.flat())
    matrix = inverse_matrix(inverse)
    assert matrix.published.tolist() == [0]
    assert matrix.probabilities[:, 0] == pytest.approx([3 / 6, 2 / 6, 1 / 6])
    wide = inverse_matrix(inverse, up_to=6)
    assert wide.published.tolist() == [0, 3, 6]
    assert wide.originals.tolist() == list(range(9))
    assert wide.probabilities[:, 2] == pytest.approx(np.array([0] * 4 + [1, 2, 3, 2, 1]) / 9)


def test_where_nothing_can_be_published_there_is_no_column():
    inverse = Inverse(table=Mechanism.rounding(5).build(), prior=Prior.two_points(8, 9))
    matrix = inverse_matrix(inverse, up_to=4)
    assert matrix.published.tolist() == []
    assert matrix.probabilities.shape == (1, 0)


def test_a_frame_names_rows_and_columns_by_their_counts():
    frame = inverse_matrix(INVERSE, up_to=3).to_frame()
    assert (frame.index.name, frame.columns.name) == ("original", "published")
    assert frame.loc[1, 2] == pytest.approx(float(posterior(2)[1]))


def test_a_matrix_cannot_be_changed():
    matrix = inverse_matrix(INVERSE)
    require_fixed(matrix)
    assert matrix != inverse_matrix(INVERSE), "arrays are not compared"


def test_a_largest_count_below_0_is_refused():
    with pytest.raises(RiskError, match="up_to must be"):
        inverse_matrix(INVERSE, up_to=-1)
