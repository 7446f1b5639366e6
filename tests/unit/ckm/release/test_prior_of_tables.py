"""How frequent counts are in a job's own tables, smoothed before anything is stored."""

import numpy as np
import pytest

from ckm.errors import ConfigError
from ckm.release.prior_of_tables import prior_of_tables, smoothed


def test_a_class_has_fifty_cells_and_one_share():
    counts = np.array([0, 1, 2, 3, 4, 7, 9])
    cells = np.array([900, 60, 30, 20, 49, 1, 10])
    prior = smoothed(counts, cells)
    assert prior[0] == 0
    assert prior.sum() == pytest.approx(1)
    assert prior[2] == prior[3]  # thirty and twenty
    assert prior[1] / prior[2] == pytest.approx(60 / 25)
    assert prior[4] == prior[5] == prior[7]  # forty-nine, one
    assert (prior[1:] > 0).all()


def test_what_is_left_over_joins_the_class_before():
    prior = smoothed(np.array([1, 2, 5]), np.array([80, 50, 10]))
    assert prior[2] == prior[3] == prior[5]
    assert prior[6] < prior[5]


def test_few_cells_have_no_prior_of_their_own():
    with pytest.raises(ConfigError, match="too few cells"):
        smoothed(np.array([1, 2]), np.array([60, 39]))


def test_a_job_is_tabulated_whatever_its_noise(tmp_path):
    lines = [f"p{k},{k % 40},{k % 7},{k * k % 3}" for k in range(600)]
    (tmp_path / "people.csv").write_text("id,region,age,job\n" + "\n".join(lines) + "\n")
    (tmp_path / "secret.key").write_bytes(bytes(range(32)))
    (tmp_path / "secret.key").chmod(0o600)
    (tmp_path / "job.toml").write_text(
        'schema = 1\ndata = { path = "people.csv", id = "id" }\n'
        'keys = { secret = "secret.key" }\n[ptable]\nmax_noise = 3\n[ptable.limits]\n'
        '[[table]]\nname = "t"\ndimensions = ["region", "age", "job"]\n'
    )
    prior = prior_of_tables(tmp_path / "job.toml")
    assert prior.sum() == pytest.approx(1)
    assert prior[1] > prior[60]
