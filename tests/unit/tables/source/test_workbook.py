import datetime as dt
import re
import zipfile

import openpyxl
import pytest

from tables import DataWarning, ReadOptions, RequestError, SourceError, open_source

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
def test_columns_of_mixed_cells_are_named(path, first, second, kinds):
    rows = [["id", "mixed"], [1, first], *([n, first] for n in range(2, 50)), [50, second]]
    with pytest.raises(SourceError, match=rf"'mixed' \({kinds}\)") as caught:
        rows_of(book(path, rows))
    assert "'id'" not in str(caught.value)


def test_all_mixed_columns_are_named_at_once(path):
    with pytest.raises(SourceError, match=r"'a' \(.*\), 'b' \("):
        rows_of(book(path, [["a", "b"], [1, "x"], ["y", 2]]))


def test_error_cells_are_named_with_their_column(path):
    rows = [["id", "x", "y"], [1, "#N/A", 1], [2, "#REF!", 2], [3, 1.5, "#DIV/0!"]]
    with pytest.raises(SourceError, match=r"'x' \(#N/A, #REF!\), 'y' \(#DIV/0!\)"):
        rows_of(book(path, rows))


def test_formulas_that_nobody_computed_are_named(path):
    with pytest.raises(SourceError, match="formulas without results: 'double'"):
        rows_of(book(path, [["id", "double"], [1, "=A2*2"]]))


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


def test_an_empty_workbook_is_refused(path):
    with pytest.raises(SourceError, match="is empty"):
        rows_of(book(path, []))


def test_what_a_spreadsheet_may_have_changed_is_said_once(path):
    book(path, [["id", "code", "n"], [1, "a", 5], [2, "b", 123456789012345678]])
    with pytest.warns(DataWarning, match="01 and 1E2 into 1 and 100") as caught:
        rows_of(str(path))
    (warning,) = caught
    assert "no texts: 'id', 'n'." in str(warning.message)
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
