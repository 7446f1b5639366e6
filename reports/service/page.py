"""From facts to the page of a service, and the files that stand beside it."""

import hashlib
import math
from functools import cache, partial
from pathlib import Path
from typing import Any

from footing.messages import Argument, Message, Name
from reports.charts.area_map import area_map, legend
from reports.charts.bars import bars_of_table
from reports.errors import ReportError
from reports.facts.service import Grid, PageFacts, SignInFacts, Try
from reports.i18n.languages import LANGUAGES, Words, words_of
from reports.render import environment, without_controls

#: File → its parts among the templates.
ASSETS = {
    "page.css": ("style.css", "service.css"),
    "page.js": ("service.js",),
    "icon.svg": ("icon.svg",),
}

_EXACT = 1e-9
_TEMPLATES = Path(__file__).parent.parent / "templates"


def service_page(facts: PageFacts, *, language: str) -> str:
    """Make the page of a service.

    Parameters
    ----------
    facts
        All that it shows.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> from reports.facts.service import PageFacts
    >>> texts = dict(description="", source="", unit="", contact="", updated="")
    >>> facts = PageFacts(title="Job seekers", languages={}, fields=(), **texts)
    >>> "<h1>Job seekers</h1>" in service_page(facts, language="en")
    True
    """
    words, grid = words_of(language), facts.grid
    html = (
        environment(language)
        .get_template("service.html")
        .render(
            facts=facts,
            language=language,
            names=LANGUAGES,
            numbers=words.numbers,
            versions=_versions(),
            try_words=lambda other: _try_words(words, other),
            figure_words=partial(_figure_words, words),
            pictures=()
            if grid is None
            else bars_of_table(words, grid.chart, title=grid.caption, margin=grid.margin),
            **_map(words, grid),
        )
    )
    return without_controls(html)


def _map(words: Words, grid: Grid | None) -> dict[str, Any]:
    """Return the drawing of a map and what its looks mean; neither where there is none."""
    if grid is None or grid.map is None:
        return {"area_map": "", "legend": []}
    title = f"{grid.caption} – {grid.map.label}"
    return {
        "area_map": area_map(
            words, grid.map, title=title, write=partial(_figure_words, words, grid.figure)
        ),
        "legend": legend(
            words, grid.map, unit="\N{NO-BREAK SPACE}%" if grid.figure == "share" else ""
        ),
    }


def sign_in_page(facts: SignInFacts, *, language: str) -> str:
    """Make the page where people show their token.

    Parameters
    ----------
    facts
        All that it shows.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> from reports.facts.service import SignInFacts
    >>> html = sign_in_page(SignInFacts(title="Job seekers", proof="12ab"), language="fr")
    >>> 'value="12ab"' in html
    True
    """
    html = (
        environment(language)
        .get_template("service-sign-in.html")
        .render(facts=facts, language=language, versions=_versions())
    )
    return without_controls(html)


def _versions() -> dict[str, str]:
    return {name: asset(name)[1] for name in ASSETS}


@cache
def asset(name: str) -> tuple[bytes, str]:
    """Give the content of a file beside the page, and what names its version.

    Parameters
    ----------
    name
        One of `ASSETS`.

    Examples
    --------
    >>> len(asset("page.js")[1])
    16
    """
    if name not in ASSETS:
        raise ReportError(
            Message("There is no file {name!r}.", name=Name(name)),
            hint=Message("take one of {names}", names=Argument(list(ASSETS))),
        )
    content = b"\n".join((_TEMPLATES / part).read_bytes() for part in ASSETS[name])
    return content, hashlib.sha256(content).hexdigest()[:16]


def _figure_words(
    words: Words, kind: str, number: float, ends: tuple[float, float] | None = None
) -> tuple[str, str]:
    """Say a figure, and where the true one lies; empty where there is none."""
    end = "{}\N{NO-BREAK SPACE}%" if kind == "share" else "{}"
    if math.isnan(number):
        return "", ""
    digits = 0 if kind in {"count", "rank", "difference"} else 1
    low, high = ends or (math.nan, math.nan)
    if digits and high - low > 0:
        digits = max(digits, _digits(high - low))  # a figure has those of its ends
    figure = end.format(words.numbers.decimals(number, digits))
    if math.isnan(low) or low == high:
        return figure, ""
    if kind not in {"count", "rank", "difference"}:
        digits = _digits(high - low)
        low = math.floor(low * 10**digits + _EXACT) / 10**digits
        high = math.ceil(high * 10**digits - _EXACT) / 10**digits
    bounds = [words.numbers.decimals(one, digits) for one in (low, high)]
    return figure, end.format(words.say("%(low)s to %(high)s", low=bounds[0], high=bounds[1]))


def _digits(width: float) -> int:
    """Return the decimals of the ends of an interval: a third of its width, two at most."""
    return min(2, max(0, -math.floor(math.log10(width / 3) + _EXACT)))


def _try_words(words: Words, other: Try) -> str:
    says = {
        "coarser": words.say(
            "Show “%(variable)s” by “%(level)s”", variable=other.variable, level=other.level
        ),
        "without": words.say("Leave out “%(variable)s”", variable=other.variable),
        "unfiltered": words.say("Count all persons: remove the filter"),
        "with": words.say("Add “%(variable)s”", variable=other.variable),
        "all": words.say("Select all categories"),
    }
    return says[other.kind]
