import json
import math

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ptable import Mechanism, NoiseSpec, PTable, PTableError, solve
from ptable.files import _checksum, is_table, read_table, write_table


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=2, variance=1.0, small=1))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_files_round_trip_with_specification_and_certificate(table, tmp_path, suffix):
    path = tmp_path / f"pt.{suffix}"
    table.write(path)
    again = PTable.read(path)
    assert again == table
    assert (again.spec, again.certificate) == (table.spec, table.certificate)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_tables_from_elsewhere_round_trip(tmp_path, suffix):
    path = tmp_path / f"pt.{suffix}"
    wide = PTable(
        noise=[[0], [1, -1, 1]],
        upper=[[2**64], [5, 2**63, 2**64]],
        key_range=2**64,
        large_counts="cycle:2",
        label="wide",
    )
    wide.write(path)
    again = PTable.read(path)
    assert again == wide
    assert (again.label, again.spec) == ("wide", None)


TEXT = """{
 "format": "ptable",
 "version": 1,
 "id": "%s",
 "key_range": 8,
 "large_counts": "last",
 "label": "é",
 "spec": null,
 "certificate": null,%s
 "checksum": "%s",
 "rows": [
  {
   "count": 0,
   "noise": [
    0
   ],
   "upper": [
    8
   ]
  },
  {
   "count": %d,
   "noise": [
    -1,
    1
   ],
   "upper": [
    4,
    8
   ]
  }
 ]
}
"""


SEALS = [
    (
        "d2c546c3003d4d1a60532b0e67e73ce9d4fcc18d31e5d9ca57fb2b3464f3e75b",
        "e816c615555449bb99baa80e28bc171ec07ffda4fb6720128a2f74f4d6add48a",
    ),
    (
        "938616aa366286ffd2cc831f66ce1090eb7bf763ec1f6c11ecd44d6b14afc13a",
        "4d9269daf71620e617ec743a994bffb58b624a49718ecbd735cfe0fc181ac8b7",
    ),
]


def test_the_text_of_a_file_never_changes(tmp_path):
    rows = {"noise": [[0], [-1, 1]], "upper": [[8], [4, 8]], "key_range": 8, "label": "é"}
    path = tmp_path / "pt.json"
    for settings, lines, count, (table_id, checksum) in (
        ({}, "", 1, SEALS[0]),
        (
            {"step": 2, "anchors": (0, 5)},
            '\n "step": 2,\n "anchors": [\n  0,\n  5\n ],',
            5,
            SEALS[1],
        ),
    ):
        write_table(PTable(**rows, **settings), path, overwrite=True)
        text = path.read_text(encoding="utf-8")
        assert text == (TEXT % (table_id, lines, checksum, count)).replace("é", "\\u00e9")
        assert read_table(path).label == "é"


def test_the_columns_of_a_parquet_file_are_intervals_of_whole_keys(tmp_path):
    path = tmp_path / "pt.parquet"
    table = PTable(noise=[[0], [-1, 1]], upper=[[8], [3, 8]], key_range=8, anchors=(0, 5))
    write_table(table, path, overwrite=False)
    content = pq.read_table(path)
    assert content.to_pydict() == {
        "i": [0, 5, 5],
        "v": [0, -1, 1],
        "first_key": [0, 0, 3],
        "last_key": [7, 2, 7],
    }
    assert [field.type for field in content.schema] == [
        *(pa.int64(), pa.int64(), pa.uint64(), pa.uint64())
    ]
    head = json.loads(content.schema.metadata[b"ptable"])
    assert (head["format"], head["version"], head["anchors"]) == ("ptable", 1, [0, 5])


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("settings", [{"anchors": (0, 5)}, {"step": 3}, {}], ids=str)
def test_tables_for_magnitudes_keep_their_steps_and_anchors(tmp_path, suffix, settings):
    path = tmp_path / f"pt.{suffix}"
    rows = {"noise": [[0], [-1, 1]], "upper": [[8], [3, 8]], "key_range": 8}
    table = PTable(**rows, **settings)
    write_table(table, path, overwrite=False)
    again = read_table(path)
    assert again == table
    assert (again.step, again.anchors) == (table.step, table.anchors)


@pytest.mark.parametrize("name", ["pt.JSON", "pt.Parquet"])
def test_names_may_be_in_capitals(tmp_path, name):
    table = PTable(noise=[[0]], upper=[[8]], key_range=8)
    write_table(table, tmp_path / name, overwrite=False)
    assert read_table(tmp_path / name) == table


