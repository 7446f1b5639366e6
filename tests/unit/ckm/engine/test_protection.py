"""Every published number of a table from its cells, by hand; and the sums that are refused."""

from __future__ import annotations

import functools
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pyarrow as pa
import pytest

from ckm.engine.key_mixing import mix_key
from ckm.engine.magnitudes import (
    FewContributors,
    MagnitudeNoise,
    Proportional,
    noise_identities,
    perturb_magnitudes,
)
from ckm.engine.magnitudes.noise.alike import CountNoise
from ckm.engine.magnitudes.quantiles import quantile_noise, rounded_means
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.engine.perturbation import perturb_counts
from ckm.engine.protection import Protected, Protection
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError, InternalError, MagnitudeError
from ptable import NoiseSpec, PTable, solve
from tables import HashedKeys, Request, Secret, cube, open_source
from tables.quality import KeyQuality

SECRET = Secret(bytes(range(16)))
PTABLE = solve(NoiseSpec(max_noise=2, variance=1.5))
EXACT = PTable(noise=[[0], [0]], upper=[[256], [256]], key_range=256)
NOISE = MagnitudeNoise.start()
RNG = np.random.default_rng(3)
N = 300
PEOPLE = pa.table(
    {
        "id": range(N),
        "area": [*"a" * 200, *"b" * 60, *"c" * 20, *"defghijklmnopqrstuvw"],
        "income": np.round(RNG.lognormal(8, 1, N), 2),
        "hours": RNG.choice([34.0, 35.0, 36.0], N),
        "w": RNG.integers(2, 9, N) / 4,
    }
)


def wish(*measures, **options):
    return TableRequest(dimensions=["area"], measures=measures or ("count",), **options)


@functools.cache
def cells_of(*sums, weight=None, ordered=()):
    request = Request(
        dimensions=["area"], sums=sums, weight=weight, top=2 if sums else 0, ordered=ordered
    )
    with open_source(PEOPLE) as source:
        (cells,) = cube(source, HashedKeys(column="id", secret=SECRET), [request])
    return cells


def protection(noises=NOISE, **options):
    given = {"ptable": PTABLE, "secret": SECRET, "noises": VariableNoises(noises)}
    return Protection(**(given | options))


def columns(protect, cells, request, **given):
    """Return the published counts of cells, and the numbers of every measure."""
    made = protect.protect(cells, request, **given)
    return made.counts, made.numbers


def table_of(protect, cells, request, **given):
    made = protect.protect(cells, request, **given)
    return Protected.of("", request, made).table


def cautions(cells, noises=NOISE, **options):
    protect = protection(noises, **options)
    return protect.cautions("people", protect.alike(cells))


def counts_by_hand(cells, secret=SECRET):
    return perturb_counts(
        cells.count, cells.cell_key, key_range=cells.key_range, ptable=PTABLE, secret=secret
    )


def sums_by_hand(cells, variable, noise=NOISE, *, name=None):
    amounts = replace(cells.magnitudes[variable], variable=name or variable)
    counts = CountNoise(ptable=PTABLE, secret=SECRET)
    return perturb_magnitudes(amounts, noise, secret=SECRET, counts=counts)


# --- counts -------------------------------------------------------------------------------


def test_counts_have_the_noise_of_keys_that_the_secret_mixes_or_of_the_keys_as_they_are():
    cells = cells_of()
    mixed, bare = protection(), protection(mixes=False)
    assert mixed.counts(cells).tolist() == counts_by_hand(cells).tolist()
    assert mixed.counts(cells).tolist() == counts_by_hand(cells, mix_key(SECRET)).tolist()
    assert bare.counts(cells).tolist() == counts_by_hand(cells, None).tolist()
    assert mixed.counts(cells).tolist() != bare.counts(cells).tolist()
    assert (mixed.mixing_secret, bare.mixing_secret) == (SECRET, None)
    assert (mixed.count_noise.secret, bare.count_noise.secret) == (SECRET, None)
    assert mixed.count_noise.ptable is PTABLE


def test_weighted_counts_are_counts_times_a_mean_weight_rounded_unless_that_is_switched_off():
    cells = cells_of(weight="w")
    exact = counts_by_hand(cells) * cells.weight / cells.count
    plain = protection(weight="w", rounds_weighted=False)
    numbers = plain.numbers(cells, measures=["weighted", "count"])
    assert numbers["weighted"].tolist() == pytest.approx(exact.tolist())
    assert numbers["count"].tolist() == counts_by_hand(cells).tolist()
    rounded = protection(weight="w").numbers(cells, measures=["weighted"])["weighted"]
    mean = cells.weight / cells.count
    unit = np.select([mean <= 0.5, mean <= 1, mean <= 2], [0.5, 1, 2], 5)
    assert rounded.tolist() == (unit * np.rint(exact / unit)).tolist()
    given = protection().numbers(cells, np.arange(len(cells)))
    assert given["count"].tolist() == list(range(len(cells)))
    assert list(given) == ["count"]


