"""``[ptable.limits]``: words of a file to limits, and a release that never solves one."""

import pytest

from ckm.config import read_job, read_noise_spec
from ckm.config.job.limits import TEXTBOOK
from ckm.config.problems import JobError
from ckm.engine.engine import Engine
from ckm.errors import ConfigError
from ckm.release.job_inputs import load_ptable
from ptable import Limits, NoiseSpec, PTableError

NOISE = '[ptable]\nmax_noise = 3\nvariance = 2.0\nobjective = "least-variance"\n'
JOB = """schema = 1
data = {{ path = "people.csv", record_key = "rkey", key_range = 256 }}
keys = {{ mix = false }}
{noise}
[[table]]
name = "people"
dimensions = ["sex"]
"""


def spec_of(tmp_path, limits, **options):
    file = tmp_path / "spec.toml"
    file.write_text(f"{NOISE}[ptable.limits]\n{limits}")
    return read_noise_spec(file, **options)


def test_a_file_says_every_limit(tmp_path):
    spec = spec_of(
        tmp_path,
        'sensitive = [1, 2, 3]\nposterior = 0.9\nposterior_set = 0.95\nbest_guess = 0.8\n'
        "variance_floor = 1.0\nvariance_ceiling = 2\nneighbours = [1.0, 0.1]\nratio = 8.0\n"
        'p_stay = 0.6\npriors = ["textbook"]\nzeros_in_prior = true\nis_peaked = false\n',
    )  # fmt: skip
    limits = spec.limits
    assert (limits.sensitive, limits.posterior, limits.posterior_set) == ((1, 2, 3), 0.9, 0.95)
    assert (limits.best_guess, limits.ratio, limits.neighbours) == (0.8, 8.0, (1.0, 0.1))
    assert (limits.variance_floor, limits.variance_ceiling, limits.p_stay) == (1.0, 2.0, 0.6)
    assert (limits.zeros_in_prior, limits.is_peaked) == (True, False)
    assert spec.objective == "least-variance"


def test_false_takes_away_what_is_there_by_itself(tmp_path):
    spec = spec_of(tmp_path, 'neighbours = false\np_stay = false\npriors = ["textbook"]\n')
    assert (spec.limits.neighbours, spec.limits.p_stay) == (None, None)
    assert spec.limits.posterior == 0.75


def test_guesses_may_be_limited_by_classes(tmp_path):
    limits = 'sensitive = [1, 2, 3, 4]\npriors = ["textbook"]\n'
    spec = spec_of(tmp_path, limits + 'best_guess = { "1-2" = 0.8, "3-4" = 0.7 }\n')
    assert spec.limits.best_guess == (((1, 2), 0.8), ((3, 4), 0.7))


def test_the_prior_of_the_tables_is_asked_for_where_it_is_named(tmp_path):
    seen = []

    def prior(path):
        seen.append(path.name)
        return TEXTBOOK

    assert len(spec_of(tmp_path, "", prior_of_tables=prior).limits.priors) == 2
    assert seen == ["spec.toml"]
    with pytest.raises((JobError, PTableError), match='prior "tables" needs the data'):
        spec_of(tmp_path, "")


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ("posterior = 1.5", "posterior"),
        ("posterior = true", "posterior"),
        ('best_guess = { "1" = 0.5 }', "best_guess"),
        ('priors = ["textbook"]\nbest_guess = { "1-9" = 0.5 }', "best_guess"),
        ('priors = ["own"]', "priors"),
        ("greatest = 3", "greatest"),
        ("priors = [[0.0, 1.0]]", "ends at a count of 1"),
        ('priors = ["textbook"]\nvariance_floor = -1.0', "variance_floor"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, limits, problem):
    with pytest.raises((JobError, PTableError), match=problem):
        spec_of(tmp_path, limits)


def test_a_job_without_the_file_is_told_the_command(tmp_path):
    (tmp_path / "people.csv").write_text("rkey,sex\n17,F\n")
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(noise=f"{NOISE}[ptable.limits]\n"))
    with pytest.raises(JobError, match="a release never solves one") as caught:
        read_job(job)
    assert "ckm ptable build job.toml -o pt.parquet" in str(caught.value)
    (tmp_path / "pt.parquet").touch()
    job.write_text(
        JOB.format(noise=NOISE + 'path = "pt.parquet"\n[ptable.limits]\nposterior = 0.9\n')
    )
    assert read_job(job).ptable.name == "pt.parquet"


def test_nothing_that_makes_a_release_solves_one_not_even_from_python(tmp_path):
    (tmp_path / "people.csv").write_text("rkey,sex\n17,F\n")
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(noise="[ptable]\nmax_noise = 2\nvariance = 1.0\n"))
    limits = Limits(posterior=0.9, priors=(TEXTBOOK,))
    by_limits = read_job(job).changed(ptable=NoiseSpec(max_noise=3, limits=limits))
    with pytest.raises(ConfigError, match="a release never solves one"):
        load_ptable(by_limits)
    with pytest.raises(ConfigError, match="ptable must be a PTable"):
        Engine(tmp_path / "people.csv", record_key="rkey", mix=False, ptable=by_limits.ptable)


def test_an_exception_allows_one_thing(tmp_path):
    (tmp_path / "people.csv").write_text("rkey,sex\n17,F\n")
    job = tmp_path / "job.toml"
    text = JOB.format(noise="[ptable]\nmax_noise = 2\nvariance = 1.0\n")
    job.write_text(
        text + '[[report.exceptions]]\nwhat = "w"\nwho = "o"\nwhen = 2027-01-01\nwhy = "y"\n'
        'second_ptable = true\ncheck = "attacks"\n'
    )
    with pytest.raises(JobError) as caught:
        read_job(job)
    assert "allows several things: check, second_ptable." in str(caught.value)
    assert "second_ptable is for noise beside tables of a [ledger]." in str(caught.value)
