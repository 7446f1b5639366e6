"""A service that names an audit starts where the audit is of what it serves."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config.problems import JobError
from ckm.config.service.service import read_service
from ckm.errors import ConfigError
from ckm.release.audit_gate import digests_of
from ckm.release.job_inputs import load_ptable
from ckm.service.answering.messages import audit_notice
from ckm.service.process.server import rehearse_service
from ptable import NoiseSpec, solve
from tables import Secret
from tests.unit.ckm.service.conftest import AGES, Served, for_filters, write_service

AUDIT = '[audit]\nreport = "audit.json"\nlargest_share = 1.0\n'
RULES = "[rules]\nmaximum_variables = 1\nminimum_population = false\nmean_cell_size = false\n"


def run(*args):
    return CliRunner(env={"CKM_LOG_FORMAT": "json"}).invoke(app, [str(arg) for arg in args])


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """Write a service, its audit, and the section that names it."""
    folder = tmp_path_factory.mktemp("audited")
    file = write_service(folder, more=RULES, persons=1000)
    done = run("audit", file, "-o", folder / "audit.json")
    assert done.exit_code == 0, done.stderr
    file.write_text(file.read_text() + AUDIT)
    return folder


@pytest.fixture
def file(audited, tmp_path):
    """Copy it, so that a test may change it; where it lies does not matter."""
    shutil.copytree(audited, tmp_path / "moved")
    return tmp_path / "moved" / "service.toml"


def changed(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def start(file):
    rehearse_service(read_service(file), quick=True)


def refusal(file):
    with pytest.raises(ConfigError) as refused:
        start(file)
    assert "ckm audit service.toml" in refused.value.hint
    return refused.value.problem


# --- the same service ------------------------------------------------------------------


def test_it_starts_with_an_audit_of_what_it_serves(file, caplog):
    start(file)
    assert "areas" not in caplog.text
    told = json.loads((file.parent / "audit.json").read_text())
    assert told["kind"] == "ckm-audit"
    assert told["version"]
    assert told["finished"].endswith("+00:00")
    text = json.dumps(told["digests"])
    assert bytes(range(32)).hex() not in text
    assert run("check", file, "--quick").exit_code == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title = { en = "Job', 'title = { en = "Our job'),
        ('labels = { en = "Place"', 'labels = { en = "Where"'),
        ("F = { en =", "F = { en = "),
        ("schema = 1", "schema = 1\n[limits]\nrequests_per_hour = 7\n"),
        ("largest_share = 1.0", "largest_share = 0.999"),
    ],
)
def test_words_and_limits_of_callers_need_no_other_audit(file, old, new):
    changed(file, old, new)
    start(file)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"audit.json"', r'"au\u0000dit.json"'),
        ("[audit]", '[access]\ntokens = "\\u0000"\n[audit]'),
        ('"people.parquet"', r'"people.parquet\u0000"'),
        ('"secret.key"', r'"5ec2e7\u0000"'),
    ],
)
def test_a_path_with_a_nul_character_is_refused_and_not_shown(file, old, new):
    changed(file, old, new)
    done = run("check", file, "--quick")
    assert done.exit_code == 2
    assert r"A path holds a NUL character (\\u0000)" in done.stderr
    assert "5ec2e7" not in done.stderr


# --- another service -------------------------------------------------------------------


def other_data(file):
    write_service(file.parent / "other", more=RULES, persons=1000, seed=4)
    shutil.copy(file.parent / "other" / "people.parquet", file.parent)


def other_ptable(file):
    solve(NoiseSpec(max_noise=3, variance=1.0)).write(
        file.parent / "pt.parquet", overwrite=True
    )


def other_secret(file):
    (file.parent / "secret.key").unlink()
    Secret(bytes(range(1, 33))).write(file.parent / "secret.key")


def other_tree(file):
    (file.parent / "ages.csv").write_text(AGES.replace("@,old\n@@,45-54", "@@,45-54\n@,old"))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (other_data, "other data"),
        (other_ptable, "another p-table"),
        (other_secret, "another secret"),
        (other_tree, "other rules, variables, populations or tables"),
    ],
)
def test_it_does_not_start_with_other_files_than_were_audited(file, change, named):
    (file.parent / "other").mkdir()
    change(file)
    assert refusal(file) == f"The audit 'audit.json' is of {named}."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("maximum_variables = 1", "maximum_variables = 2"),
        ('name = "category"\n', 'name = "category"\nis_sensitive = true\n'),
        ('[[variable]]\nname = "zone_2024"\n', ""),
        ('sex = ["F", "M"]', 'sex = ["F", "M", "X"]'),
        ('"department", "commune"]', '"commune"]'),
        ('secret = "secret.key"', 'secret = "secret.key"\nmix = false'),
        ('weight = "weight"\n', ""),
        ("[rules]", '[[population]]\nname = "w"\ntitle = "W"\nwhere = "sex = \'F\'"\n[rules]'),
    ],
)
def test_it_does_not_start_with_other_settings_than_were_audited(file, old, new):
    changed(file, old, new)
    assert "is of other rules" in refusal(file)


def test_it_matters_which_file_a_hierarchy_has(file):
    (file.parent / "other.csv").write_text(AGES.replace("@,young", "@,youth"))
    service = read_service(file)
    found = set()
    for trees in (["ages", "other", "ages"], ["ages", "other", "other"]):
        files = [str(file.parent / f"{tree}.csv") for tree in trees]
        nested = {f"t{i}": {"column": "age", "tree": tree} for i, tree in enumerate(files)}
        service = service.changed(hierarchies=nested)
        found.add(digests_of(service, load_ptable(service.job))["rules"])
    assert len(found) == 2


def test_all_that_is_other_is_named(file):
    other_ptable(file)
    other_secret(file)
    assert "is of another p-table, another secret." in refusal(file)


# --- the figures -----------------------------------------------------------------------


def test_it_does_not_start_above_its_limit_and_says_no_figure(file):
    path = file.parent / "audit.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "largest_share": 0.2571}))
    changed(file, "largest_share = 1.0", "largest_share = 0.257")
    assert "more small counts than largest_share = 0.257 in" in refusal(file)
    changed(file, "largest_share = 0.257", "largest_share = 0.2571")
    start(file)


@pytest.mark.parametrize("line", ["small = 3\n", "confidence = 0.9\n"])
def test_an_audit_of_other_small_counts_is_none(file, line):
    changed(file, AUDIT, AUDIT + line)
    assert "was made with small = 2 and confidence = 0.95" in refusal(file)


def test_files_that_are_no_audit_are_refused(file):
    path = file.parent / "audit.json"
    whole = path.read_text()
    told = json.loads(whole)
    for text in (
        whole[:-20],
        "[]",
        json.dumps({**told, "kind": "ckm-release"}),
        json.dumps({**told, "largest_share": float("nan")}),
        json.dumps({**told, "largest_share": -1}),
        json.dumps({name: value for name, value in told.items() if name != "digests"}),
    ):
        path.write_text(text)
        assert "is no audit: ckm audit writes one" in refusal(file)
    path.unlink()
    assert "cannot be read" in refusal(file)


def test_an_audit_needs_a_limit(file):
    changed(file, "largest_share = 1.0\n", "")
    with pytest.raises(JobError, match="needs largest_share"):
        read_service(file)


def test_an_audit_of_some_areas_is_told(file, caplog):
    path = file.parent / "audit.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"n_areas": 5555}))
    assert "covered 13 of 5555 areas, [audit] wants all" in refusal(file)
    changed(file, AUDIT, AUDIT + "areas = 14\n")
    assert "[audit] wants 14" in refusal(file)
    changed(file, "areas = 14", "areas = 13")
    start(file)
    assert "of 5555 areas" in caplog.text
    changed(file, "areas = 13", "areas = 2")
    assert run("audit", file, "-o", path, "--force").exit_code == 0
    assert json.loads(path.read_text())["n_areas_drawn"] == 2
    start(file)


@pytest.mark.parametrize(
    ("limit", "intervals", "passes"),
    [
        ("largest_share = 0.5", {"interval": [0.2, 0.49]}, True),
        ("largest_share = 0.5", {"interval": [0.2, 0.51]}, False),
        ("largest_share = 0.5", {}, False),
        ("largest_zeros_share = 0.5", {"zeros_interval": [0.2, 0.49]}, True),
        ("largest_zeros_share = 0.5", {"zeros_interval": [0.2, 0.51]}, False),
        ("largest_zeros_share = 0.5", {}, False),
        ("largest_attribute_share = 0.5", {}, False),
    ],
)
def test_a_sample_meets_a_limit_by_the_upper_end_of_an_interval_alone(
    file, limit, intervals, passes
):
    path = file.parent / "audit.json"
    figures = dict.fromkeys(
        ("largest_share", "largest_zeros_share", "largest_attribute_share"), 0.1
    )
    sample = {
        **json.loads(path.read_text()),
        **figures,
        "n_areas": 5555,
        "interval": [0.1, 0.4],
    }
    path.write_text(
        json.dumps({**sample, **({"interval": None} if not intervals else {}), **intervals})
    )
    limits = limit if limit.startswith("largest_share") else f"largest_share = 1.0\n{limit}"
    changed(file, "largest_share = 1.0", f"{limits}\nareas = 13")
    if passes:
        start(file)
    else:
        with pytest.raises(ConfigError, match="inferred more") as refused:
            start(file)
        assert "upper end of an interval (95 %)" in refused.value.hint


@pytest.mark.slow
def test_an_audit_takes_its_settings_from_the_file_and_no_notice_of_the_last_one(file):
    changed(file, "largest_share = 1.0\n", "largest_share = 0.001\nsmall = 3\n")
    other_secret(file)
    path = file.parent / "audit.json"
    done = run("audit", file, "-o", path, "--force")
    assert done.exit_code == 1
    assert (json.loads(path.read_text())["small"], json.loads(path.read_text())["limit"]) == (
        3,
        0.001,
    )
    assert "from 1 to 3" in done.stdout
    changed(file, "largest_share = 0.001", "largest_share = 1.0")
    start(file)


# --- what callers are told -------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "fr"])
def test_visitors_are_told_that_it_was_audited_and_nothing_that_is_for_the_operator(
    file, tmp_path, language
):
    said = {
        "en": ("The office examined what all tables", "examined"),
        "fr": ("a examiné ce que tous les tableaux", "examiné"),
    }[language]
    service = read_service(file)
    for place, audit in enumerate((service.audit, service.audit.changed(report=None))):
        (tmp_path / str(place)).mkdir()
        opened = Served(file, tmp_path / str(place), audit=audit)
        page = opened.web.get(f"/?lang={language}").text
        assert [text in page for text in said] == [place == 0, place == 0]
        features = opened.web.get("/config").json()["features"]
        told = [one["params"] for one in features if one["id"] == "audit"]
        assert len(told) == (place == 0)
        for audited, *words in told:
            assert audited == {"key": "audited", "value": "True"}
            assert said[0] in next(one["value"] for one in words if one["key"] == language)
            assert "share" not in json.dumps(words)
        opened.close()


@pytest.mark.parametrize("language", ["en", "fr"])
def test_it_is_said_what_was_not_examined(file, language):
    """Everything but filters, or but for some areas."""
    service = read_service(file)
    notices = [
        audit_notice(of, language)
        for of in (
            service,
            service.changed(audit=service.audit.changed(areas=5)),
            for_filters(service),
        )
    ]
    sample, filters = {
        "en": ("in a sample of areas", "with a filter were not examined"),
        "fr": ("dans un échantillon de zones", "Les tableaux filtrés n"),
    }[language]
    assert [sample in notice for notice in notices] == [False, True, False]
    assert [filters in notice for notice in notices] == [False, False, True]


def test_an_open_service_without_an_audit_is_warned_and_one_for_tokens_is_not(file):
    service = read_service(file)
    assert not any("not audited" in text for text in service.cautions)
    open_one = service.changed(audit=service.audit.changed(report=None))
    assert any("was not assessed" in text for text in open_one.cautions)
    closed = open_one.changed(access=service.access.changed(mode="tokens"))
    assert not any("not audited" in text for text in closed.cautions)
    changed(file, AUDIT, "")
    done = run("check", file, "--quick")
    assert (done.exit_code, "not audited" in done.stderr) == (0, True)