# --- sums and means -----------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "w"])
def test_sums_and_means_are_those_of_their_parts(weight):
    cells = cells_of("income", "hours", weight=weight)
    noises = {"income": NOISE, "hours": MagnitudeNoise.start(decimals=1)}
    protect = protection(noises, weight=weight, rounds_weighted=False)
    request = wish("count", "sum:income", "mean:hours", "mean:income")
    counts, numbers = columns(protect, cells, request, secret=SECRET)
    assert list(numbers) == ["count", "sum:income", "mean:hours", "mean:income"]
    assert counts.tolist() == numbers["count"].tolist() == counts_by_hand(cells).tolist()
    assert (counts == 0).any()
    divisor = counts if weight is None else counts * cells.weight / cells.count
    for variable, noise, decimals in (("income", NOISE, 2), ("hours", noises["hours"], 3)):
        name = variable if weight is None else f"{variable} weighted by w"
        total = sums_by_hand(cells, variable, noise, name=name)
        if variable == "income":
            assert numbers["sum:income"].tolist() == total.tolist()
        mean = numbers[f"mean:{variable}"]
        is_many = counts >= 3  # of records, also where means are weighted
        assert mean.mask.tolist() == (~is_many).tolist()
        wanted = np.round(total[is_many] / divisor[is_many], decimals)
        assert mean.compressed().tolist() == pytest.approx(wanted.tolist(), rel=1e-12)
    made = protect.protect(cells, request, secret=SECRET)
    assert made.counts.tolist() == counts.tolist()
    assert sorted(made.sums) == ["hours", "income"]
    assert made.sums["income"].tolist() == numbers["sum:income"].tolist()


def test_a_sum_may_be_published_as_zero_where_the_count_is():
    cells = cells_of("income")
    counts, plain = columns(protection(), cells, wish("sum:income"), secret=SECRET)
    zeroed = protection(MagnitudeNoise.start(zero_with_count=True))
    _, numbers = columns(zeroed, cells, wish("sum:income"), secret=SECRET)
    assert list(plain) == ["sum:income"]
    assert plain["sum:income"][counts == 0].all()
    assert not numbers["sum:income"][counts == 0].any()
    assert (plain["sum:income"] == numbers["sum:income"])[counts > 0].all()


def test_a_protected_table_has_the_rows_and_columns_that_were_asked_for():
    cells = cells_of("income")
    request = wish("mean:income", "count", empty_cells="drop")
    table = table_of(protection(), cells, request, secret=SECRET)
    counts = counts_by_hand(cells)
    sums = sums_by_hand(cells, "income")
    labels = cells.axes[0].labels[0][cells.ranks[0]]
    shown = {line["area"]: line for line in table.to_arrow().to_pylist()}
    assert list(table.measures) == ["count", "mean_income"]
    for label, count, total in zip(labels, counts.tolist(), sums, strict=True):
        if count:
            line = shown.pop(label)
            assert line["count"] == count
            mean = round(total / count, 2) if count >= 3 else None
            assert line["mean_income"] == (mean and pytest.approx(mean))
    assert not shown
    assert protection().protect(cells_of(), wish()).sums == {}


def test_other_tools_rules_may_take_the_keys_of_all_records():
    noise = MagnitudeNoise.start(rules="cellkey", zero_keys=True, sensitive=())
    cells = cells_of("income")
    _, numbers = columns(protection(noise), cells, wish("sum:income"))
    wanted = perturb_magnitudes(cells.magnitudes["income"], noise, cell_keys=cells.cell_key)
    assert numbers["sum:income"].tolist() == wanted.tolist()


def test_quantiles_are_read_at_ranks_with_noise_and_withheld_where_few():
    cells = cells_of(ordered=("income",))
    values = np.sort(PEOPLE["income"].to_numpy())
    asked = []

    def at(column, ranks):
        asked.append(column)
        return values[np.clip(ranks, 1, N) - 1]

    request = wish("count", "median:income", "quantile:income:0.9")
    table = table_of(protection(), cells, request, secret=SECRET, values=at)
    assert asked == ["income"], "one scan for a variable"
    labels = cells.axes[0].labels[0][cells.ranks[0]].tolist()
    counts = dict(zip(labels, counts_by_hand(cells).tolist(), strict=True))
    for column, measure in (
        ("median_income", "median:income"),
        ("quantile_income_90", "quantile:income:0.9"),
    ):
        noise = quantile_noise(measure, ptable=PTABLE, noises=VariableNoises(NOISE))
        means = rounded_means(at("", noise.windows(cells, secret=SECRET)))
        wanted = dict(zip(labels, means.tolist(), strict=True))
        for line in table.to_arrow().to_pylist():
            if counts[line["area"]] < noise.least_count:
                assert line[column] is None
            else:
                assert line[column] == wanted[line["area"]]
    for lacking in ({"secret": None, "values": at}, {"secret": SECRET, "values": None}):
        with pytest.raises(InternalError, match="without records or a secret"):
            protection().protect(cells, request, **lacking)


