"""Counts and files of reports: they add up, come back, and refuse what does not belong."""

import json

import numpy as np
import pytest

from rappor.client.client import encode
from rappor.client.simulate import population, simulate_counts
from rappor.counts import Counts
from rappor.decoding.diagnostics import diagnostics
from rappor.encoded import Reports
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.parameters import Parameters
from rappor.report_files import read_reports, sum_files, write_reports
from tables.secret import Secret

SMALL = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.5, p=0.5, q=0.75)
OTHER = Parameters(n_bits=12, n_hashes=2, n_cohorts=4, f=0.5, p=0.25, q=0.75)


def some(parameters=SMALL, n=1000, seed=1):
    rng = np.random.default_rng(seed)
    bits = rng.random((n, parameters.n_bits)) < 0.4
    cohorts = rng.integers(0, parameters.n_cohorts, n)
    return Reports.from_bits(bits, cohorts, parameters=parameters)


def test_google_s_sum_of_two_reports():
    # google/rappor bin/sum_bits_test: bit 0 is the right-most character.
    parameters = Parameters(n_bits=16, n_hashes=2, n_cohorts=2, f=0.5, p=0.5, q=0.75)
    texts = ["0000111100001111", "0000000000111100"]
    counts = Reports.from_texts(texts, [1, 1], parameters=parameters).sum()
    expected = [2, 1, 1, 2, 2, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0]
    assert [int(counts.n[1]), *counts.ones[1].tolist()] == expected
    assert counts.n[0] == 0


@pytest.mark.parametrize("n_bits", [1, 3, 8, 9, 128])
def test_sums_are_those_of_the_bits(n_bits):
    parameters = (
        Parameters.basic(n_bits, f=0.5, p=0.25, q=0.75)
        if n_bits == 1
        else Parameters(n_bits=n_bits, n_hashes=1, n_cohorts=5, f=0.5, p=0.25, q=0.75)
    )
    reports = some(parameters)
    counts = reports.sum()
    for cohort in range(parameters.n_cohorts):
        rows = reports.bits()[reports.cohorts == cohort]
        assert counts.n[cohort] == len(rows)
        assert np.array_equal(counts.ones[cohort], rows.sum(axis=0))


def test_a_cohort_without_reports_stays_empty():
    reports = Reports.from_texts(["0" * 11 + "1"], [2], parameters=SMALL)
    assert reports.sum().n.tolist() == [0, 0, 1, 0]
    assert Reports.from_texts([], [], parameters=SMALL).sum() == Counts.zeros(SMALL)


def test_texts_come_back():
    reports = some()
    again = Reports.from_texts(reports.texts(), reports.cohorts, parameters=SMALL)
    assert again == reports


@pytest.mark.parametrize(
    "texts", [["0" * 11], ["0" * 13], ["0" * 11 + "2"], ["é" * 12], [" " * 12]]
)
def test_texts_that_are_no_bits_are_refused(texts):
    with pytest.raises(RapporError, match="12 zeros and ones"):
        Reports.from_texts(texts, [0], parameters=SMALL)


def test_reports_of_another_width_or_cohort_are_refused():
    # A client with 8 bits and a server with 16 once went unnoticed for months.
    good = {"cohorts": np.array([0]), "packed": np.zeros((1, 2), np.uint8)}
    for bad in (
        {"cohorts": np.array([4])},
        {"cohorts": np.array([-1])},
        {"cohorts": np.array([0.0])},
        {"cohorts": np.array([0, 1])},
        {"packed": np.zeros((1, 3), np.uint8)},
        {"packed": np.zeros((1, 2), np.int64)},
        {"packed": np.array([[0, 16]], np.uint8)},
    ):
        with pytest.raises(RapporError):
            Reports(**(good | bad), parameters=SMALL)


@pytest.mark.parametrize("ending", ["rappor", "csv"])
def test_report_files_come_back_in_order(tmp_path, ending):
    file = tmp_path / f"reports.{ending}"
    first, second = some(seed=1), some(seed=2)
    assert write_reports([first, second], file, parameters=SMALL) == 2000
    read = list(read_reports(file, parameters=SMALL))
    assert np.array_equal(
        np.concatenate([piece.packed for piece in read]),
        np.concatenate([first.packed, second.packed]),
    )
    assert (
        sum_files([file, file], parameters=SMALL)
        == first.sum() + second.sum() + first.sum() + second.sum()
    )


