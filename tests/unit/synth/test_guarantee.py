"""What the certificate beside a file promises: for that file, or nothing."""

import json

import numpy as np
import pandas as pd
import pytest

from synth import (
    Budget,
    Category,
    Certificate,
    CertificateError,
    Guarantee,
    Schema,
    SimulatedNoise,
    Synthesizer,
)
from synth.claims import Claim
from synth.frames import write_records
from synth.guarantee import beside, guarantee_beside

SCHEMA = Schema(columns=[Category(name="sex", values=["F", "M"])])
PEOPLE = pd.DataFrame({"sex": ["F", "M"] * 200})


def released(folder, *, name="made.csv", noise=None, method="tables"):
    budget = Budget(epsilon=2, delta=1e-6) if method == "tables" else Claim(epsilon=2)
    model = Synthesizer(schema=SCHEMA, method=method).fit(PEOPLE, budget, noise=noise)
    data = folder / name
    write_records(model.sample(50, rng=np.random.default_rng(1)), data)
    Certificate.of(model, data=data).write(beside(data))
    return data


def changed(data):
    data.write_text(data.read_text() + '"F"\n')


def spoilt(data):
    paper = beside(data)
    paper.write_text(paper.read_text().replace('"delta": 1e-06', '"delta": 1e-09'))


CASES = {
    "as made": (lambda _: None, "private", "at delta 1e-06, add-remove, per 'record'"),
    "under the earlier name": (
        lambda data: beside(data).rename(data.with_name("made.certificate.json")),
        "private",
        "at delta 1e-06",
    ),
    "other data": (changed, "other data", "is of other data: it promises nothing"),
    "changed": (spoilt, "wrong", "the certificate is not right: The certificate was changed"),
    "no JSON": (lambda data: beside(data).write_text("{"), "wrong", "cannot be read"),
    "no certificate": (lambda data: beside(data).unlink(), "absent", "nothing is known"),
}


@pytest.mark.parametrize("name", CASES)
def test_an_epsilon_is_told_of_the_right_file_alone(tmp_path, name):
    change, status, text = CASES[name]
    data = released(tmp_path)
    change(data)
    found = guarantee_beside(data)
    assert found.status == status
    assert text in found.text
    assert ("epsilon 2" in found.text) == (status == "private")
    assert (found.epsilon is not None) == (status == "private")


def test_simulated_noise_and_methods_without_a_guarantee_are_told_as_such(tmp_path):
    data = released(tmp_path, noise=SimulatedNoise(seed=1))
    assert guarantee_beside(data).status == "simulated"
    assert "NOT PRIVATE" in guarantee_beside(data).text
    data = released(tmp_path, method="copula-shirley")
    found = guarantee_beside(data)
    assert (found.status, found.claimed, found.spent) == ("unprotected", 2.0, None)
    changed(data)  # whoever has it beside other data still learns what it is
    assert guarantee_beside(data).status == "unprotected"


def test_what_an_earlier_method_spent_is_told_of_its_certificate(tmp_path):
    data = released(tmp_path, method="copula-shirley")
    facts = json.loads(beside(data).read_text())
    spent = {"label": "PrivBayes", "claimed": 2, "epsilon": 802, "parts": {"margins": 802}}
    facts |= {"method": "priv-bayes-legacy", "account": spent}
    beside(data).write_text(json.dumps(facts))
    assert "Nothing is known of the method." in Certificate.read(beside(data)).verify()
    found = guarantee_beside(data)
    assert (found.status, found.claimed, found.spent) == ("unprotected", 2.0, 802.0)


def test_two_files_that_differ_in_their_ending_have_certificates_of_their_own(tmp_path):
    one, other = released(tmp_path), released(tmp_path, name="made.parquet")
    assert beside(one) != beside(other)
    assert guarantee_beside(one).status == guarantee_beside(other).status == "private"


def test_signs_that_steer_a_terminal_are_written_as_escapes(tmp_path):
    data = released(tmp_path, method="copula-shirley")
    facts = json.loads(beside(data).read_text())
    facts["account"]["label"] = "\x1b[2J"
    beside(data).write_text(json.dumps(facts))
    assert "\x1b" not in guarantee_beside(data).text


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"status": "sure"},
        {"status": "private"},
        {"status": "private", "adjacency": "replace", "epsilon": "1"},
        {"status": "private", "adjacency": "replace", "epsilon": float("nan")},
        {"status": "absent", "words": 3},
        {"status": "absent", "more": 3},
        {"status": []},
    ],
)
def test_other_records_are_no_guarantee(record):
    with pytest.raises(CertificateError):
        Guarantee.from_dict(record)
