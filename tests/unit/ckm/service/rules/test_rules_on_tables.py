"""The rules on whole tables: decided by hand from what is published, area by area."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from ckm.service.answering.answer import Answerer
from ckm.service.answering.query import query_of_request
from tests.unit.ckm.service.rules.test_rules import OFF

LIMITS = {
    "minimum_population": (None, 10, 60),
    "sparsity_a": (None, 0.0, 0.1, 0.25),
    "sparsity_b": (None, 0.2, 0.5),
    "mean_cell_size": (None, 2.0, 8.0),
    "group_disclosure": (None, 0, 1, 3),
    "permille_disclosive": (0.0, 45.0, 400.0),
    "permille_zeros": (None, 300.0, 718.0),
    "permille_ones": (None, 100.0, 281.0),
    "permille_dominant": (None, 500.0, 828.0),
}
OTHERS = ["sex", "category", "age_tree"]
SENSITIVE = {"category", "sex"}
OPEN = {
    **OFF,
    "maximum_cells": None,
    "maximum_variables": None,
    "judge_filters": None,
}


@pytest.fixture(scope="module")
def answerer(served):
    variables = {
        name: offer.changed(is_sensitive=name in SENSITIVE)
        for name, offer in served.service.variables.items()
    }
    return Answerer(served.service.changed(variables=variables), served.engine)


def published(answer):
    table = answer.table
    codes = [[names[place] for place in at] for at, names in table.dimensions.values()]
    names = zip(*codes, strict=True) if codes else [()]
    return dict(zip(names, table.measures["count"].tolist(), strict=True))


def broken(cells, population, limits, names):
    """Return the rules that one area breaks; `cells` holds the inner ones, empty or not."""
    size = Counter(cells.values())
    filled = len(cells) - size[0]
    over = {"minimum_population": lambda limit: population < limit}
    if names:
        over |= {
            "mean_cell_size": lambda limit: population / len(cells) < limit,
            "permille_zeros": lambda limit: 1000 * size[0] / len(cells) > limit,
            "permille_ones": lambda limit: 1000 * size[1] / len(cells) > limit,
            "permille_dominant": lambda limit: largest(cells, names) > limit,
            "group_disclosure": lambda k: (
                disclosive(cells, names, k) > limits["permille_disclosive"]
            ),
        }
    if filled and names:
        over["sparsity_a"] = lambda limit: size[1] / filled > limit
        over["sparsity_b"] = lambda limit: (size[1] + size[2]) / filled > limit
    found = {n for n, fails in over.items() if limits[n] is not None and fails(limits[n])}
    if names and not filled and {limits["sparsity_a"], limits["sparsity_b"]} != {None}:
        found.add("empty")
    return found


def largest(cells, names):
    """Return the largest share of a category of any variable, per mille."""
    sums = Counter()
    for codes, count in cells.items():
        sums.update({(place, codes[place]): count for place in range(len(names))})
    total = sum(cells.values())
    return 1000 * max(sums.values()) / total if total else 0


def disclosive(cells, names, k):
    """Return the largest share of groups nearly all of one sensitive category, per mille."""
    shares = [0]
    for place in (place for place, name in enumerate(names) if name in SENSITIVE):
        groups = {}
        for codes, count in cells.items():
            groups.setdefault(codes[:place] + codes[place + 1 :], []).append(count)
        there = [group for group in groups.values() if sum(group)]
        alike = sum(sum(group) - k <= max(group) for group in there)
        shares.append(1000 * alike / len(there) if there else 0)
    return max(shares)


def drawn(rng, answerer):
    """Draw a request: its dimensions, its filter, the codes selected, and limits."""
    variables = answerer.variables
    names = rng.permutation(OTHERS)[: rng.integers(0, 4)].tolist()
    codes = {
        name: [variable.codes[rank] for rank in variable.ranks() if rank]
        for name, variable in variables.items()
    }
    select = {}
    if rng.random() < 0.9:
        size = rng.integers(1, 9)
        select["geo"] = rng.choice([*codes["geo"], "Total"], size, replace=False).tolist()
    for name in names:
        if rng.random() < 0.2 and name != "age_tree":
            select[name] = rng.choice(codes[name], 2, replace=False).tolist()
    where = rng.choice(["", "sex = 'F'", "category in ('A', 'C')", "not (region = '01')"])
    limits = {name: values[rng.integers(len(values))] for name, values in LIMITS.items()}
    with_area = "geo" in select
    dimensions = rng.permutation([*names, *(["geo"] if with_area else [])]).tolist()
    return names, dimensions, where or None, select, limits


@pytest.mark.slow
def test_areas_are_withheld_for_what_is_published_and_for_nothing_else(answerer):
    rng = np.random.Generator(np.random.PCG64(1))
    seen = Counter()
    for _ in range(140):
        names, dimensions, where, select, limits = drawn(rng, answerer)
        query = query_of_request(
            answerer.variables, dimensions=dimensions, where=where, select=select
        )
        answer = answerer.answer(
            query, settings=answerer.settings.changed(**{**OPEN, **limits})
        )
        before = ["geo"] if "geo" in dimensions else []
        whole = query_of_request(answerer.variables, dimensions=[*before, *names], where=where)
        shown = published(answerer.answer(whole, settings=answerer.settings.changed(**OPEN)))
        among = [answerer.variables[name] for name in names]
        inners = itertools.product(  # a tree has coarser tables inside
            *([v.ranks(level) for level in range(len(v.axis.levels) - 1)] for v in among)
        )
        inners = [
            [[v.codes[rank] for rank in ranks] for v, ranks in zip(among, inner, strict=True)]
            for inner in inners
        ]
        geo = answerer.variables["geo"]
        every = [geo.codes[rank] for rank in geo.ranks()]
        areas = [(code,) for code in select.get("geo", every)] if before else [()]
        wanted = {
            area: set().union(
                *(
                    broken(
                        {codes: shown[area + codes] for codes in itertools.product(*inner)},
                        shown[area + ("Total",) * len(names)],
                        limits,
                        names,
                    )
                    for inner in inners
                )
            )
            for area in areas
        }
        if answer.refusal is not None:
            assert all(wanted.values())
            assert answer.refusal.reason in set.union(*wanted.values())
            seen["refused"] += 1
            continue
        withheld = {(code,): refusal.reason for code, refusal in answer.withheld.items()}
        assert set(withheld) == {area for area, rules in wanted.items() if rules}
        assert all(reason in wanted[area] for area, reason in withheld.items())
        seen.update(withheld.values())
        places = [dimensions.index(name) for name in [*before, *names]]
        for codes, count in published(answer).items():
            assert count == shown[tuple(codes[place] for place in places)]
            seen["cells"] += 1
    assert seen["cells"] > 200
    assert len({*OFF, "empty", "refused"} & set(seen)) >= 8
