"""The answering path: the numbers of the batch job, the rules, the ledger's place."""

from __future__ import annotations

import numpy as np
import pytest

from ckm.config.service.rules import RuleSettings
from ckm.service.answering.answer import Answerer
from ckm.service.answering.messages import ClientError
from ckm.service.answering.query import Query, Selection, query_of_request
from ckm.service.rules.shape import Finding

OPEN = RuleSettings(
    minimum_population=None,
    sparsity_a=None,
    sparsity_b=None,
    mean_cell_size=None,
    group_disclosure=None,
    maximum_variables_small_areas=None,
    maximum_cells=10**7,
)


def asked(answerer, dimensions, **options):
    return query_of_request(answerer.variables, dimensions=dimensions, **options)


def numbers(table, measure="count"):
    """Return codes → published number."""
    columns = [
        [categories[code] for code in codes] for codes, categories in table.dimensions.values()
    ]
    keys = zip(*columns, strict=True) if columns else [()]
    return dict(zip(keys, table.measures[measure].tolist(), strict=True))


def batch(engine, variables, dimensions, **options):
    """Return codes → number as a batch job publishes it, zeros left out."""
    table = engine.tabulate(dimensions, empty_cells="drop", **options)
    places = []
    for name in dimensions:
        axis = variables[name].axis
        paths = zip(*(column for column in axis.labels), strict=True)
        places.append({tuple(path): variables[name].codes[r] for r, path in enumerate(paths)})
    rows = []
    columns = [
        [categories[code] for code in codes] for codes, categories in table.dimensions.values()
    ]
    widths = [len(variables[name].axis.columns) for name in dimensions]
    for row in zip(*columns, strict=True) if columns else [()]:
        key, at = [], 0
        for width, place in zip(widths, places, strict=True):
            key.append(place[row[at : at + width]])
            at += width
        rows.append(tuple(key))
    return {
        measure: dict(zip(rows, values.tolist(), strict=True))
        for measure, values in table.measures.items()
    }


@pytest.mark.parametrize("measures", [("count",), ("count", "weighted")])
@pytest.mark.parametrize("where", [None, "sex = 'F' and not category in ('A', 'B')"])
@pytest.mark.parametrize(
    ("dimensions", "margins"),
    [
        ([], "all"),
        (["sex"], "all"),
        (["geo", "sex"], "all"),
        (["age_tree", "category"], "all"),
        (["zone_2024", "geo"], "none"),
        (["geo", "age_tree", "sex"], [["region"], ["sex"], ["department", "age_tree"], []]),
    ],
)
def test_a_cell_has_the_number_of_the_batch_job(served, dimensions, margins, where, measures):
    answerer = served.answerer
    if where and "sex" in dimensions and margins == "all":
        where = "category <> 'A'"
    query = asked(answerer, dimensions, margins=margins, where=where, measures=measures)
    answer = answerer.answer(query, settings=OPEN)
    wanted = batch(
        served.engine,
        answerer.variables,
        dimensions,
        margins=margins,
        where=where,
        measures=measures,
    )
    for measure in measures:
        found = numbers(answer.table, measure)
        listed = {k: v for k, v in wanted[measure].items() if k in found}
        assert {k: v for k, v in found.items() if v} == {k: v for k, v in listed.items() if v}
        assert sum(v != 0 for v in found.values()) > 0
    if not {"geo", "zone_2024"} & set(dimensions):
        assert set(wanted["count"]) <= set(numbers(answer.table))


