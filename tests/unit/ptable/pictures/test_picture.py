"""A finished picture: its file, and what notebooks show of it."""

import pytest

from ptable import PTable, PTableError
from ptable.pictures import heatmap
from ptable.pictures.picture import Picture, begun, finished
from tests.drawings import texts


@pytest.fixture
def picture():
    return heatmap(PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8))


def test_a_picture_is_written_once_and_whole(picture, tmp_path, monkeypatch):
    path = tmp_path / "picture.svg"
    picture.write(path)
    assert path.read_text(encoding="utf-8") == picture.svg + "\n"
    other = Picture(svg="<svg/>", description="", table="")
    with pytest.raises(PTableError, match="exists already"):
        other.write(path)
    monkeypatch.setattr("pathlib.Path.replace", _fail)
    with pytest.raises(OSError, match="full"):
        other.write(path, overwrite=True)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == picture.svg + "\n"
    other.write(path, overwrite=True)
    assert path.read_text(encoding="utf-8") == "<svg/>\n"
    assert [file.name for file in tmp_path.iterdir()] == ["picture.svg"]


def _fail(*_rest):
    raise OSError(28, "full")


def test_a_picture_is_not_written_where_it_cannot_be(picture, tmp_path):
    (tmp_path / "folder.svg").mkdir()
    for name, words in (
        ("picture.png", "not '.png'"),
        ("none/picture.svg", "There is no folder"),
        ("folder.svg", "is a folder"),
    ):
        with pytest.raises(PTableError, match=words):
            picture.write(tmp_path / name, overwrite=True)


def test_a_name_in_capitals_is_as_good(picture, tmp_path):
    picture.write(tmp_path / "PICTURE.SVG")
    assert (tmp_path / "PICTURE.SVG").exists()


def test_notebooks_show_the_drawing_and_fold_its_data_away():
    picture = Picture(svg="<svg/>", description="", table="<table/>", data_heading="a < b")
    assert picture._repr_svg_() == "<svg/>"
    assert picture._repr_html_() == (
        "<div><svg/><details><summary>a &lt; b</summary><table/></details></div>"
    )
    assert "Data of the picture" in Picture(svg="", description="", table="")._repr_html_()
    with pytest.raises(AttributeError):
        picture.svg = ""


def test_a_drawing_is_named_after_what_it_shows_and_its_table():
    table = PTable.from_units([{0: 8}], key_range=8, label="census")
    bare = PTable.from_units([{0: 8}], key_range=8)
    assert texts(begun(table, "Noise").finish("d")) == ["Noise: census"]
    assert texts(begun(bare, "Noise").finish("d")) == ["Noise"]
    picture = finished(begun(bare, "Noise"), ["first", "second"], "What it shows.", "<table/>")
    assert texts(picture.svg) == ["Noise", "first", "second"]
    assert (picture.description, picture.table) == ("What it shows.", "<table/>")
    assert "What it shows." in picture.svg
