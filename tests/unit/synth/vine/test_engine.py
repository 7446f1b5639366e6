"""The private vine: what it asks, what it pays, and what it keeps of amounts."""

import math

import numpy as np
import pandas as pd
import pytest

from bench.synth_audit import audit_engine
from dp import Adjacency
from synth import (
    Budget,
    Category,
    Certificate,
    Schema,
    SimulatedNoise,
    SynthError,
    Synthesizer,
    Whole,
)
from synth.marginals.measuring import SCORE, Neighbours
from synth.schema.coding import in_order_within
from synth.vine.engine import PrivateVineSettings, fit_private_vine
from synth.vine.model import PrivateVineModel

SIZES, ORDERED = [30, 25, 6, 3, 4], [True, True, True, False, False]


def dependent(records, seed=1):
    """Return two numbers with tails, one with few codes, and two codes that follow."""
    rng = np.random.default_rng(seed)
    common = 1 / np.sqrt(rng.chisquare(3, records) / 3)
    shared = rng.normal(size=records)
    numbers = [(0.8 * shared + 0.6 * rng.normal(size=records)) * common for _ in range(3)]
    codes = [
        np.searchsorted(np.quantile(x, np.linspace(0, 1, k + 1)[1:-1]), x)
        for x, k in zip(numbers, SIZES[:3], strict=True)
    ]
    which = (codes[0] // 10 + (rng.random(records) < 0.2)) % 3
    return np.column_stack([*codes, which, (which + rng.integers(0, 2, records)) % 4])


def fitted(codes, *, rho=0.5, seed=1, **terms):
    noise = terms.pop("noise", SimulatedNoise(seed=seed))
    return fit_private_vine(codes, sizes=SIZES, ordered=ORDERED, rho=rho, noise=noise, **terms)


class _Tape:
    """Noise that gives the second of two neighbours the answers of the first."""

    label = "replayed"

    def __init__(self, earlier=None):
        self.true, self.scores, self.answers = [], [], []
        self._source, self._earlier = SimulatedNoise(seed=3), earlier

    def add(self, counts, mechanism):
        self.true.append((counts.copy(), mechanism.sensitivity.l2))
        return self._answer(self._source.add(counts, mechanism))

    def choose(self, scores, mechanism):
        self.scores.append((scores.copy(), mechanism.sensitivity))
        return self._answer(self._source.choose(scores, mechanism))

    def _answer(self, own):
        answer = own if self._earlier is None else self._earlier.answers[len(self.answers)]
        self.answers.append(answer)
        return answer


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_replayed_neighbours_move_no_answer_farther_than_stated(adjacency, rows):
    codes = dependent(400)
    codes[:rows] = [29, 24, 5, 2, 3]  # the highest score of each number
    other = codes[rows:] if adjacency == "add-remove" else codes.copy()
    if adjacency == "replace":
        other[:rows] = [0, 24, 5, 0, 0]
    near = Neighbours(adjacency=Adjacency(adjacency), rows=rows)
    first = _Tape()
    models = [fitted(codes, noise=first, neighbours=near)]
    second = _Tape(first)
    models.append(fitted(other, noise=second, neighbours=near))
    assert models[0].spends == models[1].spends
    assert {one.what for one in models[0].spends} == {"margin", "ranks", "table", "choice"}
    shares = []
    for (a, stated), (b, _) in zip(first.true, second.true, strict=True):
        shares.append(float(np.linalg.norm((a - b).astype(float))) / stated)
    assert 0.9 < max(shares) <= 1 + 1e-12
    for (a, stated), (b, _) in zip(first.scores, second.scores, strict=True):
        assert np.abs(a - b).max() <= stated


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_products_of_ranks_move_as_far_as_stated_and_no_farther(adjacency):
    near = Neighbours(adjacency=Adjacency(adjacency), rows=2)
    stated = near.correlating(0.1, pairs=3).sensitivity.l2
    ones = np.array([1, 1, 1]) * SCORE**2
    worst = 2 * ones - (-2 * ones if adjacency == "replace" else 0)
    assert np.linalg.norm(worst.astype(float)) <= stated <= np.linalg.norm(worst) * (1 + 1e-9)


def test_the_bill_lists_every_look_within_the_budget():
    noise = _Tape()
    model = fitted(dependent(500), rho=0.1, noise=noise)
    assert 0.97 <= model.spent / 0.1 <= 1
    assert len(model.spends) == len(noise.answers)
    by_kind = [one.what for one in model.spends]
    assert by_kind[:5] == ["margin"] * 5
    assert by_kind[5] == "ranks"
    assert by_kind[6:9] == ["table"] * 3  # two of the first tree, one of the second


@pytest.mark.parametrize(("rho", "records"), [(1e-9, 40), (1e-4, 0), (1e5, 1), (1e5, 40)])
def test_any_budget_and_number_of_records_is_served(rho, records):
    model = fitted(dependent(300)[:records], rho=rho)
    assert model.spent <= rho
    drawn = model.sample(9, rng=np.random.default_rng(1))
    assert (drawn >= 0).all()
    assert (drawn < SIZES).all()


@pytest.mark.parametrize(
    "ordered", [[True, False, False], [False] * 3, [True, True, False], [True] * 3]
)
def test_columns_of_all_kinds_of_company_are_served(ordered):
    codes = dependent(300)[:, [0, 1, 3]]
    model = fit_private_vine(
        codes, sizes=[30, 25, 3], ordered=ordered, rho=0.2, noise=SimulatedNoise(seed=1)
    )
    drawn = model.sample(50, rng=np.random.default_rng(1))
    assert drawn.shape == (50, 3)
    assert (model.vine is None) == (sum(ordered[:2]) < 2)


def test_tails_ranks_and_codes_are_kept():
    codes = dependent(20_000)
    drawn = fitted(codes, rho=0.2).sample(20_000, rng=np.random.default_rng(2))

    def joint(table):
        high = table[:, :2] >= [28, 23]
        return high.all(axis=1).mean() / high[:, 0].mean()

    assert joint(codes) > 0.4
    assert abs(joint(codes) - joint(drawn)) < 0.08
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        both = [np.corrcoef(one[:, a], one[:, b])[0, 1] for one in (codes, drawn)]
        assert both[0] == pytest.approx(both[1], abs=0.04)
    for a, b in [(0, 3), (3, 4)]:
        shape = SIZES[a], SIZES[b]
        shares = [
            np.bincount(one[:, a] * shape[1] + one[:, b], minlength=math.prod(shape)) / 20_000
            for one in (codes, drawn)
        ]
        assert 0.5 * np.abs(shares[0] - shares[1]).sum() < 0.08


def test_codes_beside_a_single_number_keep_their_margins():
    codes = dependent(5000)[:, [0, 3, 4]]
    model = fit_private_vine(
        codes,
        sizes=[30, 3, 4],
        ordered=[True, False, False],
        rho=1,
        noise=SimulatedNoise(seed=1),
    )
    drawn = model.sample(5000, rng=np.random.default_rng(1))
    for column, size in ((1, 3), (2, 4)):
        shares = [np.bincount(one[:, column], minlength=size) / 5000 for one in (codes, drawn)]
        assert shares[0] == pytest.approx(shares[1], abs=0.02)


def test_a_model_that_was_written_draws_the_same_records():
    model = fitted(dependent(500))
    again = PrivateVineModel.from_json(model.to_json())
    draws = [one.sample(20, rng=np.random.default_rng(5)) for one in (model, again)]
    assert (draws[0] == draws[1]).all()
    assert again.to_json() == model.to_json()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["heights"].pop(),
        lambda c: c["groups"].pop(),
        lambda c: c["heights"][0].update(column=3),
        lambda c: c.update(vine=None),
        lambda c: c.update(vine="{}"),
        lambda c: c["tables"][0].update(columns=[9]),
        lambda c: c["tables"][0].update(potential=[0.0]),
        lambda c: c.update(version=2),
    ],
)
def test_parts_that_do_not_fit_each_other_are_refused(change):
    content = fitted(dependent(200)).to_dict()
    change(content)
    with pytest.raises(SynthError):
        PrivateVineModel.from_dict(content)