def test_files_do_not_hold_clients_or_true_values(tmp_path):
    reports = encode(
        ["a marked value"] * 3,
        ["a marked client"] * 3,
        parameters=SMALL,
        secret=Secret(b"a marked secret!"),
        metric="a marked metric",
    )
    for ending in ("rappor", "csv"):
        file = tmp_path / f"reports.{ending}"
        write_reports([reports], file, parameters=SMALL)
        assert b"marked" not in file.read_bytes()


@pytest.mark.parametrize("ending", ["rappor", "csv"])
def test_reports_made_with_other_parameters_are_refused(tmp_path, ending):
    file = tmp_path / f"reports.{ending}"
    with pytest.raises(MismatchError):
        write_reports([some(), some(OTHER)], file, parameters=SMALL)
    assert list(tmp_path.iterdir()) == []
    write_reports([some(OTHER)], file, parameters=OTHER)
    with pytest.raises(MismatchError, match=SMALL.fingerprint):
        sum_files([file], parameters=SMALL)


def test_files_of_two_collections_do_not_add(tmp_path):
    for name, parameters in (("a.rappor", SMALL), ("b.rappor", OTHER)):
        write_reports([some(parameters)], tmp_path / name, parameters=parameters)
    with pytest.raises(MismatchError):
        sum_files([tmp_path / "a.rappor", tmp_path / "b.rappor"])
    with pytest.raises(MismatchError):
        some().sum() + some(OTHER).sum()


def test_google_s_files_of_reports_are_read(tmp_path):
    file = tmp_path / "reports.csv"
    file.write_text("client,cohort,bloom,prr,irr\r\n1, 3,0,0,000000000011\r\n\r\n")
    counts = sum_files([file], parameters=SMALL)
    assert counts.n.tolist() == [0, 0, 0, 1]
    assert counts.ones[3].tolist() == [1, 1] + [0] * 10
    with pytest.raises(ReportFileError, match="does not say"):
        sum_files([file])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b\n1,2\n",
        b"cohort,irr\n0\n",
        b"cohort,irr\n4,000000000000\n",
        b"cohort,irr\nx,000000000000\n",
        b"cohort,irr\n99999999999999999999,000000000000\n",
        b"cohort,irr\n0,00000000000\n",
        b"cohort,irr\n0,0000000000002\n",
        b"\xff\xfe\x00\x01",
        b'{"format": "rappor-reports"',
        b'{"format": "rappor-reports", "parameters": 3, "version": 1}\n',
        b'{"format": "rappor-reports"}\n' + b"\0" * 6,
        b"cohort,irr\n0,\0\n",
    ],
)
def test_damaged_files_of_reports_are_refused(tmp_path, content):
    file = tmp_path / "reports"
    file.write_bytes(content)
    with pytest.raises(ReportFileError):
        sum_files([file], parameters=SMALL)


def test_a_cut_file_is_refused(tmp_path):
    file = tmp_path / "reports.rappor"
    write_reports([some()], file, parameters=SMALL)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ReportFileError, match="middle"):
        sum_files([file])
    newer = json.dumps(
        {"format": "rappor-reports", "version": 3, "parameters": SMALL.to_dict()}
    )
    file.write_text(newer + "\n")
    with pytest.raises(ReportFileError, match="newer"):
        sum_files([file])


@pytest.mark.parametrize("name", ["reports.rappor", "counts.json", "parameters.json"])
def test_every_bit_that_flips_is_an_error_or_changes_nothing(tmp_path, name):
    reports = Reports.from_texts(["000000000011", "100000000001"], [3, 0], parameters=SMALL)
    file = tmp_path / name
    if name == "reports.rappor":
        write_reports([reports], file, parameters=SMALL)
        read = lambda: sum_files([file])  # noqa: E731
    elif name == "counts.json":
        reports.sum().write(file)
        read = lambda: Counts.read(file)  # noqa: E731
    else:
        SMALL.write(file)
        read = lambda: Parameters.read(file)  # noqa: E731
    raw, expected, errors = file.read_bytes(), read(), 0
    bits = range(0, 8 * len(raw), 13)  # of every place in a byte
    for bit in bits:
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        try:
            assert read() == expected
        except RapporError:
            errors += 1
    assert errors > 0.9 * len(bits)


