"""The client: permanent answers stay, instantaneous ones are fresh, rates are as declared."""

import hashlib
import pickle
from fractions import Fraction

import numpy as np
import pytest

from rappor.client.bernoulli import bytes_source, flip, threshold
from rappor.client.client import Client, bloom_filter, encode
from rappor.client.google import as_drawn
from rappor.client.permanent import cohorts_of, permanent, permanent_key
from rappor.errors import RapporError
from rappor.parameters import Parameters
from tables.secret import Secret

SECRET = Secret(b"a secret for the tests of clients")
PAPER = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)


def device(parameters=PAPER, **changes):
    return Client(parameters, **({"secret": SECRET, "metric": "m", "client": "ann"} | changes))


def test_a_permanent_response_survives_a_restart():
    first, second = device().permanent("v"), device().permanent("v")
    assert np.array_equal(first, second)


def by_the_book(parameters, value, *, cohort):
    """Whoever changes this makes every client answer anew: its losses double."""
    k = parameters.n_bits
    row = bloom_filter([value], np.array([cohort]), parameters=parameters)
    shape = f"{k},{parameters.n_hashes},{parameters.n_cohorts},{parameters.hash}"
    key = SECRET.derive(f"rappor permanent response:{shape},{parameters.f.hex()}:m")
    packed = np.packbits(row, bitorder="little").tobytes()
    stream = hashlib.shake_128(key + b"ann" + packed).digest(8 * k)
    words = [int.from_bytes(stream[bit::k], "big") for bit in range(k)]
    half = Fraction(parameters.f / 2) * 2**64
    return [
        True if word < half else False if word < 2 * half else bool(bit)
        for word, bit in zip(words, row[0], strict=True)
    ]


@pytest.mark.parametrize("f", [0.5, 0.3, 1 / 256, 1e-3, 0.999])
@pytest.mark.parametrize("n_bits", [16, 300])
def test_permanent_responses_follow_the_book(f, n_bits):
    parameters = Parameters(n_bits=n_bits, n_hashes=2, n_cohorts=4, f=f, p=0.5, q=0.75)
    for value in ("v", "w", "x"):
        found = device(parameters, cohort=3).permanent(value)
        assert found.tolist() == by_the_book(parameters, value, cohort=3)


@pytest.mark.slow
def test_two_bytes_that_tie_are_decided_by_the_other_six():
    parameters = Parameters(n_bits=2000, n_hashes=2, n_cohorts=1, f=0.3, p=0.5, q=0.75)
    values = [f"v{i}" for i in range(60)]  # 120,000 bits, two thresholds: some three ties
    for value in values:
        found = device(parameters).permanent(value)
        assert found.tolist() == by_the_book(parameters, value, cohort=0)


def test_cohorts_are_pinned():
    assert device().cohort == 3


@pytest.mark.parametrize(
    "changes",
    [{"metric": "n"}, {"client": "bob"}, {"secret": Secret(b"another secret of the tests")}],
)
def test_metric_client_and_secret_each_change_the_permanent_response(changes):
    # google/rappor's Python client leaves the metric out.
    one, two = device(cohort=3).permanent("v"), device(cohort=3, **changes).permanent("v")
    assert 20 < np.sum(one != two) < 76  # 128 bits that differ with probability 3/8


def test_another_f_draws_a_permanent_response_of_its_own():
    """With shared coins the two together would exclude values."""
    keys = {
        permanent_key(
            SECRET,
            metric="m",
            parameters=Parameters(n_bits=8, n_hashes=1, n_cohorts=2, f=f, p=p, q=0.75),
        )
        for f in (0.3, 0.5)
        for p in (0.25, 0.5)
    }
    assert len(keys) == 2  # p concerns the instantaneous response alone


def test_values_with_the_same_bits_have_the_same_permanent_response():
    few = Parameters(n_bits=2, n_hashes=1, n_cohorts=1, f=0.5, p=0.25, q=0.75)
    answers = {
        (
            bool(bloom_filter([v], np.array([0]), parameters=few)[0, 0]),
            *device(few).permanent(v),
        )
        for v in map(str, range(40))
    }
    assert len(answers) == 2