def test_any_route_gives_the_same_cell(served):
    """Scanned, rolled up, selected, filtered to an area: the same records, the same number."""
    fresh = Answerer(served.service, served.engine)
    whole = numbers(fresh.answer(asked(fresh, ["geo", "sex", "category"]), settings=OPEN).table)
    rng = np.random.Generator(np.random.PCG64(5))
    geo = fresh.variables["geo"]
    for _ in range(25):
        rank = int(rng.choice(geo.ranks()))
        others = list(rng.permutation(["sex", "category"]))[: int(rng.integers(0, 3))]
        query = asked(fresh, ["geo", *others], select={"geo": [geo.codes[rank]]})
        table = fresh.answer(query, settings=OPEN).table
        for key, number in numbers(table).items():
            named = dict(zip(["geo", *others], key, strict=True))
            same = (geo.codes[rank], named.get("sex", "Total"), named.get("category", "Total"))
            assert whole[same] == number
    assert {"scanned", "rolled"} <= set(fresh.cubes.routes)


def test_an_area_as_a_filter_is_the_area_as_a_category(served):
    answerer = served.answerer
    by_area = numbers(answerer.answer(asked(answerer, ["geo", "sex"]), settings=OPEN).table)
    for region in ("01", "07"):
        query = asked(answerer, ["sex"], where=f"region = '{region}'")
        for (sex,), number in numbers(answerer.answer(query, settings=OPEN).table).items():
            assert by_area[region, sex] == number


def test_selecting_categories_neither_changes_numbers_nor_the_rules_outcome(served):
    answerer = served.answerer
    every = answerer.answer(asked(answerer, ["geo", "category"]))
    part = answerer.answer(asked(answerer, ["geo", "category"], select={"category": ["C"]}))
    assert every.withheld.keys() == part.withheld.keys() != set()
    assert {r.reason for r in every.withheld.values()} >= {"minimum_population"}
    whole = numbers(every.table)
    assert all(whole[key] == number for key, number in numbers(part.table).items())


def test_withheld_areas_are_not_in_the_table_and_are_named_with_a_reason(served):
    answer = served.answerer.answer(asked(served.answerer, ["geo", "sex"]))
    shown = set(answer.table.dimensions["geo"][1])
    assert answer.withheld
    assert not shown & set(answer.withheld)
    listed = {
        served.answerer.variables["geo"].codes[r]
        for r in served.answerer.variables["geo"].ranks()
    }
    assert shown | set(answer.withheld) == listed
    totals = numbers(
        served.answerer.answer(asked(served.answerer, ["geo"]), settings=OPEN).table
    )
    for code, refusal in answer.withheld.items():
        if refusal.reason == "minimum_population":
            assert totals[(code,)] < 10
            assert "10" in refusal.detail["fr"]
    assert all(totals[(code,)] >= 10 for code in shown)


def test_a_table_of_withheld_areas_alone_is_refused_with_words(served):
    answerer = served.answerer
    everything = answerer.answer(asked(answerer, ["geo", "sex"]))
    small = list(everything.withheld)[:3]
    answer = answerer.answer(asked(answerer, ["geo", "sex"], select={"geo": small}))
    assert answer.table is None
    assert answer.refusal.to_json("en")["status"] == "blocked"
    assert answer.refusal.tries["fr"]


@pytest.mark.parametrize(
    ("settings", "dimensions", "where", "rule"),
    [
        (RuleSettings(maximum_cells=5), ["sex", "category"], None, "maximum_cells"),
        (RuleSettings(maximum_categories=4), ["category"], None, "maximum_categories"),
        (
            RuleSettings(maximum_variables=2),
            ["sex", "category"],
            "region = '01'",
            "maximum_variables",
        ),
        (
            RuleSettings(exclusive=(("sex", "category"),)),
            ["sex"],
            "category = 'A'",
            "exclusive",
        ),
        (RuleSettings(mandatory=("geo",)), ["sex"], "region = '01'", "mandatory"),
        (
            RuleSettings(small_areas=("commune",), maximum_variables_small_areas=1),
            ["geo", "sex"],
            None,
            "maximum_variables_small_areas",
        ),
        (RuleSettings(minimum_population=10**6), ["sex"], None, "minimum_population"),
        (RuleSettings(mean_cell_size=10**6), ["sex"], None, "mean_cell_size"),
    ],
)
def test_a_rule_that_is_broken_names_itself_and_what_to_try(
    served, settings, dimensions, where, rule
):
    answer = served.answerer.answer(
        asked(served.answerer, dimensions, where=where), settings=settings
    )
    assert answer.refusal.reason == rule
    for language in ("en", "fr"):
        told = answer.refusal.to_json(language)
        assert told["detail"]
        assert told["try"]
        assert "{" not in str(told["detail"]) + str(told["try"])


