"""The engine: what it spends, what it keeps of the records, and how near it comes."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_expit, ndtri_exp

import synth
from dp import Adjacency
from synth import SimulatedNoise, SynthError, TableSettings, fit_codes
from synth.marginals.belief import Network
from synth.marginals.candidates import small_triples
from synth.marginals.draft import ModelDraft, fit_potentials
from synth.marginals.drawing import draw_codes
from synth.marginals.engine import Prices
from synth.marginals.measuring import Measurer, Neighbours
from synth.marginals.model import TableModel
from synth.marginals.spending import PrivacyAccountant
from synth.schema.public import Published, Rule
from tests.strategies import examples

QUICK = TableSettings(rounds=1, steps=8)


def related(number, seed=1):
    """Four columns: the first two alike, the third noisy about them, the fourth alone."""
    rng = np.random.default_rng(seed)
    first = rng.choice(5, number, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    third = np.where(rng.random(number) < 0.8, first % 3, rng.integers(0, 3, number))
    return np.column_stack([first, first, third, rng.integers(0, 2, number)])


SIZES = [5, 5, 3, 2]


def exclusive(number, seed=1):
    """Five columns of two codes, independent by pairs; the third is either of the first two."""
    codes = np.random.default_rng(seed).integers(0, 2, (number, 5))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1]
    return codes


def fitted(codes=None, sizes=SIZES, rho=0.5, seed=1, **options):
    options.setdefault("noise", SimulatedNoise(seed=seed))
    options.setdefault("settings", QUICK)
    codes = related(2000) if codes is None else codes
    return fit_codes(codes, sizes=sizes, rho=rho, **options)


def distance(codes, drawn, columns, sizes):
    shape = [sizes[column] for column in columns]

    def shares(table):
        cells = np.ravel_multi_index([table[:, column] for column in columns], shape)
        return np.bincount(cells, minlength=math.prod(shape)) / len(table)

    return 0.5 * np.abs(shares(codes) - shares(drawn)).sum()


@settings(max_examples=examples(25), deadline=None)
@given(
    st.floats(1e-9, 1e6),
    st.integers(1, 5),
    st.integers(0, 40),
    st.tuples(st.sampled_from(["add-remove", "replace"]), st.integers(1, 3)),
    st.integers(0, 99),
)
def test_what_is_spent_never_exceeds_the_budget(rho, columns, records, near, seed):
    adjacency, rows = near
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, columns)
    codes = rng.integers(0, sizes, (records, columns))
    model = fit_codes(
        codes,
        sizes=sizes.tolist(),
        rho=rho,
        noise=SimulatedNoise(seed=seed),
        neighbours=Neighbours(adjacency=Adjacency(adjacency), rows=rows),
        settings=QUICK,
    )
    assert math.fsum(spend.rho for spend in model.spends) <= rho
    telling = sum(size > 1 for size in sizes)  # a column of one code tells nothing
    assert sum(spend.what == "margin" for spend in model.spends) == (telling or columns)
    assert model.sample(7, rng=rng).shape == (7, columns)
    for spend in model.spends:
        factor = 1 if adjacency == "add-remove" else 2
        if spend.what == "choice":
            assert spend.sensitivity == factor * rows
            # Exponential mechanism: scale is 2 sensitivity / epsilon. At even odds its answer
            # tells the neighbours apart as a Gaussian mean does that moves by mu.
            epsilon = 2 * spend.sensitivity / spend.scale
            mu = -2 * ndtri_exp(log_expit(-epsilon / 2))
            assert spend.rho >= mu**2 / 2 * (1 - 1e-9)
        else:
            assert spend.sensitivity == pytest.approx(math.sqrt(factor) * rows)
            assert spend.rho >= (spend.sensitivity / spend.scale) ** 2 / 2 * (1 - 1e-12)


def test_nearly_all_of_the_budget_is_used():
    assert 0.97 <= fitted(rho=0.1).spent / 0.1 <= 1


def test_every_column_set_was_chosen_before_it_was_measured():
    spends = fitted().spends
    kinds = [spend.what for spend in spends]
    assert kinds[:4] == ["margin"] * 4
    tables = [n for n, kind in enumerate(kinds) if kind == "table"]
    seen = set()
    for n in tables:
        assert kinds[n - 1] == "choice" or spends[n].columns in seen
        seen.add(spends[n].columns)
    assert seen


class _Recording:
    """Noise that notes what it is given, and passes the last true counts to nobody."""

    label = "recording"

    def __init__(self, level=40):
        self.scores, self.counts, self.level = [], [], level

    def add(self, counts, mechanism):
        assert mechanism.scale > 0
        self.counts.append(counts.copy())
        drawn = np.random.default_rng(len(self.counts)).normal(self.level, 5, counts.shape)
        return np.rint(drawn).astype(np.int64)  # of no record

    def choose(self, scores, mechanism):
        self.scores.append((scores.copy(), mechanism.sensitivity))
        return len(self.scores) % len(scores)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
def test_one_unit_moves_no_answer_farther_than_declared(adjacency, rows):
    """With equal answers so far, questions on neighbours differ by their sensitivity."""
    codes = related(60)
    other = codes[rows:] if adjacency == "add-remove" else codes.copy()
    if adjacency == "replace":
        other[:rows] = [4, 0, 2, 1]
    notes = []
    for table in (codes, other):
        noise = _Recording()
        fitted(
            table,
            noise=noise,
            label=3,
            neighbours=Neighbours(adjacency=Adjacency(adjacency), rows=rows),
        )
        notes.append(noise)
    first, second = notes
    assert len(first.counts) == len(second.counts) > 6
    assert len(first.scores) == len(second.scores) > 2
    counting = math.sqrt(1 if adjacency == "add-remove" else 2) * rows
    moved = [
        float(np.linalg.norm(a - b)) for a, b in zip(first.counts, second.counts, strict=True)
    ]
    assert 0 < max(moved) <= counting * (1 + 1e-12)
    for (a, sensitivity), (b, _) in zip(first.scores, second.scores, strict=True):
        assert np.abs(a - b).max() <= sensitivity


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_choices_among_triples_move_as_little_as_those_among_pairs(adjacency, rows):
    """Here the triples alone are told by scores of more candidates than there are pairs."""
    codes = exclusive(3000)
    other = codes[rows:] if adjacency == "add-remove" else codes.copy()
    if adjacency == "replace":
        other[:rows] = 1 - other[:rows]
    notes, models = [_Recording(1500), _Recording(1500)], []
    for table, noise in zip((codes, other), notes, strict=True):
        near = Neighbours(adjacency=Adjacency(adjacency), rows=rows)
        models.append(fitted(table, [2] * 5, rho=0.1, noise=noise, neighbours=near))
    first, second = notes
    assert models[0].spends == models[1].spends
    assert math.fsum(spend.rho for spend in models[0].spends) <= 0.1
    assert max(len(scores) for scores, _ in first.scores) > 10  # pairs of five columns
    for (a, sensitivity), (b, _) in zip(first.scores, second.scores, strict=True):
        assert sensitivity == rows * (1 if adjacency == "add-remove" else 2)
        assert np.abs(a - b).max() <= sensitivity


def test_the_model_does_not_look_at_the_records_again():
    codes = related(2000).astype(np.int32)
    model = fitted(codes)
    before = model.sample(500, rng=np.random.default_rng(1)), model.to_json()
    codes[:] = -999
    assert (model.sample(500, rng=np.random.default_rng(1)) == before[0]).all()
    assert model.to_json() == before[1]


def test_the_records_are_not_changed():
    codes = related(300)
    before = codes.copy()
    fitted(codes)
    assert (codes == before).all()


def test_one_seed_one_model_and_one_sample():
    assert fitted(seed=3).to_json() == fitted(seed=3).to_json()
    assert fitted(seed=3).to_json() != fitted(seed=4).to_json()
    draws = [fitted(seed=3).sample(99, rng=np.random.default_rng(5)) for _ in range(2)]
    assert (draws[0] == draws[1]).all()


def test_the_order_of_records_does_not_matter():
    codes = related(500)
    assert fitted(codes).to_json() == fitted(codes[::-1]).to_json()


def test_secure_noise_is_the_default_and_differs_each_time():
    models = [fit_codes(related(200), sizes=SIZES, rho=0.1, settings=QUICK) for _ in range(2)]
    assert models[0].noise == "secure"
    assert models[0].to_json() != models[1].to_json()
    assert "NOT PRIVATE" in fitted().noise


def test_margins_and_pairs_are_kept_when_the_budget_is_large():
    codes = related(20_000)
    model = fitted(codes, rho=50.0, settings=TableSettings())
    drawn = model.sample(20_000, rng=np.random.default_rng(1))
    for column in range(4):
        assert distance(codes, drawn, [column], SIZES) < 0.003
    for pair in itertools.combinations(range(4), 2):
        assert distance(codes, drawn, pair, SIZES) < 0.01
        counted = np.zeros([SIZES[column] for column in pair])
        np.add.at(counted, tuple(codes[:, column] for column in pair), 1)
        assert np.abs(model.expected(*pair) - counted).sum() < 0.02 * len(codes)


def test_independent_columns_are_drawn_independently():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (20_000, 3))
    drawn = fitted(codes, [4, 4, 4], rho=1.0).sample(20_000, rng=rng)
    for pair in itertools.combinations(range(3), 2):
        assert distance(codes, drawn, pair, [4, 4, 4]) < 0.03


def test_a_condition_holds_and_the_rest_follows_it():
    codes = related(20_000)
    model = fitted(codes, rho=5.0)
    only = np.arange(model.sizes[0]) == 4
    drawn = model.sample(4000, rng=np.random.default_rng(1), allowed={0: only})
    assert (drawn[:, 0] == 4).all()
    assert (drawn[:, 1] == 4).mean() > 0.97
    expected = np.bincount(codes[codes[:, 0] == 4][:, 2], minlength=3)
    shares = np.bincount(drawn[:, 2], minlength=3) / 4000
    assert np.abs(shares - expected / expected.sum()).max() < 0.05


def test_a_rule_is_never_violated_even_when_the_records_do():
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, 30, 3000), rng.integers(0, 4, 3000)])
    forbidden = np.zeros((30, 4), bool)
    forbidden[:7, 1:] = True
    rule = Rule(columns=(0, 1), forbidden=forbidden)
    for rho in (1e-4, 1.0):
        model = fitted(codes, [30, 4], rho=rho, ordered=[True, False], rules=[rule])
        drawn = model.sample(5000, rng=rng)
        assert not forbidden[drawn[:, 0], drawn[:, 1]].any()
        assert (drawn[:, 0] < 7).any() or rho < 1
        again = TableModel.from_json(model.to_json()).sample(5000, rng=rng)
        assert not forbidden[again[:, 0], again[:, 1]].any()
    with pytest.raises(SynthError, match="No record can satisfy"):
        fitted(codes, [30, 4], rules=[Rule(columns=(0, 1), forbidden=np.ones((30, 4)))])


def test_a_published_margin_costs_nothing_and_is_kept():
    codes = related(2000)
    counts = np.bincount(codes[:, 0], minlength=5)
    model = fitted(codes, rho=1e-3, published=[Published(columns=(0,), counts=counts)])
    assert [s.columns for s in model.spends if s.what == "margin"] == [(1,), (2,), (3,)]
    drawn = model.sample(20_000, rng=np.random.default_rng(1))
    assert np.abs(np.bincount(drawn[:, 0], minlength=5) / 20_000 - counts / 2000).max() < 0.02


def test_a_published_pair_is_kept():
    codes = related(5000)
    counts = np.zeros((5, 5))
    np.add.at(counts, (codes[:, 0], codes[:, 1]), 1)
    model = fitted(
        codes,
        rho=1e-2,
        published=[Published(columns=(0, 1), counts=counts)],
        settings=TableSettings(tables=1, least_group=0.0),
    )
    drawn = model.sample(5000, rng=np.random.default_rng(1))
    assert (drawn[:, 0] == drawn[:, 1]).mean() > 0.97


def test_the_workload_names_the_tables_that_are_measured():
    model = fitted(workload={(0, 2): 1.0})
    assert {s.columns for s in model.spends if s.what == "table"} == {(0, 2)}


def test_a_table_of_three_columns_can_be_asked_for():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (20_000, 3))
    codes[:, 2] = codes[:, 0] ^ codes[:, 1]  # independent by pairs
    model = fitted(
        codes, [2, 2, 2], rho=2.0, workload={(0, 1, 2): 1.0}, settings=TableSettings()
    )
    drawn = model.sample(5000, rng=rng)
    assert (drawn[:, 2] == (drawn[:, 0] ^ drawn[:, 1])).mean() > 0.95


@pytest.mark.parametrize(("number", "rho"), [(3000, 0.0359), (20_000, 0.0036)])
def test_a_triple_of_independent_pairs_is_found(number, rho):
    codes = exclusive(number)
    model = fitted(codes, [2] * 5, rho=rho)
    drawn = model.sample(number, rng=np.random.default_rng(1))
    assert distance(codes, drawn, (0, 1, 2), [2] * 5) < 0.04  # .5 by pairs alone
    none = TableSettings(rounds=1, steps=8, least_triple=3)
    spends = fitted(codes, [2] * 5, rho=rho, settings=none).spends
    assert all(len(spend.columns) < 3 for spend in spends)


def test_triples_that_pairs_explain_cost_nothing():
    spends = [*fitted(related(20_000)).spends, *fitted(related(20_000), seed=2).spends]
    assert all(len(spend.columns) < 3 for spend in spends)


def test_triples_are_for_those_who_name_no_workload():
    workload = dict.fromkeys(itertools.combinations(range(5), 2), 1.0)
    spends = fitted(exclusive(3000), [2] * 5, rho=0.1, workload=workload).spends
    assert all(len(spend.columns) < 3 for spend in spends)


def test_the_triples_looked_at_are_small_and_few():
    assert small_triples([1, 3, 2, 9, 2], most_cells=36) == [(1, 2, 4), (2, 3, 4)]
    assert len(small_triples([2] * 60, most_cells=8)) == 200
    assert not small_triples([2] * 60, most_cells=7)


@pytest.mark.parametrize("sizes", [[1, 4, 1], [4], [1, 1]])
def test_a_column_that_is_alone_has_the_whole_budget(sizes):
    codes = np.zeros((50, len(sizes)), np.int64)
    model = fitted(codes, sizes, rho=0.2)
    assert 0.2 * (1 - 1e-6) < model.spent <= 0.2
    assert {spend.what for spend in model.spends} == {"margin"}


def test_models_grow_with_a_large_budget():
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, 60, 5000), rng.integers(0, 2, 5000)])
    ages = [
        int(fitted(codes, [60, 2], rho=rho, ordered=[True, False]).groups[0].max()) + 1
        for rho in (1.0, 50.0)
    ]
    assert ages[0] <= 16 < ages[1] <= 32


def test_few_steps_come_near_the_tables_however_uneven_these_are():
    """Without units of their own the potentials of rare cells lag behind."""
    rng = np.random.default_rng(1)
    joint = rng.dirichlet(np.full(6**4, 0.01)).reshape([6] * 4) * 1e5 + 1
    draft = ModelDraft(float(joint.sum()), [np.arange(6)] * 4, [np.ones(6)] * 4, [])
    for pair in itertools.combinations(range(4), 2):
        counts = joint.sum(axis=tuple({*range(4)} - {*pair}))
        draft.add(pair, counts, scale=20.0, slack=2.5)
    network, tables = draft.network(), []
    for steps in (30, 500):
        found = fit_potentials(network, draft.targets, total=1e5, softness=4.0, steps=steps)
        tables.append(network.marginals(network.calibrate(found)[1]))
    apart = [np.abs(a - b).sum() for a, b in zip(*tables, strict=True)]
    assert max(apart) < 0.05


@pytest.mark.parametrize("rho", [1e-8, 1e7])
@pytest.mark.parametrize("records", [0, 1, 3])
def test_few_records_and_extreme_budgets_are_handled(rho, records):
    sizes = [1, 4, 2]
    codes = np.zeros((records, 3), np.int64)
    model = fitted(codes, sizes, rho=rho)
    drawn = model.sample(10, rng=np.random.default_rng(1))
    assert ((drawn >= 0) & (drawn < sizes)).all()
    assert model.sample(0, rng=np.random.default_rng(1)).shape == (0, 3)


def test_constant_columns_stay_constant_when_the_budget_allows():
    codes = np.column_stack([np.full(5000, 3), np.arange(5000) % 4])
    drawn = fitted(codes, [6, 4], rho=1.0).sample(1000, rng=np.random.default_rng(1))
    assert (drawn[:, 0] == 3).mean() > 0.99


@pytest.mark.parametrize("is_ordered", [True, False])
def test_a_column_of_many_categories_is_handled(is_ordered):
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.zipf(1.5, 3000) % 100_000, rng.integers(0, 2, 3000)])
    model = fitted(codes, [100_000, 2], rho=0.1, ordered=[is_ordered, False])
    drawn = model.sample(500, rng=rng)
    assert len(model.tables[0].counts) <= 33
    assert drawn[:, 0].max() < 100_000


def test_replacing_makes_the_number_of_records_public():
    model = fitted(related(777), neighbours=Neighbours(adjacency=Adjacency.REPLACE))
    assert model.records == 777
    assert fitted(related(777), rho=1e-3).records != 777


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rho": 0.0}, "rho must be a finite number above 0"),
        ({"rho": math.nan}, "rho must be a finite number above 0"),
        ({"rho": math.inf}, "rho must be a finite number above 0"),
        ({"sizes": [4, 5, 3, 2]}, r"columns \[0\] lie outside"),
        ({"sizes": [5, 5, 3]}, "integers in 3 columns"),
        ({"sizes": []}, "at least one column"),
        ({"sizes": [5, 5, 0, 2]}, "at least one code"),
        ({"codes": np.zeros((3, 4))}, "not float64"),
        ({"codes": np.full((3, 4), -1)}, "lie outside"),
        ({"ordered": [True]}, "1 entries for 4"),
        ({"workload": {(0, 9): 1.0}}, "2 or more of the columns 0 to 3"),
        ({"workload": {(0, 1): math.nan}}, "positive weight"),
        ({"rules": [Rule(columns=(0, 1), forbidden=np.zeros((2, 2)))]}, "a cell for each"),
        ({"published": [Published(columns=(0,), counts=np.ones(9))]}, "a cell for each"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(SynthError, match=message):
        fitted(**change)


def test_an_error_shows_no_code_of_a_record():
    with pytest.raises(SynthError) as found:
        fitted(np.full((3, 4), 98_765))
    assert "98765" not in str(found.value)


def test_the_model_file_is_plain_and_round_trips():
    model = fitted()
    again = TableModel.from_json(model.to_json())
    assert again.to_json() == model.to_json()
    draws = [m.sample(300, rng=np.random.default_rng(1)) for m in (model, again)]
    assert (draws[0] == draws[1]).all()
    assert again.spends == model.spends


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.update(format="other"),
        lambda d: d.update(version=2),
        lambda d: d.pop("spends"),
        lambda d: d["tables"][0].update(columns=[77]),
        lambda d: d["tables"][0].update(potential=[0.0]),
        lambda d: d["groups"].pop(),
        lambda d: d["groups"].__setitem__(0, []),
        lambda d: d["groups"].__setitem__(0, [-1, 0, 1, 2, 3]),
        lambda d: d.update(tables=3),
    ],
)
def test_a_spoilt_model_file_is_refused(spoil):
    found = json.loads(fitted().to_json())
    spoil(found)
    with pytest.raises(SynthError):
        TableModel.from_json(json.dumps(found))


@pytest.mark.parametrize("text", ["", "[]", "null", '{"format": 1}', "import os"])
def test_text_that_is_no_model_is_refused(text):
    with pytest.raises(SynthError):
        TableModel.from_json(text)


def test_several_allowed_codes_are_drawn_in_the_shares_that_the_model_gives_them():
    model = fitted(related(20_000), rho=5.0)
    some = np.arange(model.sizes[0]) % 2 == 1
    drawn = model.sample(20_000, rng=np.random.default_rng(1), allowed={0: some})
    free = model.sample(60_000, rng=np.random.default_rng(2))
    kept = free[some[free[:, 0]]]
    for column, size in enumerate(model.sizes):
        one, other = (np.bincount(a[:, column], minlength=size) / len(a) for a in (drawn, kept))
        np.testing.assert_allclose(one, other, atol=0.02)


def test_a_number_of_records_below_zero_is_refused():
    with pytest.raises(SynthError, match="cannot be -1"):
        fitted().sample(-1, rng=np.random.default_rng(1))


def test_the_accountant_refuses_before_anything_is_measured():
    noise = _Recording()
    measurer = Measurer(related(10), SIZES, Neighbours(), PrivacyAccountant(0.01), noise)
    measurer.margin(0, rho=0.008)
    with pytest.raises(synth.OverspentError):
        measurer.table((0, 1), rho=0.008)
    with pytest.raises(synth.OverspentError):
        measurer.choose(
            {(0, 1): np.zeros((5, 5))}, weights=np.ones(1), handicaps=np.zeros(1), rho=0.008
        )
    assert len(noise.counts) == 1
    assert not noise.scores


def test_kinds_of_records_are_spread_evenly_over_columns_that_were_not_measured_with_them():
    """Independent columns: by chance their table would be off by some 40 records a cell."""
    network = Network([4, 5, 6], [(0,), (1,), (2,)])
    _, beliefs = network.calibrate([np.zeros(4), np.zeros(5), np.zeros(6)])
    codes = draw_codes(network, beliefs, number=30_000, rng=np.random.default_rng(1))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        sizes = network.sizes[one], network.sizes[other]
        found = np.bincount(codes[one] * sizes[1] + codes[other], minlength=sizes[0] * sizes[1])
        assert np.abs(found - 30_000 / found.size).mean() < 8
    for column, size in enumerate(network.sizes):
        counts = np.bincount(codes[column], minlength=size)
        assert np.abs(counts - 30_000 / size).max() <= 1


def test_larger_tables_cost_more_and_none_more_than_is_left():
    spending = TableSettings()
    for number, sizes in ((5, [2, 3, 40, 50]), (30, [2, 2, 2]), (1, [9, 9])):
        prices = Prices(spending, 1.0, number, sizes)
        paid = [prices.pay((0, 1))]
        paid += [prices.pay((len(sizes) - 2, len(sizes) - 1)) for _ in range(number - 1)]
        limit = spending.table_price(1.0, tables=number) * number
        assert 0 < sum(paid) <= limit * (1 + 1e-9)
        assert paid[0] <= paid[1 if number > 1 else 0]


def test_small_triples_are_those_of_fewest_cells_however_they_are_found():
    rng = np.random.default_rng(1)
    for columns in (5, 40, 90):
        sizes = rng.integers(1, 30, columns).tolist()
        some = (one for one in itertools.combinations(range(columns), 3))
        cells = {
            one: math.prod(sizes[c] for c in one)
            for one in some
            if 1 not in [sizes[c] for c in one]
        }
        for most in (60, 4000):
            small = sorted((number, one) for one, number in cells.items() if number <= most)
            expected = [one for _, one in small][: 12_000 // columns]
            assert small_triples(sizes, most_cells=most) == expected


def test_a_round_that_asks_again_for_the_same_tables_counts_their_misfits_once(monkeypatch):
    counted = []
    count = Measurer._count
    monkeypatch.setattr(
        Measurer,
        "_count",
        lambda self, columns: counted.append(columns) or count(self, columns),
    )
    codes = related(300)
    measurer = Measurer(
        codes, SIZES, Neighbours(), PrivacyAccountant(1e3), SimulatedNoise(seed=1)
    )
    expected = {(0, 1): np.full((5, 5), 12.0), (2, 3): np.full((3, 2), 50.0)}
    terms = {"weights": np.ones(2), "handicaps": np.zeros(2), "rho": 100.0}
    assert measurer.choose(expected, **terms) == (0, 1)
    assert measurer.choose(expected, **terms) == (0, 1)
    assert len(counted) == 2
    other = {**expected, (0, 1): np.bincount(codes[:, 0] * 6, minlength=25).reshape(5, 5) * 1.0}
    assert measurer.choose(other, **terms) == (2, 3)
    measurer.regroup([np.zeros(5, np.int64), np.arange(5), np.arange(3), np.arange(2)])
    again = {(0, 1): np.zeros((1, 5)), (2, 3): np.full((3, 2), 50.0)}
    assert measurer.choose(again, **terms) == (0, 1)


def test_stages_of_a_fit_that_ends_early_are_told_as_done():
    told = []
    fitted(clock=lambda done, total: told.append((done, total)))
    dones = [done for done, _ in told]
    assert dones == sorted(dones)
    assert dones[0] == 0
    assert len({total for _, total in told}) == 1
    assert told[-1][0] == pytest.approx(told[-1][1])
