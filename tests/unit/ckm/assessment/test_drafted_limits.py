"""Drafted limits: the noise keeps them whatever the secret, and they are not loose."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.assessment.drafted_limits import drafted_limits
from ckm.cli import app
from ptable import NoiseSpec, solve
from tables import Hierarchy, Request, open_source

SPEC = {"max_noise": 5, "variance": 3.0, "small": 2}


def people(n, *, seed=1, **changes):
    rng = np.random.default_rng(seed)
    commune = rng.integers(0, max(2, n // 40), n)
    found = {
        "person_id": [f"p{i}" for i in range(n)],
        "region": [f"r{c % 3}" for c in commune],
        "commune": [f"r{c % 3}c{c}" for c in commune],
        "sex": rng.choice(["F", "M"], n),
        "category": rng.choice(["A", "B", "C", None], n, p=[0.6, 0.3, 0.07, 0.03]),
    }
    return pa.table(found | changes)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def limits_of(table, *, identifier="person_id", ptable=None):
    hierarchies = {"geo": Hierarchy(columns=("region", "commune"))}
    requests = {
        "wide": Request(dimensions=["geo", "sex", "category"], hierarchies=hierarchies),
        "small": Request(dimensions=["sex", "category"]),
    }
    with open_source(table) as source:
        return drafted_limits(
            source,
            requests,
            ptable=ptable or solve(NoiseSpec(**SPEC)),
            sensitive=range(1, 5),
            identifier=identifier,
        )


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 900, 6000])
def test_the_drafted_design_meets_the_drafted_limits_with_every_secret(
    n, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(n), "people.parquet")
    monkeypatch.setenv("CKM_SECRET", "00" * 16)
    assert run("job", "init", "people.parquet").exit_code == 0
    limits = tomllib.loads(Path("job.toml").read_text())["report"]["limits"]
    assert set(limits) == {
        "posterior", "posterior_set", "known_small", "aad", "changed_cells", "false_zeros",
    }  # fmt: skip
    names = {"utility": "aad", "changed": "changed_cells", "false-zeros": "false_zeros"}
    largest = dict.fromkeys(limits, 0.0)
    for secret in range(6):
        Path("ledger.db").unlink(missing_ok=True)  # each secret has a ledger of its own
        monkeypatch.setenv("CKM_SECRET", f"{secret:032x}")
        done = run("release", "job.toml", "-o", f"out{secret}")
        assert done.exit_code == 0, done.stderr
        facts = json.loads(Path(f"out{secret}/internal/report.json").read_text())
        for check in facts["checks"]:
            key = names.get(check["name"], check["name"].replace("-", "_"))
            if key in limits:
                assert check["outcome"] == "passed"
                assert list(check["allowed"].values()) == [limits[key]]
                largest[key] = max(largest[key], *check["found"].values())
    if n == 6000:  # many cells: what the limits allow is near to what was seen
        for key in ("changed_cells", "posterior", "posterior_set"):
            assert largest[key] > 0.75 * limits[key], key
        assert largest["aad"] > 0.6 * limits["aad"]  # that of the table of the fewest cells


def test_limits_follow_the_design_and_the_counts():
    few, many = limits_of(people(300)), limits_of(people(3000))
    assert few["changed_cells"] > many["changed_cells"]  # fewer cells: larger errors
    gentle = solve(NoiseSpec(max_noise=2, variance=0.5))
    assert limits_of(people(3000), ptable=gentle)["aad"] < many["aad"]
    assert limits_of(people(3000), ptable=gentle)["posterior"] > many["posterior"]


def test_noise_that_cannot_break_a_limit_is_held_to_its_largest():
    quiet = limits_of(people(40), ptable=solve(NoiseSpec(max_noise=1, variance=0.5)))
    assert quiet["aad"] <= 1
    assert max(quiet.values()) <= 1


def test_without_an_identifier_limits_are_no_stricter():
    keyed, other = limits_of(people(900)), limits_of(people(900), identifier="")
    assert {key: other[key] for key in ("posterior", "posterior_set")} == {
        key: keyed[key] for key in ("posterior", "posterior_set")
    }
    assert all(other[key] >= 0.95 * keyed[key] for key in keyed)


def test_data_without_small_counts_need_no_limit_on_them():
    table = pa.table(
        {
            "person_id": range(4000),
            "region": ["r"] * 4000,
            "commune": ["c"] * 4000,
            "sex": ["F", "M"] * 2000,
            "category": ["A", "A", "B", "B"] * 1000,
        }
    )
    found = limits_of(table)
    assert found["posterior"] == found["known_small"] == found["false_zeros"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "drafted", "decided"),
    [
        (
            "en",
            "Limits: draft, not decided by the office.",
            "Limits decided by A. Lovelace, 31 January 2026.",
        ),
        (
            "fr",
            "Limites : projet, non décidées par le service statistique.",
            "Limites décidées par A. Lovelace, 31 janvier 2026.",
        ),
    ],
)
def test_page_one_says_that_nobody_decided_until_somebody_did(
    tmp_path, monkeypatch, language, drafted, decided
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CKM_SECRET", "00" * 16)
    pq.write_table(people(400), "people.parquet")
    assert run("job", "init", "people.parquet").exit_code == 0
    text = Path("job.toml").read_text()
    entry = 'decided = { who = "A. Lovelace", when = 2026-01-31 }'
    line = next(one for one in text.splitlines() if one.startswith("# decided = "))
    signed = text.replace(line, entry)
    assert signed != text
    nothing = text[: text.index("[report.limits]")] + text[text.index("[hierarchies]") :]
    for name, job, wanted in (
        ("draft", text, drafted),
        ("signed", signed, decided),
        ("none", nothing, ""),
    ):
        Path("job.toml").write_text(job)
        done = run("release", "job.toml", "-o", name)
        assert done.exit_code == 0, done.stderr
        page = Path(name, "internal", f"report-internal.{language}.html").read_text()
        first = page[: page.index('id="checks"')].replace("\N{NO-BREAK SPACE}", " ")
        assert [one in first for one in (drafted, decided)] == [
            wanted == drafted,
            wanted == decided,
        ]
        public = Path(name, "public", f"report.{language}.html").read_text()
        told = ("The office decided the limits", "Le service statistique a décidé des limites")
        assert any(words in public for words in told) == (name == "signed")
        assert not any(
            words in public for words in ("limit of the office", "limite du service")
        )
        assert "Lovelace" not in public
        assert drafted not in public
        again = run("report", name, "--internal", "--lang", language, "-o", f"{name}.html")
        assert again.exit_code == 0, again.stderr
        assert wanted in Path(f"{name}.html").read_text().replace("\N{NO-BREAK SPACE}", " ")
    for wrong in ("who = 3", 'who = "A"', 'who = "A", when = "2026-01-31"', "x = 1"):
        Path("job.toml").write_text(text.replace(line, f"decided = {{ {wrong} }}"))
        assert run("check", "job.toml", "--quick").exit_code == 2


def test_each_drafted_limit_is_marked_for_somebody_to_decide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(people(300), "people.parquet")
    assert run("job", "init", "people.parquet").exit_code == 0
    text = Path("job.toml").read_text()
    section = text[text.index("[report.limits]") : text.index("[hierarchies]")].splitlines()
    assert len(section) > 8
    assert all("# decide" in line for line in section[1:] if line)
