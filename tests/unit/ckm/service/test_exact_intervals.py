"""Exact intervals of figures: for officers by the API, and for nobody else, without a hint."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from ckm.config.service.service import read_service
from ckm.formats import FORMATS
from ckm.service.access.tokens import TokenFile
from ckm.service.answering.query import Query, Selection
from risk.inference.exact_margins import ExactMargin
from risk.inference.public_margins import PublicMargin
from tables import Secret
from tests.strategies import worked_ptable
from tests.unit.ckm.service.conftest import RULES, Served, cells_of, write_service

DATA = "/tables/jobseekers/data"
BY_SEX = f"{DATA}?valuecodes[geo]=*&codelist[geo]=geo.region&valuecodes[sex]=F,M"
EXACT = "&margin=exact&level=90"
ACCESS = '\n[access]\ntokens = "tokens.json"\n'
RATE = """
[[rate]]
name = "long"
title = { en = "Rate of D", fr = "Taux de D" }
variable = "category"
numerator = ["D"]
denominator = ["A", "B", "C", "D"]
"""


class Office:
    """A service, and a client for each role."""

    def __init__(self, folder, *, more=RULES + RATE + ACCESS, change=("", "")):
        path = write_service(folder, more=more)
        path.write_text(path.read_text().replace(*change, 1))
        tokens = TokenFile(folder / "tokens.json")
        self.tokens = {role: tokens.add(role=role, label=role) for role in ROLES}
        limits = read_service(path).limits.changed(requests_per_hour=10**9)
        self.served = Served(path, folder / "jobs", limits=limits)

    def ask(self, url, role="officer", **options):
        method = "POST" if "json" in options else "GET"
        headers = {} if role == "nobody" else {"Authorization": f"Bearer {self.tokens[role]}"}
        return self.served.web.ask(method, url, headers=headers, **options)


ROLES = ("public", "researcher", "officer")


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    opened = Office(tmp_path_factory.mktemp("office"))
    yield opened
    opened.served.close()


def figures_of(answer):
    assert answer.status_code == 200, answer.text
    cells = {}
    for (*codes, measure), number in cells_of(answer).items():
        cells.setdefault(tuple(codes), {})[measure] = number
    return cells


def test_an_officer_gets_the_exact_intervals_of_published_pairs(office):
    margin = ExactMargin.of(worked_ptable(), level=90)
    url = BY_SEX.replace("F,M", "*") + "&figure=share&of=sex"
    shares = figures_of(office.ask(url + EXACT))
    assert len(shares) > 20
    for (region, sex), own in shares.items():
        if sex == "Total":
            continue
        low, high = margin.ratios([own["count"]], [shares[region, "Total"]["count"]])
        assert own["share_low"] == pytest.approx(100 * low[0])
        assert own["share_high"] == pytest.approx(100 * high[0])


def test_counts_alone_have_intervals_where_no_figure_is_asked_for(office):
    counts = figures_of(office.ask(BY_SEX + "&margin=exact&level=99"))
    margin = ExactMargin.of(worked_ptable(), level=99)
    for own in counts.values():
        low, high = margin.sums([own["count"]], margin.squares([own["count"]]))
        assert (own["count_low"], own["count_high"]) == (low[0], high[0])


@pytest.mark.parametrize("figure", ["difference", "index", "rank", "long"])
def test_every_figure_has_exact_intervals(office, figure):
    more = {"difference": "&of=sex&base=F", "index": "&of=sex&base=F", "rank": "&of=sex"}
    cells = figures_of(office.ask(f"{BY_SEX}&figure={figure}{more.get(figure, '')}{EXACT}"))
    for own in cells.values():
        assert own[f"{figure}_low"] <= own[figure] <= own[f"{figure}_high"]


def test_zones_have_intervals_of_sums_of_their_areas(office):
    codes = [v["code"] for v in office.ask("/codelists/geo.region").json()["values"]]
    body = {"dimensions": ["geo"], "select": {"geo": codes[:1]}, "zones": {"North": codes[:3]}}
    body |= {"margin": "exact", "level": 95}
    own = figures_of(office.ask("/requests", json=body))["North",]
    low, high = ExactMargin.of(worked_ptable(), level=95).sums([own["count"]], [[3, 3]])
    assert (own["count_low"], own["count_high"]) == (low[0], high[0])
    public = PublicMargin.of(worked_ptable())
    assert own["count_high"] - own["count_low"] < 4 * 2 * public.width


@pytest.mark.parametrize("role", ["nobody", "public", "researcher"])
def test_nobody_else_gets_them_and_the_refusal_is_the_same_whatever_is_asked(office, role):
    said = set()
    for url in (
        BY_SEX + EXACT,
        BY_SEX + "&figure=share&margin=exact",
        f"{DATA}?valuecodes[sex]=*&figure=long&margin=exact&level=50",
    ):
        office.ask(url)  # an officer's answer in memory is nobody else's
        answer = office.ask(url, role)
        assert answer.status_code == 403
        said.add(answer.json()["detail"])
    body = {"dimensions": ["sex"], "margin": "exact", "wait": False}
    answer = office.ask("/requests", role, json=body)
    assert answer.status_code == 403
    said.add(answer.json()["detail"])
    assert len(said) == 1
    assert "officers of the statistical office" in said.pop()
    french = office.ask(BY_SEX + EXACT + "&lang=fr", role).json()["detail"]
    assert "réservés aux agents" in french


def test_a_refusal_comes_before_anything_is_looked_at(office, monkeypatch):
    """So its time tells nothing, nor does it whether there could be exact intervals."""

    def never(*_, **__):
        raise AssertionError

    monkeypatch.setattr(office.served.answerer, "answer", never)
    monkeypatch.setattr(office.served.answerer.deriver, "widened", never)
    assert office.ask(BY_SEX + "&figure=share" + EXACT, "public").status_code == 403
    monkeypatch.setattr(office.served.answerer.deriver, "_ptable", None)
    assert office.ask(BY_SEX + "&figure=share" + EXACT, "public").status_code == 403
    assert office.ask(BY_SEX + "&figure=share" + EXACT).status_code == 400


def test_public_answers_and_metadata_have_no_field_of_exact_intervals(office):
    plain = office.ask(BY_SEX + "&figure=share", "nobody")
    office.ask(BY_SEX + "&figure=share" + EXACT)
    again = office.ask(BY_SEX + "&figure=share", "nobody")
    assert again.content == plain.content
    assert b"exact" not in plain.content
    metadata = [office.ask("/tables/jobseekers/metadata", r) for r in ("nobody", "officer")]
    assert metadata[0].content == metadata[1].content
    assert b"exact" not in metadata[0].content


def test_intervals_are_kept_by_no_cache_and_say_for_whom_they_are(office):
    answer = office.ask(BY_SEX + "&figure=share" + EXACT)
    assert answer.headers["Cache-Control"] == "no-store"
    notes = " ".join(answer.json()["note"])
    assert "in 90 % of cases or more" in notes
    assert "for the statistical office alone" in notes
    href = answer.json()["link"]["self"][0]["href"]
    assert "margin=exact" in href
    assert office.ask(href).content == answer.content
    french = " ".join(
        office.ask(BY_SEX + EXACT.replace("90", "99.5") + "&lang=fr").json()["note"]
    )
    assert "dans 99,5\N{NO-BREAK SPACE}% des cas" in french
    assert office.ask(BY_SEX).headers["Cache-Control"] == "no-cache"


def test_every_format_has_exact_intervals(office):
    for name in FORMATS:
        for language in ("en", "fr"):
            url = f"{BY_SEX}&figure=index&of=sex&base=F{EXACT}&lang={language}"
            assert office.ask(f"{url}&outputformat={name}").status_code == 200, name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("margin=sure", "margin"),
        ("level=95", "a level is of exact intervals"),
        ("margin=public&level=95", "a level is of exact intervals"),
        ("margin=exact&level=100", "from 50 to 99.9"),
        ("margin=exact&level=nan", "from 50 to 99.9"),
        ("margin=exact&level=x", "from 50 to 99.9"),
        ("margin=exact&valuecodes[ContentsCode]=weighted", "of counts alone"),
    ],
)
def test_what_is_wrong_is_named(office, words, said):
    answer = office.ask(f"{DATA}?valuecodes[sex]=*&{words}")
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


def test_the_margin_for_everybody_can_be_asked_for_by_name(office):
    plain = office.ask(BY_SEX + "&figure=share")
    assert office.ask(BY_SEX + "&figure=share&margin=public").content == plain.content


def test_keys_that_are_not_mixed_have_no_exact_intervals(tmp_path):
    change = ('secret = "secret.key"', 'secret = "secret.key"\nmix = false')
    office = Office(tmp_path, change=change)
    answer = office.ask(BY_SEX + EXACT)
    assert answer.status_code == 400
    assert "mixed keys" in answer.json()["detail"]
    assert office.ask(BY_SEX + EXACT, "public").status_code == 403
    office.served.close()


@pytest.mark.slow
def test_exact_intervals_hold_the_true_shares_of_a_service_over_secrets(tmp_path):
    held = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = write_service(folder, more=RULES + ACCESS)
        (folder / "secret.key").unlink()
        Secret(bytes([seed]) * 32).write(folder / "secret.key")
        served = Served(path, folder / "jobs")
        held += _held(served, level=90)
        served.close()
    # seeded secrets; four standard errors below the level
    assert len(held) > 200
    assert np.mean(held) >= 0.9 - 4 * np.sqrt(0.09 / len(held))


def _held(served, *, level):
    """Tell of each share of women in a department whether its interval holds the true one."""
    variables, deriver = served.answerer.variables, served.answerer.deriver
    areas = variables["geo"].ranks(1)
    query = Query(
        selections=(
            Selection(variable="geo", ranks=tuple(areas.tolist())),
            Selection(variable="sex", ranks=(variables["sex"].rank("F"),)),
        )
    )
    asked = deriver.derivation(query, figure="share", of=["sex"], margin="exact", level=level)
    table = served.answerer.derive(asked).table
    frame = pq.read_table(served.service.job.data.path).to_pandas()
    true = frame.groupby("department")["sex"].agg(lambda own: 100 * (own == "F").mean())
    codes, names = table.dimensions["geo"]
    ends = [np.ma.filled(table.measures[f"share_{end}"], 100) for end in ("low", "high")]
    return [
        bool(low - 1e-6 <= true[names[code].rpartition("/")[2]] <= high + 1e-6)
        for code, low, high in zip(codes, *ends, strict=True)
    ]
