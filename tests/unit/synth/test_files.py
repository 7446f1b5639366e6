"""Files of synth appear whole or not at all, whoever writes them at the same time."""

import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synth import Budget, Category, Certificate, Model, Schema, SynthError, Synthesizer
from synth.frames import read_records, write_records

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


def test_a_folder_that_is_not_there_is_no_reason_for_a_file_elsewhere(model, tmp_path):
    with pytest.raises(SynthError, match="There is no folder"):
        model.save(tmp_path / "absent" / "model.json")
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_whole_is_read_back(model, tmp_path):
    for name in ("model.json", "model.parquet"):
        model.save(tmp_path / name)
        assert Model.load(tmp_path / name).schema == SCHEMA
    for name in ("records.csv", "records.parquet"):
        write_records(drawn(model), tmp_path / name)
        assert read_records(tmp_path / name).num_rows == 50


@pytest.mark.parametrize("name", ["model.json", "model.parquet"])
def test_a_bit_that_flips_in_a_model_is_noticed_or_changes_nothing(model, tmp_path, name):
    file = tmp_path / name
    model.save(file)
    content, expected, noticed = file.read_bytes(), drawn(model), 0
    bits = np.random.default_rng(5).choice(8 * len(content), 400, replace=False)
    for bit in bits.tolist():
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        try:
            found = Model.load(file)
        except SynthError:
            noticed += 1
        else:
            assert drawn(found).equals(expected)
            assert found.report() == model.report()
    assert noticed > 200 if name.endswith("json") else noticed > 0


def test_a_model_of_an_older_version_is_read_with_a_warning_that_says_what_to_do(
    model, tmp_path, caplog
):
    file = tmp_path / "model.json"
    model.save(file)
    kept = json.loads(file.read_text())
    del kept["digest"]
    file.write_text(json.dumps(kept))
    with caplog.at_level(logging.WARNING):
        Model.load(file).save(file)
    assert "save it again" in caplog.text
    caplog.clear()
    Model.load(file)
    assert not caplog.text
    file.write_text(json.dumps(kept | {"digesu": ""}))
    with pytest.raises(SynthError, match="damaged"):
        Model.load(file)
