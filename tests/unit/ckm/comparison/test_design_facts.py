"""What a page says of a comparison, recomputed from its definitions."""

import io
import json
import math
import random
import re
from dataclasses import replace
from itertools import combinations

import pandas as pd
import pytest
from lxml import html as parser

from ckm.comparison.compare_designs import compare
from ckm.config import read_designs, read_job
from ckm.demo.demo import DESIGNS, JOB, write_register
from footing.svg import text_width
from reports import make_report
from reports.catalogues.comparison import FINDINGS
from reports.charts.curves import Design, Points, points
from reports.facts.release import LevelFact
from reports.i18n.languages import words_of
from risk.inference.inverse import Inverse
from risk.inference.nested import certain_with_one_more
from risk.risk_map.catalogue import FIGURES
from risk.risk_map.findings import Rules
from risk.utility import DEFINITIONS

SENSITIVE = (1, 2, 3, 4)
REACH = 60


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("qpv")
    write_register(folder, persons=3000)
    (folder / "job.toml").write_text(JOB)
    (folder / "designs.toml").write_text(DESIGNS)
    return compare(read_job(folder / "job.toml"), read_designs(folder / "designs.toml"))


@pytest.fixture(scope="module")
def facts(found):
    return found.facts()


def law(table, count):
    """Give P(published | count), read off the table; beyond its rows as it says itself."""
    rows = table.n_rows
    if count >= rows:
        cycle = 1 if table.large_counts == "last" else int(table.large_counts.split(":")[1])
        row = rows - cycle + (count - rows) % cycle
    else:
        row = count
    return {count + v: n / table.key_range for v, n in table.units(row).items() if n}


def laws(found):
    return {
        name: {i: law(table, i) for i in range(REACH)} for name, table in found.ptables.items()
    }


def test_deviation_and_possible_sets_are_those_of_the_p_tables(found, facts):
    by_design = laws(found)
    assert len(facts.sets) == len(found.ptables) * 11
    for fact in facts.sets:
        some = by_design[fact.design]
        likely = {i: {j for j, p in one.items() if p >= 1e-6} for i, one in some.items()}
        assert set(fact.deviation) == likely[fact.count]
        assert set(fact.possible) == {i for i in likely if fact.count in likely[i]}


def test_posteriors_are_bayes_rule_on_the_distinct_cells(found, facts):
    cells = found.count_histogram.together
    prior = dict(zip(cells.counts.tolist(), cells.cells.tolist(), strict=True))
    for name, some in laws(found).items():
        listed = {fact.published: fact for fact in facts.posteriors[name]}
        for published in range(11):
            joint = {i: prior.get(i, 0) * some[i].get(published, 0.0) for i in some}
            total = sum(joint.values())
            if not total:
                assert published not in listed
                continue
            fact = listed[published]
            assert fact.share == pytest.approx(total / cells.n_cells)
            assert fact.sensitive == pytest.approx(sum(joint[i] for i in SENSITIVE) / total)
            for i, probability in fact.originals.items():
                assert probability == pytest.approx(joint[i] / total)
            assert all(joint[i] / total < 0.01 for i in some if i not in fact.originals)


@pytest.mark.slow
def test_measures_by_variable_are_expectations_over_its_cells(found, facts):
    histogram = found.count_histogram.variables["sex"]["F"]
    for name, table in found.ptables.items():
        size = square = gone = distance = people = 0.0
        for count, cells in zip(
            histogram.counts.tolist(), histogram.cells.tolist(), strict=True
        ):
            people += cells * count
            for published, p in law(table, count).items():
                size += cells * p * abs(published - count)
                square += cells * p * (published - count) ** 2
                gone += cells * p * (published == 0)
                distance += cells * p * (math.sqrt(published) - math.sqrt(count)) ** 2 / 2
        n = histogram.n_cells
        expected = {
            "aad": size / n,
            "rmse": math.sqrt(square / n),
            "false_zeros": gone,
            "hellinger_raw": math.sqrt(distance),
            "hd_utility": 1 - math.sqrt(distance) / math.sqrt(people),
        }
        given = {
            fact.name: fact
            for fact in facts.utility[name]
            if (fact.group, fact.value) == ("sex", "F")
        }
        for measure, number in expected.items():
            assert given[measure].number == pytest.approx(number), (name, measure)
            assert given[measure].base == n


@pytest.mark.slow
def test_variables_are_those_with_few_categories(facts):
    groups = {(fact.group, fact.value) for fact in facts.utility["rounding to 5"]}
    assert {("sex", "F"), ("sex", "M"), ("category", "A"), ("age_group", "65-70")} <= groups
    assert {group for group, _ in groups} == {"all", "sex", "category", "age_group"}


