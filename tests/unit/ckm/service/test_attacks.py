"""Attacks on a service, by somebody who knows all that is public and wants one person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckm.config.service import read_service
from ckm.ledger import Ledger, list_published
from ckm.service.api import make_app
from ckm.service.query import Selection, query_of_request
from ckm.service.server import open_desk
from tables import Secret
from tests.unit.ckm.service.conftest import SECRET, Web, write_service
from tests.unit.ckm.service.test_recorder import LEDGER, OPEN, alone, ask, reason

CALLER = {"token": None, "address": "203.0.113.9"}


@pytest.fixture
def folder(tmp_path):
    write_service(tmp_path, more=LEDGER, persons=3000)
    return tmp_path


@pytest.fixture
def opened(folder):
    """Open the service, again and again, with more lines in its file or other settings."""
    stacks = []

    def make(text="", **changes):
        path = folder / "service.toml"
        path.write_text(path.read_text() + text)
        context = open_desk(replace(read_service(path), **changes))
        stacks.append(context)
        return context.__enter__()

    yield make
    for context in stacks:
        context.__exit__(None, None, None)


def sets_of(folder):
    """Return how many sets each entry of the ledger has."""
    with Ledger.open(folder / "ledger.db", secret=Secret(SECRET), create=False) as ledger:
        return [len(ledger._entry(e.number)) for e in list_published(folder / "ledger.db")]


def test_an_order_of_variables_does_not_hide_a_table_from_the_ledger(folder, opened):
    """Levels are given by place: in another order, they meant a table that shows nothing."""
    desk = opened()
    total = {"select": {"sex": ["Total"]}}
    empty = ask(desk, ["category", "sex"], margins=[["sex"]], rules=OPEN, **total)
    assert empty.table.n_rows == 0
    shown = ask(desk, ["sex", "category"], margins=[["category"]], rules=OPEN, **total)
    assert shown.table.n_rows == 5
    assert sets_of(folder)[-1] >= 5
    thin = ask(desk, ["category"], where=alone(folder), rules=OPEN)
    assert reason(thin) == "thin_difference"


@pytest.mark.parametrize("kind", ["json-stat2", "csv", "px", "xlsx"])
def test_a_flagged_table_is_the_one_that_would_be_answered_without_a_ledger(
    folder, opened, kind
):
    """With the policy to flag, readers learn nothing from the ledger."""
    desk = opened('policy = "flag"\n')
    text = alone(folder)
    address = "/tables/jobseekers/data"
    options = {"valuecodes[sex]": "*", "filter": text, "outputFormat": kind}
    web = Web(make_app(desk))
    ask(desk, ["sex"])
    flagged = web.get(address, params=options)
    page = web.get("/", params={"codelist[sex]": "sex", "filter": text})
    plain = Web(make_app(opened(ledger=None)))
    free = plain.get(address, params=options)
    assert flagged.status_code == free.status_code == 200
    assert flagged.headers.get("etag") is not None
    if kind != "xlsx":
        assert flagged.content == free.content
    for line in ("too little", "published before", "thin"):
        assert line not in page.text
    other = plain.get("/", params={"codelist[sex]": "sex", "filter": text})
    assert page.content == other.content


def test_a_small_area_in_the_filter_is_a_small_area(served):
    """Five variables of one commune are refused, wherever the commune stands."""
    desk = served.desk
    rules = {**OPEN, "small_areas": ("commune",), "maximum_variables_small_areas": 2}
    geo = desk.variables["geo"]
    rank = int(geo.ranks(0)[0])
    below = geo.axis.labels[-1][rank]
    wanted = "maximum_variables_small_areas"
    for where in (f"commune = '{below}'", f"not (commune <> '{below}' or sex = 'X')"):
        found = ask(desk, ["sex", "category"], where=where, rules=rules)
        assert reason(found) == wanted, where
    within = (Selection(variable="geo", ranks=(rank,)),)
    query = query_of_request(desk.variables, dimensions=["sex", "category"])
    settings = replace(desk.answerer.settings, **rules)
    found = desk.answerer.answer(replace(query, within=within), settings=settings)
    assert reason(found) == wanted
    wide = ask(desk, ["sex", "category"], where="region = '01'", rules=rules)
    assert reason(wide) is None


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("203.0.113.9", {}, 403),
        ("::ffff:203.0.113.9", {}, 403),
        ("127.0.0.1", {"X-Forwarded-For": "203.0.113.9"}, 403),
        ("127.0.0.1", {"Forwarded": "for=203.0.113.9"}, 403),
    ],
)
def test_figures_are_not_for_those_beyond_this_machine(served, address, headers, status):
    """A proxy on the same machine hands strangers on; sockets of both kinds map addresses."""
    web = Web(make_app(served.desk), address=address)
    assert web.get("/metrics", headers=headers).status_code == status


def test_addresses_of_a_socket_for_both_kinds_have_budgets_of_their_own(served):
    app = make_app(served.desk)
    left = [
        int(
            Web(app, address=f"::ffff:198.51.100.{n}")
            .get("/tables/jobseekers/data")
            .headers["RateLimit-Remaining"]
        )
        for n in (7, 8)
    ]
    assert left[0] == left[1]
