"""Laws of RAPPOR: losses are ordered, sums are sums, files give back what they got."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rappor.accounting import epsilon_after, epsilon_between
from rappor.client.client import Client, encode
from rappor.client.permanent import permanent_key
from rappor.counts import Counts
from rappor.encoded import Reports
from rappor.errors import RapporError
from rappor.parameters import Parameters
from rappor.report_files import read_reports, write_reports
from rappor.solver import Goal, solve
from tables.secret import Secret
from tests.strategies import examples

SECRET = Secret(b"a secret for the laws of RAPPOR")


@st.composite
def designs(draw, min_f=0.0):
    probability = st.floats(0, 1, allow_subnormal=False)
    p, q = draw(probability), draw(probability)
    f = draw(st.floats(min_f, 0.99))
    assume(abs(p - q) > 1e-3)
    if draw(st.booleans()):
        return Parameters.basic(draw(st.integers(1, 40)), f=f, p=p, q=q)
    k = draw(st.integers(2, 40))
    h = draw(st.integers(1, min(k, 9)))
    name = draw(st.sampled_from(["mmh3", "md5"]))
    m = draw(st.integers(1, 9))
    return Parameters(n_bits=k, n_hashes=h, n_cohorts=m, f=f, p=p, q=q, hash=name)


@st.composite
def reported(draw, parameters):
    n = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bits = rng.random((n, parameters.n_bits)) < 0.5
    cohorts = rng.integers(0, parameters.n_cohorts, n)
    return Reports.from_bits(bits, cohorts, parameters=parameters)


@given(designs(min_f=1e-6), st.integers(1, 60))
def test_losses_grow_with_reports_up_to_the_permanent_one(parameters, reports):
    now = epsilon_after(parameters, reports=reports)
    later = epsilon_after(parameters, reports=reports + 1)
    assert now <= later * (1 + 1e-12)
    assert later <= parameters.epsilon_permanent * (1 + 1e-12)
    assert now <= reports * parameters.epsilon_one * (1 + 1e-9)


@given(designs(), st.text(max_size=5), st.text(max_size=5), st.integers(1, 9))
def test_no_two_values_differ_by_more_than_the_worst_case(parameters, first, second, reports):
    if parameters.hash == "index":
        first, second = len(first) % parameters.n_bits, len(second) % parameters.n_bits
        if parameters.is_boolean:
            first, second = False, True
    try:
        found = epsilon_between(first, second, cohort=0, parameters=parameters, reports=reports)
    except RapporError:
        return  # half a character
    assert 0 <= found <= epsilon_after(parameters, reports=reports) * (1 + 1e-12)


def summed(pieces, parameters):
    return sum((piece.sum() for piece in pieces), start=Counts.zeros(parameters))


@given(st.data())
def test_sums_do_not_depend_on_pieces_or_their_order(data):
    parameters = data.draw(designs())
    pieces = data.draw(st.lists(reported(parameters), max_size=4))
    whole = summed(pieces, parameters)
    assert whole == summed(pieces[::-1], parameters)
    assert whole.total == sum(map(len, pieces))


@settings(max_examples=examples(40))
@given(st.data(), st.sampled_from(["rappor", "csv"]))
def test_files_of_reports_come_back(data, ending):
    parameters = data.draw(designs())
    pieces = data.draw(st.lists(reported(parameters), max_size=3))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"reports.{ending}"
        write_reports(pieces, file, parameters=parameters)
        read = list(read_reports(file, parameters=parameters))
        counts = Path(folder) / "counts.json"
        total = summed(pieces, parameters)
        total.write(counts)
        assert Counts.read(counts) == total
    texts = [text for piece in pieces for text in piece.texts()]
    assert [text for piece in read for text in piece.texts()] == texts


@given(designs())
def test_stored_parameters_come_back(parameters):
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("csv", "json"):
            file = Path(folder) / f"params.{ending}"
            parameters.write(file)
            assert Parameters.read(file, hash=parameters.hash) == parameters


@settings(max_examples=examples(40))
@given(
    designs(),
    st.lists(
        st.tuples(st.binary(max_size=4), st.one_of(st.binary(max_size=3), st.integers())),
        min_size=1,
        max_size=12,
    ),
)
def test_a_batch_is_its_clients_one_by_one(parameters, answers):
    assume(parameters.hash != "index")
    values, clients = zip(*answers, strict=True)
    fixed = Parameters(
        n_bits=parameters.n_bits,
        n_hashes=parameters.n_hashes,
        n_cohorts=parameters.n_cohorts,
        f=parameters.f,
        p=0.0,
        q=1.0,
        hash=parameters.hash,
    )
    batch = encode(values, clients, parameters=fixed, secret=SECRET, metric="m").bits()
    for row, (value, client) in zip(batch, answers, strict=True):
        person = Client(fixed, secret=SECRET, metric="m", client=client)
        assert np.array_equal(person.permanent(value), row)


@given(st.lists(designs(), min_size=2, max_size=5))
def test_keys_differ_where_the_permanent_response_does(parameters):
    shapes = {(d.n_bits, d.n_hashes, d.n_cohorts, d.f, d.hash) for d in parameters}
    keys = {permanent_key(SECRET, metric="m", parameters=d) for d in parameters}
    assert len(keys) == len(shapes)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.floats(0.05, 8),
    st.floats(1, 5),
    st.integers(10**3, 10**8),
    st.integers(1, 2000),
    st.booleans(),
)
def test_solved_designs_spend_no_more_than_allowed(one, factor, population, n, is_closed):
    goal = Goal(
        epsilon_one=one,
        epsilon_permanent=one * factor,
        population=population,
        n_candidates=n,
        is_closed=is_closed,
    )
    try:
        found = solve(goal)
    except RapporError:
        return
    assert found.parameters.epsilon_one <= one * (1 + 1e-9)
    assert found.parameters.epsilon_permanent <= one * factor * (1 + 1e-9)
    assert found.standard_error > 0