def test_all_names_are_in_their_catalogues(facts):
    assert set(facts.conclusion) <= set(FINDINGS)
    for design in facts.scenarios.designs:
        assert set(design.figures) == set(FIGURES)
    for measures in facts.utility.values():
        assert {fact.name for fact in measures} <= set(DEFINITIONS)


def test_every_finding_has_the_numbers_of_its_words(facts):
    for name, numbers in facts.conclusion.items():
        assert set(FINDINGS[name].places) <= set(numbers)


@pytest.mark.slow
def test_the_conclusion_follows_the_rules(found):
    strict = found.facts(rules=Rules(posterior=0.01)).conclusion
    assert next(iter(strict)) == "conclusion-none"
    loose = found.facts(rules=Rules(posterior=1.0, certain=1.0)).conclusion
    steps = [loose[f"least-loss-{step}"]["designs"] for step in ("posterior", "certain")]
    assert steps == [14, 14]


def test_fronts_and_the_chosen_design_are_told_for_every_table(found, facts):
    assert set(facts.by_table) == set(facts.tables) == set(found.count_histogram.tables)
    for table, designs in {**facts.by_table, "": facts.scenarios.designs}.items():
        front = set(found.map.pareto(risk="q_worst_set", utility="aad", table=table))
        assert {design.name for design in designs if design.front} == front
        assert [design.name for design in designs if design.chosen] == ["D=8 V=6.5 js=4"]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_page_and_its_numbers_can_be_made(facts, language):
    report = make_report(facts, language=language)
    assert "NaN" not in report.html
    numbers = json.loads(report.to_json())
    assert numbers["conclusion"]["cells"]["tables"] == 6


def test_a_page_calls_the_job_and_its_variables_as_its_readers_do(facts):
    level = next(fact.group for some in facts.utility.values() for fact in some[::-1])
    said = LevelFact(label={"en": "Sort", "fr": "Genre"}, categories={})
    named = replace(facts, title={"en": "People", "fr": "Gens"}, levels={level: said})
    for language, title, label in (("en", "People", "Sort"), ("fr", "Gens", "Genre")):
        page = make_report(named, language=language, is_full=True).html
        assert f"<h1>{title}</h1>" in page
        assert f">{label}</t" in page
        assert f">{level}</t" not in page


def test_the_plot_has_a_place_for_each_design_of_the_map(found, facts):
    picture = found.plot()
    (data,) = pd.read_html(io.StringIO(picture.table))
    assert data["Design"].tolist() == [design.name for design in facts.scenarios.designs]
    risks = [design.figures["q_worst_set"] for design in facts.scenarios.designs]
    assert data[
        "highest probability that a published count reveals a small one"
    ].tolist() == pytest.approx(risks, abs=1e-3)
    legend, ring = 4, 1  # in the legend, too, the recommended one has a ring
    assert picture.svg.count("<circle") == len(data) + legend + ring


def test_without_sensitive_cells_there_is_no_conclusion(found, tmp_path):
    from ckm import Engine, Secret
    from ckm.assessment.risk_utility_scenarios import map_scenarios
    from ckm.comparison.compare_designs import Comparison
    from ckm.engine.request import TableRequest

    people = {"id": list(range(40)), "sex": ["F", "M"] * 20}
    import pyarrow as pa

    with Engine(
        pa.table(people),
        id="id",
        secret=Secret(bytes(32)),
        ptable=found.ptables["D=5 V=2 js=0"],
        categories={"sex": ["F", "M", "X"]},
    ) as engine:
        count_histogram = engine.count_histogram({"t": TableRequest(dimensions=["sex"])})
    own = found.ptables["rounding to 5"]
    some = map_scenarios(
        found.ptables, count_histogram, own=own, name="own", sensitive=SENSITIVE
    )
    facts = Comparison(
        title="", scenarios=some, count_histogram=count_histogram, rules=Rules()
    ).facts()
    assert some.chosen == "rounding to 5"
    assert set(facts.conclusion) == {"cells", "record-sets"}
    assert make_report(facts, language="en").html


def boxes_of(svg):
    """Give the box of each label."""
    boxes = {}
    for text in svg.xpath(".//text[contains(@class, 'strong')]"):
        left, low = float(text.get("x")), float(text.get("y"))
        width = text_width(text.text, 12, bold=True)
        boxes[text.text] = (left, low - 11, left + width, low + 3)
    return boxes


def drawn_map(facts):
    """Give the boxes of the labels on the map, and the places of its circles."""
    page = parser.fromstring(make_report(facts, language="en").html)
    (svg,) = page.xpath("//figure[@id='map']//svg")
    circles = svg.xpath(".//circle[@r='5']")[:-3]  # the last ones are those of the legend
    return boxes_of(svg), [(float(c.get("cx")), float(c.get("cy"))) for c in circles]


