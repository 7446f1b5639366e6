import csv
import dataclasses
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import read_job
from ckm.demo.demo import MARK, compare_zones, make_demo, refuse_other_than_demo
from ckm.demo.register import AGE_GROUPS, CATEGORIES, OUTSIDE, SEXES, job_seekers
from ckm.errors import ConfigError, ReleaseError
from ckm.release.perturbed import release


def register(seed=2024, persons=20_000):
    return job_seekers(np.random.Generator(np.random.PCG64(seed)), persons=persons)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Run the command; return how it ended and what it made."""
    kept = []

    def make(*args, **options):
        kept.append(make_demo(*args, **options))
        return kept[-1]

    target = tmp_path_factory.mktemp("demo") / "demo"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckm.demo.demo.make_demo", make)
        runner = CliRunner(env={"CKM_LOG_FORMAT": "text"})
        result = runner.invoke(app, ["demo", "--out", str(target), "--persons", "20000"])
    assert result.exit_code == 0, result.stderr
    return result, kept[0]


@pytest.fixture(scope="module")
def made(told):
    return told[1]


def public_bytes(out):
    return {path.name: path.read_bytes() for path in (out / "public").iterdir()}


# --- the register ----------------------------------------------------------------------


def test_the_register_is_the_same_on_every_machine():
    people = register(persons=1000).people
    text = "\n".join(",".join(map(str, row.values())) for row in people.to_pylist())
    digest = hashlib.sha256(text.encode()).hexdigest()
    # Made once by this program; only whole numbers and the raw output of PCG64 go into it.
    assert digest == ("7bf48fd0cfc887d341ae1b1c714c599c4220592a6ad14884240e70956d77f128")


def test_another_seed_gives_another_register():
    assert register(1).people != register(2).people


def test_identifiers_are_unique_and_codes_are_texts_with_leading_zeros():
    people = register().people.to_pandas()
    assert people["person_id"].is_unique
    assert people["region"].min() == "01"
    assert set(people["commune"].str.len()) == {5}
    assert (people["commune"].str[:2] == people["department"]).all()


def test_places_nest():
    people = register().people.to_pandas()
    assert people.groupby("department")["region"].nunique().max() == 1
    assert people.groupby("commune")["department"].nunique().max() == 1
    inside = people[people["zone_2015"] != OUTSIDE]
    assert (inside["zone_2015"].str[1:6] == inside["commune"]).all()


@pytest.mark.slow
def test_the_register_has_the_shape_of_a_country():
    people = register(persons=200_000).people.to_pandas()
    assert people["region"].nunique() == 13
    assert people["department"].nunique() == 96
    assert 3000 < people["commune"].nunique() < 4000
    sizes = people["commune"].value_counts()
    assert sizes.iloc[0] > 10 * sizes.median()
    assert set(people["sex"]) == set(SEXES)
    assert set(people["category"]) == set(CATEGORIES)
    assert set(people["age_group"]) == set(AGE_GROUPS)
    assert people["age"].between(15, 70).all()
    assert 0.7 < (people["zone_2015"] == OUTSIDE).mean() < 0.85
    assert people["zone_2015"].nunique() > 1250


def test_boundaries_moved_by_one_to_four_people_in_some_zones_and_in_no_others():
    made = register(persons=200_000)
    people = made.people.to_pandas()
    moved = people[people["zone_2015"] != people["zone_2024"]]
    touched = Counter([*moved["zone_2015"], *moved["zone_2024"]])
    del touched[OUTSIDE]
    assert set(touched) == set(made.moved_zones)
    assert set(touched.values()) == {1, 2, 3, 4}
    assert 400 < len(made.moved_zones) < 600


@pytest.mark.parametrize("persons", [1000, 20_000])
def test_a_small_register_has_fewer_places_and_every_place_is_listed(persons):
    made = register(persons=persons)
    people = made.people.to_pandas()
    assert made.places.num_rows < 1000
    assert len(made.zones) < 300
    listed = set(made.places.to_pandas().itertuples(index=False, name=None))
    assert len(listed) == made.places.num_rows
    found = people[["region", "department", "commune"]].itertuples(index=False, name=None)
    assert set(found) <= listed
    assert set(people["zone_2015"]) | set(people["zone_2024"]) <= set(made.zones)
    assert OUTSIDE in made.zones


# --- the demonstration -----------------------------------------------------------------


@pytest.mark.slow
def test_the_demonstration_makes_a_folder_that_explains_itself(made):
    names = {path.relative_to(made.folder).as_posix() for path in made.folder.iterdir()}
    assert names == {
        "README.md",
        "communes.geojson",
        "communes.topojson",
        "comparison",
        "designs.toml",
        "job.toml",
        "out",
        "place-names.csv",
        "places.csv",
        "register.parquet",
        "secret.key",
        "service.toml",
        "zones.csv",
    }
    assert "never to be used for real data" in (made.folder / "README.md").read_text()
    assert "never use it for real data" in (made.folder / "secret.key").read_text()
    assert (made.folder / "secret.key").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_its_service_gives_the_numbers_of_its_tables(made):
    from ckm.config.service.service import read_service
    from ckm.service.answering.query import query_of_request
    from ckm.service.process.server import open_table_service

    service = read_service(made.folder / "service.toml")
    assert service.job.ptable == read_job(made.folder / "job.toml").ptable
    with open_table_service(service) as table_service:
        query = query_of_request(table_service.variables, dimensions=["geo", "sex", "category"])
        rules = table_service.answerer.settings.changed(maximum_cells=None)
        answer = table_service.answerer.answer(query, settings=rules)
    served = {
        (row["geo"], row["sex"], row["category"]): row["count"]
        for row in answer.table.to_arrow().to_pylist()
    }
    with (made.folder / "out" / "public" / "jobseekers.csv").open(encoding="utf-8") as file:
        regions = [row for row in csv.DictReader(file) if row["department"] == "Total"]
    assert len(regions) == 14 * 3 * 6
    for row in regions:
        code = row["region"], row["sex"], row["category"]
        assert served[code] == int(row["count"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["service", "job"])
def test_it_can_be_audited_as_it_is(made, tmp_path, monkeypatch, name):
    """Of 400,000 persons, places by zones are more cells than an audit can hold: here, too."""
    for module in ("ckm.audit.query_space", "risk.reconstruction.blocks"):
        monkeypatch.setattr(f"{module}.MAX_JOINT", 1_000_000)
    file, figures = made.folder / f"{name}.toml", tmp_path / "audit.json"
    done = CliRunner().invoke(app, ["audit", str(file), "-o", str(figures)])
    assert done.exit_code == 0, done.stderr
    told = json.loads(figures.read_text())
    assert 0 < told["together"]["right"] < told["together"]["n_small"]


@pytest.mark.slow
def test_it_releases_six_tables(made):
    manifest = json.loads((made.folder / "out" / "public" / "manifest.json").read_text())
    assert [table["name"] for table in manifest["tables"]] == [
        "jobseekers",
        "ages",
        "zones_2015",
        "zones_2024",
        "departments",
        "must_search",
    ]
    assert all(table["rows"] > 0 for table in manifest["tables"])


@pytest.mark.slow
def test_it_is_the_same_every_time(made, tmp_path):
    again = make_demo(tmp_path / "demo", persons=20_000)
    assert public_bytes(again.folder / "out") == public_bytes(made.folder / "out")
    assert pq.read_table(again.folder / "register.parquet").equals(
        pq.read_table(made.folder / "register.parquet")
    )


@pytest.mark.slow
def test_its_job_can_be_released_again_with_the_same_bytes(made, tmp_path):
    release(read_job(made.folder / "job.toml"), tmp_path / "again")
    assert public_bytes(tmp_path / "again") == public_bytes(made.folder / "out")


@pytest.mark.slow
def test_zones_that_stayed_have_one_published_count_in_both_tables(made):
    pairs = compare_zones(made.folder / "out", made.moved_zones)
    stayed = [pair for pair in pairs if not pair.is_moved]
    assert stayed
    assert all(pair.difference == 0 for pair in stayed)


@pytest.mark.slow
def test_published_differences_of_moved_zones_go_both_ways_and_beyond_the_truth(made):
    differences = [
        pair.difference
        for pair in compare_zones(made.folder / "out", made.moved_zones)
        if pair.is_moved
    ]
    assert min(differences) < -4
    assert max(differences) > 4
    assert 0 in differences


@pytest.mark.slow
def test_small_counts_are_never_published(made):
    for path in (made.folder / "out" / "public").glob("*.parquet"):
        assert not {1, 2, 3, 4} & set(pq.read_table(path)["count"].to_pylist())


@pytest.mark.slow
def test_its_tables_list_every_combination_so_that_no_absence_tells(made):
    places = len((made.folder / "places.csv").read_text().splitlines()) - 1
    frame = pq.read_table(made.folder / "out" / "public" / "jobseekers.parquet")
    assert frame.num_rows == (places + 96 + 13 + 1) * 3 * 6


@pytest.mark.slow
def test_it_compares_the_noise_of_its_job_with_other_ways(made):
    assert made.comparison.chosen == "D=8 V=6.5 js=4"
    assert {"rounding to 5", "random rounding to 3"} <= set(made.comparison.map.designs)
    assert set(made.comparison.map.refused) == {"D=5 V=3 js=4"}
    folder = made.folder / "comparison"
    assert folder.stat().st_mode & 0o077 == 0
    names = {path.name for path in folder.iterdir()}
    assert names == {"comparison.en.html", "comparison.fr.html", "comparison.json"}
    facts = json.loads((folder / "comparison.json").read_text())
    assert facts["edition"] == "internal"
    report = json.loads((made.folder / "out" / "internal" / "report.json").read_text())
    compared = {design["name"] for design in report["scenarios"]["designs"]}
    assert set(made.comparison.map.designs) <= compared
    assert facts["conclusion"] == json.loads(json.dumps(made.comparison.facts().conclusion))


@pytest.mark.slow
def test_force_replaces_an_earlier_demonstration_alone(made, tmp_path):
    target = tmp_path / "demo"
    shutil.copytree(made.folder, target)
    with pytest.raises(ReleaseError, match="not empty"):
        make_demo(target, persons=1000)
    make_demo(target, persons=1000, seed=7, force=True)
    assert pq.read_table(target / "register.parquet").num_rows == 1000
    for name in ("mine.txt", "comparison/mine.txt"):
        (target / name).write_text("mine")
        with pytest.raises(ReleaseError, match=rf"holds '{name}'"):
            make_demo(target, persons=1000, force=True)
        assert (target / name).read_text() == "mine"
        (target / name).unlink()


def test_force_does_not_replace_another_folder(tmp_path):
    (tmp_path / "README.md").write_text("my project")
    with pytest.raises(ReleaseError, match="no untouched demonstration"):
        make_demo(tmp_path, persons=1000, force=True)


def test_force_replaces_nothing_that_is_not_the_demonstrations(tmp_path):
    (tmp_path / "README.md").write_text(MARK)
    (tmp_path / "register.parquet").write_bytes(b"")
    refuse_other_than_demo(tmp_path)
    (tmp_path / "comparison").mkdir()
    (tmp_path / "comparison" / "mine.txt").write_text("mine")
    with pytest.raises(ReleaseError, match=r"holds 'comparison/mine\.txt'"):
        refuse_other_than_demo(tmp_path)


def test_a_demonstration_needs_enough_people(tmp_path):
    with pytest.raises(ConfigError, match="at least 1000 persons"):
        make_demo(tmp_path / "demo", persons=10)


@pytest.mark.slow
def test_the_command_tells_the_story(told):
    result, made = told
    assert pq.read_table(made.folder / "register.parquet").num_rows == 20_000
    for words in (
        "Job seekers of commune 01001, as published",
        "Zones whose boundary moved, as published",
        "moved by one to four people",
        "have one published count in both tables",
        "14 ways to protect",
        "Never publishing a count of 1 to 4 costs",
        "ckm ptable show",
    ):
        assert words in result.stdout
    assert "✔ 6 tables" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("found", "typed"), [("/usr/bin/ckm", "ckm"), (None, ".venv/bin/ckm")])
def test_what_to_try_next_can_be_typed_as_it_is_shown(made, monkeypatch, found, typed):
    monkeypatch.setattr("sys.argv", [".venv/bin/ckm", "demo"])
    monkeypatch.setattr("shutil.which", lambda _name: found)
    elsewhere = dataclasses.replace(made, folder=Path("my demo"))
    monkeypatch.setattr("ckm.demo.demo.make_demo", lambda *_, **__: elsewhere)
    done = CliRunner().invoke(app, ["demo"])
    assert f"{typed} release 'my demo/job.toml' -o 'my demo-again'\n" in done.stdout


def test_the_command_with_a_dry_run_writes_nothing(tmp_path):
    runner = CliRunner(env={"CKM_LOG_FORMAT": "text"})
    result = runner.invoke(app, ["demo", "--out", str(tmp_path / "demo"), "--dry-run"])
    assert result.exit_code == 0
    assert not (tmp_path / "demo").exists()