def test_other_names_are_refused_before_they_are_read(tmp_path):
    (tmp_path / "pt.rds").write_text("x")
    with pytest.raises(PTableError, match=r"read from \.parquet or \.json, not '\.rds'"):
        read_table(tmp_path / "pt.rds")
    with pytest.raises(PTableError, match="There is no file"):
        read_table(tmp_path / "pt.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(PTableError, match="There is no file"):
        read_table(tmp_path / "folder.json")


def test_a_file_is_replaced_only_when_told_so(table, tmp_path):
    path = tmp_path / "pt.json"
    table.write(path)
    with pytest.raises(PTableError, match=r"'pt\.json' exists already"):
        table.write(path)
    table.write(path, overwrite=True)


def test_a_failed_write_leaves_nothing_behind(table, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError

    monkeypatch.setattr(json, "dumps", fail)
    with pytest.raises(OSError):  # noqa: PT011 - the failure planted above
        table.with_proof(None, None).write(tmp_path / "pt.json")
    assert list(tmp_path.iterdir()) == []


def test_other_file_types_and_folders_are_refused(table, tmp_path):
    with pytest.raises(PTableError, match=r"\.parquet or \.json"):
        table.write(tmp_path / "pt.pkl")
    with pytest.raises(PTableError, match="no folder"):
        table.write(tmp_path / "missing" / "pt.json")
    (tmp_path / "pt.pkl").write_text("x")
    with pytest.raises(PTableError, match="in no layout that is known"):
        PTable.read(tmp_path / "pt.pkl")


def _edit_json(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["rows"][1]["upper"].__setitem__(0, 5), "thresholds in 'pt.json'"),
        (lambda c: c["rows"][1]["upper"].__setitem__(-1, 5), "must end at 4294967296"),
        (lambda c: c["rows"][1]["noise"].__setitem__(0, -2), "published as -1"),
        (lambda c: c["rows"].pop(), "thresholds in 'pt.json'"),
        (lambda c: c["rows"].pop(0), "no p-table, or it is damaged"),
        (lambda c: c["spec"].__setitem__("variance", 1.1), "specification, certificate"),
        (lambda c: c["certificate"]["rows"][0].__setitem__("bias", 1), "certificate"),
        (lambda c: c.__setitem__("label", "other"), "was changed"),
        (lambda c: c.__setitem__("version", 2), "format version 2"),
        (lambda c: c.__setitem__("format", "other"), "no p-table"),
        (lambda c: c.pop("rows"), "no p-table"),
        (lambda c: c.pop("key_range"), "was changed"),
    ],
)
def test_a_changed_json_file_is_refused(table, tmp_path, change, words):
    path = tmp_path / "pt.json"
    table.write(path)
    _edit_json(path, change)
    with pytest.raises(PTableError, match=words):
        PTable.read(path)


def test_a_file_with_a_consistent_but_wrong_story_is_refused(table, tmp_path):
    other = solve(NoiseSpec(max_noise=2, variance=1.1, small=1))
    path = tmp_path / "pt.json"
    table.with_proof(other.spec, other.certificate).write(path)
    with pytest.raises(PTableError, match="certificate does not fit"):
        PTable.read(path)


@pytest.mark.parametrize("column", ["v", "first_key", "last_key", "i"])
def test_a_changed_parquet_file_is_refused(table, tmp_path, column):
    path = tmp_path / "pt.parquet"
    table.write(path)
    content = pq.read_table(path)
    numbers = content[column].to_pylist()
    numbers[2] += 1
    place = content.schema.get_field_index(column)
    field = content.schema.field(place)
    changed = content.set_column(place, field, pa.array(numbers, field.type))
    pq.write_table(changed.replace_schema_metadata(content.schema.metadata), path)
    with pytest.raises(PTableError, match=r"pt\.parquet|p-table"):
        PTable.read(path)


def test_damaged_and_foreign_files_are_refused(table, tmp_path):
    path = tmp_path / "pt.parquet"
    table.write(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(PTableError, match="damaged"):
        PTable.read(path)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "foreign.parquet")
    with pytest.raises(PTableError, match="no p-table"):
        PTable.read(tmp_path / "foreign.parquet")
    (tmp_path / "foreign.json").write_text("[1, 2]")
    with pytest.raises(PTableError, match="no p-table"):
        PTable.read(tmp_path / "foreign.json")
    (tmp_path / "foreign.json").write_text("{")
    with pytest.raises(PTableError, match="no p-table"):
        PTable.read(tmp_path / "foreign.json")


