"""``ckm audit``: what it looks at is what callers get, and what it finds is what they find."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from bench.reconstruction import Caller, Truth, numbers_of
from ckm.audit.advice import advise, designs_by_limits, redrawn, stronger_noise
from ckm.audit.audit import Audit, Auditor, Exposure, open_space
from ckm.audit.query_space import QuerySpace, _queries, query_space
from ckm.cli import app
from ckm.cli.audit import _way_out
from ckm.config.service.service import read_service
from ckm.demo.register import job_seekers
from ckm.errors import ConfigError
from ckm.service.http.app import make_app
from ckm.service.process.server import open_answerer, open_table_service
from ptable import NoiseSpec, solve
from risk.reconstruction.attributes import FoundAttributes
from risk.reconstruction.fitted_counts import most_probable_counts
from risk.reconstruction.joint_cells import JointCells
from risk.reconstruction.lattice import Found, Lattice, Shown
from tables import Secret
from tests.strategies import worked_ptable
from tests.unit.ckm.audit.test_calibration import population
from tests.unit.ckm.service.conftest import write_service

RULES = "[rules]\nmaximum_variables = 2\nmaximum_variables_small_areas = 1\n"
HEAD = """
schema = 1
[service]
title = "Audit"
[data]
path = "people.parquet"
id = "id"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
"""
SMALL_AREAS = RULES + 'small_areas = ["commune"]\n'


@pytest.fixture(scope="module")
def service_file(tmp_path_factory):
    return write_service(tmp_path_factory.mktemp("audited"), more=SMALL_AREAS, persons=2000)


@pytest.fixture(scope="module")
def space(service_file):
    with open_answerer(read_service(service_file), is_kept=False) as answerer:
        return query_space(answerer())


def write_keys(folder):
    Secret(bytes(range(32))).write(folder / "secret.key")
    worked_ptable().write(folder / "pt.parquet")


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "text"}).invoke(app, [str(arg) for arg in args])


# --- the query space -------------------------------------------------------------------


def test_the_query_space_is_what_the_rules_permit(space):
    """Two variables, and communes, which are small areas, by nothing."""
    geo = space.variables.index("geo")
    tops = [len(names) for names in space.level_names]
    shown = [
        {v for v, (level, top) in enumerate(zip(table, tops, strict=True)) if level < top}
        for table in space.lattice.tables
    ]
    assert max(map(len, shown)) == 2
    pairs = {frozenset(space.variables[v] for v in one) for one in shown if len(one) == 2}
    every = map(frozenset, itertools.combinations(space.variables, 2))
    assert set(every) - pairs == {frozenset({"category", "zone_2024"})}  # too sparse
    fine = [
        one for one, table in zip(shown, space.lattice.tables, strict=True) if not table[geo]
    ]
    assert fine == [{geo}]


def test_the_cells_are_those_that_callers_get(space, service_file, tmp_path):
    service = read_service(service_file)
    with open_table_service(service, folder=tmp_path) as opened:
        caller = Caller(make_app(opened))
        variables = opened.answerer.variables
        n_withheld = 0
        for names in (["geo", "sex"], ["category", "age_tree"], ["geo"]):
            answer = caller.ask(names, margins="all")
            assert answer.status_code == (403 if names == ["geo", "sex"] else 200)
            if answer.status_code == 403:
                regions = [variables["geo"].codes[rank] for rank in variables["geo"].ranks(2)]
                answer = caller.ask(names, select={"geo": ["Total", *regions]})
            told = answer.json()
            blocked = told["extension"].get("blocked", {"category": {"geo": {}}})
            codes = {n: list(told["dimension"][n]["category"]["index"]) for n in names}
            values = np.array(told["value"]).reshape([len(codes[n]) for n in names])
            for at in np.ndindex(*values.shape):
                cell = {n: codes[n][i] for n, i in zip(names, at, strict=True)}
                found = list(_all_looked_up(space, variables, cell))
                assert any(is_shown for _, is_shown in found)
                assert {published for published, _ in found} == {values[at]}
            for code in blocked["category"]["geo"]:
                found = _all_looked_up(space, variables, {"geo": code})
                assert [is_shown for _, is_shown in found] == [False]
                n_withheld += 1
        caller.close()
    assert n_withheld > 10


def test_the_joint_cells_are_the_records(space):
    assert space.joint.n_records == 2000
    assert space.joint.shape == space.lattice.shape


def test_a_sample_of_areas_has_its_own_tables_alone(service_file):
    service = read_service(service_file)
    with open_answerer(service, is_kept=False) as answerer:
        made = answerer()
        whole, some = query_space(made), query_space(made, areas=1, seed=3)
    geo = whole.variables.index("geo")
    assert (some.n_areas, some.n_areas_drawn) == (whole.n_areas, 1)
    assert whole.n_areas > 1
    assert all(table[geo] < 3 for table in some.lattice.tables)
    assert {t for t in whole.lattice.tables if t[geo] < 3} == set(some.lattice.tables)
    sums = some.truth()
    region = (*(2 if v == geo else len(n) for v, n in enumerate(some.level_names)),)
    assert sums[region].size == 1
    every = whole.truth()[region].ravel().tolist()
    published = whole.shown[region].published.ravel().tolist()
    mine = (sums[region].item(), some.shown[region].published.item())
    assert mine in zip(every, published, strict=True)


def test_areas_are_drawn_where_there_are_some(tmp_path, service_file):
    rng = np.random.default_rng(6)
    people = {name: rng.integers(3, size=50).astype(str) for name in ("sex", "race", "age10")}
    pd.DataFrame({"id": range(50), "place": "x", **people}).to_parquet(
        tmp_path / "people.parquet"
    )
    write_keys(tmp_path)
    file = tmp_path / "service.toml"
    file.write_text(ACS + '[categories]\nplace = ["u", "v", "w", "x", "y"]\n')
    with open_answerer(read_service(file), is_kept=False) as answerer:
        drawn = [query_space(answerer(), areas=1, seed=seed) for seed in range(3)]
    assert {(one.n_areas, one.n_areas_drawn, one.joint.n_records) for one in drawn} == {
        (1, 1, 50)
    }
    file.write_text(file.read_text().replace("is_area = true\n", ""))
    with pytest.raises(ConfigError, match="no variable of areas"):
        open_space(read_service(file), areas=2)
    for wrong in (["--seed", "-1"], ["--limit", "nan"], ["--confidence", "nan"]):
        assert run("audit", service_file, *wrong).exit_code == 2


def test_rules_that_permit_nothing_are_named(tmp_path):
    file = write_service(
        tmp_path, more="[rules]\nmaximum_variables = 1\nminimum_population = 100000\n"
    )
    with pytest.raises(ConfigError, match="permit no table"):
        open_space(read_service(file))


def test_more_tables_than_can_be_looked_at_are_refused(service_file, monkeypatch):
    monkeypatch.setattr("ckm.audit.query_space._MAX_TABLES", 10)
    with pytest.raises(ConfigError, match=r"make \d+ tables, more than 10"):
        open_space(read_service(service_file))


def test_a_table_beyond_memory_is_refused(service_file, monkeypatch):
    monkeypatch.setattr("ckm.audit.query_space.MAX_JOINT", 100)
    with pytest.raises(
        ConfigError, match=r"A table of \w+, \w+.* has \d+ cells, more than the 100"
    ):
        open_space(read_service(service_file))


def test_joint_cells_beyond_memory_are_refused(service_file, monkeypatch):
    monkeypatch.setattr("risk.reconstruction.blocks.MAX_JOINT", 100)
    done = run("audit", service_file)
    assert done.exit_code == 2
    assert "more than 100" in done.stderr


# --- several levels at once ------------------------------------------------------------

LEVELS = (
    HEAD
    + """
