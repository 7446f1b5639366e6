"""Public names that come when they are used, and names that have others now."""

import pytest

import synth
import synth.evaluation
import tables
import tables.cells.axes
from footing.lazy import EVERY, lazy, moved


def test_an_old_name_gives_the_new_thing_and_says_so():
    with pytest.warns(
        DeprecationWarning, match=r"synth\.Settings' is called '\S*synth\.TableSettings' now"
    ):
        assert synth.Settings is synth.TableSettings
    with pytest.warns(DeprecationWarning, match=r"synth\.evaluation\.Plan' is called"):
        assert synth.evaluation.Plan is synth.evaluation.EvaluationPlan


@pytest.mark.parametrize("get", [lazy("synth", {})[0], moved("synth", {})])
def test_a_name_that_never_was_is_no_attribute(get):
    with pytest.raises(AttributeError, match="module 'synth' has no attribute 'Nobody'"):
        get("Nobody")


def test_a_name_that_left_is_in_its_module_and_says_so():
    with pytest.warns(
        DeprecationWarning, match=r"tables\.Axis' is called '\S*tables\.cells\.axes\.Axis' now"
    ):
        assert tables.Axis is tables.cells.axes.Axis
    assert "Axis" not in tables.__all__


def test_all_names_of_a_module_that_moved_are_in_the_other_but_none_of_its_own():
    get = moved("shapes", {EVERY: "math"})
    with pytest.warns(DeprecationWarning, match=r"'shapes\.pi' is called 'math\.pi' now"):
        assert get("pi") > 3
    for name in ("__path__", "nobody"):
        with pytest.raises(AttributeError):
            get(name)