def test_the_layout_of_r_ptable_is_read(tmp_path):
    lines = [
        "i,j,p,v,p_int_lb,p_int_ub,type",
        "0,0,1,0,0,1,all",
        "1,0,.5,-1,0,.5,all",
        "1,2,.5,1,.5,1,all",
    ]
    (tmp_path / "r.csv").write_text("\n".join(lines))
    assert PTable.read(tmp_path / "r.csv").units(1) == {-1: 5, 1: 5}


@pytest.fixture
def forge(table, tmp_path):
    """Give a function that changes a stored table, seals it again and reads it."""

    def forged(change):
        path = tmp_path / "forged.json"
        table.write(path, overwrite=True)
        content = json.loads(path.read_text())
        change(content)
        rows = content.pop("rows")
        content["checksum"] = _checksum(content)
        path.write_text(json.dumps({**content, "rows": rows}))
        return PTable.read(path)

    return forged


def test_a_sealed_but_unchanged_table_is_read(forge, table):
    assert forge(lambda _: None) == table


@pytest.mark.parametrize("change", [lambda row: row.pop("bias"), lambda row: row.update(new=1)])
def test_a_certificate_in_the_form_of_another_version_is_proved_anew(forge, table, change):
    again = forge(lambda content: list(map(change, content["certificate"]["rows"])))
    assert again == table
    assert again.certificate.rows == table.certificate.rows


def test_the_order_of_fields_is_no_part_of_a_file(table, tmp_path):
    path = tmp_path / "pt.json"
    table.write(path)
    content = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(content.items()))))
    assert PTable.read(path) == table


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "has format version 2; this program reads 1"),
        ({"version": None}, "has format version None"),
        ({"format": "other"}, "is no p-table, or it is damaged"),
        ({"id": "0"}, "The thresholds in 'forged.json' were changed"),
        ({"key_range": None}, "key_range must be an integer"),
        ({"anchors": [0, 1, 2, 3, 9]}, "is no p-table, or it is damaged"),
        ({"step": 2}, "The thresholds in 'forged.json' were changed"),
        ({"certificate": 5}, "certificate|no p-table"),
    ],
)
def test_a_sealed_file_of_another_kind_is_refused(forge, change, words):
    with pytest.raises(PTableError, match=words):
        forge(lambda content: content.update(change))


def test_a_sealed_file_without_a_field_is_refused(forge):
    for field in ("key_range", "large_counts", "label", "spec", "certificate", "id"):
        with pytest.raises(PTableError, match=r"is no p-table|thresholds in"):
            forge(lambda content, field=field: content.pop(field))


@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("multipliers", ["a", "b"]),
        ("multipliers", [None, None]),
        ("multipliers", [[1], [2]]),
        ("multipliers", [10**400, 1]),
        ("multipliers", [1.0]),
        ("multipliers", [1e308, 1e308]),
        ("peak", -1),
        ("peak", True),
        ("place", math.nan),
        ("note", math.inf),
        ("note", ["x"]),
        ("bias", False),
        ("count", 10**400),
        ("entropy", math.nan),
    ],
)
def test_a_forged_figure_of_a_certificate_is_noticed(forge, field, lie):
    def change(content):
        content["certificate"]["rows"][1][field] = lie

    with pytest.raises(PTableError, match="certificate") as caught:
        forge(change)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("field", "lie"),
    [
        ("solver", []),
        ("solver", "x"),
        ("solver", {"a": [1]}),
        ("solver", {"\x1b[31m": "1"}),
    ],
)
def test_a_certificate_without_programs_is_refused(forge, field, lie):
    with pytest.raises(PTableError, match=r"programs|no p-table"):
        forge(lambda content: content["certificate"].update({field: lie}))


@pytest.mark.parametrize(
    "spec",
    [
        {"max_noise": 100_000, "variance": 1.0},
        {"max_noise": 2, "variance": 1.0, "small": 10**9},
        {"max_noise": 2, "variance": 10**400},
        {"max_noise": 1000, "variance": 30.0},
        "x",
    ],
)
def test_a_forged_specification_is_refused_before_anything_is_solved(forge, spec, monkeypatch):
    monkeypatch.setattr("ptable.proof.certificate.resolve", None)  # would take minutes
    with pytest.raises(PTableError):
        forge(lambda content: content.update(spec=spec))


