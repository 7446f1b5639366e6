"""What the errors of this package say and which Python errors they are."""

import pytest

from ptable import InfeasibleError, NoiseSpec, PTableError, PTableWarning, solve
from ptable.errors import InternalError


def test_no_p_table_comes_with_the_rows_that_cannot_be_met_and_a_way_out():
    with pytest.raises(InfeasibleError) as caught:
        solve(NoiseSpec(max_noise=2, variance=3.0))
    assert [row.count for row in caught.value.rows] == [1]
    assert caught.value.rows[0].variance_max == 2
    assert caught.value.hint
    assert str(caught.value) == f"{caught.value.problem}\n  hint: {caught.value.hint}"


def test_an_infeasible_request_has_no_rows_where_none_was_looked_at():
    error = InfeasibleError("No p-table.", hint="another")
    assert (error.rows, error.problem, error.hint) == ((), "No p-table.", "another")
    assert str(InfeasibleError("No p-table.")) == "No p-table."


def test_errors_have_codes_and_are_the_errors_that_a_user_of_python_expects():
    codes = {error: error.code for error in (PTableError, InfeasibleError, InternalError)}
    assert list(codes.values()) == ["ptable", "ptable-infeasible", "ptable-internal"]
    assert all(issubclass(error, PTableError) for error in codes)
    assert issubclass(PTableError, ValueError)
    assert issubclass(InternalError, RuntimeError)
    assert issubclass(PTableWarning, UserWarning)
