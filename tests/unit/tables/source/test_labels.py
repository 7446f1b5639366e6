"""Labels of codes, and the codes of missing values, go with a copy of the records."""

import contextlib
import warnings

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from tables import DataWarning, Secret, SourceError, attach_keys, draw_keys, open_source
from tables.source.labels import LABELS_KEY, MissingCodes, labels_mark, marked_labels

LABELS = {"sex": {"1": "Men", "2": "Women"}, "code": {"01": "Nord-Est « é »", "1E2": "it's"}}
MISSING = {"sex": MissingCodes((("90", "99"), ("9", "9")), {"9": "refused", "97": "unknown"})}


def marked_file(path, labels=LABELS, missing=MISSING, sex=(1, 2)):
    table = pa.table({"id": range(len(sex)), "sex": list(sex), "code": ["01"] * len(sex)})
    mark = labels_mark(labels, missing, table.column_names)
    pq.write_table(table.replace_schema_metadata(mark), path)
    return path


@contextlib.contextmanager
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        yield


def facts_of(data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with open_source(data) as source:
            return source.labels, source.missing_codes, [str(one.message) for one in caught]


def test_a_mark_says_what_went_in():
    mark = labels_mark(LABELS, MISSING, ["sex", "code", "id"])
    assert marked_labels([mark[LABELS_KEY]], ["sex", "code"]) == (LABELS, MISSING)


def test_a_mark_speaks_of_columns_that_are_there():
    mark = labels_mark(LABELS, MISSING, ["code"])
    assert marked_labels([mark[LABELS_KEY]], ["code"]) == ({"code": LABELS["code"]}, {})
    assert labels_mark(LABELS, MISSING, ["age"]) == {}
    whole = labels_mark(LABELS, MISSING, ["sex", "code"])
    assert marked_labels([whole[LABELS_KEY]], ["age"]) == ({}, {})


NO_MARKS = [
    "",
    "[]",
    "{}",
    "null",
    '{"labels": 3, "missing": {}}',
    '{"labels": {"sex": 3}, "missing": {}}',
    '{"labels": {}, "missing": {"sex": {"ranges": [1], "names": {}}}}',
]


@pytest.mark.parametrize("text", NO_MARKS)
def test_what_is_no_mark_says_nothing(text):
    assert marked_labels([text], ["sex"]) == ({}, {})


@pytest.mark.parametrize("copy", ["attach", "draw"])
def test_copies_with_keys_keep_labels_and_missing_codes(tmp_path, copy):
    original = marked_file(tmp_path / "a.parquet")
    made = tmp_path / "keys.parquet"
    with quiet(), open_source(original) as source:
        if copy == "attach":
            attach_keys(source, id="id", secret=Secret(bytes(16)), path=made)
        else:
            draw_keys(source, path=made)
    labels, missing, said = facts_of(made)
    assert (labels, missing) == (LABELS, MISSING)
    (text,) = said
    assert text == (
        "'keys.parquet' declares codes as missing, and they are read so: "
        "'sex' (1 code and a range of codes)."
    )


def test_other_programs_read_the_same_records(tmp_path):
    path = marked_file(tmp_path / "a.parquet")
    expected = {"id": [0, 1], "sex": [1, 2], "code": ["01", "01"]}
    assert pd.read_parquet(path).to_dict("list") == expected
    assert duckdb.sql(f"FROM '{path}'").to_arrow_table().to_pydict() == expected


def test_labels_of_all_files_of_a_folder_are_one(tmp_path):
    marked_file(tmp_path / "a.parquet", {"sex": {"1": "Men"}}, {})
    marked_file(tmp_path / "b.parquet", {"sex": {"2": "Women"}}, MISSING)
    pq.write_table(pa.table({"id": [7], "sex": [1], "code": ["01"]}), tmp_path / "c.parquet")
    labels, missing, _ = facts_of(tmp_path)
    assert labels == {"sex": LABELS["sex"]}
    assert missing == MISSING


def test_files_that_label_a_code_differently_are_refused(tmp_path):
    marked_file(tmp_path / "a.parquet", {"sex": {"1": "Men"}}, {})
    marked_file(tmp_path / "b.parquet", {"sex": {"1": "Women"}}, {})
    with pytest.raises(SourceError, match="label a code of column 'sex' differently"):
        open_source(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sav", "zsav", "dta"])
def test_what_a_statistical_file_says_of_its_codes_goes_with_its_copy(tmp_path, kind):
    frame = pd.DataFrame(
        {"id": [1.0, 2.0, 3.0], "sex": [1.0, 2.0, 9.0], "code": ["01", "b", "zz"]}
    )
    labels = {"sex": {1: "Men", 2: "Women", 9: "refused", 97: "unknown"}}
    path = tmp_path / f"people.{kind}"
    if kind == "dta":
        frame["sex"] = frame["sex"].astype(object)
        frame.loc[2, "sex"] = "a"
        labels["sex"] = {1: "Men", 2: "Women", "a": "refused"}
        pyreadstat.write_dta(
            frame, str(path), variable_value_labels=labels, missing_user_values={"sex": ["a"]}
        )
        expected = MissingCodes(((".a", ".a"),), {".a": "refused"})
    else:
        pyreadstat.write_sav(
            frame,
            str(path),
            compress=kind == "zsav",
            variable_value_labels=labels | {"code": {"01": "one", "zz": "none"}},
            missing_ranges={"sex": [9, {"lo": 90, "hi": 99}], "code": ["zz"]},
        )
        expected = MISSING["sex"]
    made = tmp_path / "keys.parquet"
    with quiet(), open_source(path) as source:
        own = source.labels, source.missing_codes
        attach_keys(source, id="id", secret=Secret(bytes(16)), path=made)
    assert facts_of(made)[:2] == own
    assert own[0]["sex"] == LABELS["sex"]
    assert own[1]["sex"] == expected
    if kind != "dta":
        assert own[0]["code"] == {"01": "one"}
        assert own[1]["code"] == MissingCodes((("zz", "zz"),), {"zz": "none"})
