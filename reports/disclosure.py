"""Show that a public page holds nothing but what everybody may know."""

import html
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from html.parser import HTMLParser
from typing import Literal

from footing.messages import Message, Shape
from reports.errors import ReportError
from reports.facts.parts import walk
from reports.facts.release import PublicFacts
from reports.i18n.languages import LANGUAGES

#: Numbers in the words of the public templates, and why they stand there.
CONSTANTS = {
    "0": "a cell without anybody is published as 0",
    "256": "the name of SHA-256",
}
#: Attributes of the public templates that hold numbers: (element, attribute) → what it may say.
_ATTRIBUTES = {
    ("meta", "charset"): {"utf-8"},
    ("meta", "content"): {"width=device-width, initial-scale=1"},
    ("div", "tabindex"): {"0"},
    ("main", "tabindex"): {"-1"},
}
_NO_END = {"meta", "br", "hr", "img", "input", "link", "wbr"}
#: Digits; with points and commas, and in groups of three as English and French write them.
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f]\d+)*")
_GROUPED = re.compile(r"(\d{1,3}(?:[,\u00a0\u202f]\d{3})+)(?:[.,](\d+))?")
#: Where first rows stand: in cells of a page, and below their key in JSON.
_ROWS = re.compile(r" > t[dh](?: > small|, attribute data-label)?$|first_rows")
_WORD = re.compile(r"\w+(?:[.-]\w+)*")
#: What a hash, a key or a token looks like; its first characters give it away already.
_OPAQUE = re.compile(r"[0-9a-f]{16,}|(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w+/=-]{16,}")
_BEGINNING = 8
_DIGEST = re.compile(r"[0-9a-f]{64}")
#: A forbidden text shorter than this counts only as a word of its own.
_LONG = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place of a public page that holds what it must not.

    What was found is not repeated, as marks are shown.

    Parameters
    ----------
    kind
        ``"number"``: it is neither of the facts nor of the template; ``"forbidden"``: it is a
        forbidden text, or the beginning of one.
    place
        The elements around it, or the line of a text.
    """

    kind: Literal["number", "forbidden"]
    place: str


def scan(text: str, facts: PublicFacts, *, forbidden: Collection[str] = ()) -> tuple[Mark, ...]:
    """Look for what must not be in a public page or in its JSON.

    Every number in words and attributes must be one of the facts, or of the template. No
    forbidden text may stand anywhere, style and markup included; of a hash or a key not even
    its first eight characters. A text of less than eight characters counts where it is a word
    of its own that neither the facts nor the template hold.

    Parameters
    ----------
    text
        A page, or JSON.
    facts
        All that it may know.
    forbidden
        Secrets, keys, identifiers, hashes and parameters.

    Examples
    --------
    >>> from reports import make_report
    >>> facts = PublicFacts(
    ...     id="2027-03",
    ...     title="Jobseekers",
    ...     date="2027-03-15",
    ...     contact="",
    ...     version="0.1.0",
    ...     ptable_label="",
    ...     checks={"noise-bound": "passed"},
    ...     tables=(),
    ... )
    >>> page = make_report(facts, edition="public", language="en").html
    >>> scan(page, facts, forbidden=["c7a5b3a7c7a5b3a7"])
    ()
    >>> leaky = page.replace("</main>", "<p>The variance is 3.</p></main>")
    >>> scan(leaky, facts)
    (Mark(kind='number', place='html > body > div > main > p'),)
    """
    if not isinstance(facts, PublicFacts):
        raise ReportError(
            Message(
                "The scan compares with PublicFacts, not {facts}.", facts=Shape(type(facts))
            ),
            hint=Message("pass facts.public()"),
        )
    marks = [
        Mark(kind="forbidden", place=place) for place in _forbidden(text, facts, forbidden)
    ]
    bare = replace(facts, tables=tuple(replace(one, first_rows=None) for one in facts.tables))
    numbers, published = _numbers_of(bare), _numbers_of(facts)
    first_rows = [
        one.first_rows.categories for one in facts.tables if one.first_rows is not None
    ]
    numbers |= {str(len(rows)) for rows in first_rows}
    for place, words in _texts(text):
        # Published numbers stand in their own table, and nowhere else.
        allowed = published if _ROWS.search(place) else numbers
        if not all(_is_known(number, allowed) for number in _NUMBER.findall(words)):
            marks.append(Mark(kind="number", place=place))
    return tuple(marks)


def _texts(text: str) -> Iterator[tuple[str, str]]:
    """Give words and attributes of a page, or the values of JSON, with their places."""
    if text.lstrip().startswith("<"):
        reader = _Reader()
        reader.feed(text)
        reader.close()
        yield from reader.found
        return
    try:
        content = json.loads(text, parse_float=str, parse_int=str)
    except ValueError:
        content = text.splitlines()
    for place, value in walk(content):
        yield place, str(value)


class _Reader(HTMLParser):
    """Collect the texts of a page; only style sheets are left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)
        if tag not in _NO_END:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._attributes(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.found.append((" > ".join(self._open), data))

    def handle_comment(self, data: str) -> None:
        self.found.append((" > ".join([*self._open, "a comment"]), data))

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and value not in _ATTRIBUTES.get((tag, name), ()):
                place = " > ".join([*self._open, tag])
                self.found.append((f"{place}, attribute {name}", value))


def _numbers_of(facts: PublicFacts) -> set[str]:
    """Give the numbers that a page may show, as it may write them."""
    texts = {str(value) for _, value in walk(facts) if isinstance(value, int)}
    texts |= {n for _, value in walk(facts) for n in _NUMBER.findall(str(value))}
    texts |= {f"{value:g}" for _, value in walk(facts) if isinstance(value, float)}
    texts |= {number.lstrip("0") for number in _NUMBER.findall(facts.date)[-1:]}  # the day
    outcomes = Counter(facts.checks.values())
    sums = (
        len(facts.tables),
        sum(table.published for table in facts.tables),
        sum(table.suppressed for table in facts.tables),
        *(table.published + table.suppressed for table in facts.tables),
    )
    numbers = (*sums, len(facts.checks), *outcomes.values())
    return texts | set(CONSTANTS) | set(map(str, numbers))


def _is_known(number: str, numbers: set[str]) -> bool:
    if number in numbers or number.replace(",", ".") in numbers:
        return True
    grouped = _GROUPED.fullmatch(number)
    if grouped is None:
        return False
    whole, decimals = re.sub(r"\D", "", grouped[1]), grouped[2]
    return (f"{whole}.{decimals}" if decimals else whole) in numbers


def _forbidden(text: str, facts: PublicFacts, forbidden: Collection[str]) -> Iterator[str]:
    """Give the places of forbidden texts, in the page as it is and as it is read."""
    readings = [reading.casefold() for reading in (text, html.unescape(text))]
    # Among enough published hashes, some hold the beginning of any hidden one by chance.
    published = {file.sha256.casefold() for table in facts.tables for file in table.files}
    published = {digest for digest in published if _DIGEST.fullmatch(digest)}
    for digest in published - {secret.strip().casefold() for secret in forbidden}:
        readings = [reading.replace(digest, "") for reading in readings]
    vocabulary = {word for reading in readings for word in _WORD.findall(reading)}
    vocabulary -= {w for _, value in walk(facts) for w in _WORD.findall(str(value).casefold())}
    vocabulary -= _own_words()
    for secret in forbidden:
        sought = secret.strip().casefold()
        if _OPAQUE.fullmatch(secret.strip()):
            sought = sought[:_BEGINNING]
        elif len(sought) < _LONG or sought in _own_words():
            if sought in vocabulary:
                yield "a word"
            continue
        for reading in readings:
            at = reading.find(sought)
            if at >= 0:
                yield f"line {reading.count(chr(10), 0, at) + 1}"
                break


@cache
def _own_words() -> frozenset[str]:
    """Give the words of the public pages themselves, in every language."""
    from reports import make_report
    from reports.catalogues.release import CHECKS

    blank = PublicFacts(
        id="", title="", date="", contact="", version="", ptable_label="",
        checks=dict.fromkeys(CHECKS, "passed"), tables=(),
    )  # fmt: skip
    pages = [
        make_report(blank, edition="public", language=language).html for language in LANGUAGES
    ]
    return frozenset(word for page in pages for word in _WORD.findall(page.casefold()))