def test_files_of_older_versions_are_read_with_a_word(tmp_path, caplog):
    reports = some()
    write_reports([reports], tmp_path / "new.rappor", parameters=SMALL)
    header, rest = (tmp_path / "new.rappor").read_bytes().split(b"\n", 1)
    older = header.replace(b'"version": 2', b'"version": 1') + b"\n" + rest[:-32]
    (tmp_path / "old.rappor").write_bytes(older)
    assert sum_files([tmp_path / "old.rappor"]) == reports.sum()
    assert "'old.rappor' have no digest" in caplog.text
    reports.sum().write(tmp_path / "new.json")
    content = json.loads((tmp_path / "new.json").read_text())
    del content["digest"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    assert Counts.read(tmp_path / "old.json") == reports.sum()
    assert "'old.json' have no digest" in caplog.text


def test_there_must_be_something_to_sum(tmp_path):
    with pytest.raises(RapporError, match="no report"):
        sum_files([])
    with pytest.raises(ReportFileError, match="cannot be read"):
        sum_files([tmp_path / "missing.rappor"])
    write_reports([], tmp_path / "none.rappor", parameters=SMALL)
    assert sum_files([tmp_path / "none.rappor"]) == Counts.zeros(SMALL)


def test_progress_tells_the_reports_so_far(tmp_path):
    file = tmp_path / "reports.rappor"
    write_reports([some()], file, parameters=SMALL)
    told = []
    sum_files([file, file], progress=told.append)
    assert told[-1] == 2000
    assert told == sorted(told)


def test_counts_add_and_come_back(tmp_path):
    one, two = some(seed=1).sum(), some(seed=2).sum()
    assert (one + two) == (two + one)
    for ending in ("csv", "json"):
        file = tmp_path / f"counts.{ending}"
        (one + two).write(file)
        assert Counts.read(file, parameters=SMALL) == one + two
    assert Counts.read(tmp_path / "counts.json") == one + two
    with pytest.raises(MismatchError):
        Counts.read(tmp_path / "counts.json", parameters=OTHER)
    with pytest.raises(ReportFileError, match="does not say"):
        Counts.read(tmp_path / "counts.csv")
    with pytest.raises(MismatchError):
        _ = one + some(OTHER).sum()


def test_a_cohort_of_a_report_is_written_in_plain_digits(tmp_path):
    parameters = Parameters(n_bits=8, n_hashes=2, n_cohorts=16, f=0.5, p=0.25, q=0.75)
    file = tmp_path / "reports.csv"
    file.write_text("cohort,irr\n1_0,00000000\n")
    with pytest.raises(ReportFileError, match="no whole number"):
        sum_files([file], parameters=parameters)
    file.write_text("cohort,irr\n10,00000000\n")
    assert sum_files([file], parameters=parameters).n[10] == 1


def test_nobody_changes_counts_from_outside():
    n, ones = np.array([5]), np.array([[3, 2]])
    counts = Counts(n=n, ones=ones, parameters=Parameters.basic(2, f=0.5, p=0.25, q=0.75))
    n[0] = 1
    assert counts.total == 5
    with pytest.raises(ValueError, match="read-only"):
        counts.ones[0, 0] = 4


@pytest.mark.parametrize(
    ("n", "ones"),
    [
        ([5], [[6, 0]]),
        ([-1], [[0, 0]]),
        ([5.0], [[0, 0]]),
        ([5], [[0, 0, 0]]),
        ([5, 5], [[0, 0]]),
        ([5], [[float("nan"), 0]]),
        (["5"], [[0, 0]]),
    ],
)
def test_counts_that_cannot_be_are_refused(n, ones):
    with pytest.raises(RapporError):
        Counts(n=n, ones=ones, parameters=Parameters.basic(2, f=0.5, p=0.25, q=0.75))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5,3\n",
        "5,3,x\n",
        "5,3,6\n",
        "5,3,2.5\n",
        "1_0,3,2\n",
        "10,3,\u0662\n",
        "5,3,2\n5,3,2\n",
        "{",
        '{"format": 3}',
        '{"format": "rappor-counts", "parameters": {}, "counts": []}',
        "9" * 30 + ",1,1\n",
    ],
)
def test_files_that_hold_no_counts_are_refused(tmp_path, text):
    file = tmp_path / "counts.csv"
    file.write_text(text)
    with pytest.raises(RapporError):
        Counts.read(file, parameters=Parameters.basic(2, f=0.5, p=0.25, q=0.75))


def test_simulated_sums_have_the_law_of_encoded_reports():
    parameters = Parameters(n_bits=8, n_hashes=2, n_cohorts=2, f=0.5, p=0.25, q=0.75)
    held = np.array([300, 100])
    values = np.repeat(["a", "b"], held)
    rng = np.random.default_rng(4)
    drawn, sent = [], []
    for run in range(150):
        quick = simulate_counts(["a", "b"], held, parameters=parameters, rng=rng)
        real = encode(
            values,
            range(400),
            parameters=parameters,
            secret=Secret(b"s%20d" % run),
            metric="m",
            rng=rng,
        ).sum()
        drawn.append(quick.ones.ravel())
        sent.append(real.ones.ravel())
    drawn, sent = np.array(drawn), np.array(sent)
    gap = (drawn.mean(0) - sent.mean(0)) / np.sqrt((drawn.var(0) + sent.var(0)) / 150)
    assert np.abs(gap).max() < 4.5
    ratio = drawn.var(0) / sent.var(0)
    assert 0.5 < ratio.min() < ratio.max() < 2