[hierarchies]
{hierarchies}
[[variable]]
name = "ill"
is_sensitive = true
[[variable]]
name = "sex"
[[variable]]
{variables}
[limits]
requests_per_hour = 100000
[rules]
{rules}
"""
)


def opened_levels(folder, *, people, hierarchies, variables, rules):
    """Write a service; return what its audit sees, and the answers to some selections."""
    frame = pd.DataFrame({"id": np.arange(len(people["ill"])), **people})
    frame.to_parquet(folder / "people.parquet")
    write_keys(folder)
    file = folder / "service.toml"
    file.write_text(LEVELS.format(hierarchies=hierarchies, variables=variables, rules=rules))
    return read_service(file)


def not_in_the_audit(service, folder, requests):
    """List the cells of answers that the audit has as not shown; count those that it has."""
    with open_table_service(service, folder=folder) as opened:
        seen = query_space(opened.answerer)
        variables, caller = opened.answerer.variables, Caller(make_app(opened))
        found, told = [], Counter()
        for names, select in requests:
            answer = caller.ask(names, **({"select": select} if select else {}))
            if answer.status_code != 200:
                told[answer.json()["reason"]] += 1
                continue
            document = answer.json()
            codes = {n: list(document["dimension"][n]["category"]["index"]) for n in names}
            values = np.array(document["value"]).reshape([len(codes[n]) for n in names])
            for at in np.ndindex(*values.shape):
                cell = {n: codes[n][i] for n, i in zip(names, at, strict=True)}
                told["cells"] += 1
                if not any(is_shown for _, is_shown in _all_looked_up(seen, variables, cell)):
                    found.append(cell)
        caller.close()
    return found, told


def _all_looked_up(space, variables, cell):
    """Find a cell at every combination of levels at which its categories stand."""
    places = []
    for name, names in zip(space.variables, space.level_names, strict=True):
        variable = variables[name]
        rank = variable.rank(cell[name]) if name in cell else 0
        levels = [
            (level, int(np.flatnonzero(one.ranks == rank)[0]))
            for level, one in enumerate(variable.axis.levels)
            if rank in one.ranks
        ]
        places.append(levels if rank else [(len(names), 0)])
    for chosen in itertools.product(*places):
        table, at = zip(*chosen, strict=True)
        if table in space.shown:
            yield space.shown[table].published[at], space.shown[table].is_shown[at]


def test_a_finer_category_beside_coarse_ones_opens_nothing(tmp_path):
    rng, n = np.random.default_rng(1), 600
    coarse = rng.integers(0, 3, n)
    service = opened_levels(
        tmp_path,
        people={
            "occ1": np.char.add("O", coarse.astype(str)),
            "occ2": np.char.add("P", (4 * coarse + rng.integers(0, 4, n)).astype(str)),
            "ill": np.where(rng.random(n) < 0.03, "yes", "no"),
            "sex": rng.choice(list("abcde"), n, p=[0.5, 0.3, 0.1, 0.07, 0.03]),
        },
        hierarchies='occ = ["occ1", "occ2"]',
        variables='name = "occ"\nis_sensitive = true',
        rules="mean_cell_size = false\npermille_disclosive = 100",
    )
    names, groups = ["occ", "ill", "sex"], ["O0", "O1", "O2"]
    requests = [(names, {"occ": groups}), (names, {"occ": [*groups, "P0"]}), (names, None)]
    found, told = not_in_the_audit(service, tmp_path, requests)
    assert told == {"group_disclosure": 3}
    alone = [(["occ", "sex"], {"occ": ["O0", "P0"]}), (["occ"], None)]
    found, told = not_in_the_audit(service, tmp_path, alone)
    assert (found, told["cells"] > 10) == ([], True)


def test_an_area_of_two_levels_is_judged_once(tmp_path):
    rng, n = np.random.default_rng(2), 3000
    (tmp_path / "geo.csv").write_text(
        "level,name\n@,A\n@@,a1\n@@,a2\n@,B\n@@,b1\n@@,b2\n@,isle\n"
    )
    service = opened_levels(
        tmp_path,
        people={
            "geo": rng.choice(
                ["a1", "a2", "b1", "b2", "isle"], n, p=[0.3, 0.2, 0.2, 0.28, 0.02]
            ),
            "ill": np.where(rng.random(n) < 0.04, "yes", "no"),
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
        },
        hierarchies='tree = { column = "geo", tree = "geo.csv" }',
        variables='name = "tree"\nis_area = true',
        rules="",
    )
    names = ["tree", "ill", "sex"]
    some = (["isle"], ["isle", "A", "B"], ["isle", "a1", "A"], ["isle", "a1", "a2"])
    requests = [(names, {"tree": areas}) for areas in some]
    found, told = not_in_the_audit(service, tmp_path, [*requests, (names, None)])
    assert found == []
    assert told["group_disclosure"] == 1  # of the isle alone
    assert told["cells"] > 50


# --- populations -----------------------------------------------------------------------

SOMEBODY = """
[[variable]]
name = "sex"
[[variable]]
name = "race"
is_area = true
[[variable]]
name = "age10"
[rules]
sparsity_a = false
sparsity_b = false
mean_cell_size = false
maximum_variables = 3
"""
POPULATIONS = {"employed": "job = 1", "northern": "north = 1", "both": "job = 1 and north = 1"}


def opened_populations(folder, n=400, *, populations=POPULATIONS):
    """Write a service of people whom some populations leave out; return it and the people."""
    rng = np.random.default_rng(4)
    sizes = {"sex": 2, "race": 4, "age10": 6}
    people = pd.DataFrame(
        {name: np.minimum(rng.geometric(0.4, n), size) for name, size in sizes.items()}
    ).astype(str)
    people.insert(0, "id", np.arange(n))
    people["job"], people["north"] = (rng.random((2, n)) < [[0.7], [0.5]]).astype(int)
    people.to_parquet(folder / "people.parquet")
    write_keys(folder)
    declared = (
        f'[[population]]\nname = "{name}"\ntitle = "P"\nwhere = "{where}"\n'
        for name, where in populations.items()
    )
    (folder / "service.toml").write_text(HEAD + SOMEBODY + "".join(declared))
    return read_service(folder / "service.toml"), people


@pytest.fixture(scope="module")
def populated(tmp_path_factory):
    """Return a space with populations, its people, and the answer to each of its queries."""
    service, people = opened_populations(tmp_path_factory.mktemp("populations"))
    with open_answerer(service, is_kept=False) as answerer:
        made = answerer()
        answers = [made.answer(query) for query in _queries(made, tuple(made.variables))]
        yield query_space(made), people, answers, made.variables, query_space(made, areas=1)


def test_every_table_of_every_population_is_the_one_that_callers_get(populated):
    space, _, answers, variables, _ = populated
    names = [*POPULATIONS, None]
    seen = dict.fromkeys(space.shown, 0)
    for answer in answers:
        chosen = {s.variable: s.ranks for s in answer.selections or answer.query.selections}
        codes = {
            name: [variables[name].codes[rank] for rank in r] for name, r in chosen.items()
        }
        if answer.refusal is not None:
            table = (*(int(name not in chosen) for name in space.variables),)
            assert (*table, 1 + names.index(answer.query.population)) not in space.shown
            continue
        values = answer.table.measures["count"].reshape([len(c) for c in codes.values()])
        for at in np.ndindex(*values.shape):
            ranks = {n: variables[n].rank(codes[n][i]) for n, i in zip(codes, at, strict=True)}
            table = tuple(int(not ranks.get(name, 0)) for name in space.variables)
            place = tuple(max(ranks.get(name, 0) - 1, 0) for name in space.variables)
            one = space.shown[*table, 1 + names.index(answer.query.population)]
            is_part = answer.query.population is not None
            assert one.published[*place, int(is_part)] == values[at]
            assert one.is_shown[*place, int(is_part)]
            assert not (is_part and one.is_shown[*place, 0])
            seen[*table, 1 + names.index(answer.query.population)] += 1
    assert len({table[-1] for table in seen}) == 4
    for table, one in space.shown.items():
        assert one.is_shown.any()
        assert seen[table] >= one.is_shown.sum()


def test_the_tables_of_all_populations_are_sums_of_the_same_people(populated):
    """By enumeration: each record is counted where it is, in the populations it is in."""
    space, people, _, variables, _ = populated
    sums = space.truth()
    assert space.joint.shape == (2, 4, 6, 4)
    assert space.joint.n_records == len(people)
    for table, counts in sums.items():
        direct = np.zeros(counts.shape, int)
        for person in people.itertuples():
            inside = (person.job, person.north, person.job * person.north, 0)[table[-1] - 1]
            cell = {n: getattr(person, n) for n in space.variables}
            places = [
                0 if level else int(variables[n].rank(cell[n])) - 1
                for n, level in zip(space.variables, table[:-1], strict=True)
            ]
            direct[*places, inside] += 1
        assert (counts == direct).all()


def test_a_sample_of_areas_has_the_tables_of_its_populations(populated):
    whole, some = populated[0], populated[-1]
    race = whole.variables.index("race")
    assert set(some.shown) == {table for table in whole.shown if table[race] == 0}
    assert some.joint.shape == (2, 1, 6, 4)
    (drawn,) = np.flatnonzero(
        np.bincount(whole.joint.places[1], whole.joint.counts) == some.joint.n_records
    )
    for table, one in some.shown.items():
        assert (one.published == whole.shown[table].published[:, [drawn]]).all()


@pytest.mark.slow
def test_populations_that_make_up_all_records_tell_more_of_the_same_cells(tmp_path):
    """The cells of all records are fitted to four sums of two parts each, too."""
    halves = {"a": "job = 1", "b": "job = 0", "n": "north = 1", "s": "north = 0"}
    squares = []
    for populations in ({}, halves):
        (tmp_path / str(len(populations))).mkdir()
        service, _ = opened_populations(
            tmp_path / str(len(populations)), populations=populations
        )
        space, auditor = open_space(service)
        fitted = most_probable_counts(space.lattice, space.shown, variance=auditor.variance)
        truth = space.truth()
        top = (len(populations) + 1,) if populations else ()
        finest = [t for t in space.shown if t[:3] == (0, 0, 0) and t[3:] == top]
        squares.append(sum(float(((fitted[t] - truth[t]) ** 2).sum()) for t in finest))
        exposures = auditor.audit(space).exposures
        assert [one.n_variables for one in exposures] == [0, 1, 2, 3]
        assert [one.n_tables for one in exposures] == [
            n * (len(populations) + 1) for n in (1, 3, 3, 1)
        ]
    assert squares[1] < 0.8 * squares[0]


# --- advice ----------------------------------------------------------------------------


def test_a_smaller_space_has_the_same_cells_and_sums_over_what_it_does_not_show(space):
    sex = space.variables.index("sex")
    smaller = space.restricted(lambda used: sex not in used)
    assert smaller.joint.shape[sex] == 1
    assert smaller.joint.n_records == 2000
    whole, some = space.truth(), smaller.truth()
    assert set(some) == {t for t in whole if t[sex] == 1}
    for table, sums in some.items():
        assert (sums == whole[table]).all()
        assert smaller.shown[table] is space.shown[table]


class Formula:
    """Finds a tenth of the counts, and more for every table that shows sex or communes."""

    def n_found(self, space, used):
        sex, geo = space.variables.index("sex"), space.variables.index("geo")
        return 9 * sum(sex in one for one in used) + sum(one.get(geo) == 0 for one in used)

    def audit(self, space):
        used = [space.used(table) for table in space.lattice.tables]
        n = 100 + self.n_found(space, used)
        found = Found(n_small=1000, guessed=n, right=n, sure=0, sure_wrong=0)
        cells = sum(int(one.is_shown.sum()) for one in space.shown.values())
        exposure = Exposure(
            n_variables=0, n_tables=len(used), n_cells=cells, alone=found, together=found
        )
        return Audit(
            small=2,
            confidence=0.9,
            n_areas=1,
            n_areas_drawn=1,
            seed=0,
            exposures=(exposure,),
            attributes=FoundAttributes(n=0, by_frequency=0, alone=0, together=0),
        )


def test_advice_closes_what_helps_most_and_no_more_than_is_needed(space):
    before = Formula().audit(space).whole.together.share
    steps = advise(space, Formula(), limit=0.1)
    assert [one.chosen.what for one in steps] == [
        "no variable 'sex'",
        "no level 'commune' of 'geo'",
    ]
    assert (before, steps[0].chosen.share, steps[1].chosen.share) == (0.164, 0.101, 0.1)
    assert steps[0].chosen == steps[0].options[0]
    enough = [one for one in steps[1].options if one.share <= 0.1]
    assert len(enough) > 1  # leaving all areas out would do, too
    assert steps[1].chosen.n_cells == max(one.n_cells for one in enough)
    named = {one.what for one in steps[0].options}
    assert {"maximum_variables = 1", 'exclusive = [["sex", "category"]]'} <= named
    assert 'exclusive = [["category", "zone_2024"]]' not in named  # refused already


def test_advice_keeps_what_every_table_must_have(space):
    fixed = {space.variables.index(name) for name in ("sex", "category")}
    bound = space.restricted(lambda used: fixed <= set(used))
    steps = advise(replace(bound, mandatory=frozenset({"sex", "category"})), Formula(), limit=0)
    named = {one.what for step in steps for one in step.options}
    assert not named & {"no variable 'sex'", 'exclusive = [["sex", "category"]]'}
    assert "maximum_variables = 1" not in named


def test_margins_go_with_the_only_table_that_shows_them(space):
    sex, category = (space.variables.index(name) for name in ("sex", "category"))
    both = space.restricted(lambda used: {sex, category} <= set(used))
    assert len(both.shown) == 4  # that of both, and its margins
    assert not both.restricted(lambda used: sex not in used).shown


def test_advice_never_is_to_publish_no_table(space):
    sex, category = (space.variables.index(name) for name in ("sex", "category"))
    both = space.restricted(lambda used: {sex, category} <= set(used))
    assert advise(both, Formula(), limit=0.0) == ()
    one = space.restricted(lambda used: sex in used)
    assert all(step.chosen.n_tables for step in advise(one, Formula(), limit=0.0))


class Northern(Formula):
    """Finds more for every table of the second population."""

    def n_found(self, space, used):
        return sum(one.get(len(space.variables)) == 2 for one in used)


def test_advice_closes_a_population_and_takes_it_for_no_variable(populated):
    space = populated[0]
    (step, *_) = advise(space, Northern(), limit=0)
    assert step.chosen.what == "no population 'northern'"
    named = {one.what for one in step.options}
    assert {"no population 'both'", "no population 'employed'"} <= named
    assert "maximum_variables = 2" in named
    assert not any(
        "''" in what or "population" in what
        for what in named - {f"no population {name!r}" for name in POPULATIONS}
    )
    alone = space.restricted(lambda used: len(space.variables) not in used)
    assert alone.joint.shape == (2, 4, 6, 1)
    assert len(alone.shown) == sum(table[-1] == 4 for table in space.shown)


def test_advice_ends_where_nothing_is_left_to_close(space):
    steps = advise(space, Formula(), limit=0.0)
    assert steps[-1].chosen.share == 0.1
    assert len(steps) <= 12


@pytest.mark.long
def test_more_noise_is_tried_until_it_is_enough(service_file):
    space, auditor = open_space(read_service(service_file), small=3)
    solved = replace(auditor, ptable=solve(NoiseSpec(max_noise=2, variance=1.0)))
    before = solved.audit(space).largest_share
    tried = stronger_noise(space, solved, limit=0.0, seed=1)
    assert [one.what for one in tried[:2]] == [
        "max_noise = 3, variance = 1.5",
        "max_noise = 3, variance = 2",
    ]
    assert {one.n_cells for one in tried} == {tried[0].n_cells}
    assert tried[-1].share < before
    enough = stronger_noise(space, solved, limit=tried[1].share, seed=1)
    assert enough[-1].share <= tried[1].share
    assert len(enough) <= 2
    assert stronger_noise(space, auditor, limit=0.0, seed=1) == ()  # a table without a design


def test_p_tables_by_limits_lose_less_than_enough_noise_and_are_measured():
    space = population(np.random.default_rng(5))
    ptable = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))
    space, auditor = redrawn(
        space, Auditor(small=2, confidence=0.95, ptable=ptable), ptable, seed=1
    )
    noise = stronger_noise(space, auditor, limit=1.0, seed=1)
    designs = designs_by_limits(space, auditor, noise, limit=1.0, seed=1)
    assert len(designs) == 1  # whatever is found is within a limit of 1
    (design,) = designs
    assert "less loss than max_noise = 4, variance = 2.25" in design.closure.what
    again, other = redrawn(space, auditor, design.ptable, seed=1)
    assert design.closure.share == other.audit(again).largest_share
    assert designs_by_limits(space, auditor, noise, limit=0.0, seed=1) == ()
    assert designs_by_limits(space, auditor, (), limit=1.0, seed=1) == ()


# --- the command -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_tells_and_writes_its_figures(service_file, tmp_path):
    done = run("audit", service_file, "--small", 3, "-o", tmp_path / "a.json")
    assert done.exit_code == 0, done.stderr
    told = json.loads((tmp_path / "a.json").read_text())
    assert told["small"] == 3
    assert [one["n_variables"] for one in told["exposures"]] == [0, 1, 2]
    for part in ("alone", "together"):
        for name, total in told[part].items():
            assert total == sum(one[part][name] for one in told["exposures"])
    assert told["alone"]["n_small"] == told["together"]["n_small"] > 0
    share = told["together"]["right"] / told["together"]["n_small"]
    small = told["together"]["n_small"]
    assert f"together, {100 * share:.1f}\N{NO-BREAK SPACE}% of {small:,} counts" in done.stdout
    assert (tmp_path / "a.json").stat().st_mode & 0o077 == 0
    again = run("audit", service_file, "-o", tmp_path / "a.json")
    assert again.exit_code == 2
    assert "--force" in again.stderr


def test_the_largest_share_is_that_of_the_attack_that_finds_most(space):
    audit = Formula().audit(space)
    few = Found(n_small=99, guessed=99, right=99, sure=0, sure_wrong=0)
    some, many = (replace(audit.exposures[0].alone, right=right) for right in (200, 300))

    def shares(**attacks):
        row = replace(audit.exposures[0], **{"alone": some, "together": some, **attacks})
        whole = replace(audit, exposures=(row,))
        return whole.largest_share

    assert shares() == 0.2
    assert shares(alone=many) == shares(together=many) == 0.3
    rare = replace(audit.exposures[0], alone=few, together=few)
    rows = (rare, replace(rare, alone=some, together=some))
    assert replace(audit, exposures=rows).largest_share == 299 / 1099
    assert "offer coarser" in _way_out((), limit=0.1)


@pytest.mark.slow
def test_above_the_limit_the_command_fails_with_advice(tmp_path):
    rng = np.random.default_rng(6)
    sizes = {"place": 6, "sex": 2, "race": 4, "age10": 5}
    people = {name: rng.integers(n, size=300).astype(str) for name, n in sizes.items()}
    pd.DataFrame({"id": range(300), **people}).to_parquet(tmp_path / "people.parquet")
    write_keys(tmp_path)
    file = tmp_path / "service.toml"
    file.write_text(ACS + "[rules]\nmaximum_variables = 3\nmean_cell_size = false\n" + SPARSE)
    done = run("audit", file, "--limit", 0.01, "-o", tmp_path / "a.json")
    assert done.exit_code == 1
    assert "than the limit of 1.0%" in done.stderr
    told = json.loads((tmp_path / "a.json").read_text())
    assert told["limit"] == 0.01
    assert told["advice"][0]["chosen"]["what"] in done.stdout
    assert told["advice"][-1]["chosen"]["share"] <= 0.01
    assert run("audit", file, "--limit", 1).exit_code == 0


# --- the attack, through HTTP ----------------------------------------------------------

ACS = (
    HEAD
    + """
