"""The certificate: right as made, wrong after any change, checked without the records."""

import json

import numpy as np
import pandas as pd
import pytest

from synth import (
    Budget,
    Category,
    Certificate,
    CertificateError,
    Schema,
    SimulatedNoise,
    Synthesizer,
    TableSettings,
    Unit,
    Whole,
)
from synth.certificate import _digest
from synth.marginals.spending import Call
from synth.schema.discovery import Discovery

SIMULATED = "The noise was simulated: nobody is protected."
KEY = b"a secret of the office"
SCHEMA = Schema(
    columns=[
        Whole(name="age", low=0, high=99, bins=10, declared_by="code book"),
        Category(name="sex", values=["F", "M"], declared_by="code book"),
    ],
    rules=["age != 3"],
    unit=Unit(name="household", identifier="home", most_records=2),
)


def fitted(schema=SCHEMA, noise=None, **options):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(4, 99, 400),
            "sex": rng.choice(["F", "M"], 400),
            "home": np.arange(400) // 2,
        }
    )
    synthesizer = Synthesizer(schema=schema, settings=TableSettings(steps=2, rounds=1))
    noise = noise or SimulatedNoise(seed=1)
    return synthesizer.fit(frame, Budget(epsilon=3, delta=1e-6), noise=noise, **options)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.fixture
def released(model, tmp_path):
    drawn = model.draw(100, rng=np.random.default_rng(1))
    data = tmp_path / "synthetic.csv"
    data.write_text("age,sex\n1,F\n")
    made = Certificate.of(
        model,
        data=data,
        violations=model.violations(drawn),
        audit={"epsilon": [2.1, 2.9]},
        utility={"tvd2": 0.04},
    )
    made.write(tmp_path / "c.json", key=KEY)
    return tmp_path


def test_a_certificate_is_right_as_made(released):
    paper = Certificate.read(released / "c.json")
    found = paper.verify(data=released / "synthetic.csv", schema=SCHEMA, key=KEY)
    assert found == [SIMULATED]
    assert paper.facts["audit"] == {"epsilon": [2.1, 2.9]}
    assert paper.facts["total"]["epsilon"] <= 3


def test_a_certificate_with_secure_noise_has_nothing_wrong():
    from synth.marginals.measuring import SecureNoise

    paper = Certificate.of(fitted(noise=SecureNoise()))
    assert paper.verify() == []
    assert f"<td>{paper.facts['total']['epsilon']}</td>" in paper._repr_html_()


def test_found_domains_are_certified_with_what_they_cost():
    schema = SCHEMA.with_column(Category(name="sex")).with_column(Whole(name="age"))
    paper = Certificate.of(fitted(schema, discovery=Discovery(share=0.5)))
    assert paper.verify() == [SIMULATED]
    assert SIMULATED in paper._repr_html_()
    assert "epsilon" not in paper._repr_html_()
    assert paper.facts["total"]["delta_aside"] == pytest.approx(5e-7)
    facts = json.loads(json.dumps(paper.facts))
    facts["calls"] = [call for call in facts["calls"] if call["what"] != "categories"]
    assert any("not paid for" in one for one in resealed(facts).verify())


def resealed(facts):
    """Return changed facts with a digest that fits them: a careful forger's."""
    return Certificate({**facts, "digest": _digest(facts)})


CHANGES = {
    "a cheaper call": lambda f: f["calls"][0].update(rho=f["calls"][0]["rho"] / 2),
    "less noise": lambda f: f["calls"][0].update(scale=f["calls"][0]["scale"] / 2),
    "a smaller sensitivity": lambda f: f["calls"][0].update(sensitivity=1.0),
    "another law": lambda f: f["calls"][0].update(law="magic"),
    "a lower total": lambda f: f["total"].update(rho=f["total"]["rho"] / 2),
    "a lower epsilon": lambda f: f["total"].update(epsilon=0.1),
    "a smaller delta": lambda f: f["total"].update(delta=1e-12),
    "no calls": lambda f: f.update(calls=[]),
    "no margin of a column": lambda f: f["calls"].pop(0),
    "other neighbours": lambda f: f.update(adjacency="replace"),
    "unknown neighbours": lambda f: f.update(adjacency="near"),
    "larger units": lambda f: f["unit"].update(most_records=5),
    "another schema": lambda f: f["schema"].update(sha256="0" * 64),
    "another declaration": lambda f: f["schema"]["declared"]["columns"][1].update(
        values=["F", "X"]
    ),
    "a broken rule": lambda f: f["rules"][0].update(violations=7),
    "a smaller budget": lambda f: f["budget"].update(rho=1e-3),
    "a negative price": lambda f: f["calls"][0].update(rho=-1.0),
    "no number": lambda f: f["calls"][0].update(rho=float("nan")),
    "no number in the total": lambda f: f["total"].update(rho=float("nan")),
    "text for a number": lambda f: f["calls"][0].update(rho="0"),
    "a list for an object": lambda f: f.update(total=[]),
    "no unit": lambda f: f.update(unit=None),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("is_careful", [False, True], ids=["plain", "digest made anew"])
def test_every_change_is_noticed(released, name, is_careful):
    facts = json.loads((released / "c.json").read_text())
    CHANGES[name](facts)
    paper = resealed(facts) if is_careful else Certificate(facts)
    assert set(paper.verify()) - {SIMULATED}
    assert any("seal" in one for one in paper.verify(key=KEY))


def test_words_cannot_be_changed_under_a_seal(released):
    facts = json.loads((released / "c.json").read_text())
    facts["noise"] = "secure"
    assert resealed(facts).verify() == []  # why an office seals its certificates
    assert any("seal" in one for one in resealed(facts).verify(key=KEY))


def test_other_data_schemas_and_keys_are_noticed(released):
    paper = Certificate.read(released / "c.json")
    (released / "synthetic.csv").write_text("age,sex\n2,F\n")
    other = Schema(columns=SCHEMA.columns, unit=SCHEMA.unit)
    found = paper.verify(data=released / "synthetic.csv", schema=other, key=b"x" * 16)
    assert {"The data are not those of the certificate."} < set(found)
    assert len(found) == 4


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "ckm-synth-certificate"}', "[" * 9999]
)
def test_what_is_no_certificate_is_refused(tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CertificateError):
        Certificate.read(tmp_path / "c.json")
    with pytest.raises(CertificateError):
        Certificate.read(tmp_path / "absent.json")


def test_a_call_without_a_price_is_refused():
    for changed in (
        {"scale": 0.0},
        {"scale": float("nan")},
        {"sensitivity": -1.0},
        {"law": "?"},
    ):
        call = {
            "what": "margin",
            "columns": (),
            "law": "exponential",
            "sensitivity": 1.0,
            "scale": 1.0,
            "rho": 1.0,
            **changed,
        }
        with pytest.raises(CertificateError):
            Call(**call).price()


def test_a_short_key_is_refused(model, tmp_path):
    with pytest.raises(CertificateError, match="16"):
        Certificate.of(model).write(tmp_path / "c.json", key=b"short")
