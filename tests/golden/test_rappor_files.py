"""Files of google/rappor: its parameters, counts and maps are read, and its hashes are ours."""

import csv

import numpy as np
import pytest

from rappor.client.bloom import every_bit
from rappor.counts import Counts
from rappor.decoding.diagnostics import diagnostics
from rappor.parameters import Parameters

CASES = (
    "chrome8-badcand",
    "demo1-unif",
    "demo3-exp",
    "like-windows",
    "paper-exp-1",
    "paper-exp-100k",
    "paper-exp-2",
    "r-exp-small-loose",
    "r-exp-small-over_x2",
    "r-exp-small-typical",
)


def case(shared, name):
    folder = shared / "reference" / "rappor" / name
    parameters = Parameters.read(folder / "params.csv")
    return folder, parameters, Counts.read(folder / "counts.csv", parameters=parameters)


@pytest.mark.parametrize("name", CASES)
def test_parameters_and_counts_are_read_and_written_back(shared, name, tmp_path):
    folder, parameters, counts = case(shared, name)
    parameters.write(tmp_path / "params.csv")
    assert Parameters.read(tmp_path / "params.csv") == parameters
    counts.write(tmp_path / "counts.csv")
    assert (tmp_path / "counts.csv").read_text() == (folder / "counts.csv").read_text()
    with (folder / "hist.csv").open() as file:
        clients = sum(int(row["count"]) for row in csv.DictReader(file))
    assert counts.total == clients


@pytest.mark.parametrize("name", CASES)
def test_maps_are_our_bits_by_md5(shared, name):
    folder, parameters, _ = case(shared, name)
    with (folder / "true_map.csv").open() as file:
        rows = list(csv.reader(file))
    found = every_bit([row[0] for row in rows], parameters=parameters)
    offset = found + parameters.n_bits * np.arange(parameters.n_cohorts)[None, :, None] + 1
    assert offset.reshape(len(rows), -1).tolist() == [list(map(int, row[1:])) for row in rows]


@pytest.mark.parametrize("name", CASES)
def test_honest_counts_raise_no_doubt_about_their_bits(shared, name):
    # Ten reports a client from some of them: the sizes of their cohorts differ, as is said.
    _, _, counts = case(shared, name)
    found = {diagnostic.name for diagnostic in diagnostics(counts)}
    assert found <= {"unbalanced-cohorts"}
    if name.startswith("demo"):
        assert found