def test_the_cells_of_an_answer_are_bounded_even_without_the_rule(served, monkeypatch):
    monkeypatch.setattr("ckm.service.answering.answer._MAX_CELLS", 10_000)
    variables = served.answerer.variables
    every = [
        Selection(variable=n, ranks=tuple(v.ranks().tolist())) for n, v in variables.items()
    ]
    answer = served.answerer.answer(
        Query(selections=tuple(every)), settings=OPEN.changed(maximum_cells=None)
    )
    assert answer.refusal.reason == "maximum_cells"


def test_the_ledger_sees_the_cells_and_may_refuse_or_flag(served):
    class Ledger:
        policy = "refuse"
        width = 2
        seen = None

        def review(self, publication):
            self.seen = publication
            return Finding(rule="thin_difference", tries=("thin_difference_try",))

    ledger = Ledger()
    answerer = Answerer(served.service, served.engine, ledger=ledger)
    query = asked(answerer, ["geo", "sex"], select={"geo": ["01", "02"], "sex": ["F"]})
    refused = answerer.answer(query)
    assert refused.refusal.reason == "thin_difference"
    assert ledger.seen.dimensions == ("geo", "sex")
    cells, is_shown = ledger.seen.cells()
    assert cells.sketch is not None
    assert 0 < is_shown.sum() < len(cells)  # women alone
    assert "count=" not in repr(ledger.seen)
    ledger.policy = "flag"
    flagged = answerer.answer(query)
    assert flagged.table is not None
    assert flagged.flag.reason == "thin_difference"


def test_wrong_requests_are_told(served):
    answerer = served.answerer
    for options in (
        {"dimensions": ["sexe"]},
        {"dimensions": ["sex", "sex"]},
        {"dimensions": ["sex"], "measures": ["sum"]},
        {"dimensions": ["sex"], "measures": []},
        {"dimensions": ["sex"], "select": {"geo": ["01"]}},
        {"dimensions": ["sex"], "select": {"sex": ["F", "F"]}},
        {"dimensions": ["sex"], "select": {"sex": []}},
        {"dimensions": ["sex"], "select": {"sex": ["X"]}},
        {"dimensions": ["sex"], "margins": [["geo"]]},
    ):
        with pytest.raises(ClientError):
            query_of_request(answerer.variables, **options)
    for where in ("person_id = 'J1'", "weight > 1", "1 = 1", "sex = 'F'; drop table x"):
        with pytest.raises(ClientError) as caught:
            answerer.answer(asked(answerer, ["sex"], where=where))
        assert caught.value.key == "bad_filter"


def test_a_category_that_the_records_alone_tell_of_is_listed_only_with_persons(served):
    for variable in served.answerer.variables.values():
        found = served.engine.tabulate([variable.name], empty_cells="drop")
        assert found.n_rows
        positive = {int(r) for r in variable.ranks() if variable.axis.is_found[r]}
        assert variable.is_listed[0]
        assert not positive or len(positive) <= found.n_rows
        if variable.axis.is_found.any():
            hidden = np.flatnonzero(~variable.is_listed)
            shown = numbers(
                served.answerer.answer(
                    asked(served.answerer, [variable.name]), settings=OPEN
                ).table
            )
            assert all(n > 0 for n in shown.values())
            assert not {variable.codes[r] for r in hidden} & {code for (code,) in shown}
