"""``ckm docs``: the pages from an archive, and nothing but pages."""

import json
import runpy
import webbrowser
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckm.cli import app
from footing.version import engine_version

ROOT = Path(__file__).resolve().parents[4]
PACK = runpy.run_path(str(ROOT / "docs" / "archive.py"))["pack"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKM_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def opened(monkeypatch):
    pages = []
    monkeypatch.setattr(webbrowser, "open", pages.append)
    return pages


def run(*arguments):
    return CliRunner().invoke(app, ["docs", *map(str, arguments)])


def packed(folder):
    site = folder / "site"
    (site / "fr").mkdir(parents=True)
    (site / "index.html").write_text("Pages", encoding="utf-8")
    (site / "fr" / "index.html").write_text("Pages en français", encoding="utf-8")
    (site / ".doctrees").mkdir()
    (site / ".doctrees" / "index.doctree").write_text("of Sphinx", encoding="utf-8")
    return PACK(site, folder / "dist")


def test_the_pages_open_from_an_archive_and_then_without_it(folder, opened):
    archive = packed(folder)
    done = run(archive)
    page = Path(done.stdout.strip())
    assert (done.exit_code, page.read_text(encoding="utf-8")) == (0, "Pages")
    assert not [*page.parent.rglob("*.doctree")]
    archive.unlink()
    again = run("--lang", "fr")
    french = Path(again.stdout.strip())
    assert french.read_text(encoding="utf-8") == "Pages en français"
    assert opened == [page.as_uri(), french.as_uri()]
    assert again.stderr == ""


def test_an_archive_in_dist_is_found_and_the_same_pages_give_the_same_bytes(folder, opened):
    archive = packed(folder)
    first = archive.read_bytes()
    assert PACK(folder / "site", folder / "dist").read_bytes() == first
    assert archive.name == f"ckm-engine-docs-{engine_version()}.zip"
    assert run("--no-browser").exit_code == 0
    assert opened == []


def test_pages_of_another_version_open_with_a_warning(folder, opened):
    archive = folder / "ckm-engine-docs-0.0.1.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("ckm-docs.json", json.dumps({"version": "0.0.1"}))
        file.writestr("index.html", "Old pages")
    done = run()
    assert done.exit_code == 0
    assert "of version 0.0.1" in done.stderr
    assert len(opened) == 1


def test_without_pages_it_is_told_where_they_are_to_be_had(folder):
    done = run()
    assert done.exit_code == 2
    told = " ".join(done.stderr.split())
    assert f"ckm-engine-docs-{engine_version()}.zip" in told
    assert "make docs-archive" in told
    french = " ".join(run("--lang", "fr").stderr.split())
    assert "ne sont pas sur cette machine" in french


@pytest.mark.parametrize(
    "name", ["../outside.html", "/tmp/outside.html", "a\\..\\b.html", "C:outside.html", "link"]
)
def test_an_archive_that_would_write_elsewhere_is_refused(folder, name):
    with zipfile.ZipFile(folder / "bad.zip", "w") as file:
        file.writestr("ckm-docs.json", json.dumps({"version": engine_version()}))
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (0o120777 if name == "link" else 0o100644) << 16
        file.writestr(entry, "/etc/passwd")
    done = run("bad.zip")
    assert done.exit_code == 2
    assert "no archive of the pages" in done.stderr
    assert not (folder / "cache").exists() or not [*(folder / "cache").rglob("*outside*")]


def test_a_file_that_is_no_archive_is_refused(folder):
    (folder / "people.csv").write_text("a,b\n1,2\n")
    for name in ("people.csv", "nowhere.zip"):
        done = run(name)
        assert done.exit_code == 2
        assert "no archive of the pages" in done.stderr