# --- what noise needs ---------------------------------------------------------------------


def test_sums_need_the_secret_by_own_rules_and_quantiles_always(monkeypatch):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    noises = {"tax": MagnitudeNoise.start(rules="cellkey")}
    bare = protection(noises, secret=None, mixes=False)
    for measures in (("count",), ("count", "sum:tax")):
        assert bare.sums_secret([wish(*measures)]) is None
    for measures in (("sum:income",), ("sum:tax", "mean:income"), ("median:tax",)):
        with pytest.raises(ConfigError, match="A secret is needed"):
            bare.sums_secret([wish(), wish(*measures)])
        assert protection(noises).sums_secret([wish(*measures)]) == SECRET
    assert protection().sums_secret([wish()]) == SECRET
    monkeypatch.setenv("CKM_SECRET", "hex:" + bytes(range(16)).hex())
    assert bare.sums_secret([wish("sum:income")])._value == SECRET._value


def test_quantiles_need_a_p_table_with_noise_in_its_last_row():
    with pytest.raises(ConfigError, match="without noise"):
        protection(ptable=EXACT).sums_secret([wish("median:income")])


def test_noise_is_named_by_variable_weight_and_period():
    asked = [wish("sum:income", "mean:income"), wish("sum:hours", "count")]
    for weight in (None, "w"):
        found = protection(weight=weight).noise_identities(asked)
        noises = VariableNoises(NOISE)
        assert found == noise_identities(["income", "hours"], noises, weight=weight)
        assert len(found) == 2


def quality(share):
    return KeyQuality(
        problems=(), missing_share=share, repeated_share=0.0, uniformity_p=None, slice=1
    )


def test_records_without_a_key_are_counted_and_have_no_sum_mean_or_quantile():
    for measure in ("sum:income", "mean:income", "median:income"):
        with pytest.raises(MagnitudeError, match="is published of 'income' would give"):
            protection().require_keys([wish(), wish("count", measure)], quality=quality(1e-9))
        protection().require_keys([wish(measure)], quality=quality(0.0))
    protection().require_keys([wish()], quality=quality(0.5))


# --- sums that are refused, or have the noise of counts -----------------------------------


DAYS = np.random.default_rng(7).integers(0, 8, 600)
AMOUNTS = {
    "id": range(600),
    "n": np.arange(600),
    "bits": [0, 1] * 300,
    "ones": [1] * 600,
    "signs": [-1, 0, 1] * 200,
    "zeros": [0.0] * 600,
    "quarters": [0.5, 1.0, 0.25, 0.0] * 150,
    "digits": [0, 1, 2, 5] * 150,
    "two": [5.0, 7.0] * 300,
    "one": [3.0] * 600,
    "three": [5.0, 7.0] * 299 + [90.0] * 2,
    "days": DAYS,
    "rest": 7 - DAYS,
    "half": np.where(np.arange(600) < 300, 7 - DAYS, 99 * DAYS % 40),
    "unlike": np.random.default_rng(8).lognormal(3, 1, 600),
}


@pytest.fixture(scope="module")
def source():
    with open_source(pa.table(AMOUNTS)) as opened:
        scanned = Request(dimensions=[], sums=[*AMOUNTS][1:], top=2)
        cube(opened, HashedKeys(column="id", secret=SECRET), [scanned])
        yield opened


@pytest.fixture
def required(source):
    """Look at the amounts of tables once a scan has, as an engine does."""

    def check(*requests, noises=NOISE, where=None, name="t", **options):
        asked = {f"{name}{n}" if n else name: r for n, r in enumerate(requests)}
        built = {
            table: Request(dimensions=[], sums=r.variables, top=2, where=where)
            for table, r in asked.items()
        }
        protection(noises, **options).require_amounts(asked, built, source)

    return check


