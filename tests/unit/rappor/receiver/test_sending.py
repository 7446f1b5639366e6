"""What reaches a receiver: bytes that are refused where anything is not as it must be."""

import hashlib
import json

import numpy as np
import pytest

from rappor.client.client import encode
from rappor.encoded import Reports
from rappor.errors import RapporError
from rappor.parameters import Parameters
from rappor.receiver.sending import RefusedError, pack_sending, tokens_of, unpack_sending
from tables.secret import Secret

SECRET = Secret(b"a secret for the tests of sending")
COIN = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)
HERE = {"metric": "page", "period": "2027-03"}


def sending(n=5, parameters=COIN, **changes):
    names = [f"c{i}" for i in range(n)]
    where = HERE | changes
    reports = encode(["a"] * n, names, parameters=parameters, secret=SECRET, metric="page")
    tokens = tokens_of(names, secret=SECRET, parameters=parameters, **where)
    return pack_sending(reports, tokens, **where)


def signed(body):
    return body + hashlib.sha256(body).digest()


def reason(body):
    with pytest.raises(RefusedError) as refusal:
        unpack_sending(body, parameters=COIN, **HERE)
    return refusal.value.reason


def test_reports_arrive_as_they_were_sent():
    names = ["ann", "bob"]
    reports = encode(["a", "b"], names, parameters=COIN, secret=SECRET, metric="page")
    tokens = tokens_of(names, secret=SECRET, parameters=COIN, **HERE)
    told = unpack_sending(pack_sending(reports, tokens, **HERE), parameters=COIN, **HERE)
    assert told.reports == reports
    assert list(told.tokens) == tokens


def test_a_token_is_of_one_client_question_and_period():
    question = {"secret": SECRET, "parameters": COIN}
    tokens = [
        tokens_of(["ann"], metric="page", period="2027-03", **question),
        tokens_of(["bob"], metric="page", period="2027-03", **question),
        tokens_of(["ann"], metric="page", period="2027-04", **question),
        tokens_of(["ann"], metric="site", period="2027-03", **question),
        tokens_of(["ann"], metric="page", period="2027-03", secret=Secret(bytes(16)),
                  parameters=COIN),
    ]  # fmt: skip
    assert len({token for (token,) in tokens}) == 5
    assert tokens[0] == tokens_of(["ann"], metric="page", period="2027-03", **question)


def test_what_is_not_as_it_must_be_is_refused_and_says_why():
    body = sending()
    head, _, rest = body.partition(b"\n")
    assert reason(b"") == reason(b"{}\n") == reason(b"[" * 9000) == reason(head) == "format"
    assert reason(b"\n" + body) == "format"
    assert reason(body[:-1]) == reason(body[:-50]) == reason(head + b"\n") == "truncated"
    changed = bytearray(body)
    changed[len(head) + 3] ^= 1
    assert reason(bytes(changed)) == "truncated"
    assert reason(signed(body[:-33])) == "length"
    assert reason(signed(head + b"\n")) == "length"
    other = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.25, p=0.25, q=0.75)
    assert reason(sending(parameters=other)) == "parameters"
    assert reason(sending(metric="site")) == "metric"
    assert reason(sending(period="2027-02")) == "period"
    records = bytearray(rest[:-32])
    records[16:20] = b"\x09\0\0\0"  # a cohort that is none
    assert reason(signed(head + b"\n" + bytes(records))) == "report"
    records = bytearray(rest[:-32])
    records[21] |= 0x80  # a bit beyond the last
    assert reason(signed(head + b"\n" + bytes(records))) == "report"


def test_the_header_is_json_in_any_order():
    head, _, rest = sending().partition(b"\n")
    turned = json.dumps(dict(reversed(json.loads(head).items()))).encode()
    body = signed(turned + b"\n" + rest[:-32])
    assert len(unpack_sending(body, parameters=COIN, **HERE).tokens) == 5


def test_each_report_needs_a_token():
    reports = Reports(
        cohorts=np.zeros(1, int), packed=np.zeros((1, 2), np.uint8), parameters=COIN
    )
    for tokens in ([], [b"short"], [bytes(16)] * 2):
        with pytest.raises(RapporError, match="token"):
            pack_sending(reports, tokens, **HERE)