def test_simulated_answers_to_a_boolean_question():
    boolean = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
    rng = np.random.default_rng(5)
    counts = simulate_counts([True, False], np.array([10**6, 0]), parameters=boolean, rng=rng)
    assert abs(counts.ones[0, 0] / 10**6 - boolean.q_star) < 0.003
    with pytest.raises(RapporError):
        simulate_counts([True], np.array([1, 2]), parameters=boolean, rng=rng)


def test_populations_have_their_shape():
    rng = np.random.default_rng(6)
    normal = population("normal", n_values=61, n_clients=10**6, rng=rng)
    assert normal.argmax() in range(27, 34)
    falling = population("exponential", n_values=100, n_clients=10**6, rng=rng)
    assert falling[0] / falling[-1] == pytest.approx(np.exp(5), rel=0.2)
    assert population("zipf", n_values=1, n_clients=7, rng=rng).tolist() == [7]
    with pytest.raises(RapporError):
        population("uniform", n_values=0, n_clients=7, rng=rng)
    with pytest.raises(RapporError, match="shape"):
        population("square", n_values=3, n_clients=7, rng=rng)


def honest(parameters=SMALL, total=40_000):
    rng = np.random.default_rng(7)
    return simulate_counts(
        ["a", "b", "c"],
        np.array([total // 2, total // 4, total // 4]),
        parameters=parameters,
        rng=rng,
    )


def test_counts_in_json_are_whole_numbers(tmp_path):
    coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    file = tmp_path / "counts.json"
    for cell in (2.5, True, None, "x", [2]):
        content = {
            "format": "rappor-counts",
            "parameters": coin.to_dict(),
            "counts": [[5, 1, cell]],
        }
        file.write_text(json.dumps(content))
        with pytest.raises(ReportFileError, match="whole numbers"):
            Counts.read(file)


def names(counts):
    return [diagnostic.name for diagnostic in diagnostics(counts)]


def test_one_report_raises_no_suspicion():
    one = Reports.from_texts(["000000100110"], [2], parameters=SMALL).sum()
    assert names(one) == []


def test_honest_counts_raise_no_suspicion():
    turned = Parameters(n_bits=8, n_hashes=2, n_cohorts=2, f=0.5, p=0.65, q=0.35)
    assert names(honest()) == []
    assert names(honest(total=8)) == []
    assert names(honest(turned)) == []


def test_what_looks_wrong_is_said():
    counts = honest()
    empty = Counts(
        n=np.where(np.arange(4) == 1, 0, counts.n),
        ones=np.where(np.arange(4)[:, None] == 1, 0, counts.ones),
        parameters=SMALL,
    )
    (silent,) = diagnostics(empty)
    assert (silent.name, silent.found, silent.example) == ("silent-cohorts", 1, (1, -1))
    assert "without a report: 1." in str(silent)
    zeros = Counts(n=counts.n, ones=np.zeros_like(counts.ones), parameters=SMALL)  # q=1 as 0
    assert "less often than noise alone sets them: 48." in str(diagnostics(zeros)[0])
    assert names(zeros) == ["too-few-ones", "light-reports"]
    full = Counts(n=counts.n, ones=np.repeat(counts.n[:, None], 12, 1), parameters=SMALL)
    assert names(full) == ["too-many-ones", "heavy-reports"]
    mixed = Counts(n=counts.n, ones=counts.ones * 95 // 100, parameters=SMALL)
    assert "light-reports" in names(mixed)
    with pytest.raises(RapporError, match="no report"):
        diagnostics(Counts.zeros(SMALL))


def test_a_name_taken_meanwhile_is_left_alone(tmp_path):
    file = tmp_path / "reports.rappor"

    def pieces():
        yield some()
        file.write_text("of another process")

    with pytest.raises(ReportFileError, match="exists"):
        write_reports(pieces(), file, parameters=SMALL)
    assert file.read_text() == "of another process"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(ReportFileError, match="folder"):
        write_reports([], tmp_path / "missing" / "reports.rappor", parameters=SMALL)
    with pytest.raises(ReportFileError, match=r"\.rappor or \.csv"):
        write_reports([], tmp_path / "reports.txt", parameters=SMALL)
