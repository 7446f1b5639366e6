"""The public edition holds nothing that must stay inside, and the scan would see it."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import DictLoader

from reports import ReportError, make_report, scan
from reports.facts.parts import walk
from reports.facts.release import FirstRowsFact, PublicFacts, ReleaseFacts, TableFact
from reports.i18n.languages import LANGUAGES
from reports.render import environment
from tests.reports import facts as made
from tests.strategies import examples

#: Members of `ReleaseFacts` and `TableFact` that the public edition may show.
PUBLIC_MEMBERS = {"id", "title", "date", "contact", "ptable_label", "version"}
PUBLIC_OF_TABLES = {
    *("name", "title", "dimensions", "published", "files", "first_rows", "population"),
}


class Markers:
    """Replace every text and number by one that occurs nowhere else."""

    def __init__(self, start: int) -> None:
        self.next = start
        self.planted: list[str] = []

    def number(self) -> int:
        self.next += 7919
        self.planted.append(str(self.next))
        return self.next

    def text(self) -> str:
        self.planted.append(f"zq{self.next:x}planted{len(self.planted)}")
        return self.planted[-1]

    def plant(self, value):
        if is_dataclass(value):
            return replace(
                value, **{m.name: self.plant(getattr(value, m.name)) for m in fields(value)}
            )
        if isinstance(value, Mapping):
            return {self.plant(key): self.plant(item) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(map(self.plant, value))
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return self.number()
        return float(self.number()) + 0.5 if isinstance(value, float) else self.text()


def marked(start: int) -> tuple[ReleaseFacts, list[str]]:
    """Plant markers in every member that is not public, and in all that they hold."""
    facts = made.release()
    markers = Markers(start)
    inside = {
        m.name: markers.plant(getattr(facts, m.name))
        for m in fields(facts)
        if m.name not in PUBLIC_MEMBERS | {"checks", "tables"}
    }
    checks = tuple(
        replace(
            check,
            allowed=markers.plant(check.allowed),
            found=markers.plant(check.found),
            where=markers.text(),
        )
        for check in facts.checks
    )
    tables = tuple(
        replace(
            table,
            **{
                m.name: markers.plant(getattr(table, m.name))
                for m in fields(TableFact)
                if m.name not in PUBLIC_OF_TABLES
            },
        )
        for table in facts.tables
    )
    return replace(facts, checks=checks, tables=tables, **inside), markers.planted


@pytest.mark.parametrize("language", LANGUAGES)
def test_markers_planted_in_every_internal_member_never_show_in_public(language):
    facts, planted = marked(1_234_567)
    assert len(planted) > 3000
    report = make_report(facts, edition="public", language=language)
    for text in (report.html, report.to_json()):
        assert facts.title in text
        assert [marker for marker in planted if marker in text] == []
        assert scan(text, facts.public(), forbidden=planted) == ()


def test_markers_do_show_where_they_may():
    facts = made.release()
    planted = Markers(7_654_321)
    facts = replace(facts, title=planted.text(), contact=planted.text())
    page = make_report(facts, edition="public", language="en").html
    assert all(marker in page for marker in planted.planted)


@pytest.mark.parametrize("language", LANGUAGES)
def test_releases_that_differ_inside_alone_have_the_same_public_bytes(language):
    first = make_report(marked(1_000)[0], edition="public", language=language)
    second = make_report(marked(9_000_000)[0], edition="public", language=language)
    plain = make_report(made.release(), edition="public", language=language)
    assert first.html == second.html == plain.html
    assert first.to_json() == second.to_json() == plain.to_json()


def test_the_public_edition_is_made_of_public_facts_alone():
    whole, public = made.release(), made.release().public()
    assert (
        make_report(whole, edition="public", language="fr").html
        == make_report(public, edition="public", language="fr").html
    )
    assert isinstance(make_report(whole, edition="public", language="fr").facts, PublicFacts)
    with pytest.raises(ReportError, match="no edition 'internal' of PublicFacts"):
        make_report(public, edition="internal", language="fr")


def inside(facts: ReleaseFacts) -> list[str]:
    """All that must stay inside, as an office would list it."""
    return [
        facts.noise.ptable_id,
        *facts.noise.parameters.values(),
        facts.reproduction.job.sha256,
        *(file.sha256 for file in facts.reproduction.inputs),
        facts.reproduction.command,
        *facts.warnings,
        "correct horse battery staple",
        made.digest("key"),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_scan_passes_the_true_page_and_its_json(language):
    facts = made.release()
    report = make_report(
        facts, edition="public", language=language, links={"en": "report.en.html"}
    )
    assert scan(report.html, facts.public(), forbidden=inside(facts)) == ()
    assert scan(report.to_json(), facts.public(), forbidden=inside(facts)) == ()


LEAKS = {
    "an original count": "{{ secret.tables[0].cells }}",
    "a count in a title": '<p title="{{ secret.tables[0].cells }}">x</p>',
    "a count in a comment": "<!-- {{ secret.tables[0].cells }} -->",
    "a count in French": "{{ numbers.count(secret.tables[0].cells) }}",
    "a variance": "{{ secret.noise.classes[1].variance_drawn }}",
    "a probability": "{{ numbers.probability(secret.risk.worst[0].probability) }}",
    "a p-table id": "{{ secret.noise.ptable_id }}",
    "the beginning of an id": "{{ secret.noise.ptable_id[:8] }}",
    "an id in capitals": "{{ secret.noise.ptable_id[:9] | upper }}",
    "an id in a style": "<style>.a{{ secret.noise.ptable_id[:8] }} {}</style>",
    "an id in an attribute": '<p class="{{ secret.noise.ptable_id }}">x</p>',
    "the hash of an input": "{{ secret.reproduction.inputs[0].sha256 }}",
    "a command": "<p>{{ secret.reproduction.command }}</p>",
    "a warning": "<p>{{ secret.warnings[0] }}</p>",
}


@pytest.mark.slow
@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_scan_sees_a_leaky_template(leak, language):
    from reports.i18n.languages import words_of
    from reports.pages.release.public import public_page

    facts = made.release()
    source = environment(language).loader.get_source(environment(language), "public.html")[0]
    assert "{% endblock %}" in source
    leaky = environment(language).overlay(cache_size=0)
    place = source.rindex("{% endblock %}")
    page = source[:place] + leak + source[place:]
    shared = environment(language).loader
    others = {name: shared.get_source(leaky, name)[0] for name in shared.list_templates()}
    leaky.loader = DictLoader({**others, "public.html": page})
    words = words_of(language)
    html = leaky.get_template("public.html").render(
        language=language, numbers=words.numbers, links=[], secret=facts,
        facts=facts.public(), **public_page(words, facts.public())[1],
    )  # fmt: skip
    marks = scan(html, facts.public(), forbidden=inside(facts))
    assert marks
    for mark in marks:
        assert str(facts.tables[0].cells) not in repr(mark)
        assert facts.noise.ptable_id[:8] not in repr(mark)


def test_the_scan_reads_json_value_by_value():
    facts = made.release()
    content = json.loads(make_report(facts, edition="public", language="en").to_json())
    content["tables"][0]["cells"] = facts.tables[0].cells
    assert [m.kind for m in scan(json.dumps(content), facts.public())] == ["number"]


def test_the_scan_reads_text_line_by_line():
    facts = made.release()
    (mark,) = scan("fine\nand 65811\n", facts.public())
    assert mark.kind == "number"


def test_a_short_parameter_counts_as_a_word_but_not_where_the_page_says_it_anyway():
    facts = made.release().public()
    page = make_report(facts, edition="public", language="en").html
    assert "exact" in page.casefold()
    assert scan(page, facts, forbidden=["exact", "unimod", "", "  "]) == ()
    leaky = page.replace("</main>", "<p>unimod</p></main>")
    assert [mark.kind for mark in scan(leaky, facts, forbidden=["unimod"])] == ["forbidden"]


def test_a_forbidden_text_is_found_however_it_is_escaped():
    facts = made.release().public()
    hidden = "fish & chips <hot>"
    page = make_report(replace(facts, contact=hidden), edition="public", language="en").html
    assert hidden not in page
    assert scan(page, facts, forbidden=[hidden])


def test_the_scan_refuses_facts_that_are_not_public():
    with pytest.raises(ReportError, match=r"facts\.public"):
        scan("", made.release())


@settings(max_examples=examples(40))
@given(st.integers(0, 10**12))
def test_a_number_of_nowhere_is_marked_in_every_notation(number):
    from reports.i18n.numbers import Numbers

    facts = made.release().public()
    known = {str(value) for _, value in walk(facts) if isinstance(value, int)}
    texts = " ".join(str(value) for _, value in walk(facts))
    if str(number) in known or str(number) in texts or number in {0, 256} or number < 15:
        return
    for text in (str(number), Numbers("en").count(number), Numbers("fr").count(number)):
        assert scan(f"<p>{text}</p>", facts), text


@settings(max_examples=examples(40))
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_title_of_an_office_raises_a_false_alarm(title):
    facts = replace(made.release().public(), title=title, contact=title, id=title)
    report = make_report(facts, edition="public", language="fr")
    assert scan(report.html, facts) == ()
    assert scan(report.to_json(), facts) == ()


def test_a_published_hash_with_the_beginning_of_a_hidden_one_is_no_leak():
    facts = made.release().public()
    page = make_report(facts, edition="public", language="en").html
    by_chance = facts.tables[0].files[0].sha256[20:36] + 48 * "f"
    assert scan(page, facts, forbidden=[by_chance]) == ()
    for leak in (by_chance, by_chance[:8]):
        for leaky in (page.replace("</main>", f"{leak}</main>"), f'["{leak}"]'):
            kinds = {mark.kind for mark in scan(leaky, facts, forbidden=[by_chance])}
            assert "forbidden" in kinds


def test_a_hidden_hash_that_is_also_published_stays_hidden():
    facts = made.release().public()
    page = make_report(facts, edition="public", language="en").html
    assert scan(page, facts, forbidden=[facts.tables[0].files[0].sha256])


FIRST_ROWS = FirstRowsFact(
    dimensions=({"en": "Region", "fr": "Région"},),
    measures=("count", "mean_income"),
    categories=(("Total",), ({"en": "North", "fr": "Nord"},)),
    numbers=(("41234", "-2718281.25"), ("9417", "")),
)


def with_first_rows():
    facts = made.release().public()
    one = replace(facts.tables[0], first_rows=FIRST_ROWS)
    return replace(facts, tables=(one, *facts.tables[1:]))


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", ("Region", "North", "41,234", "\N{MINUS SIGN}2,718,281.25", "9,417")),
        ("fr", ("Région", "Nord", "41\u202f234", "\N{MINUS SIGN}2\u202f718\u202f281,25")),
    ],
)
def test_the_first_rows_of_a_table_are_on_the_public_page_as_files_have_them(language, shown):
    facts = with_first_rows()
    report = make_report(facts, edition="public", language=language)
    assert all(text in report.html for text in shown)
    assert scan(report.html, facts) == ()
    assert scan(report.to_json(), facts) == ()


def test_a_published_number_outside_of_its_table_is_a_mark():
    facts = with_first_rows()
    page = make_report(facts, edition="public", language="en").html
    leaky = page.replace("</main>", "<p>It was 9417.</p></main>")
    assert [mark.kind for mark in scan(leaky, facts)] == ["number"]
    changed = page.replace("41,234", "41,235")
    assert [mark.kind for mark in scan(changed, facts)] == ["number"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_page_of_a_release_holds_no_number_but_those_of_its_facts(language):
    facts = made.index()
    page = make_report(facts, language=language).html
    assert scan(page, facts) == ()
    leaky = page.replace("</main>", "<p>It was 1234.</p></main>")
    assert [mark.kind for mark in scan(leaky, facts)] == ["number"]


def test_files_of_a_table_stand_by_kind_and_those_of_another_language_do_not():
    facts = made.index()
    page = make_report(facts, language="fr").html
    named = ("CSV pour tableurs", "people.fr.labels.csv", "Excel", "people.xlsx", "people.csv")
    places = [page.index(text) for text in named]
    assert places == sorted(places)
    assert "people.en.labels.csv" not in page
    assert "people.en.labels.csv" in make_report(facts, language="en").html
