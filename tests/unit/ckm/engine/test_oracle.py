"""Every attack against the engine itself, on a made-up register.

Rates are compared with their probabilities within three binomial standard errors, which a
correct program misses once in 370 comparisons; chances that differ from line to line vary
less than that. Secrets and seeds are fixed.
"""

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.demo.register import AGE_GROUPS, CATEGORIES, SEXES, job_seekers
from risk.attacks import (
    AdditiveKeys,
    CountRequest,
    Differencing,
    GeographicDifferencing,
    HiddenBound,
    LinearReconstruction,
    MarginBounds,
    RepeatedAnswers,
    SmallCell,
    SubsetSums,
    TwoPartition,
)
from risk.attacks.reconstruction.geographic import find_slivers
from risk.errors import RiskError
from tables import RequestError, Secret
from tests.engine_oracle import EngineOracle, PublishedCell
from tests.unit.risk.attacks.support import agrees, r_table, reordered

TABLE = r_table(2, 1)
SECRET = Secret(bytes(range(32)))


@pytest.fixture(scope="module")
def people():
    rng = np.random.Generator(np.random.PCG64(7))
    return job_seekers(rng, persons=20_000).people


@pytest.fixture(scope="module")
def frame(people):
    return people.to_pandas()


def engine_of(people, ptable=TABLE, **options):
    return ckm.Engine(people, id="person_id", secret=SECRET, ptable=ptable, **options)


@pytest.fixture(scope="module")
def engine(people):
    with engine_of(people) as built:
        yield built


def counts_by(frame, line, column, categories, *, least=1):
    """Count the categories of a column for every line whose cells are all large enough."""
    wide = pd.crosstab(frame[line], frame[column])[list(categories)]
    wide = wide[wide.min(axis=1) >= least]
    assert len(wide) > 10
    return wide.index.tolist(), wide.to_numpy()


def lines_of(engine, line, column, categories, names):
    """Ask for cells of one published table: line by category, and the total of a line."""
    request = ckm.TableRequest(dimensions=[line, column])

    def question(number, group):
        at = {line: str(names[number])}
        if len(group) == 1:
            at[column] = str(categories[group[0]])
        elif len(group) < len(categories):
            return None
        return PublishedCell(request=request, at=at)

    return EngineOracle(engine, question, remembers=True)


def departments(engine, names, *, remembers=False):
    return EngineOracle.of_groups(
        engine,
        column="age_group",
        categories=AGE_GROUPS,
        lines=[f"department = '{name}'" for name in names],
        remembers=remembers,
    )


@pytest.fixture(scope="module")
def by_age(frame):
    names, counts = counts_by(frame, "department", "age_group", AGE_GROUPS, least=3)
    return names[:20], counts[:20]


@pytest.fixture(scope="module")
def grouped(engine, by_age):
    """Ages grouped at will in twenty departments; what was asked before is not asked again."""
    return departments(engine, by_age[0], remembers=True), by_age[1]


@pytest.mark.slow
def test_averaging_finds_totals_and_small_cells_of_the_engine(grouped):
    oracle, counts = grouped
    attack, rng = TwoPartition(n_categories=6), np.random.default_rng(1)
    total = attack.run(oracle, truth=counts.sum(axis=1), rng=rng)
    assert agrees(total.rate, attack.closed_form(TABLE), trials=20)
    assert (total.queries, total.refused) == (20 * 62, 0)
    cell = SmallCell(n_categories=6).run(oracle, truth=counts[:, -1])
    expected = SmallCell(n_categories=6).closed_form(TABLE)
    assert agrees(cell.rate, expected, trials=20)


@pytest.mark.slow
def test_least_squares_find_the_categories_of_the_engine(grouped):
    oracle, counts = grouped
    attack = LinearReconstruction(n_categories=6)
    found = attack.run(oracle, truth=counts)
    assert agrees(found.rate, attack.closed_form(TABLE), trials=20 * 6)
    assert found.queries == 20 * 63


