"""What a p-table was made from comes back from plain values."""

import json

import pytest

from ptable import Mechanism, NoiseSpec, PTableError, StackedSpec
from ptable.design.design import design_from_dict


@pytest.fixture
def noise():
    return NoiseSpec(max_noise=2, variance=1.0)


def test_a_design_comes_back_from_what_its_to_dict_gave(noise):
    for design in (noise, StackedSpec(parts=((0, noise),)), Mechanism.rounding(5)):
        plain = json.loads(json.dumps(design.to_dict()))
        before = json.dumps(plain)
        assert design_from_dict(plain) == design
        assert json.dumps(plain) == before


def test_fields_without_a_kind_are_noise(noise):
    assert "kind" not in noise.to_dict()
    assert design_from_dict({"max_noise": 2, "variance": 1.0}) == noise
    assert design_from_dict({"kind": "noise", "max_noise": 2, "variance": 1.0}) == noise


@pytest.mark.parametrize("fields", [None, "rounding", [], 5, [("kind", "mechanism")]])
def test_what_is_no_mapping_is_no_design(fields):
    with pytest.raises(PTableError, match=f"mapping of fields, not a {type(fields).__name__}"):
        design_from_dict(fields)


@pytest.mark.parametrize("kind", ["magic", ["mechanism"], None, 5])
def test_a_kind_of_a_newer_program_is_named_with_those_known(kind):
    with pytest.raises(PTableError, match=r"knows \['mechanism', 'noise', 'stacked'\]"):
        design_from_dict({"kind": kind})