@pytest.mark.parametrize("rules", ["ckm", "cellkey"])
def test_a_variable_of_0_and_1_is_a_count_under_any_rules(required, rules):
    noise = MagnitudeNoise.start(rules=rules, sensitive=(), signed=True)
    for variable in ("bits", "ones", "signs"):
        with pytest.raises(MagnitudeError, match=f"'{variable}' holds 0 and 1 alone"):
            required(wish(f"sum:{variable}"), noises=noise)
    for variable in ("quarters", "digits", "zeros"):
        required(wish(f"sum:{variable}"), noises=noise)


def test_a_variable_of_two_values_is_a_count_under_own_rules(required):
    with pytest.raises(
        MagnitudeError, match=r"^table 't': The variable 'two' has one value or"
    ):
        required(wish("sum:two"))
    with pytest.raises(MagnitudeError, match=r"^The variable 'two' has one value or two"):
        required(wish("mean:two"), name="")
    with pytest.raises(MagnitudeError, match="'one' has one value"):
        required(wish("sum:three", "sum:one"))
    required(wish("sum:two"), noises=MagnitudeNoise.start(rules="cellkey"))


def test_the_filter_of_a_table_decides_which_values_there_are(required):
    required(wish("sum:three"))
    with pytest.raises(MagnitudeError, match="has one value or two"):
        required(wish("sum:three"), where="three < 50")


PAIR = ("sum:days", "sum:rest")


def test_two_variables_that_add_up_to_the_same_for_all_are_refused_together(required):
    told = "A combination of the variables 'days', 'rest' is nearly the same"
    with pytest.raises(MagnitudeError, match=rf"^table 't': {told}"):
        required(wish("sum:days", "mean:rest"))
    with pytest.raises(MagnitudeError, match=rf"^{told}"):
        required(wish("sum:days"), wish("sum:rest"))  # in two tables of one release
    with pytest.raises(MagnitudeError, match=rf"^{told}"):
        required(wish(*PAIR), name="")


def test_what_stands_alone_or_is_repeated_as_it_is_or_has_no_counts_may_stay(required):
    required(wish("sum:days"))
    other = MagnitudeNoise.start(rules="cellkey")
    required(wish(*PAIR), noises=other)
    required(wish(*PAIR), noises={"rest": other})
    required(wish(*PAIR), ptable=EXACT)
    required(wish("sum:days", "sum:unlike"))


def test_the_noise_of_each_variable_counts_where_they_are_judged_together(required):
    large = solve(NoiseSpec(max_noise=8, variance=8.0, anchors=tuple(range(1, 9))))
    loud = MagnitudeNoise(ptable=large, scale=Proportional(share=1.0))
    assert loud.least_share > 2
    required(wish(*PAIR), noises=loud)
    with pytest.raises(MagnitudeError, match="A combination"):
        required(wish(*PAIR), noises={"days": NOISE, "rest": NOISE})


def test_a_filter_can_make_a_combination_the_same_for_all(required):
    asked = wish("sum:days", "sum:half")
    required(asked)
    with pytest.raises(MagnitudeError, match=r"^table 't': A combination"):
        required(asked, where="n < 300")


def test_variables_of_which_no_record_has_both_are_no_combination():
    first = [float(v) if n < 250 else None for n, v in enumerate(DAYS[:500])]
    second = [None if n < 250 else 7.0 - v for n, v in enumerate(DAYS[:500])]
    data = pa.table({"id": range(500), "x": first, "y": second})
    asked = {"t": wish("sum:x", "sum:y", missing_values="skip")}
    built = Request(dimensions=[], sums=["x", "y"], top=2, missing_values="skip")
    with open_source(data) as source:
        cube(source, HashedKeys(column="id", secret=SECRET), [built])
        protection().require_amounts(asked, {"t": built}, source)


def test_a_caution_names_the_table_and_each_variable_whose_sums_have_the_noise_of_counts():
    cells = cells_of("income", "hours")
    (said,) = cautions(cells)
    assert said.startswith("Table 'people': in all cells, amounts of 'hours'")
    rule = (FewContributors(least=3),)
    other = {"hours": MagnitudeNoise.start(rules="cellkey", sensitive=rule)}
    assert cautions(cells, other) == []
    assert cautions(cells, ptable=EXACT) == []
    little = solve(NoiseSpec(max_noise=2, variance=0.5))
    assert len(cautions(cells, ptable=little)) == 1
    assert cautions(cells_of()) == []


def test_protection_and_what_it_makes_are_fixed_and_show_no_number():
    protect = protection()
    made = protect.protect(cells_of("income"), wish("sum:income"), secret=SECRET)
    assert made != replace(made)
    assert not hasattr(made, "__dict__")
    for one, name in ((protect, "mixes"), (made, "counts")):
        with pytest.raises(FrozenInstanceError):
            setattr(one, name, None)
    with pytest.raises(TypeError):
        Protection(PTABLE, SECRET)
    assert "ptable" not in repr(protect)
