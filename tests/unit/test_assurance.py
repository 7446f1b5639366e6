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


@pytest.mark.slow
def test_no_page_message_or_command_promises_what_the_case_does_not_hold():
    known = {claim.id for claim in assurance.claims()}
    found = assurance.sentences()
    assert len(assurance.of_templates()) > 5
    named = {name for sentence in found for name in sentence.claims}
    unknown = (named | assurance.of_templates()) - known
    assert not unknown, "pages name claims that the case does not have"
    reviewed = set(assurance.reviewed())
    loose = sorted({s.line for s in found if not s.claims and s.line not in reviewed})
    assert not loose, (
        "sentences that may promise something: link the claim in docs/explanation/assurance.md "
        "(docs: assurance.md#id; messages and code: a comment `claim id`), or, when they "
        "promise nothing to anybody, add the line to tests/not_promises.txt"
    )


@pytest.mark.slow
def test_the_list_of_sentences_that_promise_nothing_has_none_that_is_gone():
    stands = {sentence.line for sentence in assurance.sentences()}
    assert not sorted(set(assurance.reviewed()) - stands)
    assert list(assurance.reviewed()) == sorted(set(assurance.reviewed()))


def test_a_test_that_does_not_exist_is_told_from_one_that_does():
    assert assurance.exists("tests/unit/test_assurance.py::test_every_claim_has_one_name")
    assert not assurance.exists("tests/unit/test_assurance.py::test_nothing_of_the_kind")
    assert not assurance.exists("tests/unit/test_nothing.py::test_every_claim_has_one_name")
