"""The released tables on public pages: their files by kind, and their first rows."""

from collections.abc import Iterator
from itertools import count, product
from string import ascii_lowercase
from urllib.parse import quote

from footing.data_files import read_data
from reports.facts.release import FirstRowsFact, PublicFacts, PublicTableFact
from reports.i18n.languages import LANGUAGES, Words
from reports.parts import NOTHING, Cell, Lines, Table

#: How the name of a file ends → what kind of file it is, a message.
FILE_KINDS: dict[str, str] = read_data("reports.catalogues", "file_kinds.toml")["file_kinds"]


def list_of_tables(words: Words, facts: PublicFacts, *, has_anchors: bool = False) -> Table:
    """List the tables with their files, those of one kind together.

    With `has_anchors` the name of a table leads to its first rows on the page.
    """
    places = zip(anchors(), facts.tables, strict=False)
    anchor = {
        table.name: f"#{place}"
        for place, table in places
        if has_anchors and has_first_rows(table)
    }

    def named(table: PublicTableFact) -> Cell:
        title = words.text(table.title) or table.name
        by = ", ".join(map(words.text, table.dimensions))
        by += f". {words.text(table.population)}" if table.population else ""
        links = ((title, anchor[table.name]),) if table.name in anchor else ()
        return Cell(text=title, small=by, links=links)

    def files(table: PublicTableFact) -> Cell:
        groups = file_groups(words, table)
        return Cell(text="", groups=groups) if groups else Cell(text=NOTHING)

    return (
        Lines(words, facts.tables)
        .text("Table", named)
        .number("Published cells", lambda table: table.published, "count")
        .text("Files", files)
        .table("tables", words.say("Released tables"))
    )


def file_groups(
    words: Words, table: PublicTableFact
) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Give the files of a table that readers of a language need, by kind."""
    groups: dict[str, list[tuple[str, str]]] = {kind: [] for kind in (*FILE_KINDS.values(), "")}
    for name in _readable(table, words.language):
        ends = filter(name.endswith, sorted(FILE_KINDS, key=len, reverse=True))
        groups[FILE_KINDS.get(next(ends, ""), "")].append((name, f"./{quote(name)}"))
    return tuple((words.say(kind), tuple(files)) for kind, files in groups.items() if files)


def anchors() -> Iterator[str]:
    """Name places by letters, as a public page holds no number but those of the facts."""
    return (
        "first-rows-" + "".join(letters)
        for length in count(1)
        for letters in product(ascii_lowercase, repeat=length)
    )


def has_first_rows(table: PublicTableFact) -> bool:
    """Tell whether rows of a table are known."""
    return table.first_rows is not None and bool(table.first_rows.categories)


def first_rows(words: Words, facts: PublicFacts) -> list[Table]:
    """Show the first rows of each table as they are published."""
    return [
        _rows_of(words, place, table, table.first_rows, facts)
        for place, table in zip(anchors(), facts.tables, strict=False)
        if table.first_rows is not None and has_first_rows(table)
    ]


def _rows_of(
    words: Words,
    ident: str,
    table: PublicTableFact,
    first: FirstRowsFact,
    facts: PublicFacts,
) -> Table:
    lines = Lines(words, list(zip(first.categories, first.numbers, strict=True)))
    labels = {place: words.text(name) for place, name in enumerate(first.dimensions)}
    measures = {place: words.text(name) for place, name in enumerate(first.measures)}
    n_rows, n_all = len(first.categories), table.published + table.suppressed
    notes = [words.text(table.population)] if table.population else []
    if n_rows < n_all:
        notes.append(
            words.say(
                "The first %(shown)s of %(rows)s rows; all are in the files.",
                shown=words.numbers.count(n_rows),
                rows=words.numbers.count(n_all),
            )
        )
    if any("" in numbers for numbers in first.numbers):
        notes.append(words.say("%(sign)s: no number is published.", sign=NOTHING))
    if not facts.adds_up:
        notes.append(
            words.say(
                "Parts need not add up to their total: each number was changed on its own."
            )
        )
    if (margin := facts.margin) is not None:
        notes.append(
            words.say(
                "Each count lies within ±%(count)s of the true one with a probability of "
                "%(sure)s %% or more.",
                count=words.numbers.count(margin.count),
                sure=words.numbers.count(margin.level),
            )
        )
    return (
        lines.texts(labels, lambda line, place: words.text(line[0][place]))
        .numbers(measures, lambda line, place: _published(words, line[1][place]))
        .table(ident, words.text(table.title) or table.name, n_heads=len(labels), notes=notes)
    )


def _published(words: Words, number: str) -> Cell | None:
    """Write a published number with all its decimals, in groups of three digits."""
    if not number:
        return None
    whole, point, decimals = number.partition(".")
    mark = words.numbers.plain(0.5)[1] if point else ""
    sign = "\N{MINUS SIGN}" if whole.startswith("-") else ""
    return Cell(text=f"{sign}{words.numbers.count(abs(int(whole)))}{mark}{decimals}")


def _readable(table: PublicTableFact, language: str) -> list[str]:
    """Name the files of a table, but those of another language that are there in this one."""
    names = [file.file for file in table.files]
    own = f"{table.name}.{language}."
    others = [f"{table.name}.{code}." for code in LANGUAGES if code != language]
    twice = {
        other + name.removeprefix(own)
        for name in names
        if name.startswith(own)
        for other in others
    }
    return [name for name in names if name not in twice]
