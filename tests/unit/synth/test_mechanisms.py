"""A mechanism of another package: fitted, drawn from and certified as our own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth import (
    Budget,
    Category,
    Certificate,
    Model,
    OverspentError,
    Schema,
    SynthError,
    Synthesizer,
    Whole,
)
from synth.certificate import _digest
from synth.guarantee import guarantee_of
from synth.methods import settings_of

EXAMPLES = Path(__file__).parents[3] / "examples"
BUDGET = Budget(epsilon=2, delta=1e-6)
SCHEMA = Schema(
    columns=[
        Whole(name="age", low=0, high=9),
        Category(name="sex", values=["F", "M"]),
        Whole(name="pay", low=0, high=9),
    ],
    rules=["if age == 0 then pay < 5"],
)
WRONG = """
from synth import Mechanism
class Odd(Mechanism):
    kind = "odd"
    sizes = [10, 2, 10]
    def sample(self, number, *, rng, allowed=None): return [[99] * 3] * number
    def _parts(self): return {}
    @classmethod
    def _of_parts(cls, found): return cls()
class Greedy(Odd):
    @classmethod
    def fit(cls, measurer, *, rho, **known):
        for _ in range(2): measurer.margin(0, rho=0.6 * rho)
        return cls()
class Lazy(Odd):
    @classmethod
    def fit(cls, measurer, **known): return cls()
class Narrow(Lazy):
    sizes = [10]
nothing = 3
"""


def people(number=3000):
    rng = np.random.default_rng(1)
    age = rng.integers(0, 10, number)
    pay = np.minimum(age, 9)
    return pd.DataFrame({"age": age, "sex": rng.choice(["F", "M"], number), "pay": pay})


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Two packages as pip leaves them: code, and the names of entry points."""
    folder = tmp_path / "demo_mechanisms-1.5.dist-info"
    folder.mkdir()
    (tmp_path / "odd_mechanisms.py").write_text(WRONG)
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: demo-mechanisms\nVersion: 1.5\n"
    )
    names = ("Greedy", "Lazy", "Narrow", "nothing", "absent")
    odd = "".join(f"{one.lower()} = odd_mechanisms:{one}\n" for one in names)
    (folder / "entry_points.txt").write_text(f"[ckm.synth]\ntree = synth_mechanism:Tree\n{odd}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.mark.usefixtures("installed")
def test_an_added_mechanism_is_fitted_saved_drawn_and_certified(tmp_path):
    settings = settings_of("tree", {"margins": 0.4})
    made = Synthesizer(schema=SCHEMA, method="tree", settings=settings)
    made.check(people(), BUDGET)
    made.fit(people(), BUDGET).save(tmp_path / "model.json")
    model = Model.load(tmp_path / "model.json")
    frame = model.sample(2000, rng=np.random.default_rng(1), where="age > 2")
    assert frame["age"].corr(frame["pay"]) > 0.7
    assert frame["age"].min() == 3
    assert 0.99 * BUDGET.concentrated() < sum(call.rho for call in model.calls)
    assert sum(call.rho for call in model.calls) <= BUDGET.concentrated()
    paper = Certificate.of(model)
    assert paper.verify(schema=SCHEMA) == []
    origin = {"package": "demo-mechanisms", "version": "1.5", "object": "synth_mechanism:Tree"}
    assert paper.facts["mechanism"] == origin
    assert guarantee_of(paper).status == "private"


@pytest.mark.usefixtures("installed")
def test_a_look_that_is_taken_off_the_bill_is_missed():
    model = Synthesizer(schema=SCHEMA, method="tree").fit(people(), BUDGET)
    facts = dict(Certificate.of(model).facts)
    for change in (
        {"calls": []},
        {"mechanism": None},
        {"calls": [{**facts["calls"][0], "scale": 1e-3}, *facts["calls"][1:]]},
    ):
        forged = {**facts, **change}
        forged["digest"] = _digest(forged)
        assert Certificate(forged).verify()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("greedy", OverspentError, "is left"),
        ("narrow", SynthError, "other columns"),
        ("nothing", SynthError, "no Mechanism"),
        ("absent", SynthError, "cannot be loaded"),
        ("unknown", SynthError, "Unknown method"),
    ],
)
def test_a_mechanism_that_does_not_hold_is_refused(name, error, match):
    with pytest.raises(error, match=match):
        Synthesizer(schema=SCHEMA, method=name).fit(people(50), BUDGET)


@pytest.mark.usefixtures("installed")
def test_a_mechanism_that_looked_at_nothing_has_no_certificate_and_draws_nothing_undeclared():
    model = Synthesizer(schema=SCHEMA, method="lazy").fit(people(50), BUDGET)
    with pytest.raises(SynthError, match="not declared"):
        model.sample(5)
    assert Certificate.of(model).verify()


def test_without_the_package_its_model_is_not_read(installed, tmp_path, monkeypatch):
    Synthesizer(schema=SCHEMA, method="tree").fit(people(50), BUDGET).save(tmp_path / "m.json")
    monkeypatch.undo()
    with pytest.raises(SynthError, match="Unknown method 'tree'"):
        Model.load(tmp_path / "m.json")
