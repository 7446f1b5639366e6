"""A sample of records: drawn by seed, whole areas first, hostile names and all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tables import (
    DataError,
    HashedKeys,
    Hierarchy,
    KeyQualityError,
    Request,
    RequestError,
    Secret,
    open_source,
)
from tables.sample import read_sample

SECRET = Secret(bytes(16))


def records(n=60):
    return pa.table(
        {
            "id": range(n),
            "k": [i % 3 for i in range(n)],
            "a0": [f"r{i % 6 // 3}" for i in range(n)],
            'd0_0" ; --': [f"t{i % 6}" for i in range(n)],
            "g0": [None if i % 5 == 0 else i % 5 for i in range(n)],
        }
    )


def read(table, names=("k", "g0"), **options):
    with open_source(table) as source:
        requests = {name: Request(dimensions=[name]) for name in names}
        return read_sample(
            source, HashedKeys(column="id", secret=SECRET), requests=requests, **options
        )


def test_columns_may_have_the_names_that_we_use_ourselves():
    nested = Hierarchy(columns=("a0", 'd0_0" ; --'))
    requests = {
        "geo": Request(dimensions=["geo"], hierarchies={"geo": nested}),
        "k": Request(dimensions=["k"]),
    }
    with open_source(records()) as source:
        found = read_sample(
            source,
            HashedKeys(column="id", secret=SECRET),
            requests=requests,
            groups=["g0"],
            most_records=30,
        )
    assert (found.drawn, len(found), found.n_records) == ("records", 30, 60)
    geo = found.dimensions["geo"]
    assert [len(labels) for labels in geo.labels] == [6, 2]
    pairs = {
        (geo.labels[0][fine], geo.labels[1][broad][0])
        for fine, broad in zip(geo.codes[0].tolist(), geo.codes[1].tolist(), strict=True)
    }
    assert all(town[0] == region for town, region in pairs)
    assert len(np.unique(found.groups["g0"])) == 5


def test_missing_values_are_a_category_of_their_own():
    found = read(records())
    labels = found.dimensions["g0"].labels[0]
    missing = labels.index(("(missing)",))
    assert (found.dimensions["g0"].codes[0] == missing).sum() == 12


@pytest.mark.parametrize("most", [40, 45])
def test_areas_are_whole_and_the_seed_draws_them(most):
    drawn = [read(records(), area="k", most_records=most, seed=seed) for seed in range(8)]
    assert {sample.drawn for sample in drawn} == {"areas"}
    chosen = [tuple(np.unique(sample.dimensions["k"].codes[0]).tolist()) for sample in drawn]
    assert all(len(sample) == 40 for sample in drawn)
    assert len(set(chosen)) > 1


def test_a_sample_says_nothing_of_its_records():
    assert repr(read(records())) == "RecordSample(2 dimensions)"


def test_what_cannot_be_sampled_is_refused():
    with pytest.raises(DataError, match="no records"):
        read(records(60).slice(0, 0))
    with pytest.raises(RequestError, match="at least"):
        read(records(), most_records=0)
    with pytest.raises(RequestError, match="'home' is not in the data"):
        read(records(), groups=["home"])
    unknown = records().set_column(0, "id", [[None, *range(1, 60)]])
    with pytest.raises(KeyQualityError):
        read(unknown)


def test_a_copy_has_the_records_of_the_sample_and_the_codes_of_each(tmp_path):
    import pyarrow.parquet as pq

    file = tmp_path / "copy.parquet"
    found = read(records(), names=("k", "g0"), most_records=30, copy=file)
    copied, whole = pq.read_table(file), records()
    assert copied.column_names == [*whole.column_names, "ckm_code_0", "ckm_code_1", "ckm_row"]
    assert copied["ckm_row"].to_pylist() == list(range(30))
    assert copied["ckm_code_1"].to_pylist() == found.dimensions["g0"].codes[0].tolist()
    assert copied.select(whole.column_names).to_pylist() == [
        whole.slice(number, 1).to_pylist()[0] for number in copied["id"].to_pylist()
    ]
    again = read(records(), names=("k", "g0"), most_records=30)
    assert (again.record_keys == found.record_keys).all()


def test_a_copy_takes_no_column_for_its_own_that_the_data_have(tmp_path):
    taken = records().append_column("CKM_ROW", pa.array(range(60)))
    with pytest.raises(RequestError):
        read(taken, copy=tmp_path / "copy.parquet")


def test_texts_of_csv_stay_texts_in_a_copy(tmp_path):
    (tmp_path / "people.csv").write_text(
        "id,code,n\n" + "".join(f"{i},0{i % 3},{i}\n" for i in range(9))
    )
    copy = tmp_path / "copy.parquet"
    with open_source(tmp_path / "people.csv") as source:
        requests = {"code": Request(dimensions=["code"])}
        read_sample(
            source, HashedKeys(column="id", secret=SECRET), requests=requests, copy=copy
        )
        is_number = source.is_number("n")
    with open_source(copy) as source:
        assert source.is_number("n") is is_number
        assert sorted(source.fetch(f"SELECT DISTINCT code FROM {source.relation}")) == [
            ("00",),
            ("01",),
            ("02",),
        ]
