"""Files of synth appear whole or not at all, whoever writes them at the same time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth import Budget, Category, Certificate, Model, Schema, Synthesizer, newfile
from synth.frames import read_records, write_records
from synth.newfile import whole_file, write_text

SCHEMA = Schema(columns=[Category(name="sex", values=["F", "M"])])


@pytest.fixture(scope="module")
def model():
    people = pd.DataFrame({"sex": ["F", "M"] * 200})
    return Synthesizer(schema=SCHEMA, method="histogram").fit(
        people, Budget(epsilon=1, delta=1e-6)
    )


WRITERS = {
    "model.json": lambda model, file: model.save(file),
    "model.parquet": lambda model, file: model.save(file),
    "certificate.json": lambda model, file: Certificate.of(model).write(file),
    "schema.json": lambda model, file: model.schema.write(file),
    "records.csv": lambda model, file: write_records(drawn(model), file),
    "records.parquet": lambda model, file: write_records(drawn(model), file),
}


def drawn(model):
    return model.sample(50, rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", WRITERS)
def test_a_write_that_is_interrupted_leaves_the_older_file_and_nothing_else(
    model, name, tmp_path, monkeypatch
):
    file = tmp_path / name
    WRITERS[name](model, file)
    before = file.read_bytes()

    def full(self, target):
        assert self.stat().st_size > 0  # all of it was written, beside the file
        assert self.suffix == file.suffix
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        WRITERS[name](model, file)
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_writer_that_stops_half_way_leaves_no_half_of_a_file(tmp_path):

    def stop(file):
        with whole_file(file) as draft:
            draft.write_text("half of i")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_no_reason_for_a_file_elsewhere(model, tmp_path):
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "absent" / "model.json")
    assert list(tmp_path.iterdir()) == []


#: Loads the one module, which needs nothing but the standard library.
WRITE_OFTEN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("newfile", sys.argv[1])
newfile = importlib.util.module_from_spec(spec)
spec.loader.exec_module(newfile)
for _ in range(40):
    newfile.write_text(sys.argv[2], sys.argv[3] * 200_000)
"""


def test_two_processes_that_write_the_same_path_leave_one_whole_file(tmp_path):
    file = tmp_path / "shared.json"
    write_text(file, "a" * 200_000)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE_OFTEN, newfile.__file__, file, letter])
        for letter in "ab"
    ]
    looks = 0
    while any(writer.poll() is None for writer in writers):
        text = file.read_text()
        assert len(text) == 200_000
        assert len(set(text)) == 1
        looks += 1
    assert looks
    assert [writer.wait() for writer in writers] == [0, 0]
    assert [one.name for one in tmp_path.iterdir()] == ["shared.json"]


def test_what_was_written_whole_is_read_back(model, tmp_path):
    for name in ("model.json", "model.parquet"):
        model.save(tmp_path / name)
        assert Model.load(tmp_path / name).schema == SCHEMA
    for name in ("records.csv", "records.parquet"):
        write_records(drawn(model), tmp_path / name)
        assert read_records(tmp_path / name).num_rows == 50
