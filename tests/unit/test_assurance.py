"""The assurance case names its evidence, and no page promises more than it."""

import pytest

from tests import assurance


@pytest.mark.parametrize("claim", assurance.claims(), ids=lambda claim: claim.id)
def test_a_claim_says_what_it_needs_what_shows_it_and_what_it_does_not_cover(claim):
    assert tuple(claim.fields) == assurance.FIELDS
    assert all(len(text) > 10 for text in claim.fields.values())
    assert claim.text.endswith(".")
    assert claim.tests, "a claim without a test"
    missing = [test for test in claim.tests if not assurance.exists(test)]
    assert not missing, "the case names tests that do not exist"


def test_every_claim_has_one_name():
    names = [claim.id for claim in assurance.claims()]
    assert len(names) == len(set(names)) > 20


def test_a_claim_is_named_where_it_is_made():
    case = {claim.id for claim in assurance.claims()}
    places = assurance.places()
    assert not set(places) - case, (
        "pages, messages or code name claims that the case does not have"
    )
    assert not case - set(places), "claims that no page, message or code makes"


def test_a_test_that_does_not_exist_is_told_from_one_that_does():
    assert assurance.exists("tests/unit/test_assurance.py::test_every_claim_has_one_name")
    assert not assurance.exists("tests/unit/test_assurance.py::test_nothing_of_the_kind")
    assert not assurance.exists("tests/unit/test_nothing.py::test_every_claim_has_one_name")
