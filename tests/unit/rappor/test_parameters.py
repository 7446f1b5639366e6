"""Parameters: what they promise, what is refused, google's file."""

import math

import pytest

from rappor.errors import RapporError, ReportFileError
from rappor.parameters import Parameters

PAPER = {"n_bits": 128, "n_hashes": 2, "n_cohorts": 16, "f": 0.5, "p": 0.5, "q": 0.75}


def make(**changes):
    return Parameters(**(PAPER | changes))


@pytest.mark.parametrize(
    ("changes", "one", "permanent"),
    [
        ({}, 1.0743, 4.3944),
        ({"f": 0.75}, 0.5343, 2.0433),
        ({"p": 0.25}, 2.0433, 4.3944),  # Chrome's normal setting
        ({"p": 0.25, "f": 0.25}, 3.1538, 7.7836),  # Chrome's sparse setting
        ({"p": 0.39, "q": 0.61, "f": 0.45}, 0.9728, 4.9471),  # google's "typical"
        ({"p": 0.225, "q": 0.775, "f": 0.0}, 4.9471, math.inf),  # google's "loose"
        ({"p": 0.25, "n_hashes": 1}, 1.0217, 2.1972),  # google's demo
        ({"p": 0.0, "q": 1.0}, 4.3944, 4.3944),  # no instantaneous noise: the ends meet
    ],
)
def test_losses_are_natural_logarithms_times_the_number_of_hashes(changes, one, permanent):
    parameters = make(**changes)
    assert round(parameters.epsilon_one, 4) == one
    assert round(parameters.epsilon_permanent, 4) == permanent


def test_effective_probabilities_of_the_paper():
    assert (make().p_star, make().q_star) == (0.5625, 0.6875)
    assert (make(f=0.75).p_star, make(f=0.75).q_star) == (0.59375, 0.65625)


def test_a_boolean_loses_half_of_what_two_differing_bits_would():
    boolean = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
    two = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    assert boolean.epsilon_permanent == pytest.approx(math.log(3))
    assert two.epsilon_permanent == pytest.approx(2 * math.log(3))
    assert boolean.epsilon_one == pytest.approx(two.epsilon_one / 2)


def test_an_uneven_boolean_loses_by_its_worse_answer():
    boolean = Parameters.basic(1, f=0.0, p=0.1, q=0.5)
    assert boolean.epsilon_one == pytest.approx(math.log(5))


def test_q_below_p_is_as_private_as_its_mirror():
    assert make(p=0.65, q=0.35).epsilon_one == pytest.approx(make(p=0.35, q=0.65).epsilon_one)


def test_reports_without_noise_have_no_finite_loss():
    assert make(f=0.0, p=0.0, q=1.0).epsilon_one == math.inf
    assert make(f=0.0, q=1.0).epsilon_one == math.inf
    assert make(f=0.0, p=0.0).epsilon_one == math.inf


@pytest.mark.parametrize(
    "changes",
    [
        {"f": 1.0},
        {"p": 0.75},
        {"f": -0.1},
        {"p": 1.5},
        {"q": float("nan")},
        {"q": "0.75"},
        {"q": None},
        {"p": True},
        {"n_bits": 0},
        {"n_bits": 2.0},
        {"n_bits": 2**20},
        {"n_bits": 1},
        {"n_bits": 1, "n_hashes": 1},
        {"n_hashes": 0},
        {"n_hashes": 129, "n_bits": 128},
        {"n_cohorts": 0},
        {"n_cohorts": True},
        {"n_cohorts": 2**20},
        {"hash": "sha1"},
        {"hash": "index"},
        {"hash": "md5", "n_hashes": 17},
        {"hash": "md5", "n_hashes": 9, "n_bits": 512},
    ],
)
def test_parameters_that_cannot_work_are_refused(changes):
    with pytest.raises(RapporError):
        make(**changes)


def test_p_and_q_that_f_brings_together_are_refused():
    with pytest.raises(RapporError, match="do not depend"):
        make(f=1 - 2**-53, p=0.5, q=0.5 + 2**-50)


def test_any_change_changes_the_fingerprint():
    changes = [{}, {"n_bits": 64}, {"n_hashes": 1}, {"n_cohorts": 8}, {"f": 0.25}, {"p": 0.4}]
    changes += [{"q": 0.8}, {"hash": "md5"}, {"q": math.nextafter(0.75, 1)}]
    assert len({make(**change).fingerprint for change in changes}) == len(changes)


def test_whole_and_real_zero_are_one_parameter():
    assert make(f=0) == make(f=0.0)
    assert make(f=0).fingerprint == make(f=0.0).fingerprint == make(f=-0.0).fingerprint
    assert hash(make(f=0)) == hash(make(f=-0.0))


def test_google_files_come_back(tmp_path):
    file = tmp_path / "params.csv"
    make(hash="md5", p=0.1 + 0.2).write(file)
    assert Parameters.read(file) == make(hash="md5", p=0.1 + 0.2)
    assert Parameters.read(file, hash="mmh3") == make(p=0.1 + 0.2)
    with pytest.raises(ReportFileError, match="exists"):
        make().write(file)
    make().write(file, overwrite=True)


def test_columns_are_read_by_name(tmp_path):
    # google/rappor's early Python client read p from two columns and f from none.
    file = tmp_path / "params.csv"
    file.write_text("\ufefff,q,p,m,h,k\n.5,.75,.5,16,2,128\n\n", encoding="utf-8")
    assert Parameters.read(file, hash="mmh3") == make()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "k,h,m,p,q\n1,2,3,4,5\n",
        "k,h,m,p,q,f\n",
        "k,h,m,p,q,f\n8,2,8,.5,.75\n",
        "k,h,m,p,q,f\n8,2,8,.5,.75,a\n",
        "k,h,m,p,q,f\n8.5,2,8,.5,.75,.5\n",
        "k,h,m,p,q,f\n8,2,8,.5,.75,.5\n8,2,8,.5,.75,.5\n",
        "k,h,m,p,q,f\n8,2,8,.5,.75,nan\n",
        "\0\0",
    ],
)
def test_files_that_hold_no_parameters_are_refused(tmp_path, text):
    file = tmp_path / "params.csv"
    file.write_text(text)
    with pytest.raises(RapporError):
        Parameters.read(file)


def test_bytes_and_missing_files_are_refused(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("bytes", "missing"):
        with pytest.raises(ReportFileError, match="cannot be read"):
            Parameters.read(tmp_path / name)


def test_stored_parameters_must_have_their_fingerprint():
    stored = make().to_dict()
    assert Parameters.from_dict(stored) == make()
    for damaged in (stored | {"f": 0.25}, stored | {"n": 1}, {"n_bits": 3}, {}):
        with pytest.raises(RapporError):
            Parameters.from_dict(damaged)
