"""From facts to a page: the templates, and what they are given."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from footing.messages import Argument, Message, Shape
from reports.errors import ReportError
from reports.facts.checking import require_sound
from reports.facts.decoding import DecodingFacts
from reports.facts.dp_tables import DPTablesFacts
from reports.facts.exposure import ExposureFacts
from reports.facts.frontier import FrontierFacts
from reports.facts.meaning import MeaningFacts
from reports.facts.mobility import MobilityFacts
from reports.facts.release import ComparisonFacts, IndexFacts, PublicFacts, ReleaseFacts
from reports.facts.suppression import PublicSuppressionFacts, SuppressionFacts
from reports.facts.synthesis import SynthesisFacts
from reports.facts.training import AuditFacts, CardFacts, StudyFacts, SweepFacts
from reports.i18n.languages import LANGUAGES, words_of
from reports.pages.comparison import comparison_page
from reports.pages.decoding import decoding_page
from reports.pages.dp_tables import dp_tables_page
from reports.pages.exposure import exposure_page
from reports.pages.frontier import frontier_page
from reports.pages.meaning import meaning_page
from reports.pages.mobility import mobility_page
from reports.pages.release.index import index_page
from reports.pages.release.internal import internal_page
from reports.pages.release.public import public_page
from reports.pages.suppression import public_suppression_page, suppression_page
from reports.pages.synthesis import synthesis_page
from reports.pages.training.audits import audits_page
from reports.pages.training.card import card_page
from reports.pages.training.study import study_page
from reports.pages.training.sweep import sweep_page
from reports.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Environment

    from reports.facts.checking import Facts
    from reports.report import Edition, Links

_FILE = re.compile(r"[\w.-]+\.html")
#: What HTML cannot hold.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


_PAGES: Mapping[type, tuple[Callable[..., tuple[str, dict[str, Any]]], Edition]] = {
    AuditFacts: (audits_page, "internal"),
    CardFacts: (card_page, "public"),
    ComparisonFacts: (comparison_page, "internal"),
    DPTablesFacts: (dp_tables_page, "public"),
    DecodingFacts: (decoding_page, "internal"),
    ExposureFacts: (exposure_page, "internal"),
    FrontierFacts: (frontier_page, "internal"),
    IndexFacts: (index_page, "public"),
    MeaningFacts: (meaning_page, "public"),
    MobilityFacts: (mobility_page, "internal"),
    PublicFacts: (public_page, "public"),
    PublicSuppressionFacts: (public_suppression_page, "public"),
    ReleaseFacts: (internal_page, "internal"),
    StudyFacts: (study_page, "public"),
    SuppressionFacts: (suppression_page, "internal"),
    SweepFacts: (sweep_page, "internal"),
    SynthesisFacts: (synthesis_page, "internal"),
}


def make_report(
    facts: Facts,
    *,
    language: str,
    edition: Edition | None = None,
    links: Links = None,
    is_full: bool = False,
) -> Report:
    """Make the page of what was computed; a release has one for inside and one for everybody.

    Parameters
    ----------
    facts
        All that the page says: of a release, of its tables and files, a comparison of
        designs, decoded reports, an audit of a service or of trips, a frontier of designs,
        what an epsilon means, tables with noise, a suppression, synthetic records, or private
        training: a study, a sweep, audits or a card.
    language
        ``"en"`` or ``"fr"``.
    edition
        ``"public"`` makes the page for everybody of the facts of a release; None takes the
        edition of the facts.
    links
        Other languages → the file beside this one that holds the page in that language.
    is_full
        Whether the page of a release or of a comparison has its long tables too.

    Raises
    ------
    ReportError
        If there is no such page, edition or language, a link leaves the folder, or a fact is
        no number or a name of no catalogue.

    Examples
    --------
    >>> from reports.facts.release import PublicFacts
    >>> facts = PublicFacts(
    ...     id="2027-03",
    ...     title="Jobseekers",
    ...     date="2027-03-15",
    ...     contact="",
    ...     version="0.1.0",
    ...     ptable_label="PT-2027-A",
    ...     checks={"noise-bound": "passed"},
    ...     tables=(),
    ... )
    >>> page = make_report(facts, edition="public", language="en").html
    >>> "The one check passed." in page
    True
    """
    if edition == "public" and isinstance(facts, ReleaseFacts):
        facts = facts.public()
    if type(facts) not in _PAGES:
        raise ReportError(
            Message("There is no page of {facts}.", facts=Shape(type(facts))),
            hint=Message("reports.facts has what pages are made of"),
        )
    page, own = _PAGES[type(facts)]
    if edition not in (None, own):
        raise ReportError(
            Message(
                "There is no edition {edition!r} of {facts}.",
                edition=Argument(edition),
                facts=Shape(type(facts)),
            ),
            hint=Message("take {own!r}", own=Argument(own)),
        )
    words = words_of(language)
    beside = _checked_links(links or {}, language)
    require_sound(facts)
    lists = {"is_full": is_full} if page in (comparison_page, internal_page) else {}
    template, arranged = page(words, facts, **lists)
    context = {"id": "", "facts": facts, "numbers": words.numbers, "links": beside} | arranged
    html = environment(language).get_template(template).render(language=language, **context)
    return Report(
        edition=own,
        language=language,
        title=context["title"],
        html=without_controls(html),
        facts=facts,
    )


def _checked_links(links: Mapping[str, str], language: str) -> list[tuple[str, str, str]]:
    """Give code, name and file of each other language."""
    for code, file in links.items():
        words_of(code)
        if not _FILE.fullmatch(file):
            raise ReportError(
                Message(
                    "A link must name an HTML file in the same folder, not {file!r}.",
                    file=Argument(file),
                ),
                hint=Message("for example {'fr': 'report.fr.html'}"),
            )
    return [(code, LANGUAGES[code], file) for code, file in links.items() if code != language]


@cache
def environment(language: str) -> Environment:
    """Give the templates with the words of a language."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    words = words_of(language)
    templates = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.policies["ext.i18n.trimmed"] = True
    translations = words.translations
    templates.install_gettext_callables(  # type: ignore[attr-defined]
        translations.gettext, translations.ngettext, newstyle=True
    )
    templates.filters["css_text"] = lambda text: Markup(_css_text(text))  # noqa: S704
    templates.filters["drawing"] = Markup
    templates.filters["capitalize_first"] = lambda text: (
        text[: len(text) > 1].upper() + text[len(text) > 1 :]
    )
    return templates


def without_controls(html: str) -> str:
    r"""Replace characters that HTML cannot hold."""
    return _CONTROLS.sub("\ufffd", html)


def _css_text(text: str) -> str:
    """Write a text as a string of CSS that nothing can end early."""
    return '"' + "".join(c if c.isalnum() else f"\\{ord(c):06x}" for c in text) + '"'
