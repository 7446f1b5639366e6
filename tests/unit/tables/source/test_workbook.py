import datetime as dt
import re
import zipfile

import openpyxl
import pytest

from tables import (
    DataWarning,
    HashedKeys,
    ReadOptions,
    Request,
    RequestError,
    Secret,
    SourceError,
    cube,
    open_source,
)
from tables.errors import TablesError

pytestmark = pytest.mark.filterwarnings("ignore::tables.DataWarning")
HEAD = ["id", "code"]


def book(path, rows, *, more=()):
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in rows:
        sheet.append(row)
    for name, cells in more:
        other = workbook.create_sheet(name)
        for row in cells:
            other.append(row)
    workbook.save(path)
    return str(path)


def rows_of(path, **options):
    with open_source(path, **options) as source:
        source.fetch("SET preserve_insertion_order=true")
        return source.fetch(f"SELECT * FROM {source.records}"), dict(source.columns)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.xlsx"


def test_cells_keep_their_kind(path):
    day, moment, time = dt.date(2020, 2, 29), dt.datetime(2020, 1, 1, 12, 30), dt.time(3, 4)  # noqa: DTZ001
    head = ["n", "code", "x", "yes", "day", "moment", "time", "none", "long"]
    rows, columns = rows_of(
        book(
            path,
            [
                head,
                [1, "01", 0.1, True, day, moment, time, None, dt.timedelta(hours=30)],
                [2, "1E2", None, False, None, moment, dt.time(23, 59), None, None],
            ],
        )
    )
    assert rows == [
        (1, "01", 0.1, True, day, moment, time, None, 108_000),
        (2, "1E2", None, False, None, moment, dt.time(23, 59), None, None),
    ]
    assert columns == {
        "n": "BIGINT",
        "code": "VARCHAR",
        "x": "DOUBLE",
        "yes": "BOOLEAN",
        "day": "DATE",
        "moment": "TIMESTAMP",
        "time": "TIME",
        "none": "VARCHAR",
        "long": "BIGINT",
    }


def test_empty_rows_and_columns_are_no_records(path):
    rows = [[], [], [None, "id", None, "code"], [None, 1, None, "a"], [], [None, 2, None, None]]
    workbook = openpyxl.Workbook()
    for place, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            workbook.active.cell(place, column, value)
    workbook.active.row_dimensions[4].hidden = True
    workbook.save(path)
    assert rows_of(str(path))[0] == [(1, "a"), (2, None)]


@pytest.mark.parametrize(
    ("first", "second", "kinds"),
    [
        ("01", 2, "numbers beside texts"),
        (1, dt.date(2020, 1, 1), "dates beside numbers"),
        (True, 2.5, "numbers beside true or false"),
        (dt.date(2020, 1, 1), "2020", "dates beside texts"),
        (dt.date(2020, 1, 1), dt.time(1, 2), "dates beside times"),
    ],
)
def test_a_column_of_mixed_cells_is_refused_when_it_is_used(path, first, second, kinds):
    rows = [["id", "mixed"], [1, first], *([n, first] for n in range(2, 50)), [50, second]]
    with open_source(book(path, rows)) as source:
        assert list(source.columns) == ["id"]
        assert source.fetch(f"SELECT count(*), sum(id) FROM {source.relation}") == [(50, 1275)]
        with pytest.raises(RequestError, match=rf"'mixed' .* several kinds: {kinds}") as caught:
            source.require("mixed")
    assert caught.value.hint == 'types = { mixed = "text" }, or give it cells of one kind'


def test_a_sheet_of_which_no_column_can_be_read_is_refused(path):
    with pytest.raises(SourceError, match=r"'a' of 'people\.xlsx' holds cells of several"):
        rows_of(book(path, [["a", "b"], [1, "x"], ["y", 2]]))


def test_many_columns_of_mixed_cells_are_told_as_what_they_are(path):
    names = [f"c{n}" for n in range(25)]
    with pytest.raises(SourceError, match="More than 20 columns of"):
        rows_of(book(path, [names, [1] * 25, ["a"] * 25]))


def test_error_cells_are_refused_with_their_column_when_it_is_used(path):
    rows = [["id", "x", "y"], [1, "#N/A", 1], [2, "#REF!", 2], [3, 1.5, "#DIV/0!"]]
    with open_source(book(path, rows)) as source:
        assert source.fetch(f"SELECT count(*), sum(id) FROM {source.relation}") == [(3, 6)]
        assert source.problem_of("x")[0].endswith("holds cells with errors: #N/A, #REF!.")
        assert source.problem_of("y")[0].endswith("holds cells with errors: #DIV/0!.")


def test_a_row_of_an_error_alone_is_a_record(path):
    rows = [["id", "x"], [1, 2], [None, None], [None, "#N/A"], [3, 4]]
    assert rows_of(book(path, rows))[0] == [(1,), (None,), (3,)]


def test_columns_that_are_not_read_need_names_too(path):
    with pytest.raises(SourceError, match=r"Column B of .* has cells, and no name"):
        rows_of(book(path, [["id", None], [1, "#N/A"]]))


def test_formulas_that_nobody_computed_are_refused_when_they_are_used(path):
    with open_source(book(path, [["id", "double"], [1, "=A2*2"]])) as source:
        assert source.fetch(f"SELECT * FROM {source.relation}") == [(1,)]
        assert (
            "'double' of 'people.xlsx' holds formulas without" in source.problem_of("double")[0]
        )