@pytest.mark.slow
def test_the_bound_of_the_engine_shows(grouped):
    oracle, counts = grouped
    attack, rng = HiddenBound(n_pairs=31, n_categories=6), np.random.default_rng(2)
    found = attack.run(oracle, truth=counts.sum(axis=1), max_noise=2, rng=rng)
    assert agrees(found.rate, attack.closed_form(TABLE), trials=20)


@pytest.mark.slow
def test_asking_the_engine_again_gains_nothing(engine, by_age):
    names, counts = by_age
    oracle = departments(engine, names)
    first = RepeatedAnswers(n_repeats=1).run(oracle, truth=counts[:, 0])
    again = RepeatedAnswers(n_repeats=12).run(oracle, truth=counts[:, 0])
    assert again.successes == first.successes < 20
    assert again.queries == 12 * 20
    p_once = RepeatedAnswers(n_repeats=12).closed_form(TABLE, noise="consistent")
    assert agrees(again.rate, p_once, trials=20)


@pytest.mark.slow
def test_a_person_more_shows_in_the_engine(engine, frame):
    sizes = frame.groupby("commune").size()
    aged = frame[frame["age"] == 55].groupby("commune").size()
    names = [c for c in sizes.index[sizes >= 12] if aged.get(c, 0) <= 1][:150]
    is_there = np.array([aged.get(c, 0) for c in names])
    assert 20 <= is_there.sum() <= 100

    def question(line, group):
        return f"commune = '{names[line]}'" + (" and age != 55" if group == (0,) else "")

    oracle = EngineOracle(engine, question, remembers=True)
    found = Differencing().run(oracle, truth=is_there)
    assert agrees(found.rate, Differencing().closed_form(TABLE), trials=found.trials)
    right = Differencing(measure="accuracy").run(oracle, truth=is_there)
    assert right.successes == found.successes + int((is_there == 0).sum())


@pytest.mark.parametrize("measure", ["seen", "exact"])
def test_the_two_vintages_of_zones_give_their_slivers_away(engine, frame, measure):
    slivers = find_slivers(frame["zone_2015"], frame["zone_2024"], largest=4)
    slivers = [s for s in slivers if s.is_nested and len(s.parts) == 1]
    counts = [[*s.part_counts, s.n_only_zone] for s in slivers]
    assert len(slivers) > 80
    oracle = EngineOracle.of_slivers(engine, slivers, old="zone_2015", new="zone_2024")
    attack = GeographicDifferencing(measure=measure)
    found = attack.run(oracle, truth=[s.n_only_zone for s in slivers])
    p = attack.closed_form(TABLE, counts=counts)
    assert agrees(found.rate, p, trials=len(slivers))
    assert found.queries == 2 * len(slivers)
    assert (0.7 if measure == "seen" else 0.2) < found.rate < 0.95


def test_no_zone_that_kept_its_people_is_taken_for_a_sliver(engine, people, frame):
    """Error rate 0: the same records have the same published count."""
    both = {
        column: engine.tabulate([column]).to_pandas().set_index(column)["count"]
        for column in ("zone_2015", "zone_2024")
    }
    same = set(both["zone_2015"].index) & set(both["zone_2024"].index)
    changed = frame[frame["zone_2015"] != frame["zone_2024"]]
    kept = same - set(changed["zone_2015"]) - set(changed["zone_2024"])
    assert len(kept) > 100
    assert all(both["zone_2015"][zone] == both["zone_2024"][zone] for zone in kept)


@pytest.mark.parametrize("mix", [False, True])
def test_additive_keys_leak_where_the_engine_does_not_mix(people, frame, mix):
    """With a mix, who counts on addition finds less than half of what leaks without."""
    table = reordered(r_table(5, 3), sorted(range(-5, 6), key=lambda v: (abs(v), v)))
    names, counts = counts_by(frame, "commune", "sex", SEXES, least=5)
    assert len(names) > 250
    attack = AdditiveKeys(keys="mixed" if mix else "additive")
    with engine_of(people, table, mix=mix) as engine:
        oracle = lines_of(engine, "commune", "sex", SEXES, names)
        found = attack.run(oracle, ptable=table, truth=counts)
        other = AdditiveKeys().run(oracle, ptable=table, truth=counts)
    assert agrees(found.rate, attack.closed_form(table), trials=len(names))
    leaking = AdditiveKeys().closed_form(table)
    assert (other.rate < leaking / 2) == mix


