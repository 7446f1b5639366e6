"""A report as an object: what it refuses, writes and repeats."""

import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as parser

from reports import ReportError, make_report
from reports.facts.checking import walk
from reports.facts.release import AttackFact, CheckFact, MeasureFact, NoiseFacts, RiskFacts
from tests.reports import facts as made


def internal(facts, language="en", **options):
    return make_report(facts, edition="internal", language=language, **options)


BAD = {
    "a check": lambda f: replace(f, checks=(CheckFact(name="smell", outcome="passed"),)),
    "an outcome": lambda f: replace(f, checks=(CheckFact(name="keys", outcome="fine"),)),
    "an attack": lambda f: replace(
        f, risk=replace(f.risk, attacks=(AttackFact(name="x", settings={}, closed_form=0.1),))
    ),
    "a prior": lambda f: replace(f, risk=replace(f.risk, prior="gut")),
    "a measure": lambda f: replace(f, utility=(replace(f.utility[0], name="beauty"),)),
    "a figure": lambda f: replace(
        f,
        scenarios=replace(
            f.scenarios, designs=(replace(f.scenarios.designs[0], figures={"beauty": 1.0}),)
        ),
    ),
    "the axis of a map": lambda f: replace(f, scenarios=replace(f.scenarios, risk="beauty")),
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_a_name_without_words_is_refused(change):
    with pytest.raises(ReportError, match="is in no catalogue"):
        internal(change(made.release()))


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "change",
    [
        lambda f, x: replace(f, utility=(*f.utility, replace(f.utility[0], number=x))),
        lambda f, x: replace(f, noise=replace(f.noise, transition=((1.0, x),))),
        lambda f, x: replace(f, noise=replace(f.noise, certificate={"mean": x})),
        lambda f, x: replace(f, risk=replace(f.risk, worst=(replace(f.risk.worst[0],
                                                                    probability=x),))),
        lambda f, x: replace(f, checks=(replace(f.checks[0], found={"least": x}),)),
    ],
)  # fmt: skip
def test_a_number_that_is_none_is_refused_with_its_place(change, number):
    with pytest.raises(ReportError, match=r"\w+\S* is -?(nan|inf), not a number"):
        internal(change(made.release(), number))


def test_what_the_public_edition_does_not_know_cannot_spoil_it():
    facts = replace(made.release(), noise=replace(made.noise(), certificate={"mean": math.nan}))
    page = make_report(facts, edition="public", language="en").html
    assert make_report(facts, edition="public", language="en", is_full=True).html == page


def test_a_number_of_another_kind_is_refused():
    from decimal import Decimal

    facts = replace(made.release(), noise=replace(made.noise(), certificate={"a": Decimal(1)}))
    with pytest.raises(ReportError, match="Decimal"):
        internal(facts)


def test_half_a_character_is_refused_as_no_file_can_hold_it():
    with pytest.raises(ReportError, match="title holds half a character"):
        internal(replace(made.release(), title="\ud800"))


def test_many_problems_are_told_at_once_and_not_all():
    facts = replace(
        made.release(),
        checks=tuple(CheckFact(name=f"n{n}", outcome="passed") for n in range(14)),
    )
    with pytest.raises(ReportError, match="and 4 more"):
        internal(facts)


def test_a_check_without_the_numbers_of_its_words_is_refused():
    facts = replace(made.release(), checks=(CheckFact(name="noise-mean", outcome="passed"),))
    with pytest.raises(ReportError, match="need the number 'z'"):
        internal(facts)


def test_a_check_that_was_not_computed_needs_no_numbers():
    facts = replace(
        made.release(), checks=(CheckFact(name="noise-mean", outcome="not computed"),)
    )
    assert "it was not computed" in internal(facts).html


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ([], "No check was made."),
        (["passed"], "The one check passed."),
        (["passed"] * 3, "All 3 checks passed."),
        (["failed"], "Of the checks made, 1 in all, 1 failed."),
        (["passed", "failed", "failed"], "Of the checks made, 3 in all, 2 failed."),
        (["not computed"] * 2, "No check was made; 2 checks were not computed."),
        (
            ["passed"] * 2 + ["no limit"] * 4,
            "All 2 checks passed; the office set no limit for 4 checks.",
        ),
        (
            ["failed", "no limit", "not computed"],
            (
                "Of the checks made, 1 in all, 1 failed; the office set no limit for 1 check; "
                "1 check was not computed."
            ),
        ),
    ],
)
def test_the_verdict_tells_failed_and_made_and_without_a_limit_apart(outcomes, words):
    checks = tuple(CheckFact(name="keys", outcome=outcome) for outcome in outcomes)
    tree = parser.document_fromstring(internal(replace(made.release(), checks=checks)).html)
    assert tree.xpath("//p[starts-with(@class, 'verdict')]")[0].text_content() == (
        f"{words[:-1]}; disclosure from all tables together was not assessed."
    )


