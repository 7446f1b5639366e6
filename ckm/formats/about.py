"""What a file says about a table beside its numbers: title, words, what is withheld."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from ckm.errors import ConfigError
from ckm.formats.words import say
from footing.messages import Message, joined
from footing.serialisation import set_fields

if TYPE_CHECKING:
    from ckm.engine.published_table import PublishedTable
    from ptable.lookup import MarginOfError


_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_MAPPINGS = frozenset(
    ("labels", "category_labels", "totals", "units", "decimals", "hierarchies", "withheld")
)
_FACTS = ("decimals", "geography", "hierarchies", "time", "totals", "updated", "withheld")
_NO_TEXTS = ("reliable_from", "translations", "updated")
_RELIABLE = 5  # times the margin of error: from here on it is 20 % of the count or less
_PERIOD = re.compile(
    r"[0-9]{4}(-(A1|[ST][1-4]|Q[1-4]|M?[0-9]{2}|W[0-9]{2}|D[0-9]{3}|[0-9]{2}-[0-9]{2}))?"
)
_DATAFLOW = re.compile(r"[A-Za-z][\w.-]*:[A-Za-z0-9_@$-]+(\([0-9]+(\.[0-9]+)*\))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAbout:
    """What is said about a table; every part may be left out.

    It may speak of columns and categories that a table does not have: a file holds what
    belongs to its table. No format adds a date, a name or a version of its own.

    Parameters
    ----------
    id
        Short name of the table.
    title
        Its heading.
    language
        Language of all texts, ``"en"``, ``"fr-CH"``.
    source
        Who is responsible for the numbers.
    contact
        The contact for questions.
    notes
        The method in words, each note a text of its own.
    labels
        Column → what it is called for readers; dimensions, hierarchies and measures.
    category_labels
        Column → category → what it is called for readers.
    unit
        What is counted: ``"persons"``.
    units, decimals
        Column of a measure → its own unit, and how many decimals are to be shown.
    updated
        Date of the numbers, or a time with its zone; never read from a clock.
    geography, time
        The column or hierarchy that tells places, and the one that tells times.
    totals
        Column → the category that stands for all others.
    hierarchies
        Name → columns from broad to fine, as in the job. JSON-stat and PX make one dimension
        of them.
    withheld
        Column → categories that are not published, such as areas that are too small.
    withheld_label, suppressed_label
        How withheld categories and suppressed cells are called.
    dataflow
        What SDMX knows the table by: ``"AGENCY:ID(1.0)"``.
    reliable_from
        Smaller counts are of low reliability, which SDMX tells of each; 0 for none.
    translations
        The words in further languages, for formats that hold several; facts are the first's.

    Raises
    ------
    ConfigError
        With all that is wrong.

    Examples
    --------
    >>> about = TableAbout(title="Job seekers", labels={"sex": "Sex"}, notes=["Made up."])
    >>> about.notes
    ('Made up.',)
    """

    id: str = ""
    title: str = ""
    language: str = "en"
    source: str = ""
    contact: str = ""
    notes: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    category_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    decimals: Mapping[str, int] = field(default_factory=dict)
    updated: dt.date | dt.datetime | None = None
    geography: str = ""
    time: str = ""
    totals: Mapping[str, str] = field(default_factory=dict)
    hierarchies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    withheld: Mapping[str, Sequence[str]] = field(default_factory=dict)
    withheld_label: str = "Not published"
    suppressed_label: str = "Suppressed"
    dataflow: str = ""
    reliable_from: int = 0
    translations: Sequence[TableAbout] = ()

    def __post_init__(self) -> None:
        problems: list[str] = []
        for part in fields(self):
            checked = _checked(part.name, getattr(self, part.name), problems)
            object.__setattr__(self, part.name, checked)
        if not problems:
            problems += _problems(self)
        if problems:
            raise ConfigError(
                Message(
                    "What is said about the table is wrong: {problems}",
                    problems=joined("; ", problems),
                )
            )


def _checked(name: str, value: Any, problems: list[str]) -> Any:
    """Return a part in its own types, tuples and dicts; note what is no text."""
    if name == "notes":
        return _texts(name, value, problems)
    if name not in _MAPPINGS:
        _texts(name, [] if name in _NO_TEXTS else [value], problems)
        return tuple(value) if isinstance(value, list) else value
    pairs = _mapping(name, value, problems)
    if name == "decimals":
        return _decimals(pairs, problems)
    if name in {"labels", "totals", "units"}:
        _texts(name, [*pairs, *pairs.values()], problems)
        return pairs
    if name == "category_labels":
        return {column: _checked("labels", texts, problems) for column, texts in pairs.items()}
    _texts(name, list(pairs), problems)
    return {key: _texts(name, values, problems) for key, values in pairs.items()}


def _decimals(pairs: dict[Any, Any], problems: list[str]) -> dict[str, int]:
    _texts("decimals", list(pairs), problems)
    if not all(type(number) is int and 0 <= number <= 15 for number in pairs.values()):
        problems.append("decimals holds whole numbers from 0 to 15")
    return pairs


def _texts(name: str, value: object, problems: list[str]) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        problems.append(f"{name} is a list of texts")
        return ()
    for text in value:
        if not isinstance(text, str):
            problems.append(f"{name} holds texts, not {type(text).__name__!r}")
        elif not is_text(text):
            problems.append(f"{name} holds half a character (a lone surrogate)")
    return tuple(value)


def _mapping(name: str, value: object, problems: list[str]) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        problems.append(f"{name} maps columns to what is said of them")
        return {}
    return dict(value)


def _problems(about: TableAbout) -> list[str]:
    problems = []
    if not _LANGUAGE.fullmatch(about.language):
        problems.append(Message('language is a code such as "en"'))
    if about.dataflow and not is_dataflow(about.dataflow):
        problems.append(Message('dataflow is written "AGENCY:ID(1.0)"'))
    if len(set(about.notes)) < len(about.notes):
        problems.append(Message("notes repeat"))
    if type(about.reliable_from) is not int:
        problems.append(Message("reliable_from is a whole number"))
    when = about.updated
    if when is not None and not isinstance(when, dt.date):
        problems.append(Message("updated is a date"))
    if isinstance(when, dt.datetime) and when.tzinfo is None:
        problems.append(Message("updated has a time without its zone"))
    if about.geography and about.geography == about.time:
        problems.append(Message("geography and time are the same column"))
    columns = [column for levels in about.hierarchies.values() for column in levels]
    if len(set(columns)) < len(columns):
        problems.append(Message("a column belongs to two hierarchies"))
    return problems + _problems_of_translations(about)


def _problems_of_translations(about: TableAbout) -> list[str]:
    others = about.translations
    if not (isinstance(others, tuple) and all(isinstance(o, TableAbout) for o in others)):
        return [Message("translations is a list of TableAbout")]
    languages = {each.language for each in (about, *others)}
    return (
        [Message("two translations have the same language")]
        if len(languages) <= len(others)
        else []
    )


def noise_said(margin: MarginOfError) -> dict[str, int]:
    """Return what the words on the noise of counts are filled with."""
    return {**asdict(margin), "reliable": _RELIABLE * margin.count}


def with_noise(about: TableAbout, margin: MarginOfError) -> TableAbout:
    """Say of a table of counts how far these may lie from the true ones."""
    words = noise_said(margin)
    note = say("noise", about.language).format(**words)
    return replace(about, notes=[*about.notes, note], reliable_from=words["reliable"])


def is_dataflow(text: str) -> bool:
    """Return whether a text names a dataflow of SDMX."""
    return _DATAFLOW.fullmatch(text) is not None


def is_period(text: str) -> bool:
    """Return whether a text is a period of SDMX: a year or a part of one, or a day."""
    return _PERIOD.fullmatch(text) is not None


def is_text(text: object) -> bool:
    """Return whether something is a text that can be encoded."""
    if not isinstance(text, str):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def about_table(about: TableAbout, table: PublishedTable) -> TableAbout:
    """Keep what is said about a table's own columns and categories.

    A name of a category that the table does not show may tell that it is there: it stays out.
    """
    columns = set(table.columns)
    codes = {name: set(categories) for name, (_, categories) in table.dimensions.items()}
    hierarchies = {
        name: levels
        for name, levels in about.hierarchies.items()
        if len(levels) > 1 and is_run(levels, list(table.dimensions)) and name not in columns
    }
    names = columns | set(hierarchies)
    labels = {
        column: {c: label for c, label in pairs.items() if c in codes[column]}
        for column, pairs in about.category_labels.items()
        if column in codes
    }
    own = replace(
        about,
        labels={name: label for name, label in about.labels.items() if name in names},
        category_labels={column: pairs for column, pairs in labels.items() if pairs},
        units={name: unit for name, unit in about.units.items() if name in table.measures},
        decimals={n: number for n, number in about.decimals.items() if n in table.measures},
        geography=about.geography if about.geography in names else "",
        time=about.time if about.time in names else "",
        totals={c: t for c, t in about.totals.items() if t in codes.get(c, ())},
        hierarchies=hierarchies,
        withheld={c: areas for c, areas in about.withheld.items() if c in codes and areas},
        translations=(),
    )
    facts = {name: getattr(about, name) for name in _FACTS}
    others = [about_table(replace(each, **facts), table) for each in about.translations]
    return replace(own, translations=others)


def is_run(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Return whether texts stand side by side among others, in their order."""
    if not part or part[0] not in whole:
        return False
    start = list(whole).index(part[0])
    return list(whole[start : start + len(part)]) == list(part)


def to_plain(about: TableAbout) -> dict[str, Any]:
    """Return what differs from a bare `TableAbout` as JSON values."""
    content = set_fields(about)
    if about.translations:
        content["translations"] = [to_plain(each) for each in about.translations]
    return content


def from_plain(plain: Mapping[str, Any]) -> TableAbout:
    """Undo `to_plain`; keys of later versions are left out."""
    names = {part.name for part in fields(TableAbout)}
    values = {name: value for name, value in plain.items() if name in names}
    if "updated" in values:
        values["updated"] = read_date(values["updated"])
    translations = [from_plain(each) for each in values.pop("translations", ())]
    return TableAbout(**values, translations=translations)


def read_date(text: str) -> dt.date | dt.datetime:
    """Read a date, or a time with its zone."""
    return dt.datetime.fromisoformat(text) if "T" in text else dt.date.fromisoformat(text)