@pytest.mark.slow
def test_bounds_reveal_lines_of_the_engine_as_often_as_computed(engine, frame):
    names, counts = counts_by(frame, "commune", "sex", SEXES)
    attack = MarginBounds(max_noise=2)
    found = attack.run(lines_of(engine, "commune", "sex", SEXES, names), truth=counts)
    p = np.mean([attack.closed_form(TABLE, counts=line) for line in counts])
    assert agrees(found.rate, p, trials=len(names))


@pytest.mark.slow
def test_subsets_of_known_ages_rebuild_who_is_there_and_names_are_refused(engine, frame):
    largest = frame.groupby("commune").size().idxmax()
    here = f"commune = '{largest}' and category = 'A'"
    some = frame[(frame["commune"] == largest) & (frame["category"] == "A")]
    ages = [a for a in range(15, 71) if (some["age"] == a).sum() <= 1]
    bits = [int((some["age"] == age).sum()) for age in ages]
    assert len(ages) > 20
    assert 5 < sum(bits) < len(bits)
    rng = np.random.default_rng(3)
    attack = SubsetSums(n_people=len(ages), n_queries=150, share_asked=0.6)
    oracle = EngineOracle.of_groups(engine, column="age", categories=ages, lines=[here])
    found = attack.run(oracle, truth=[bits], rng=rng)
    assert found.rate >= attack.closed_form(TABLE) - 0.05 > 0.9
    names = some["person_id"].tolist()
    named = EngineOracle.of_groups(engine, column="person_id", categories=names)
    attack = SubsetSums(n_people=len(names), n_queries=20)
    refused = attack.run(named, truth=[[1] * len(names)], rng=rng)
    assert (refused.successes, refused.refused) == (0, refused.queries)
    assert "tells persons apart" in next(iter(named.reasons))


# --- what the oracle itself promises -----------------------------------------------------


class Service:
    """An engine behind a quota and a rule against fine filters."""

    def __init__(self, engine, *, quota=10**9, rule=None):
        self.engine, self.quota, self.rule = engine, quota, rule

    def tabulate_all(self, requests):
        if self.rule is not None and any(self.rule(r.where or "") for r in requests.values()):
            raise RequestError("This filter is too fine.")
        if len(requests) > self.quota:
            raise PermissionError("the quota is used up")
        self.quota -= len(requests)
        return self.engine.tabulate_all(requests)


@pytest.mark.slow
def test_rules_refuse_single_counts_and_quotas_the_rest(engine, by_age):
    names, counts = by_age
    rule = Service(engine, rule=lambda where: "," not in where)  # a single category
    ruled = departments(rule, names[:4])
    rng = np.random.default_rng(4)
    attack = TwoPartition(n_categories=6)
    found = attack.run(ruled, truth=counts[:4].sum(axis=1), rng=rng)
    assert found.refused == 4 * 6
    assert ruled.reasons == {"This filter is too fine.": 24}
    short = departments(Service(engine, quota=2 * 62), names[:4])
    found = attack.run(short, truth=counts[:4].sum(axis=1), rng=rng)
    assert found.refused == 2 * 62
    assert found.queries == 4 * 62


def test_what_users_cannot_ask_is_refused_and_counted(engine):
    oracle = EngineOracle.of_cube(engine, categories={"category": CATEGORIES})
    answers = oracle(CountRequest(groups=((0, 1), (0,), (0, 1, 2, 3, 4))))
    assert answers[0] is None
    assert None not in answers[1:]


