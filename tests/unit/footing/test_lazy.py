"""Public names that come when they are used, and names that have others now."""

import pytest

import synth
import synth.evaluation
import tables
import tables.cells.axes
from footing.lazy import lazy, moved, renamed


def test_an_old_name_gives_the_new_thing_and_says_so():
    with pytest.warns(
        DeprecationWarning, match="'Settings' of '.*synth' is called 'TableSettings'"
    ):
        assert synth.Settings is synth.TableSettings
    with pytest.warns(DeprecationWarning, match="'Plan' of '.*synth.evaluation' is called"):
        assert synth.evaluation.Plan is synth.evaluation.EvaluationPlan


@pytest.mark.parametrize("get", [lazy("synth", {})[0], renamed("synth", {})])
def test_a_name_that_never_was_is_no_attribute(get):
    with pytest.raises(AttributeError, match="module 'synth' has no attribute 'Nobody'"):
        get("Nobody")


def test_a_name_that_left_is_in_its_module_and_says_so():
    with pytest.warns(
        DeprecationWarning, match="'Axis' of '.*tables' is in '.*tables.cells.axes'"
    ):
        assert tables.Axis is tables.cells.axes.Axis
    assert "Axis" not in tables.__all__
    get = moved("tables", {}, otherwise=lambda name: name)
    assert get("Nobody") == "Nobody"
