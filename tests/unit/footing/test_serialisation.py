"""Objects become JSON in one way, and their digests stay what they were."""

import datetime as dt
import hashlib
import json
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footing.messages import Message, Name
from footing.serialisation import (
    canonical,
    content_of,
    digest_of,
    document,
    json_line,
    plain,
    plain_fields,
    set_fields,
    tuples,
)


@dataclass(frozen=True)
class Zone:
    name: str
    codes: tuple[int, ...] = ()
    is_open: bool | int = 1
    marks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Framed:
    """Has a form of its own."""

    zone: Zone

    def to_dict(self):
        return {"zone": self.zone.name}


def test_numbers_of_numpy_days_and_dataclasses_become_what_json_has():
    content = {
        1: np.float64(0.5),
        "array": np.arange(3),
        "day": dt.date(2027, 3, 1),
        "zone": Zone("A", (1, 2)),
        "own": [Framed(Zone("B"))],
        "none": None,
    }
    again = json.loads(document(content))
    assert again == {
        "1": 0.5,
        "array": [0, 1, 2],
        "day": "2027-03-01",
        "zone": {"name": "A", "codes": [1, 2], "is_open": 1, "marks": []},
        "own": [{"zone": "B"}],
        "none": None,
    }


def test_a_message_is_its_text_or_what_is_asked_for():
    message = Message("No column {column!r}.", column=Name("depp"))
    assert plain((message,)) == ["No column 'depp'."]
    (kept,) = plain((message,), message=Message.to_dict)
    assert Message.from_dict(kept).values == {"column": "depp"}


def test_a_message_deep_in_an_object_is_what_is_asked_for():
    thing = Zone("A", marks=[Message("all {n}", n=2)])
    (kept,) = plain_fields(thing, message=Message.to_dict)["marks"]
    assert kept["template"] == "all {n}"


def test_what_a_field_says_beside_its_default_is_told_with_its_type():
    assert set_fields(Zone("A")) == {"name": "A"}
    assert set_fields(Zone("A", is_open=True)) == {"name": "A", "is_open": True}
    assert set_fields(Zone("A"), always=["codes"]) == {"name": "A", "codes": []}


def test_equal_content_has_one_line_and_one_digest():
    assert canonical({"b": 1, "a": "é"}) == '{"a": "\\u00e9", "b": 1}'
    assert digest_of({"b": 1, "a": 2}) == hashlib.sha256(b'{"a": 2, "b": 1}').hexdigest()
    assert digest_of([1, (2,)], is_compact=True) == hashlib.sha256(b"[1,[2]]").hexdigest()


@pytest.mark.parametrize("write", [document, canonical, json_line])
def test_what_json_cannot_say_is_refused(write):
    with pytest.raises(ValueError, match="JSON"):
        write({"share": float("nan")})


def test_the_digest_of_foreign_content_is_no_error():
    assert digest_of({"share": float("nan")}) != digest_of({"share": 0.5})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
    ),
    st.sampled_from([None, 0, 1, 2]),
    st.booleans(),
)
def test_a_document_is_what_json_writes(content, indent, is_ascii):
    def write(how):
        try:
            return how(content)
        except ValueError:  # infinite
            return None

    assert write(lambda c: document(c, indent=indent, is_ascii=is_ascii)) == write(
        lambda c: json.dumps(c, ensure_ascii=is_ascii, indent=indent, allow_nan=False) + "\n"
    )


def test_a_document_of_numpy_numbers_and_names_that_are_numbers_is_what_json_writes():
    assert document({"a": np.float64(0.5)}) == '{\n "a": 0.5\n}\n'
    assert document({1: [True, 1, "1"], "é": {}}) == (
        '{\n "1": [\n  true,\n  1,\n  "1"\n ],\n "é": {}\n}\n'
    )


def test_a_line_keeps_the_order_of_names_which_may_be_that_of_codes():
    assert json_line({"missing": {"none": 1, "-8": 2}}) == '{"missing": {"none": 1, "-8": 2}}'


@pytest.mark.parametrize("text", ["", "[", "[]", "3", '{"format": "other"}', "[" * 100_000])
def test_a_text_of_another_format_holds_nothing(text):
    assert content_of(text, form="ckm-x") == {}


def test_frozen_objects_get_tuples():
    assert tuples([1, [2, "ab"]]) == (1, (2, "ab"))