@pytest.mark.parametrize("f", [0.5, 0.3, 0.999, 0.01, 1 / 3])
def test_permanent_rates_are_the_declared_ones(f):
    bloom = np.zeros((4000, 100), bool)
    bloom[:, :50] = True
    kept = permanent(bloom, [b"%d" % i for i in range(4000)], key=bytes(32), f=f)
    for part, rate in ((kept[:, :50], 1 - f / 2), (kept[:, 50:], f / 2)):
        assert abs(part.mean() - rate) < 4.5 * np.sqrt(rate * (1 - rate) / part.size)
    by_bit = kept.mean(axis=0) - np.where(np.arange(100) < 50, 1 - f / 2, f / 2)
    assert np.abs(by_bit).max() < 5.5 * np.sqrt(f / 2 * (1 - f / 2) / 4000)
    if f > 0.1:  # rarer ones have no near-normal correlation
        columns = np.corrcoef(kept[:, 50:], rowvar=False) - np.eye(50)
        assert np.abs(columns).max() < 5.5 / np.sqrt(4000)


def test_one_time_rappor_keeps_every_bit():
    bloom = np.array([[True, False]])
    kept = permanent(bloom, [b""], key=bytes(32), f=0.0)
    assert np.array_equal(kept, bloom)
    assert kept is not bloom


def test_ties_of_the_first_bytes_are_decided_by_the_rest():
    # Threshold 1 of 2**16: only words 0 tie, and half of these fall below.
    class Source:
        calls = 0

        def __call__(self, n):
            self.calls += 1
            if self.calls == 1:
                return bytes(n)  # all first bytes 0
            low = (threshold(2**-9)).to_bytes(8, "little")
            below = (threshold(2**-9) - 1).to_bytes(8, "little")
            return (low + below) * (n // 16)

    answers = flip(np.array([False] * 4), p=2**-9, q=0.5, source=Source())
    assert answers.tolist() == [False, True, False, True]


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.75), (0.39, 0.61), (0.65, 0.35), (1e-3, 0.999)])
def test_instantaneous_rates_are_the_declared_ones(p, q):
    bits = np.zeros((3000, 200), bool)
    bits[:, ::2] = True
    answers = flip(bits, p=p, q=q, source=bytes_source(np.random.default_rng(7)))
    for part, rate in ((answers[:, ::2], q), (answers[:, 1::2], p)):
        assert abs(part.mean() - rate) < 4.5 * np.sqrt(rate * (1 - rate) / part.size)


def test_the_lowest_part_of_a_probability_counts():
    # 1/256 quantisation would draw 0.39 as 0.3867, 40 standard errors away here.
    bits = np.zeros((1000, 1000), bool)
    rate = flip(bits, p=0.39, q=0.61, source=bytes_source(np.random.default_rng(1))).mean()
    assert abs(rate - 0.39) < 4.5 * np.sqrt(0.39 * 0.61 / 10**6)
    assert threshold(0.39) / 2**64 == 0.39


def test_probabilities_of_zero_and_one_are_certain():
    # google/rappor's C++ client turns q=1 into 0 with randomness from the kernel.
    sure = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.0, p=0.0, q=1.0)
    reports = encode(["v"] * 500, range(500), parameters=sure, secret=SECRET, metric="m")
    truth = bloom_filter(["v"] * 500, reports.cohorts, parameters=sure)
    assert np.array_equal(reports.bits(), truth)
    mixed = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.0, p=0.5, q=1.0)
    reports = encode(["v"] * 500, range(500), parameters=mixed, secret=SECRET, metric="m")
    assert reports.bits()[truth].all()
    assert 0.4 < reports.bits()[~truth].mean() < 0.6


def test_instantaneous_responses_are_fresh():
    person = device()
    assert person.encode("v") != person.encode("v")


