"""Where small counts are found, and the page that says so."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from ckm.audit.audit import open_space
from ckm.audit.breakdown import _interval, growth_of, parts_of
from ckm.cli import app
from ckm.config.service.service import read_service
from reports import make_report
from risk.reconstruction.lattice import Found
from tests.reports import facts as made
from tests.unit.ckm.service.answering.test_ledger_recorder import JOB
from tests.unit.ckm.service.conftest import write_service

RULES = "[rules]\nmaximum_variables = 2\nsparsity_a = false\nsparsity_b = false\n"
LEDGER = '[ledger]\npath = "ledger.db"\nofficial = ["job.toml"]\n'
LOOSE = RULES + "mean_cell_size = false\n"


@pytest.fixture(scope="module")
def service_file(tmp_path_factory):
    return write_service(tmp_path_factory.mktemp("audited"), more=LOOSE, persons=1500)


@pytest.fixture(scope="module")
def opened(service_file):
    space, auditor = open_space(read_service(service_file), small=3)
    return space, auditor, auditor.attacked(space)[1]


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "json"}).invoke(app, [str(arg) for arg in args])


def numbers(part):
    return part.n_cells, part.n_small, part.alone, part.together


# --- where it happens ------------------------------------------------------------------


@pytest.mark.slow
def test_areas_tables_and_variables_are_those_of_the_cells(opened, monkeypatch):
    """Cell by cell: each is looked up in its table, and its area by its finest areas."""
    monkeypatch.setattr("ckm.audit.breakdown._WORST", 10**6)
    space, _, attacked = opened
    found = parts_of(space, attacked)
    truth = space.truth()
    axis = space.area.axis
    of_area = {code: [0, 0, 0, 0] for code in space.area.codes}
    groups = space.lattice.groups[axis]
    for one in attacked:
        level = one.table[axis]
        places = {int(place): n for n, place in enumerate(one.places)}
        assert {int(c) for c in truth[one.table].ravel()[one.places]} <= {1, 2, 3}
        if level == len(groups) - 1:
            continue
        for flat, at in enumerate(np.ndindex(*truth[one.table].shape)):
            if space.shown[one.table].is_shown[at]:
                finest = int(np.flatnonzero(groups[level] == at[axis])[0])
                mine = of_area[space.area.codes[groups[-2][finest]]]
                mine[0] += 1
                if flat in places:
                    mine[1] += 1
                    mine[2] += int(one.is_found_alone[places[flat]])
                    mine[3] += int(one.is_found_together[places[flat]])
    assert {one.name: [*numbers(one)] for one in found["areas"]} == {
        code: of for code, of in of_area.items() if of[3]
    }
    assert len(found["areas"]) > 3
    sums = {one.name: numbers(one)[1:] for one in found["tables"]}
    for one in attacked:
        used = space.used(one.table)
        if one.together.right and set(used) == {axis}:
            level = space.level_names[axis][used[axis]]
            ours = (one.alone.n_small, one.alone.right, one.together.right)
            assert sums[f"geo ({level})"] == ours
    sex = next(one for one in found["variables"] if one.name == "sex")
    by_sex = [one for one in attacked if space.variables.index("sex") in space.used(one.table)]
    assert (sex.n_tables, sex.together) == (
        len(by_sex),
        sum(one.together.right for one in by_sex),
    )
    assert [one.together for one in found["areas"]] == sorted(
        (one.together for one in found["areas"]), reverse=True
    )


def test_an_area_of_a_sample_keeps_its_name_and_its_cells(opened, service_file, monkeypatch):
    monkeypatch.setattr("ckm.audit.breakdown._worst", tuple)
    space, _, attacked = opened
    whole = {one.name: one for one in parts_of(space, attacked)["areas"]}
    some, other = open_space(read_service(service_file), small=3, areas=2, seed=1)
    drawn = parts_of(some, other.attacked(some)[1])["areas"]
    assert [one.name for one in drawn] == list(parts_of(some, ())["drawn"])
    assert len(drawn) == 2
    assert parts_of(space, ())["drawn"] == ()
    for one in drawn:
        assert numbers(one)[:2] == numbers(whole[one.name])[:2]


def test_at_most_ten_are_listed_and_none_where_nothing_is_found(opened):
    space, _, attacked = opened
    found = parts_of(space, attacked)
    assert max(len(found["areas"]), len(found["tables"])) <= 10
    assert all(one.together for one in (*found["areas"], *found["tables"]))


# --- more and more tables --------------------------------------------------------------


@pytest.mark.slow
def test_the_last_point_is_the_audit_and_each_other_an_attack_of_some_tables(
    opened, monkeypatch
):
    monkeypatch.setattr("ckm.audit.breakdown._POINTS", 3)
    space, auditor, attacked = opened
    growth = growth_of(space, auditor, attacked, seed=2)
    points, found = growth.points, [one.together for one in attacked]
    assert points[-1].found == sum(one.right for one in found)
    largest = {table for table, of in space.parents.items() if of == {table}}
    assert [one.n_tables for one in points][::2] == [1, len(largest)]
    assert points[0].found < points[1].found < points[2].found
    first = [one.n_tables for one in points if one.found_first is not None]
    assert first[0] == growth.n_first
    small = sum(one.n_small for one in found)
    assert small / 4 <= growth.n_small_first <= small
    assert all((one.found_first or 0) <= one.found for one in points)
    assert growth != growth_of(space, auditor, attacked, seed=3)


def test_no_picture_is_drawn_of_few_tables_or_of_no_small_counts(opened):
    space, auditor, attacked = opened
    one = space.restricted(lambda used: used == {space.variables.index("sex"): 0})
    assert growth_of(one, auditor, auditor.attacked(one)[1], seed=0) is None
    none = Found(n_small=0, guessed=0, right=0, sure=0, sure_wrong=0)
    nothing = [replace(one, together=none) for one in attacked]
    assert growth_of(space, auditor, nothing, seed=0) is None


# --- the page --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_and_its_figures_stand_side_by_side(service_file, tmp_path, monkeypatch):
    monkeypatch.setattr("ckm.audit.breakdown._POINTS", 3)
    page, figures = tmp_path / "a.html", tmp_path / "a.json"
    done = run("--lang", "fr", "audit", service_file, "-o", page)
    assert done.exit_code == 0, done.stderr
    told = json.loads(figures.read_text())
    assert told["growth"]["points"][-1]["found"] == told["together"]["right"]
    assert {"areas", "variables", "tables", "exposures"} <= set(told)
    assert "De tous les tableaux réunis" in page.read_text()
    assert 'lang="fr"' in page.read_text()
    assert {file.stat().st_mode & 0o077 for file in (page, figures)} == {0}
    page.unlink()
    again = run("audit", service_file, "-o", page)
    assert (again.exit_code, "a.json" in again.stderr) == (2, True)
    only = run("audit", service_file, "-o", tmp_path / "b.json", "--lang", "fr")
    assert only.exit_code == 2


@pytest.mark.slow
def test_official_tables_that_are_not_looked_at_are_named(tmp_path):
    file = write_service(tmp_path, more=LOOSE + LEDGER, persons=500)
    (tmp_path / "job.toml").write_text(JOB)
    done = run("audit", file, "-o", tmp_path / "a.json")
    assert (
        "left out: job.toml: batch, as the tables that the rules of the service" in done.stdout
    )
    assert json.loads((tmp_path / "a.json").read_text())["left_out"] == ["job.toml: batch"]


@pytest.mark.slow
def test_a_log_holds_no_figure_of_an_audit(service_file, monkeypatch):
    monkeypatch.setattr("ckm.audit.advice._MAX_STEPS", 0)
    done = run("audit", service_file, "--limit", "0.001")
    assert done.exit_code == 1
    share = re.search(r"together,\s+([0-9.]+)\s?%", done.stdout)[1]
    assert float(share) > 0.1
    for line in done.stderr.splitlines():
        said = json.loads(line)
        assert said["event"] in ("progress", "error", "caution") or "share" not in said
        assert f"{share}%" not in said["message"]
        assert "small counts of" not in said["message"]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_page_says_whether_the_limit_is_kept_and_what_was_drawn(language):
    def text(**changes):
        return make_report(made.exposure(**changes), language=language).html

    over = {"en": "above the limit of 20", "fr": "au-dessus de la limite de 20"}[language]
    within = {"en": "within the limit of 50", "fr": "dans la limite de 50"}[language]
    assert over in text()
    assert "verdict failed" in text()
    assert within in text(limit=0.5)
    assert "verdict failed" not in text(limit=0.5)
    drawn = {"en": "50 of 1,234 areas", "fr": "50 zones sur 1"}[language]
    assert drawn in text()
    assert drawn not in text(n_areas_drawn=1234)
    assert "D06, D07." in text(drawn=("D06", "D07"))
    official = {"en": "Official tables, where", "fr": "Les tableaux officiels, là"}[language]
    assert "job.toml: a, job.toml: b." in text(left_out=("job.toml: a", "job.toml: b"))
    assert official in text(left_out=("job.toml: a",))
    assert official not in text()
    bare = text(growth=None, advice=(), whole=replace(made.exposure().whole, n_small=0))
    assert {"en": "nothing to infer", "fr": "rien à déduire"}[language] in bare
    assert "tables-asked" not in bare


def test_the_interval_of_a_sample_of_areas_is_that_of_a_ratio():
    """Three of 300 areas: 10, 20 and 30 of 100 are found; t(2) = 4.303, s = 10, 1 % drawn."""
    small, found = np.full(3, 100), np.array([10, 20, 30])
    reach = 4.30265 * math.sqrt(0.99 * 100 / 3) / 100
    assert _interval(found, small, 300) == pytest.approx(
        (max(0, 0.2 - reach), 0.2 + reach), abs=1e-5
    )
    assert _interval(found[:1], small[:1], 300) == (0.0, 1.0)
    assert _interval(np.zeros(5), np.zeros(5), 300) == (0.0, 1.0)


def test_the_upper_end_of_the_interval_is_held_to_the_limit():
    facts = made.exposure(limit=0.45)  # 39.7 % are found, in all areas 30 to 50 %
    assert facts.is_over
    assert not replace(facts, interval=None).is_over


def test_a_sample_meets_limits_of_zeros_by_the_upper_end_and_those_of_categories_never():
    facts = replace(made.exposure(), zeros_interval=(0.1, 0.9), zeros_limit=0.8)
    assert facts.zeros_share_held == 0.9
    assert facts.attribute_share_held == 1
    assert replace(facts, n_areas_drawn=facts.n_areas).attribute_share_held < 1