def test_a_column_that_one_of_several_workbooks_mixes_is_refused_of_all(tmp_path):
    files = [
        book(tmp_path / "a.xlsx", [HEAD, [1, "x"]]),
        book(tmp_path / "b.xlsx", [HEAD, [2, "x"], [3, 5]]),
    ]
    for order in (files, files[::-1]):
        with open_source(order) as source:
            assert source.fetch(f"SELECT sum(id) FROM {source.relation}") == [(6,)]
            assert "'code' of 'b.xlsx' holds cells of several" in source.problem_of("code")[0]


def test_a_table_by_other_columns_does_not_mind_a_column_of_mixed_cells(path):
    rows = [["id", "sex", "mixed"], *([n, "FM"[n % 2], n if n % 3 else "x"] for n in range(90))]
    with open_source(book(path, rows)) as source:
        keys = HashedKeys(column="id", secret=Secret(bytes(16)))
        (cells,) = cube(source, keys, [Request(dimensions=["sex"])])
        assert sorted(cells.count) == [45, 45, 90]
        for wish in ({"dimensions": ["mixed"]}, {"dimensions": [], "where": "mixed = 'x'"}):
            with pytest.raises(TablesError, match="cells of several kinds"):
                cube(source, keys, [Request(**wish)])


def test_formulas_have_the_results_that_were_saved(path):
    book(path, [["id", "double"], [1, "=A2*2"]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = re.sub(rb"<v\s*/>|<v></v>", b"<v>2</v>", parts[sheet])
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert rows_of(str(path))[0] == [(1, 2)]


def test_of_several_sheets_one_is_named(path):
    book(path, [HEAD, [1, "a"]], more=[("Empty", []), ("Notes", [HEAD, [2, "b"]])])
    with pytest.raises(SourceError, match="2 sheets") as caught:
        rows_of(str(path))
    assert "'Sheet', 'Notes'" in str(caught.value)
    assert rows_of(str(path), table="Notes")[0] == [(2, "b")]
    with pytest.raises(SourceError, match="'Note'") as caught:
        rows_of(str(path), table="Note")
    assert "did you mean 'Notes'" in str(caught.value)
    with pytest.raises(SourceError, match=r"'Empty' of 'people\.xlsx' is empty"):
        rows_of(str(path), table="Empty")


def test_empty_sheets_beside_the_records_need_no_name(path):
    book(path, [HEAD, [1, "a"]], more=[("Empty", [])])
    assert rows_of(str(path))[0] == [(1, "a")]


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        (["id", None], "Column B of 'people.xlsx' has cells, and no name"),
        (["id", "  "], "Column B of 'people.xlsx' has cells, and no name"),
        (["id", "id"], "two columns called 'id'"),
        (["id", "ID"], "differ in upper and lower case alone"),
    ],
)
def test_names_are_there_and_differ(path, head, problem):
    with pytest.raises(SourceError, match=problem):
        rows_of(book(path, [head, [1, 2]]))


def test_numbers_can_be_names(path):
    assert rows_of(book(path, [[2020, "id"], [1, 2]]))[1] == {"2020": "BIGINT", "id": "BIGINT"}


def test_a_sheet_of_names_alone_has_no_records(path):
    assert rows_of(book(path, [HEAD])) == ([], {"id": "VARCHAR", "code": "VARCHAR"})


def test_a_workbook_without_a_row_is_refused(path):
    with pytest.raises(SourceError, match="is empty: none of its sheets has a row"):
        rows_of(book(path, []))


def test_what_a_spreadsheet_may_have_changed_is_said_once(path):
    rows = [[n, "ab"[n % 2], 10.1 + n % 3, n * 7.3, 123456789012345678 + n] for n in range(9)]
    book(path, [["id", "text", "nace", "turnover", "n"], *rows])
    with pytest.warns(DataWarning, match="01 and 1E2 into 1 and 100") as caught:
        rows_of(str(path))
    (warning,) = caught
    assert "no texts: 'nace', 'n'." in str(warning.message)
    assert "15 digits: look at 'n'." in str(warning.message)


def test_a_sheet_of_texts_has_nothing_to_say(path, recwarn):
    rows_of(book(path, [HEAD, ["1", "01"]]))
    assert not recwarn.list


def test_a_workbook_with_a_password_is_named(path):
    path.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(2000)
        + "EncryptedPackage".encode("utf-16-le")
    )
    with pytest.raises(SourceError, match="protected by a password"):
        rows_of(str(path))


@pytest.mark.parametrize("size", [100, 1500, -50])
def test_a_damaged_workbook_is_refused(path, size):
    book(path, [HEAD, *([n, "secret"] for n in range(200))])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(SourceError, match=r"damaged|protected") as caught:
        rows_of(str(path))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["people.xlsx", "people.xls", "people.ods"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [("id;code\n1;01\n", "is a text"), ("\ufeff <html><table>", "is a page of HTML")],
)
def test_texts_called_workbooks_are_named(tmp_path, name, content, kind):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match=kind):
        rows_of(str(tmp_path / name))


def test_a_column_that_is_declared_as_text_may_mix_its_cells(path):
    book(path, [["id", "code"], [1, "01"], [2, 2], [3, 0.5], [4, None]])
    with open_source(str(path), options=ReadOptions(types={"code": "text"})) as source:
        rows = source.fetch(f"SELECT * FROM {source.records} ORDER BY id")
    assert rows == [(1, "01"), (2, "2"), (3, "0.5"), (4, None)]
    with pytest.raises(RequestError, match="'cod'"):
        rows_of(str(path), options=ReadOptions(types={"cod": "text"}))
    with pytest.raises(RequestError, match="declared for CSV"):
        rows_of(str(path), options=ReadOptions(types={"code": "decimal"}))
