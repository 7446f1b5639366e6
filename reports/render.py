"""From facts to a page: the templates, and what they are given."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from reports.errors import ReportError
from reports.facts.checking import require_sound
from reports.facts.decoding import DecodingFacts
from reports.facts.exposure import ExposureFacts
from reports.facts.meaning import MeaningFacts
from reports.facts.mobility import MobilityFacts
from reports.facts.release import ComparisonFacts, PublicFacts, ReleaseFacts
from reports.facts.synthesis import SynthesisFacts
from reports.i18n.languages import LANGUAGES, words_of
from reports.pages.comparison import comparison_page
from reports.pages.decoding import decoding_page
from reports.pages.exposure import exposure_page
from reports.pages.meaning import meaning_page
from reports.pages.mobility import mobility_page
from reports.pages.release.internal import internal_page
from reports.pages.release.public import public_page
from reports.pages.synthesis import synthesis_page
from reports.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jinja2 import Environment

    from reports.i18n.languages import Words
    from reports.report import Edition, Links

_FILE = re.compile(r"[\w.-]+\.html")
#: What HTML cannot hold.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")


def release_report(
    facts: ReleaseFacts | PublicFacts,
    *,
    edition: Edition,
    language: str,
    links: Links = None,
    is_full: bool = False,
) -> Report:
    """Make the report of a release.

    The public edition is made of `facts.public()` alone.

    Parameters
    ----------
    facts
        All that is known of the release; for the public edition `PublicFacts` will do.
    edition
        ``"internal"`` or ``"public"``.
    language
        ``"en"`` or ``"fr"``.
    links
        Language → the file of the same report in it, in the same folder.
    is_full
        Whether the internal edition has the long lists too: every measure, definition and
        file. Without them it is for signing.

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
    >>> page = release_report(facts, edition="public", language="en").html
    >>> "The one check passed." in page
    True
    """
    if edition not in ("internal", "public"):
        raise ReportError(
            f"There is no edition {edition!r}.", hint="take 'internal' or 'public'"
        )
    if isinstance(facts, PublicFacts) and edition == "public":
        return rendered(public_page, facts, edition=edition, language=language, links=links)
    if isinstance(facts, PublicFacts):
        raise ReportError(
            "The internal edition needs ReleaseFacts, not PublicFacts.",
            hint="take edition='public'",
        )
    require_kind(facts, ReleaseFacts, "A report of a release")
    if edition == "public":
        return release_report(facts.public(), edition=edition, language=language, links=links)
    page = partial(internal_page, is_full=is_full)
    return rendered(page, facts, language=language, links=links)


def comparison_report(
    facts: ComparisonFacts, *, language: str, links: Links = None, is_full: bool = False
) -> Report:
    """Make the report of a comparison of designs, methods or both; it stays inside.

    Parameters
    ----------
    facts
        All that is known of them.
    language, links, is_full
        As for `release_report`.

    Examples
    --------
    >>> from reports.facts.release import ComparisonFacts, ScenarioFacts
    >>> facts = ComparisonFacts(
    ...     title="Jobseekers",
    ...     version="0.1.0",
    ...     tables={},
    ...     sensitive=(1, 2),
    ...     scenarios=ScenarioFacts(designs=(), refused={}),
    ...     by_table={},
    ...     sets=(),
    ...     posteriors={},
    ...     utility={},
    ...     conclusion={},
    ... )
    >>> comparison_report(facts, language="en").edition
    'internal'
    """
    require_kind(facts, ComparisonFacts, "A comparison")
    page = partial(comparison_page, is_full=is_full)
    return rendered(page, facts, language=language, links=links)


def decoding_report(facts: DecodingFacts, *, language: str, links: Links = None) -> Report:
    """Make the report of decoded reports of clients.

    Parameters
    ----------
    facts
        All that is known of them.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports.facts.decoding import DecodingFacts
    >>> facts = DecodingFacts(
    ...     title="Towns",
    ...     version="0.1.0",
    ...     reports=100,
    ...     parameters={"k": 8},
    ...     fingerprint="00",
    ...     epsilon_one=1.0,
    ...     epsilon_permanent=2.0,
    ...     candidates=(),
    ...     is_ordered=False,
    ...     collisions=(),
    ...     fitted_together=0,
    ...     correction="bonferroni",
    ...     alpha=0.05,
    ...     confidence=0.95,
    ...     limit=None,
    ...     unknown=None,
    ...     rest=None,
    ...     mass=None,
    ...     freedom=0,
    ...     dispersion=None,
    ...     misfit=None,
    ...     mass_misfit=None,
    ... )
    >>> decoding_report(facts, language="en").title
    'Towns'
    """
    require_kind(facts, DecodingFacts, "A decoding")
    return rendered(decoding_page, facts, language=language, links=links)


def synthesis_report(facts: SynthesisFacts, *, language: str, links: Links = None) -> Report:
    """Make the report of an evaluation of synthetic records; it stays inside.

    Parameters
    ----------
    facts
        All that was measured.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports.facts.synthesis import SynthesisFacts
    >>> facts = SynthesisFacts(
    ...     title="Census",
    ...     version="0.1.0",
    ...     train=100,
    ...     holdout=0,
    ...     synthetic={},
    ...     columns=(),
    ...     learner="",
    ...     figures={},
    ...     findings={},
    ... )
    >>> synthesis_report(facts, language="en").edition
    'internal'
    """
    require_kind(facts, SynthesisFacts, "An evaluation")
    return rendered(synthesis_page, facts, language=language, links=links)


def exposure_report(facts: ExposureFacts, *, language: str, links: Links = None) -> Report:
    """Make the report of an audit of all tables of a service; it stays inside.

    Parameters
    ----------
    facts
        All that was found.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports.facts.exposure import ExposureFacts, PartFact
    >>> from risk.reconstruction.attributes import FoundAttributes
    >>> whole = PartFact(name="", n_tables=9, n_cells=80, n_small=0, alone=0, together=0)
    >>> facts = ExposureFacts(
    ...     title="Jobseekers",
    ...     version="0.1.0",
    ...     small=2,
    ...     confidence=0.95,
    ...     n_areas=1,
    ...     n_areas_drawn=1,
    ...     seed=0,
    ...     limit=None,
    ...     largest_share=0.0,
    ...     whole=whole,
    ...     guessed=0,
    ...     sure=0,
    ...     sure_wrong=0,
    ...     certain=0,
    ...     remaining=whole,
    ...     persons=FoundAttributes(),
    ...     sizes=(),
    ...     variables=(),
    ...     areas=(),
    ...     tables=(),
    ... )
    >>> exposure_report(facts, language="en").edition
    'internal'
    """
    require_kind(facts, ExposureFacts, "An audit of a service")
    return rendered(exposure_page, facts, language=language, links=links)


def meaning_report(facts: MeaningFacts, *, language: str, links: Links = None) -> Report:
    """Make the page of what an epsilon means; nothing in it comes from records.

    Parameters
    ----------
    facts
        All that was computed.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports import ReportError
    >>> try:
    ...     meaning_report(1.0, language="en")
    ... except ReportError as error:
    ...     print(error)
    A meaning needs MeaningFacts, not float.
    """
    require_kind(facts, MeaningFacts, "A meaning")
    return rendered(meaning_page, facts, edition="public", language=language, links=links)


def mobility_report(facts: MobilityFacts, *, language: str, links: Links = None) -> Report:
    """Make the report of an audit of trips; it stays inside.

    Parameters
    ----------
    facts
        All that was found.
    language, links
        As for `release_report`.

    Examples
    --------
    >>> from reports.facts.mobility import GrainFact, MobilityFacts, ShareFact
    >>> none = ShareFact(n=0, base=0)
    >>> grain = GrainFact(
    ...     metres=250.0,
    ...     alone={1.0: {4: ShareFact(n=19, base=20, low=0.75, high=1.0)}},
    ...     home=none,
    ...     work=none,
    ...     both=none,
    ...     usual_crowd=None,
    ...     foretold=none,
    ...     usual=none,
    ...     met=(none, none, none),
    ...     met_by_chance=(),
    ... )
    >>> counts = dict.fromkeys(["rows", "without", "outside", "repeated", "points"], 0)
    >>> facts = MobilityFacts(
    ...     title="Trips",
    ...     version="0.1.0",
    ...     **counts,
    ...     persons=20,
    ...     persons_once=0,
    ...     days=7,
    ...     sampled=20,
    ...     seed=1,
    ...     confidence=0.95,
    ...     grains=(grain,),
    ... )
    >>> mobility_report(facts, language="en").edition
    'internal'
    """
    require_kind(facts, MobilityFacts, "An audit of trips")
    return rendered(mobility_page, facts, language=language, links=links)


def require_kind(facts: object, kind: type, what: str) -> None:
    """Refuse facts of another page."""
    if not isinstance(facts, kind):
        raise ReportError(f"{what} needs {kind.__name__}, not {type(facts).__name__}.")


def rendered(
    page: Callable[[Words, Any], tuple[str, dict[str, Any]]],
    facts: Any,
    *,
    edition: Edition = "internal",
    language: str,
    links: Links,
) -> Report:
    """Make a report from facts and the function that arranges them."""
    words = words_of(language)
    beside = _checked_links(links or {}, language)
    require_sound(facts)
    template, arranged = page(words, facts)
    context = {"id": "", "facts": facts, "numbers": words.numbers, "links": beside} | arranged
    html = environment(language).get_template(template).render(language=language, **context)
    return Report(
        edition=edition,
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
                f"A link must name an HTML file in the same folder, not {file!r}.",
                hint="for example {'fr': 'report.fr.html'}",
            )
    return [(code, LANGUAGES[code], file) for code, file in links.items() if code != language]


@cache
def environment(language: str) -> Environment:
    """Give the templates with the words of a language."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    words = words_of(language)
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.i18n"],
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["ext.i18n.trimmed"] = True
    translations = words.translations
    made.install_gettext_callables(  # type: ignore[attr-defined]
        translations.gettext, translations.ngettext, newstyle=True
    )
    made.filters["css_text"] = lambda text: Markup(_css_text(text))  # noqa: S704
    made.filters["drawing"] = Markup
    made.filters["capitalize_first"] = lambda text: (
        text[: len(text) > 1].upper() + text[len(text) > 1 :]
    )
    return made


def without_controls(html: str) -> str:
    r"""Replace characters that HTML cannot hold."""
    return _CONTROLS.sub("\ufffd", html)


def _css_text(text: str) -> str:
    """Write a text as a string of CSS that nothing can end early."""
    return '"' + "".join(c if c.isalnum() else f"\\{ord(c):06x}" for c in text) + '"'
