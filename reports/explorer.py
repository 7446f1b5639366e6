"""The page on which designs of noise are tried: one file, which computes in the browser."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from reports.catalogues.explorer import PRIORS, TEXTS
from reports.catalogues.frontier import DOCUMENTED
from reports.catalogues.pages import headings
from reports.i18n.languages import words_of
from reports.render import environment, without_controls

if TYPE_CHECKING:
    from reports.facts.explorer import ExplorerFacts, ShownDesign
    from reports.i18n.languages import Words

_TEMPLATES = Path(__file__).parent / "templates"
_SCRIPTS = ("explorer.js", "explorer-page.js")


def explorer_page(facts: ExplorerFacts, *, language: str) -> str:
    """Make the page, whole: it loads nothing, and its policy lets nothing but its script run.

    Parameters
    ----------
    facts
        What it begins with.
    language
        ``"en"`` or ``"fr"``.

    Examples
    --------
    >>> from reports.facts.explorer import ExplorerFacts
    >>> facts = ExplorerFacts(
    ...     version="0.1.0",
    ...     start={"noise": 5, "variance": 3.0, "small": 2},
    ...     priors={"textbook": (0.0, 0.5, 0.5)},
    ... )
    >>> "connect-src" in explorer_page(facts, language="en")
    False
    """
    from markupsafe import Markup

    words = words_of(language)
    texts = {name: words.say(text) for name, text in TEXTS.items()}
    script = "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    own = () if facts.own is None else (facts.own,)
    data = {
        "language": language,
        "words": texts,
        "start": dict(facts.start),
        "priors": {name: list(prior) for name, prior in facts.priors.items()},
        "designs": [_as_data(words, one) for one in (*own, *facts.designs)],
    }
    html = (
        environment(language)
        .get_template("explorer.html")
        .render(
            id="",
            facts=facts,
            links=(),
            language=language,
            title=facts.title or texts["title"],
            texts=texts,
            headings=headings(words, "explorer"),
            prior_names={name: words.say(PRIORS[name]) for name in facts.priors},
            data=Markup(_inside_a_script(data)),  # noqa: S704  (no tag can begin in it)
            script=Markup(script),  # noqa: S704  (files of this package)
            script_digest=f"sha256-{digest}",
        )
    )
    return without_controls(html)


def _as_data(words: Words, design: ShownDesign) -> dict[str, object]:
    rows = [[[v, p] for v, p in row] for row in design.rows]
    name = words.say(DOCUMENTED[design.name]) if design.name in DOCUMENTED else design.name
    return {"name": name, "cycle": design.cycle, "rows": rows}


def _inside_a_script(data: object) -> str:
    """Write JSON in which no tag can begin and no line of a script can end."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