def test_nothing_of_the_records_stays_but_what_was_paid_for():
    codes = dependent(300)
    model = fitted(codes)
    before = model.to_json()
    codes[:] = 0
    assert model.to_json() == before


def test_conditions_on_a_code_and_a_number_are_met():
    frame = pd.DataFrame(dependent(2000)[:, [0, 1, 3]], columns=["pay", "size", "kind"])
    frame["kind"] = frame["kind"].map(str)
    columns = [Whole(name="pay", low=0, high=29), Whole(name="size", low=0, high=24)]
    schema = Schema(columns=(*columns, Category(name="kind", values=("0", "1", "2"))))
    model = Synthesizer(schema=schema, method="vine").fit(
        frame, Budget(epsilon=4, delta=1e-5), noise=SimulatedNoise(seed=1)
    )
    assert all("simulated" in one for one in Certificate.of(model).verify())
    some = model.sample(200, rng=np.random.default_rng(1), conditions={"kind": "2"})
    assert set(some["kind"]) == {"2"}
    assert some["pay"].mean() > frame["pay"].mean() + 3
    high = model.sample(50, rng=np.random.default_rng(1), where="pay >= 25")
    assert high["pay"].min() >= 25


def test_numbers_of_one_code_rise_as_the_vine_says():
    numbers, codes = np.array([5, 1, 9, 2]), np.array([0, 0, 1, 0])
    heights = np.array([0.1, 0.3, 0.9, 0.2])
    assert in_order_within(numbers, codes, heights=heights).tolist() == [1, 5, 9, 2]


def test_published_tables_and_odd_settings_are_refused():
    with pytest.raises(SynthError, match="published"):
        fitted(dependent(50), published=[object()])
    with pytest.raises(SynthError, match="margin_share"):
        PrivateVineSettings(margin_share=0)
    with pytest.raises(SynthError, match="leave"):
        PrivateVineSettings(margin_share=0.6, rank_share=0.5)
    with pytest.raises(SynthError, match="ordered"):
        fit_private_vine(dependent(9), sizes=SIZES, ordered=[True], rho=1)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_a_game_of_few_fits_proves_no_more_than_the_bill(epsilon):
    audit = audit_engine(method="vine", epsilon=epsilon, runs=100, noise=SimulatedNoise(seed=1))
    assert not audit.refutes
    assert 0.9 * epsilon < audit.measured <= epsilon


@pytest.mark.slow
def test_a_game_finds_noise_that_is_too_small():
    audit = audit_engine(method="vine", epsilon=1.0, runs=100, noise=_Weak(seed=1))
    assert audit.refutes


class _Weak(SimulatedNoise):
    """A fifth of the noise."""

    def add(self, counts, mechanism):
        noise = self.rng.normal(0.0, mechanism.scale / 5, counts.shape)
        return counts + np.rint(noise).astype(np.int64)


@pytest.mark.long
def test_a_game_of_4000_fits_proves_no_more_than_the_bill():
    audit = audit_engine(method="vine", epsilon=1.0, runs=4000)
    assert not audit.refutes
    assert audit.found > 0.6