def test_a_simulation_repeats_by_its_seed():
    one, two = (device().encode("v", rng=np.random.default_rng(5)) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("n_bits", [7, 128, 300])
def test_a_batch_is_what_its_clients_would_send(n_bits):
    parameters = Parameters(n_bits=n_bits, n_hashes=2, n_cohorts=16, f=0.3, p=0.0, q=1.0)
    values = [f"v{i % 3}" for i in range(50)]
    clients = [f"c{i % 7}" for i in range(50)]
    batch = encode(values, clients, parameters=parameters, secret=SECRET, metric="m")
    for i, (value, client) in enumerate(zip(values, clients, strict=True)):
        person = device(parameters, client=client)
        assert person.cohort == batch.cohorts[i]
        assert np.array_equal(person.permanent(value), batch.bits()[i])


def test_pieces_of_a_batch_do_not_show():
    parameters = Parameters(n_bits=2**16, n_hashes=1, n_cohorts=4, f=0.5, p=0.0, q=1.0)
    whole = encode(["v"] * 40, range(40), parameters=parameters, secret=SECRET, metric="m")
    last = encode(["v"], [39], parameters=parameters, secret=SECRET, metric="m")
    assert np.array_equal(whole.packed[-1], last.packed[0])


def test_clients_are_named_by_text_bytes_or_numbers():
    key = {"parameters": PAPER, "secret": SECRET, "metric": "m", "rng": None}
    sure = Parameters(n_bits=8, n_hashes=1, n_cohorts=8, f=0.5, p=0.0, q=1.0)
    key["parameters"] = sure
    names = [[7], ["7"], [b"7"], np.array([7]), np.array(["7"])]
    reports = [encode(["v"], name, **key) for name in names]
    assert all(report == reports[0] for report in reports)
    for bad in ([None], [1.5], [True], [("a",)]):
        with pytest.raises(RapporError, match="client"):
            encode(["v"], bad, **key)
    with pytest.raises(RapporError, match="Each value"):
        encode(["v", "w"], [1], **key)
    with pytest.raises(RapporError, match="Each value"):
        encode(["v"], [1], cohorts=np.array([1, 2]), **key)
    assert len(encode([], [], **key)) == 0


def test_cohorts_are_even_and_do_not_depend_on_the_metric():
    found = cohorts_of([b"%d" % i for i in range(16_000)], secret=SECRET, n_cohorts=16)
    assert np.sum((np.bincount(found, minlength=16) - 1000) ** 2) / 1000 < 37.7  # 0.1 %
    assert device(metric="a").cohort == device(metric="b").cohort


def test_basic_and_boolean_clients_answer_by_the_declared_rates():
    boolean = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
    n = 20_000
    for value, rate in ((True, boolean.q_star), (False, boolean.p_star)):
        reports = encode(
            [value] * n,
            range(n),
            parameters=boolean,
            secret=SECRET,
            metric="m",
            rng=np.random.default_rng(3),
        )
        share = reports.sum().ones[0, 0] / n
        assert abs(share - rate) < 4.5 * np.sqrt(rate * (1 - rate) / n)


def test_a_client_does_not_show_its_key():
    assert "secret" not in repr(device())
    assert not hasattr(device(), "__dict__")
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(device())


# google/rappor client/python/rappor_test.py, testEncoder: k=16, h=2, m=64, f=.5, cohort 0.
GOOGLE = Parameters(n_bits=16, n_hashes=2, n_cohorts=64, f=0.5, p=0.5, q=0.75, hash="md5")


def test_bits_are_those_of_google_s_encoder():
    bloom = bloom_filter(["abc"], np.array([0]), parameters=GOOGLE)[0]
    assert int(bloom @ 2 ** np.arange(16)) == 8256


def test_what_google_s_clients_draw_is_known():
    told = Parameters(n_bits=8, n_hashes=2, n_cohorts=128, f=0.45, p=0.39, q=0.61)
    drawn = {name: as_drawn(told, language=name) for name in ("python", "cpp", "java")}
    assert [round(drawn[name].f, 4) for name in drawn] == [0.4531, 0.4453, 0.4531]
    assert (drawn["cpp"].p, drawn["python"].p) == (99 / 256, 0.39)
    with pytest.raises(RapporError, match="zeros alone"):
        as_drawn(Parameters.basic(4, f=0.5, p=0.5, q=1.0), language="cpp")
    with pytest.raises(RapporError, match="language"):
        as_drawn(told, language="rust")