[[variable]]
name = "place"
is_area = true
[[variable]]
name = "sex"
[[variable]]
name = "race"
[[variable]]
name = "age10"
[limits]
requests_per_hour = 100000
"""
)
SPARSE = "sparsity_a = false\nsparsity_b = false\n"
RULE_SETS = {
    "as they come": "",
    "one variable": "[rules]\nmaximum_variables = 1\n",
    "two variables": "[rules]\nmaximum_variables = 2\n",
    "three, sparse ones too": "[rules]\nmaximum_variables = 3\nsparsity_a = false\n"
    "sparsity_b = false\nmean_cell_size = false\ngroup_disclosure = false\n",
    "all four, with no rule on cells": "[rules]\nsparsity_a = false\nsparsity_b = false\n"
    "mean_cell_size = false\ngroup_disclosure = false\nminimum_population = false\n",
    "race and age apart": '[rules]\nexclusive = [["race", "age10"]]\n',
    "always by place": '[rules]\nmandatory = ["place"]\nmaximum_variables = 3\n',
}
NAMES = ("place", "sex", "race", "age10")
OF_THE_DEMO = ("as they come", "three, sparse ones too", "always by place")


def people_of(shared):
    """Read the ACS, or make a register of the demonstration in its words; as texts."""
    if shared is None:
        columns = ("department", "sex", "category", "age_group")
        data = job_seekers(np.random.default_rng(8), persons=20_000).people.to_pandas()
    else:
        columns = ("PUMA", "SEX", "RAC1P", "AGEP")
        data = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
        data["AGEP"] = data["AGEP"].astype(int) // 10
    texts = {
        name: data[column].astype(str) for name, column in zip(NAMES, columns, strict=True)
    }
    return pd.DataFrame({"id": np.arange(len(data)), **texts})


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_caller_who_asks_for_everything_finds_what_the_audit_says(rules, shared, tmp_path):
    assert_found_as_told(people_of(shared), RULE_SETS[rules], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("rules", OF_THE_DEMO)
def test_so_does_a_caller_of_the_register_of_the_demonstration(rules, tmp_path):
    assert_found_as_told(people_of(None), RULE_SETS[rules], tmp_path)


def assert_found_as_told(people, rules, tmp_path):
    """Ask for all tables through HTTP, attack them, and compare with what the audit tells."""
    people.to_parquet(tmp_path / "people.parquet")
    write_keys(tmp_path)
    (tmp_path / "service.toml").write_text(ACS + rules)
    service = read_service(tmp_path / "service.toml")
    space, auditor = open_space(service)
    told = auditor.audit(space)
    truth = Truth.of(people, NAMES)
    codes = {n: ("Total", *known) for n, known in zip(NAMES, truth.categories, strict=True)}
    shown = {}
    with open_table_service(service, folder=tmp_path) as opened:
        caller = Caller(make_app(opened))
        for size in range(5):
            for names in itertools.combinations(NAMES, size):
                answer = caller.ask(names, margins="all")
                if answer.status_code == 200:
                    _add(shown, names, answer, codes)
        caller.close()
    groups = [[np.arange(n), np.zeros(n, int)] for n in truth.counts.shape]
    lattice = Lattice(groups, list(shown))
    found = Auditor(small=2, confidence=0.95, ptable=worked_ptable()).audit(
        QuerySpace(
            variables=NAMES,
            level_names=tuple((name,) for name in NAMES),
            lattice=lattice,
            shown=shown,
            parents={},
            mandatory=frozenset(),
            attributes=(1, 2, 3),
            joint=JointCells.of(truth.counts),
            n_areas=1,
            n_areas_drawn=1,
        )
    )
    assert found.whole.together.n_small == told.whole.together.n_small > 0
    assert found.whole.together.share == pytest.approx(told.whole.together.share, abs=0.02)


def _add(shown, names, answer, codes):
    """Add what an answer tells, margins as tables of their own."""
    full = numbers_of(answer, codes)
    order = [n for n in answer.json()["id"] if n in codes]
    full = full.transpose([order.index(n) for n in names]) if names else full
    for levels in itertools.product((0, 1), repeat=len(names)):
        place = dict(zip(names, levels, strict=True))
        table = tuple(place.get(name, 1) for name in NAMES)
        cells = full[tuple(slice(0, 1) if level else slice(1, None) for level in levels)]
        cells = cells.reshape([cells.shape[names.index(n)] if n in place else 1 for n in NAMES])
        known = ~np.isnan(cells)
        cells = np.nan_to_num(cells).astype(int)
        if table in shown:
            before = shown[table]
            cells = np.where(known, cells, before.published)
            known = known | before.is_shown
        shown[table] = Shown(published=cells, is_shown=known)
