"""What must not leave a process shows nothing of itself and is in no pickle."""

import copy
import pickle
from dataclasses import dataclass

import pytest

from footing.disclosive import Disclosive


@dataclass(frozen=True, slots=True, repr=False)
class Slotted(Disclosive):
    value: str


@dataclass(frozen=True, repr=False)
class Plain(Disclosive):
    value: str


@pytest.mark.parametrize("kind", [Slotted, Plain])
def test_a_disclosive_object_shows_nothing_of_what_it_holds(kind):
    held = kind("MARKERVALUE")
    assert repr(held) == str(held) == f"{held}" == f"{kind.__name__}(…)"
    assert "MARKERVALUE" not in repr([held])


@pytest.mark.parametrize("kind", [Slotted, Plain])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_holds_it_alone_or_within_others(kind, protocol):
    for held in (kind("MARKERVALUE"), {"inside": [kind("MARKERVALUE")]}):
        with pytest.raises(TypeError, match="cannot be pickled") as caught:
            pickle.dumps(held, protocol)
        assert "MARKERVALUE" not in str(caught.value)


def test_copies_by_way_of_pickle_are_refused_too():
    for make in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            make(Slotted("MARKERVALUE"))
