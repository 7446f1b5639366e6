"""The page for trying designs: it computes what the solver proves, and loads nothing."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from lxml import html as markup

from ckm.comparison.explorer import explorer_facts, shown
from ckm.config.job.limits import TEXTBOOK
from ptable import Limits, Mechanism, NoiseSpec, solve
from ptable.advice.frontier import measure
from reports.explorer import explorer_page
from reports.facts.explorer import ExplorerFacts

SCRIPT = Path(__file__).parents[2] / "reports" / "templates" / "explorer.js"
PRIOR = TEXTBOOK[:201]
DESIGNS = (
    {"max_noise": 2, "variance": 1.0},
    {"max_noise": 5, "variance": 3.0, "small": 2},
    {"max_noise": 8, "variance": 6.5, "small": 4},
    {"max_noise": 6, "variance": 4.0, "small": 1, "p_stay": 0.2},
    {"max_noise": 4, "variance": 9.0, "small": 3},  # rows out of reach take the nearest
)


def spec_of(design, **limits):
    return NoiseSpec(
        max_noise=design["max_noise"],
        small=design.get("small", 0),
        objective="least-variance",
        limits=Limits(
            sensitive=(1, 2), neighbours=None, priors=(PRIOR,), **{"posterior": 1.0, **limits}
        ),
    )


def in_node(program, data, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    file, run = tmp_path / "data.json", tmp_path / "run.js"
    file.write_text(json.dumps(data))
    run.write_text(
        f"const Designs = require({json.dumps(str(SCRIPT))});\n"
        f"const data = JSON.parse(require('fs').readFileSync({json.dumps(str(file))}));\n"
        f"const answer = (() => {{ {program} }})();\nconsole.log(JSON.stringify(answer));\n"
    )
    answer = subprocess.run([node, str(run)], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def as_page(design):
    return {
        "noise": design["max_noise"],
        "variance": design["variance"],
        "small": design.get("small", 0),
        "stay": design.get("p_stay"),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ptable.errors.PTableWarning")
def test_the_page_computes_the_rows_that_the_solver_proves(tmp_path):
    program = "return data.map((one) => Designs.table(one).map((row) => [...row]));"
    theirs = in_node(program, [as_page(one) for one in DESIGNS], tmp_path)
    for design, rows in zip(DESIGNS, theirs, strict=True):
        table = solve(NoiseSpec(**design, variance_rule="nearest"))
        assert len(rows) == table.n_rows
        for count, row in enumerate(rows):
            ours = {v: n / table.key_range for v, n in table.units(count).items()}
            assert {v for v, p in row if p > 1e-9} == {v for v, p in ours.items() if p > 1e-9}
            for v, p in row:
                assert p == pytest.approx(ours.get(v, 0), abs=2e-8), (design, count, v)


@pytest.mark.slow
def test_the_page_measures_tables_as_the_frontier_does(tmp_path):
    tables = [solve(NoiseSpec(**one)) for one in DESIGNS[:4]]
    tables += [Mechanism.ons_10_5().build(), Mechanism.random_rounding(3).build()]
    designs = [shown("", table) for table in tables]
    data = {
        "prior": PRIOR,
        "designs": [{"rows": one.rows, "cycle": one.cycle} for one in designs],
    }
    program = """return data.designs.map((one) => Designs.figures(
        one.rows.map((row) => new Map(row)), data.prior, 2, { cycle: one.cycle }));"""
    for table, theirs in zip(tables, in_node(program, data, tmp_path), strict=True):
        ours = measure(table, spec_of({"max_noise": 5}))
        assert theirs["posterior"] == pytest.approx(ours.posterior, abs=1e-7)
        assert theirs["set"] == pytest.approx(ours.posterior_set, abs=1e-7)
        assert theirs["loss"] == pytest.approx(ours.loss, rel=1e-6)
        assert theirs["stay"] == pytest.approx(ours.p_stay, abs=1e-7)
        assert theirs["least"] == pytest.approx(ours.least_variance, abs=1e-6)
        assert theirs["largest"] == pytest.approx(ours.largest_variance, abs=1e-6)


@pytest.mark.slow
def test_the_page_finds_the_least_loss_that_the_solver_proves(tmp_path):
    limits = [
        ({"max_noise": 5, "small": 2}, {"posterior": 0.8}),
        ({"max_noise": 5, "small": 2}, {"posterior": 0.6}),  # nothing keeps these
        ({"max_noise": 4, "small": 0}, {"posterior": 0.75, "variance_floor": 1.0}),
        ({"max_noise": 3, "small": 1}, {"posterior": 0.9, "p_stay": 0.3}),
    ]
    data = [
        {
            "noise": design["max_noise"],
            "small": design["small"],
            "sensitive": 2,
            "posterior": some["posterior"],
            "floor": some.get("variance_floor", 2.0),
            "ceiling": 4.0,
            "stay": some.get("p_stay", 0.5),
            "prior": PRIOR,
        }
        for design, some in limits
    ]
    theirs = in_node("return data.map(Designs.leastLoss);", data, tmp_path)
    for (design, some), loss in zip(limits, theirs, strict=True):
        options = {"variance_floor": 2.0, "variance_ceiling": 4.0, "p_stay": 0.5, **some}
        if options["posterior"] == 0.6:
            assert loss is None
            with pytest.raises(Exception, match="No p-table keeps"):
                solve(spec_of(design, **options))
            continue
        proven = solve(spec_of(design, **options)).certificate.limits.bound
        assert loss == pytest.approx(proven, rel=1e-6)


def facts(**fields):
    start = {"noise": 5, "variance": 3.0, "small": 2, "stay": 0, "sensitive": 2}
    usual = {"version": "0.1.0", "start": start, "priors": {"textbook": PRIOR}}
    return ExplorerFacts(**{**usual, **fields})


@pytest.mark.parametrize("language", ["en", "fr"])
def test_only_the_script_of_the_page_may_run_and_nothing_is_loaded(language):
    page = explorer_page(facts(), language=language)
    tree = markup.fromstring(page)
    policy = tree.xpath("//meta[@http-equiv='Content-Security-Policy']")[0].get("content")
    digest = re.search(r"script-src 'sha256-([^']+)'", policy).group(1)
    (script,) = tree.xpath("//script[not(@type)]")
    assert base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode() == digest
    assert policy.startswith("default-src 'none'")
    assert not tree.xpath("//*[@src]") + tree.xpath("//link")
    assert "https://" not in page
    assert tree.get("lang") == language


def test_no_text_of_a_job_ends_the_script_or_its_data():
    title = "</script><script>alert(1)</script>\u2028"
    rows = (((0, 1.0),), ((-1, 0.5), (1, 0.5)))
    own = shown("x", solve(NoiseSpec(max_noise=1, variance=0.5)))
    hostile = type(own)(name=title, rows=rows)
    page = explorer_page(facts(title=title, own=hostile), language="en")
    tree = markup.fromstring(page)
    assert len(tree.xpath("//script")) == 2
    data = json.loads(tree.xpath("//script[@type]")[0].text)
    assert data["designs"][0]["name"] == title
    assert data["designs"][0]["rows"][1] == [[-1, 0.5], [1, 0.5]]


def test_every_text_that_the_script_says_is_in_the_catalogue():
    page_script = (SCRIPT.parent / "explorer-page.js").read_text(encoding="utf-8")
    spoken = set(re.findall(r"words\.(\w+)", page_script))
    spoken |= set(re.findall(r'say\("(\w+)"', page_script)) | {"kept", "exceeded"}
    tree = markup.fromstring(explorer_page(facts(), language="en"))
    words = json.loads(tree.xpath("//script[@type]")[0].text)["words"]
    assert spoken
    assert spoken <= words.keys()


def test_each_control_of_the_script_is_on_the_page_with_its_label():
    page_script = (SCRIPT.parent / "explorer-page.js").read_text(encoding="utf-8")
    tree = markup.fromstring(explorer_page(facts(), language="en"))
    places = set(re.findall(r'by\("([\w-]+)"\)', page_script)) - {"data"}
    assert places <= set(tree.xpath("//@id"))
    for control in tree.xpath("//input | //select"):
        assert tree.xpath(f"//label[@for='{control.get('id')}']")


def test_pages_from_records_say_that_they_are_internal():
    assert "INTERNAL" in explorer_page(facts(has_records=True), language="en")
    page = explorer_page(facts(), language="en")
    assert "INTERNAL" not in page
    assert "Nothing on this page was computed from records" in page


def test_without_a_job_priors_are_those_of_textbooks_and_add_up():
    made, cautions = explorer_facts(None, {"small": 4, "noise": 8}, name_of_own="own")
    assert cautions == ()
    assert not made.has_records
    assert set(made.priors) == {"textbook", "geometric", "even"}
    for prior in made.priors.values():
        assert prior[0] == 0
        assert sum(prior) == pytest.approx(1, abs=1e-3)
    assert made.start["sensitive"] == 4
    assert {one.name for one in made.designs} >= {"insee", "ons-10-5"}