def test_an_edition_or_facts_of_another_kind_are_refused():
    with pytest.raises(ReportError, match="no edition 'secret' of ReleaseFacts"):
        make_report(made.release(), edition="secret", language="en")
    with pytest.raises(ReportError, match="no page of dict"):
        make_report({}, edition="public", language="en")


@pytest.mark.parametrize(
    "file", ["https://x.example/a.html", "../a.html", "a/b.html", "a.htm", 'a".html', ""]
)
def test_a_link_leads_to_a_page_beside_this_one_and_nowhere_else(file):
    with pytest.raises(ReportError, match="in the same folder"):
        make_report(made.release(), edition="public", language="en", links={"fr": file})


def numbers_of(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from numbers_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_of(item)
    else:
        yield value


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_json_has_every_number_of_the_facts_and_is_the_same_in_every_language(edition):
    facts = made.release()
    report = make_report(facts, edition=edition, language="en")
    content = json.loads(report.to_json())
    assert content.pop("edition") == edition
    wanted = [value for _, value in walk(facts if edition == "internal" else facts.public())]
    assert [str(v) for v in numbers_of(content) if isinstance(v, (int, float))] == [
        str(v) for v in wanted if isinstance(v, (int, float)) and not isinstance(v, str)
    ] or edition == "internal"
    texts = {str(value) for value in numbers_of(content)}
    assert {str(value) for value in wanted} <= texts
    french = make_report(facts, edition=edition, language="fr")
    assert french.to_json() == report.to_json()


def test_the_names_of_numbers_in_json_stay():
    noise = json.loads(internal(made.release()).to_json())["noise"]
    assert list(noise["classes"][0]) == [
        "low", "high", "cells", "mean_designed", "mean_drawn", "variance_designed",
        "variance_drawn", "stay_designed", "stay_drawn", "least_designed", "least_drawn",
        "most_designed", "most_drawn",
    ]  # fmt: skip
    decoded = json.loads(make_report(made.decoding(), language="en").to_json())
    assert list(decoded["suspicions"][0]) == ["name", "found", "cohort", "bit"]


def test_a_page_is_the_same_every_time():
    assert internal(made.release()).html == internal(made.release()).html


def test_a_report_is_written_whole_and_never_over_another(tmp_path):
    report = internal(made.release())
    page, data = tmp_path / "r.html", tmp_path / "r.json"
    report.write(page)
    report.write(str(data))
    assert page.read_text(encoding="utf-8") == report.html
    assert data.read_text(encoding="utf-8") == report.to_json()
    with pytest.raises(ReportError, match="exists already"):
        report.write(page)
    report.write(page, overwrite=True)
    for name, words in (("r.pdf", "not '.pdf'"), ("no/r.html", "There is no folder")):
        with pytest.raises(ReportError, match=words):
            report.write(tmp_path / name)
    (tmp_path / "d.html").mkdir()
    with pytest.raises(ReportError, match="is a folder"):
        report.write(tmp_path / "d.html", overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.html", "r.html", "r.json"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    from pathlib import Path

    def fails(self, target):
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="full"):
        internal(made.release()).write(tmp_path / "r.html", overwrite=True)
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_gets_a_frame_that_nothing_leaves():
    import html

    report = internal(replace(made.release(), title='</iframe><script>"x"</script>'))
    shown = report._repr_html_()
    (frame,) = parser.fragments_fromstring(shown)
    assert frame.tag == "iframe"
    assert frame.get("sandbox") == ""
    assert html.unescape(frame.get("srcdoc")).count("<html") == 1
    assert frame.get("title") == report.title
    assert "<html" not in repr(report)


texts = st.text(st.characters(codec="utf-8"), max_size=30)
floats = st.floats(allow_nan=False, allow_infinity=False)


def test_rows_that_serve_larger_counts_in_turn_say_so():
    facts = made.quiet()
    law = ((1.0, 0, 0, 0), (2 / 3, 0, 0, 1 / 3), (1 / 3, 0, 0, 2 / 3))
    turned = replace(facts, noise=replace(facts.noise, transition=law, cycle=3))
    page = " ".join(internal(turned, is_full=True).html.split())
    assert "Larger counts take the last 3 rows in turn" in page
    assert "1, 4, …" in page
    assert "2 or more" not in page
    assert "1, 4, …" in internal(turned, "fr", is_full=True).html
    straight = replace(facts, noise=replace(facts.noise, transition=law))
    assert "2 or more" in internal(straight, is_full=True).html


@pytest.mark.parametrize("text", ["inf", "nan", "-Infinity", "none", "0.25"])
def test_a_parameter_of_the_noise_is_a_number_where_it_is_finite(text):
    facts = made.quiet()
    noise = replace(facts.noise, parameters={"max_noise": text})
    page = internal(replace(facts, noise=noise)).html
    assert text in page


@pytest.mark.slow
@given(texts, texts, floats, st.sampled_from(["en", "fr"]))
def test_no_text_and_no_number_breaks_a_page(name, reason, number, language):
    facts = made.quiet()
    facts = replace(
        facts,
        title=name,
        contact=reason,
        warnings=(name, reason),
        tables=(replace(made.tables(1)[0], name=name, title=reason, dimensions=(name,)),),
        noise=NoiseFacts(
            parameters={name: reason}, ptable_id=name, certificate={name: number},
            transition=(), classes=(), shares=(), sizes=(),
        ),
        utility=(
            MeasureFact(
                table=name, group=reason, value=name, cells="all", name="aad", number=number,
                base=3,
            ),
            MeasureFact(
                table=name, group="all", value="all", cells=reason, name="rmse", number=None,
                base=0, reason=reason,
            ),
        ),
        risk=RiskFacts(
            sensitive=(1,), prior="flat", posteriors=(), worst=(),
            attacks=(AttackFact(name="linkage", settings={name: number}, closed_form=None),),
        ),
    )  # fmt: skip
    page = internal(facts, language).html
    tree = parser.document_fromstring(page)
    page.encode("utf-8")
    assert not list(tree.iter("script"))
    assert len(tree.findall(".//h1")) == 1
    assert tree.xpath("//main/h2/@id")[-1] == "definitions"


def test_a_warning_about_a_table_names_it_by_its_title():
    facts = made.release()
    one = replace(facts.tables[0], name="t1", title="Jobs & <homes>")
    told = replace(
        facts,
        tables=(one, *facts.tables[1:]),
        warnings=("[[table]] 't1': a sum is 0.", "[[table]] 'other': a sum is 0."),
    )
    page = make_report(told, edition="internal", language="en").html
    assert "<li>Jobs &amp; &lt;homes&gt;: a sum is 0.</li>" in page
    assert "<li>[[table]] &#39;other&#39;: a sum is 0.</li>" in page


def test_a_public_page_links_to_the_files_of_its_language_and_to_those_that_have_none():
    names = ("t.en.px", "t.fr.px", "t.csv", "t.fr.labels.csv", "t.xlsx")
    table = replace(
        made.release().tables[0], name="t", files=tuple(made.file(name) for name in names)
    )
    for language, other in (("en", "t.fr.px"), ("fr", "t.en.px")):
        facts = replace(made.release(), tables=(table,))
        page = make_report(facts, edition="public", language=language).html
        links = re.findall(r'<a href="\./([^"]+)"', page)
        assert sorted(links) == sorted(name for name in names if name != other)
        assert other in page  # among the hashes


def test_an_attack_above_its_limit_says_so_beside_it():
    attack = AttackFact(
        name="differencing", settings={}, closed_form=0.95, successes=10, trials=100,
        low=0.05, high=0.18, queries=2, allowed=0.9,
    )  # fmt: skip
    facts = made.release()
    facts = replace(facts, risk=replace(facts.risk, attacks=(attack,)))
    tree = parser.document_fromstring(internal(facts).html)
    (row,) = tree.xpath("//table[@id='attack-table']/tbody/tr")
    assert row[-1].text_content().split() == ["0.900", "exceeded", "by", "formula"]


@pytest.mark.slow
def test_importing_reports_loads_neither_numpy_nor_templates():
    import subprocess
    import sys

    code = (
        "import reports, sys; print(*{'numpy', 'jinja2', 'babel', 'risk'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.strip() == b""


@pytest.mark.parametrize("edition", ["public", "internal"])
def test_a_number_of_hundreds_of_digits_is_refused_by_its_place(edition):
    facts = made.release()
    tables = (replace(facts.tables[0], published=10**400), *facts.tables[1:])
    with pytest.raises(ReportError, match=r"tables\[0\].published has more than 30 digits"):
        make_report(replace(facts, tables=tables), edition=edition, language="fr")