def test_answers_are_those_of_the_published_tables(engine):
    oracle = EngineOracle.of_cube(engine, categories={"sex": SEXES, "category": CATEGORIES})
    table = engine.tabulate(["sex", "category"]).to_pandas()
    published = {(s, c): n for s, c, n in table.itertuples(index=False)}
    groups = ((0,), (9,), tuple(range(5)), (1, 6), tuple(range(10)))
    wanted = [("F", "A"), ("M", "E"), ("F", "Total"), ("Total", "B"), ("Total", "Total")]
    assert oracle(CountRequest(groups=groups)) == [published[cell] for cell in wanted]
    filters = EngineOracle.of_groups(engine, column="category", categories=CATEGORIES)
    assert filters(CountRequest(groups=((1,),))) == [published["Total", "B"]]


def test_remembering_asks_once_and_forgetting_asks_again(engine):
    class Counting(Service):
        n_calls = 0

        def tabulate_all(self, requests):
            self.n_calls += 1
            return super().tabulate_all(requests)

    for remembers, n_calls in ((True, 1), (False, 5)):
        service = Counting(engine)
        oracle = EngineOracle(service, lambda _line, _group: "sex = 'F'", remembers=remembers)
        result = RepeatedAnswers(n_repeats=5).run(oracle, truth=[1])
        assert (result.queries, service.n_calls) == (5, n_calls)


def test_mistakes_and_broken_keys_are_no_refusals(engine, people):
    oracle = EngineOracle.of_groups(engine, column="sex", categories=SEXES)
    for wrong in (CountRequest(groups=((2,),)), CountRequest(groups=((0,),), line=1)):
        with pytest.raises(RiskError, match="none of them"):
            oracle(wrong)
    cell = PublishedCell(request=ckm.TableRequest(dimensions=["sex"]), at={"age": "15"})
    with pytest.raises(RiskError, match="no column 'age'"):
        EngineOracle(engine, lambda _line, _group: cell)(CountRequest(groups=((0,),)))
    import pyarrow as pa

    twice = pa.concat_tables([people, people])
    with engine_of(twice) as broken:
        oracle = EngineOracle.of_groups(broken, column="sex", categories=SEXES)
        with pytest.raises(RiskError, match="cannot answer"):
            oracle(CountRequest(groups=((0,),)))


def test_slivers_must_be_nested(engine):
    slivers = find_slivers(list("AAAB"), list("aaba"), largest=1)
    with pytest.raises(RiskError, match="must lie inside"):
        EngineOracle.of_slivers(engine, slivers, old="zone_2015", new="zone_2024")


@pytest.mark.parametrize("name", ["it's", 'say "x"', "a`b", "<script>", "x') or ('1' = '1"])
def test_hostile_names_are_only_names(name):
    import pyarrow as pa

    column = f"col {name}"
    data = pa.table({"id": range(60), column: [name, "other"] * 30})
    with ckm.Engine(data, id="id", secret=SECRET, ptable=TABLE) as built:
        oracle = EngineOracle.of_groups(built, column=column, categories=[name, "other"])
        answers = oracle(CountRequest(groups=((0,), (1,), (0, 1))))
        table = built.tabulate([column]).to_pandas().set_index(column)["count"]
    assert answers == [table[name], table["other"], table["Total"]]
    assert not oracle.reasons


@pytest.mark.slow
def test_the_wording_of_a_question_never_changes_its_answer(engine):
    """Conditions that change nothing do not make new noise, so that nobody can average them."""
    wordings = [
        "sex = 'F'",
        "sex in ('F')",
        "not sex = 'M'",
        "sex != 'M' and age >= 0",
        "age < 200 and (sex = 'F' or sex = 'nobody')",
        *(f"sex = 'F' and (age <= {age} or age > {age})" for age in range(20, 60)),
    ]
    oracle = EngineOracle(engine, lambda line, _group: wordings[line])
    answers = [oracle(CountRequest(groups=((0,),), line=n)) for n in range(len(wordings))]
    assert len({tuple(answer) for answer in answers}) == 1
    assert answers[0][0] is not None
    by_table = engine.tabulate(["sex", "age_group"]).to_pandas()
    line = by_table[(by_table["sex"] == "F") & (by_table["age_group"] == "Total")]
    assert answers[0] == line["count"].tolist()