@pytest.mark.parametrize("field", ["label", "large_counts"])
@pytest.mark.parametrize("lie", [None, 5, [], {}, math.nan])
def test_a_setting_of_another_kind_is_refused(forge, field, lie):
    with pytest.raises(PTableError):
        forge(lambda content: content.update({field: lie}))


@pytest.mark.parametrize("head", [b"[1]", b"5", b"null", b'"x"'])
def test_parquet_metadata_that_is_no_mapping_is_refused(table, tmp_path, head):
    path = tmp_path / "pt.parquet"
    table.write(path)
    content = pq.read_table(path).replace_schema_metadata({b"ptable": head})
    pq.write_table(content, path)
    with pytest.raises(PTableError, match="is no p-table"):
        PTable.read(path)


def test_a_huge_count_in_parquet_takes_no_memory(table, tmp_path):
    path = tmp_path / "pt.parquet"
    table.write(path)
    content = pq.read_table(path)
    counts = pa.array([*content["i"].to_pylist()[:-1], 10**12])
    pq.write_table(content.set_column(0, "i", counts), path)
    with pytest.raises(PTableError, match="is no p-table"):
        PTable.read(path)


@pytest.mark.parametrize("gap", [1, -1])
def test_intervals_that_do_not_follow_each_other_are_refused_in_parquet(table, tmp_path, gap):
    path = tmp_path / "pt.parquet"
    table.with_proof(None, None).write(path)
    content = pq.read_table(path)
    firsts = content["first_key"].to_pylist()
    firsts[2] += gap
    changed = content.set_column(2, "first_key", pa.array(firsts, pa.uint64()))
    pq.write_table(changed, path)
    with pytest.raises(PTableError, match="is no p-table, or it is damaged"):
        PTable.read(path)


def test_messages_name_a_file_without_its_folder(table, tmp_path):
    path = tmp_path / "pt.json"
    table.write(path)
    path.write_text("{}")
    with pytest.raises(PTableError) as caught:
        PTable.read(path)
    assert "'pt.json'" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


# --- what built the table --------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_a_file_keeps_what_built_the_table(suffix, tmp_path):
    for mechanism in (
        Mechanism.rounding(10, ties="even"),
        Mechanism.random_rounding(3),
        Mechanism.discrete_laplace(0.3, max_noise=6, edge="truncate", zeros="keep"),
        Mechanism.discrete_gaussian(4.0, max_noise=8, edge="fold"),
    ):
        table = mechanism.build()
        table.write(tmp_path / f"pt{suffix}", overwrite=True)
        again = PTable.read(tmp_path / f"pt{suffix}")
        assert again == table
        assert again.spec == mechanism
        assert again.certificate is None


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"kind": "mechanism", "name": "random-rounding", "base": 3}},
        {"spec": {"kind": "mechanism", "name": "rounding", "base": 5, "threshold": 1}},
        {
            "certificate": {
                "rows": [],
                "variance_rule": "exact",
                "solver": {},
            }
        },
    ],
)
def test_a_file_whose_mechanism_builds_another_table_is_refused(change, tmp_path):
    file = tmp_path / "pt.json"
    Mechanism.rounding(5).build().write(file)
    content = json.loads(file.read_text())
    rows = content.pop("rows")
    content |= change
    content["checksum"] = _checksum(content)
    file.write_text(json.dumps({**content, "rows": rows}))
    with pytest.raises(PTableError, match=r"The p-table is not what .* builds"):
        PTable.read(file)


def test_a_file_says_whether_it_is_a_p_table_even_where_it_is_damaged(tmp_path):
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    for suffix in (".json", ".parquet"):
        table.write(tmp_path / f"pt{suffix}")
        assert is_table(tmp_path / f"pt{suffix}")
        (tmp_path / f"other{suffix}").write_text("{}")
        assert not is_table(tmp_path / f"other{suffix}")
    damaged = tmp_path / "pt.json"
    damaged.write_text(damaged.read_text().replace('"key_range": 4294967296', '"key_range": 9'))
    assert is_table(damaged)
    assert not is_table(tmp_path / "absent.json")
    assert not is_table(tmp_path / "pt.csv")
