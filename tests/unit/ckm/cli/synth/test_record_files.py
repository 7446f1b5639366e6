"""Records to evaluate: the categories of CSV are the texts of the file."""

import pandas as pd
import pytest

from ckm.cli.synth.record_files import kinds_of_files, read_frame
from synth.errors import EvaluationError
from synth.evaluation.records import Kind


def write(path, *texts):
    path.write_text("".join(f"{line}\n" for line in ("v,w", *(f"{t},x" for t in texts))))
    return path


@pytest.mark.parametrize(
    "texts",
    [
        ["1E2", "100"],
        ["1_0", "10"],
        ["01", "1"],
        ["01", "02"],
        ["10.10", "10.1"],
        ["+1", "2"],
        ["-0", "3"],
        ["0x1F", "31"],
        ["NA", "1"],
        ["nan", "inf", "true", "null"],
        ["99999999999999999999", "x"],
        [" 5", "5"],
    ],
)
@pytest.mark.parametrize("is_declared", [True, False])
def test_categories_of_csv_are_the_texts_of_the_file(tmp_path, texts, is_declared):
    file = write(tmp_path / "a.csv", *texts, "")
    known = {"v": Kind(categories=tuple(texts))}
    kinds = known if is_declared else kinds_of_files([file])
    found = read_frame(file, kinds)["v"]
    assert found.tolist()[:-1] == texts
    assert found.isna().tolist() == [False] * len(texts) + [True]


@pytest.mark.parametrize("texts", [["1", "20", "-3"], ["1.5", "2", "0.25"], ["10.10", "10.20"]])
def test_numbers_that_no_other_text_writes_are_numbers(tmp_path, texts):
    file = write(tmp_path / "a.csv", *texts, "")
    found = read_frame(file, kinds_of_files([file]))["v"]
    assert found.tolist()[:-1] == [float(text) for text in texts]
    assert found.isna().sum() == 1


def test_one_file_with_codes_makes_them_codes_in_all(tmp_path):
    files = [write(tmp_path / "a.csv", "1", "2"), write(tmp_path / "b.csv", "01", "2")]
    kinds = kinds_of_files(files)
    assert [read_frame(file, kinds)["v"].tolist() for file in files] == [
        ["1", "2"],
        ["01", "2"],
    ]


def test_declared_numbers_are_read_as_numbers(tmp_path):
    file = write(tmp_path / "a.csv", "1E2", "007", "")
    found = read_frame(file, {"v": Kind(low=0, high=200)})["v"]
    assert found.tolist()[:2] == [100, 7]
    file = write(tmp_path / "a.csv", "1", "refused")
    assert read_frame(file, {"v": Kind(low=0)})["v"].tolist() == ["1", "refused"]


def test_texts_stand_for_the_declared_values_that_they_write(tmp_path):
    file = write(tmp_path / "a.csv", "1", "2.0", "true", "False", "1_0", "3")
    known = {"v": Kind(categories=(1, 2, True, False, 10, "3"))}
    assert read_frame(file, known)["v"].tolist() == [1, 2, True, False, "1_0", "3"]


def test_the_types_of_parquet_tell_those_of_csv(tmp_path):
    frame = pd.DataFrame({"v": ["1E2", "100"], "w": [True, False], "n": [1, 2]})
    frame.to_parquet(tmp_path / "real.parquet")
    (tmp_path / "made.csv").write_text("v,w,n\n100,true,2\n1E2,False,1\n")
    kinds = kinds_of_files([tmp_path / "real.parquet", tmp_path / "made.csv"])
    found = read_frame(tmp_path / "made.csv", kinds)
    assert found["v"].tolist() == ["100", "1E2"]
    assert found["w"].tolist() == [True, False]
    assert found["n"].tolist() == [2, 1]


@pytest.mark.parametrize("text", ["v,v\n1,2\n", "v,w\nMARKER,1,2\n", "v,w\nMARKER\n"])
def test_a_file_that_is_no_table_is_refused_without_its_texts(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(EvaluationError) as caught:
        read_frame(tmp_path / "a.csv", {})
    assert "MARKER" not in str(caught.value)