def test_labels_of_the_map_cover_neither_each_other_nor_a_design(facts):
    boxes, places = drawn_map(facts)
    assert sorted(int(text.split()[0]) for text in boxes) == list(range(1, 15))
    assert any("D=8 V=6.5 js=4" in text for text in boxes)
    for (a, b, c, d), (i, j, x, y) in combinations(boxes.values(), 2):
        assert a >= x or i >= c or b >= y or j >= d
    for a, b, c, d in boxes.values():
        assert all(not (a - 5 < x < c + 5 and b - 5 < y < d + 5) for x, y in places)
    assert all(60 <= x <= 696 and 36 <= y <= 372 for x, y in places)
    across = [x for x, _ in places]
    assert max(across) - min(across) > 636 / 2


def test_lines_to_labels_cross_no_other_label():
    rng, n_lines = random.Random(1), 0
    for _ in range(20):
        some = [
            Design(
                number=str(n),
                name="random rounding",
                across=rng.random(),
                upwards=rng.random(),
                is_front=False,
                is_chosen=False,
            )
            for n in range(20)
        ]
        said = dict.fromkeys(("title", "description", "front", "other", "chosen"), "")
        svg = parser.fromstring(points(words_of("en"), Points(id="map", **said), some))
        boxes = boxes_of(svg)
        for line in svg.xpath(".//*[@class='axis']"):
            x, y, a, b = map(float, re.findall(r"[\d.]+", line.get("d")))
            n_lines += 1
            crossed = {
                text
                for text, (i, j, right, low) in boxes.items()
                for s in range(1, 40)
                if i < x + (a - x) * s / 40 < right and j < y + (b - y) * s / 40 < low
            }
            assert not crossed
    assert n_lines > 20


def test_the_recommended_design_keeps_all_rules_with_the_least_loss(found, facts):
    cells = found.count_histogram.together
    table, figures = found.ptables, {d.name: d.figures for d in facts.scenarios.designs}
    some = laws(found)
    prior = Inverse(table=table["D=8 V=6.5 js=4"], prior=cells.prior(60)).prior
    kept = [
        name
        for name in table
        if figures[name]["q_worst_set"] <= 0.75
        and certain_with_one_more(table[name], prior, SENSITIVE).set_probability <= 0.001
        and not name.startswith("random")
        and not any(some[name][i].get(j) for i in range(REACH) for j in SENSITIVE)
    ]
    best = min(kept, key=lambda name: figures[name]["aad"])
    held = cells.within(1, None)
    n, changed, zeros, moved = held.n_cells, 0.0, 0.0, 0.0
    for count, size in zip(held.counts.tolist(), held.cells.tolist(), strict=True):
        for published, p in law(table[best], count).items():
            changed += size * p * (published != count)
            zeros += size * p * (published == 0)
            moved += size * p * abs(published - count)
    page = parser.fromstring(make_report(facts, language="en").html)
    (verdict,) = page.xpath("//p[@class='verdict']")
    assert f"Recommended: “{best}”" in verdict.text
    text = " ".join(page.xpath("string(//main)").split())
    assert f"meet all rules below ({len(kept)})" in text
    assert f"of {n:,} non-empty cells, {100 * changed / n:.0f} % are published" in text
    assert f"include {zeros:,.0f} ({100 * zeros / n:.0f} % of all) that become 0" in text
    assert f"The average change of these counts is {moved / n:.3f} persons" in text


@pytest.mark.parametrize(("limit", "words"), [(None, "sets no limit"), (0.9, "of rule 1;")])
def test_the_page_says_whose_the_rules_are(found, limit, words):
    rules = None if limit is None else Rules(posterior=limit)
    page = make_report(replace(found, rules=rules).facts(), language="en").html
    assert words in page


def test_a_chosen_design_off_the_front_is_told_which_one_is_better(facts):
    at = {
        d.name: (d.figures["aad"], d.figures["q_worst_set"], d.front)
        for d in facts.scenarios.designs
    }
    loss, risk, is_front = at["D=8 V=6.5 js=4"]
    assert not is_front
    page = make_report(facts, language="en").html
    told = re.search(
        r"not on the frontier: “(.*)” is better \(.*: ([\d.]+) instead of ([\d.]+);"
        r".*: ([\d.]+) instead of ([\d.]+)\)",
        page,
    )
    better = at[told[1]]
    assert better[2]
    assert better[0] < loss
    assert better[1] < risk
    shown = [better[1], risk, better[0], loss]
    assert [float(number) for number in told.groups()[1:]] == pytest.approx(shown, abs=0.06)
