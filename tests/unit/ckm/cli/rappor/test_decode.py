"""The commands that decode: estimates, files, pages, and errors with a way out."""

import csv
import json

import numpy as np
import pytest

from ckm.cli import main
from rappor.client.simulate import simulate_counts
from rappor.counts import Counts
from rappor.decoding.candidates import Candidates
from rappor.parameters import Parameters

SHAPE = Parameters(n_bits=32, n_hashes=2, n_cohorts=8, f=0.25, p=0.25, q=0.75)
NAMES = ["Lyon", "Brest <b>", "Nice", "=1+1", "Lille"]
HELD = np.array([20_000, 9_000, 0, 0, 4_000])


@pytest.fixture
def ckm(capsys, monkeypatch):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["ckm", "rappor", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    counts = simulate_counts(NAMES, HELD, parameters=SHAPE, rng=rng)
    counts.write(tmp_path / "counts.json")
    counts.write(tmp_path / "counts.csv")
    SHAPE.write(tmp_path / "params.json")
    (tmp_path / "names.txt").write_text("".join(f"{name}\n" for name in NAMES))
    return tmp_path


def test_candidates_are_found_and_shown(ckm, folder):
    code, out, _ = ckm("decode", folder / "counts.json", "--candidates", folder / "names.txt")
    assert code == 0
    assert "3 of 5 candidates found in 33,000 reports" in out
    assert "Lyon" in out
    assert "Brest <b>" in out
    assert "Nice" not in out
    assert "dispersion" in out
    assert "strings without a name" in out


def test_every_candidate_is_written(ckm, folder):
    code, out, _ = ckm(
        "decode", folder / "counts.json", "--candidates", folder / "names.txt",
        "-o", folder / "found.csv",
    )  # fmt: skip
    assert code == 0
    assert out.endswith(f"{folder / 'found.csv'}\n")
    with (folder / "found.csv").open() as file:
        rows = {row["candidate"]: row for row in csv.DictReader(file)}
    assert set(rows) == set(NAMES)
    for name, held in zip(NAMES, HELD.tolist(), strict=True):
        assert abs(float(rows[name]["estimate"]) - held) < 5 * float(rows[name]["sd"])
        assert rows[name]["is_detected"] == str(held > 0)


def test_the_numbers_are_written_as_json(ckm, folder):
    code, _, _ = ckm(
        "decode", folder / "counts.json", "--candidates", folder / "names.txt",
        "-o", folder / "found.json", "--correction", "holm", "--alpha", 0.01,
    )  # fmt: skip
    assert code == 0
    found = json.loads((folder / "found.json").read_text())
    assert (found["correction"], found["alpha"]) == ("holm", 0.01)
    assert [c["name"] for c in found["candidates"] if c["is_detected"]] == [
        "Lyon", "Brest <b>", "Lille",
    ]  # fmt: skip


def test_files_of_google_are_decoded_alike(ckm, folder):
    Candidates.of(NAMES, parameters=SHAPE).write(folder / "map.csv")
    given = ("--params", folder / "params.json", "--candidates", folder / "map.csv")
    code, out, _ = ckm("decode", folder / "counts.csv", *given)
    assert code == 0
    other = ckm("decode", folder / "counts.json", "--candidates", folder / "names.txt")
    assert out == other[1]


@pytest.mark.parametrize(("language", "words"), [("en", "Results"), ("fr", "trouvé")])
def test_a_page_is_made(ckm, folder, language, words):
    code, out, _ = ckm(
        "report", folder / "counts.json", "--candidates", folder / "names.txt",
        "--title", "Towns", "--lang", language, "-o", folder / "page.html",
    )  # fmt: skip
    assert (code, out.strip()) == (0, str(folder / "page.html"))
    page = (folder / "page.html").read_text()
    assert f'<html lang="{language}"' in page
    assert words in page
    assert "Brest &lt;b&gt;" in page
    assert "<b>" not in page


def test_counts_that_look_wrong_are_named(ckm, folder):
    counts = Counts.read(folder / "counts.json")
    ones = counts.ones.copy()
    ones[:, 7] = 0
    Counts(n=counts.n, ones=ones, parameters=SHAPE).write(
        folder / "counts.json", overwrite=True
    )
    code, _, err = ckm("decode", folder / "counts.json", "--candidates", folder / "names.txt")
    assert code == 0
    assert "Bits set less often than noise alone sets them: 8" in err


def test_candidates_that_nobody_can_tell_apart_are_named(ckm, tmp_path):
    tiny = Parameters(n_bits=2, n_hashes=1, n_cohorts=1, f=0.0, p=0.25, q=0.75)
    Counts(n=[1_000], ones=[[600, 400]], parameters=tiny).write(tmp_path / "counts.json")
    (tmp_path / "names.txt").write_text("a\nb\nc\nd\ne\n")
    code, _, err = ckm(
        "decode", tmp_path / "counts.json", "--candidates", tmp_path / "names.txt"
    )
    assert code == 0
    assert "set the same bits: decoded as one" in err


def test_names_of_basic_rappor_are_read_in_their_order(ckm, tmp_path):
    basic = Parameters.basic(3, f=0.0, p=0.25, q=0.75)
    counts = Counts(n=[9_000], ones=[[4_500, 3_300, 3_450]], parameters=basic)
    counts.write(tmp_path / "counts.json")
    (tmp_path / "names.txt").write_text("Lyon\r\nNice\r\nBrest\r\n", newline="")
    for text, first in (("Lyon\r\nNice\r\nBrest\r\n", "Lyon"), ("0\n2\n", "0")):
        (tmp_path / "names.txt").write_text(text, newline="")
        code, out, _ = ckm(
            "decode", tmp_path / "counts.json", "--candidates", tmp_path / "names.txt"
        )
        assert code == 0
        assert f"{first} " in out
        assert "4,500" in out


def test_what_cannot_be_decoded_ends_with_a_hint(ckm, folder):
    names = ("--candidates", folder / "names.txt")
    (folder / "empty.txt").write_text("")
    (folder / "twice.txt").write_text("a\na\n")
    wrong = {
        ("decode", folder / "counts.json"): (2, "--candidates"),
        ("decode", folder / "counts.csv", *names): (3, "parameters"),
        ("decode", folder / "none.json", *names): (3, "cannot be read"),
        ("decode", folder / "counts.json", "--candidates", folder / "none.txt"): (
            3,
            "cannot be read",
        ),
        ("decode", folder / "counts.json", "--candidates", folder / "empty.txt"): (
            2,
            "no candidate",
        ),
        ("decode", folder / "counts.json", "--candidates", folder / "twice.txt"): (
            2,
            "comes twice",
        ),
        ("decode", folder / "counts.json", *names, "--alpha", 0): (2, "alpha"),
        ("decode", folder / "counts.json", *names, "-o", folder / "a.txt"): (2, "must end"),
        ("decode", folder / "counts.json", *names, "-o", folder / "no" / "a.csv"): (
            2,
            "no folder",
        ),
        ("report", folder / "counts.json", *names): (2, "output"),
        ("report", folder / "counts.json", *names, "-o", folder / "a.pdf"): (2, "must end"),
        ("decode", folder / "counts.json", *names, "-o", folder / "counts.csv"): (2, "exists"),
    }
    for arguments, (expected, words) in wrong.items():
        code, _, err = ckm(*arguments)
        assert code == expected, arguments
        assert words in err, arguments
        assert "bug" not in err
