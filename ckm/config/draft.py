"""Draft a job from the columns of the data, with what was found and what is to be decided."""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from footing.messages import Message, Name, joined
from footing.places import Place, PlaceKind, place_of
from tables import DerivedVariable, Hierarchy, ReadOptions, Request, SourceError, open_source
from tables.cells.continuous import MOST_VALUES, forbidden_figures
from tables.profile import (
    COUNTED,
    ColumnProfile,
    categories_of,
    ends_of,
    is_unique,
    nestings,
    profile_columns,
)
from tables.recoding.derive import derive_variables
from tables.recoding.lost_zeros import (
    codes_with_decimals,
    codes_without_zeros,
    without_decimals,
)
from tables.secret import SECRET_VARIABLE
from tables.source.source import Source

if TYPE_CHECKING:
    from ptable import NoiseSpec

_STORED = ("record_key", "rkey")
_ID = re.compile(
    r"(^|[_. -])(id|ident|identifier|uuid|nir|number|num|no)($|[_. -])|id$", re.IGNORECASE
)
_WEIGHT = re.compile(r"weight|wgt|wt$|poids|pond|^w$", re.IGNORECASE)
_PLACE = re.compile(
    r"region|depart|commune|town|city|county|state|puma|nuts|canton|zone", re.IGNORECASE
)
_USUAL = re.compile(r"categ|class|status|educ|race|activit", re.IGNORECASE)
_SEX, _AGE = (re.compile(p, re.IGNORECASE) for p in ("sex|gender", "(^|[_. -])age"))
_FIRST = (_SEX, _AGE, _PLACE, _USUAL)
_FEW, _MANY = 30, 100_000
_MOST_CELLS = 50_000
_PER_VALUE = 10  # with fewer records for a value, columns nest by chance
_MOST_TABLES = 4
_MOST_NAMED = 3
_MOST_OFFERED = 6  # variables of a drafted service, as many as a table may have
_SLACK = 1.2  # numbers of values may be estimates
_LABELS = {"Total", "(missing)"}
_YOUNG, _OLDEST = 20, 130
_FIVE, _OLD = Decimal(5), Decimal(85)
_BANDS, _FAR = 10, 20  # bands between the first and the last tenth; and before these


@dataclass(kw_only=True)
class DraftBands:
    """Bands that are proposed of a column.

    Parameters
    ----------
    of
        The column.
    width, start, end
        How wide they are, where they begin and end.
    opens_start
        Whether smaller values have a band, too, as larger ones have.
    is_usual
        Whether everybody would cut so: of ages, by five years.
    """

    of: str
    width: Decimal
    start: Decimal
    end: Decimal
    opens_start: bool = False
    is_usual: bool = False

    @property
    def number(self) -> int:
        """How many bands there are."""
        return int((self.end - self.start) / self.width) + 1 + self.opens_start

    def variable(self, name: str) -> DerivedVariable:
        """Return what the job will derive."""
        return DerivedVariable(
            name=name,
            of=self.of,
            width=self.width,
            start=self.start,
            end=self.end,
            open="both" if self.opens_start else None,
        )


_NOISE = (
    ("max_noise", 5, Message("no published count is further than this from the truth")),
    ("variance", 3.0, Message("how much noise there is")),
    ("small", 2, Message("no published count is 1 or 2")),
)
_LIMITS = {
    "posterior": Message("decide: how likely one small count may become"),
    "posterior_set": Message("decide: how likely it may become that a count is small"),
    "known_small": Message(
        "decide: what share of a table's small counts may be known as small"
    ),
    "aad": Message("decide: how far the counts of a table may lie off on average"),
    "changed_cells": Message("decide: what share of the cells may have another count"),
    "false_zeros": Message("decide: what share of the cells may be published as 0"),
}


@dataclass(kw_only=True)
class JobDraft:
    """A job drafted from data: what was found, and the text of the file.

    Parameters
    ----------
    records, columns
        Number of records, and what each column is like.
    unique
        Columns that tell all records apart, the likeliest identifier first.
    weights
        Columns that may be weights.
    hierarchies
        Name → columns, broad to fine.
    same
        Column → the one that divides the records in the same way.
    categories
        Column of few values → these.
    bands
        Name of a variable → how it is made of a column.
    tables
        Name → dimensions.
    limits
        Key of ``[report.limits]`` → the strictest that the drafted noise keeps.
    refused
        Column → why it is refused, as a dimension or altogether, to be translated.
    comma_columns
        Columns of CSV that are numbers where the comma is the decimal mark, which was not said.
    """

    records: int
    columns: dict[str, ColumnProfile]
    unique: list[str] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    hierarchies: dict[str, list[str]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    categories: dict[str, list[object]] = field(default_factory=dict)
    bands: dict[str, DraftBands] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    comma_columns: list[str] = field(default_factory=list)
    text: str = ""

    @property
    def shorter(self) -> dict[str, list[str]]:
        """Column → its codes that may have lost a zero in a spreadsheet."""
        by_column = {name: codes_without_zeros(v) for name, v in self.categories.items()}
        return {name: codes for name, codes in by_column.items() if codes}

    @property
    def with_decimals(self) -> dict[str, list[str]]:
        """Column → its codes, all of them whole numbers written with decimals."""
        by_column = {name: codes_with_decimals(v) for name, v in self.categories.items()}
        return {name: codes for name, codes in by_column.items() if codes}

    def requests(self) -> dict[str, Request]:
        """Return the tables as requests."""
        nested = {n: Hierarchy(columns=tuple(chain)) for n, chain in self.hierarchies.items()}
        return {
            name: Request(dimensions=dimensions, hierarchies=nested, categories=self.categories)
            for name, dimensions in self.tables.items()
        }

    def cells(self, dimensions: Iterable[str]) -> int:
        """Return how many cells a table with all margins can have."""
        levels = (self.hierarchies.get(name, [name]) for name in dimensions)
        return prod(1 + sum(map(self._size, names)) for names in levels)

    def _size(self, name: str) -> int:
        return self.bands[name].number if name in self.bands else self.columns[name].distinct


def draft_job(
    data: str,
    *,
    output: Path,
    table: str | None = None,
    reading: ReadOptions | None = None,
    say: Callable[[str], str] = str,
    measure: Callable[[JobDraft, Source], Mapping[str, float]] | None = None,
    is_service: bool = False,
) -> JobDraft:
    """Draft a job from what the columns of the data are like; the data are read once or twice.

    Parameters
    ----------
    data
        What `[data] path` would name, from the working folder.
    output
        Where the job is to lie: its paths start there.
    table
        The table of a DuckDB file.
    reading
        What is declared of the columns of CSV.
    say
        Translates comments.
    measure
        Gives the limits that the drafted tables keep under the drafted noise, by key.
    is_service
        Whether the text is that of a service, which offers the variables, and not of a job.
    """
    place = place_of(data)
    with open_source(place, table=table, options=reading) as source:
        records, columns = profile_columns(source)
        reading = reading or ReadOptions()
        draft = JobDraft(
            records=records, columns={c.name: _as_declared(c, reading) for c in columns}
        )
        is_csv = source.parquet is None and not reading.text and reading.decimal == "."
        draft.comma_columns = [
            c.name for c in columns if is_csv and c.has_commas and c.name not in reading.types
        ]
        _find_keys(draft, source)
        _find_nesting(draft, source)
        _find_categories(draft, source)
        _find_bands(draft, source)
        _choose_tables(draft)
        _find_refused(draft, source)
        if measure is not None and draft.tables:
            usual = {name: bands for name, bands in draft.bands.items() if bands.is_usual}
            derive_variables(source, [bands.variable(n) for n, bands in usual.items()])
            draft.limits = dict(measure(draft, source))
    if not draft.tables:
        raise SourceError(
            Message(
                "No column of {label!r} has 2 to {few} categories: there is nothing to "
                "tabulate.",
                label=Name(source.label),
                few=_FEW,
            ),
            hint=Message("make columns of groups first, such as bands of age"),
        )
    if not place.is_elsewhere:
        place = place_of(Path(os.path.relpath(data, output.parent)))
    write = _service_text if is_service else _text
    lines = write(draft, place, table=table, folder=output.parent, reading=reading)
    draft.text = "".join(f"{_written(line, say)}\n" for line in lines)
    return draft


def _as_declared(column: ColumnProfile, reading: ReadOptions) -> ColumnProfile:
    """Return a column of texts as one of numbers where it was declared to be one."""
    is_number = column.kind == "text" and reading.types.get(column.name) == "decimal"
    return replace(column, kind="number") if is_number else column


def _is_amount(column: ColumnProfile) -> bool:
    """Tell whether a column has numbers, and too many of them for categories."""
    is_number = column.kind in ("integer", "number") or column.has_decimals
    return is_number and column.distinct > _FEW


def _find_keys(draft: JobDraft, source: Source) -> None:
    """Look for an identifier and for weights."""
    for column in draft.columns.values():
        is_full = not column.missing and column.distinct > 0.8 * draft.records
        if is_full and column.kind in ("text", "integer") and is_unique(source, column.name):
            draft.unique.append(column.name)
        is_amount = column.is_positive and not column.missing
        if is_amount and column.distinct > 1 and _WEIGHT.search(column.name):
            draft.weights.append(column.name)
    draft.unique.sort(key=lambda name: (name not in _STORED, not _ID.search(name)))


def _find_nesting(draft: JobDraft, source: Source) -> None:
    """Chain columns of which each value lies in one value of a broader one."""
    most = min(_MANY, draft.records // _PER_VALUE)
    distinct = {
        column.name: column.distinct
        for column in draft.columns.values()
        if 2 <= column.distinct <= most
        and _is_grouping(column)
        and column.name not in draft.weights
    }
    if len(distinct) < 2:
        return
    lies_in = nestings(source, distinct)
    chains: dict[str, list[str]] = {}
    for name in sorted(lies_in, key=lambda name: len(lies_in[name])):
        equal = [b for b in lies_in[name] if name in lies_in[b] and b in chains]
        if equal:
            draft.same[name] = equal[0]
            continue
        broader = [chains[b] for b in chains if b in lies_in[name]]
        chains[name] = [*max(broader, key=len, default=[]), name]
    used: set[str] = set()
    for chain in sorted(chains.values(), key=len, reverse=True):
        if len(chain) < 2 or used & set(chain):
            continue
        used |= set(chain)
        is_place = any(_PLACE.search(name) for name in chain)
        label = "geo" if is_place else f"{_plain(chain[-1])}_levels"
        while label in draft.columns or label in draft.hierarchies:
            label += "_"
        draft.hierarchies[label] = chain
        while len(chain) > 2 and draft.cells([label]) > _MOST_CELLS // 4:
            chain.pop()


def _is_grouping(column: ColumnProfile) -> bool:
    return column.kind in ("text", "boolean") or column.is_whole


def _find_categories(draft: JobDraft, source: Source) -> None:
    nested = {name for chain in draft.hierarchies.values() for name in chain}
    for column in draft.columns.values():
        is_few = 2 <= column.distinct <= _FEW and _is_grouping(column)
        if is_few and column.name not in {*nested, *draft.same, *draft.weights, *draft.unique}:
            values = [
                int(value) if isinstance(value, float | Decimal) else value
                for value in categories_of(source, column.name)
            ]
            if not _LABELS & set(map(str, values)):
                draft.categories[column.name] = values


def _find_bands(draft: JobDraft, source: Source) -> None:
    """Propose bands of numbers of many values: of ages the usual ones."""
    nested = {name for chain in draft.hierarchies.values() for name in chain}
    left_out = {*nested, *draft.same, *draft.weights, *draft.unique}
    for column in draft.columns.values():
        if not _is_amount(column) or column.name in left_out:
            continue
        ends = ends_of(source, column.name)
        if ends is None:
            continue
        least, low, high, largest = ends
        is_age = column.is_whole and least >= 0 and _YOUNG <= largest <= _OLDEST
        if is_age and _AGE.search(column.name):
            end = min(_OLD, largest // _FIVE * _FIVE)
            bands = DraftBands(
                of=column.name, width=_FIVE, start=Decimal(0), end=end, is_usual=True
            )
        else:
            width = _round_width((high - low or largest - least) / _BANDS)
            width = max(width, Decimal(1)) if column.is_whole else width
            is_far = low - least > _FAR * width
            start = ((low if is_far else least) / width).to_integral_value(ROUND_FLOOR) * width
            end = max((high / width).to_integral_value(ROUND_CEILING) * width, start + width)
            bands = DraftBands(
                of=column.name, width=width, start=start, end=end, opens_start=is_far
            )
        name = f"{column.name}5" if bands.is_usual else f"{column.name}_bands"
        while name.lower() in map(str.lower, [*draft.columns, *draft.hierarchies]):
            name += "_"
        draft.bands[name] = bands


def _find_refused(draft: JobDraft, source: Source) -> None:
    """Say of columns why they are refused: altogether, as identifiers, or as continuous."""
    nested = {name for chain in draft.hierarchies.values() for name in chain}
    for name in [*source.columns, *source.refusals]:
        if (problem := source.category_problem_of(name)) is not None:
            draft.refused[name] = joined(" ", filter(None, problem))
        elif name in draft.unique:
            text = Message("tells records apart: no dimension, no filter, no variable")
            draft.refused[name] = text
        elif name in nested or draft.columns[name].distinct <= MOST_VALUES / _SLACK:
            continue
        elif (figures := forbidden_figures(source, name)) is not None:
            draft.refused[name] = Message(
                "no dimension as it is: it has {values:,} values; one record alone has "
                "{alone:.0f} %, and the median number of records of a value is {median:g}",
                values=figures.values,
                alone=100 * figures.alone,
                median=figures.median,
            )


def _round_width(width: Decimal) -> Decimal:
    """Return the next of 1, 2, 5, 10, … and 0.5, 0.2, 0.1, … at or above a width."""
    power = Decimal(1).scaleb(width.adjusted())
    return next(n * power for n in (1, 2, 5, 10) if n * power >= width)


def _choose_tables(draft: JobDraft) -> None:
    """Cross each hierarchy, and nothing, with the usual columns, as long as cells are few."""
    most = min(_MOST_CELLS, max(draft.records, 1000))
    usual = [name for name, bands in draft.bands.items() if bands.is_usual]
    names = [*draft.categories, *usual]
    ranked = sorted(names, key=lambda name: [not one.search(name) for one in _FIRST])
    for first in [*list(draft.hierarchies)[: _MOST_TABLES - 1], ""]:
        columns = [first] if first else []
        for name in ranked:
            if len(columns) < 3 and draft.cells([*columns, name]) <= most:
                columns.append(name)
        if columns and draft.cells(columns) <= most:
            name = _table_name(columns)
            while name.lower() in map(str.lower, draft.tables):
                name += "_"
            draft.tables[name] = columns


def _plain(name: str) -> str:
    """Return a name with signs that files and keys may have."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def _table_name(columns: Iterable[str]) -> str:
    """Return a name for the table of some columns, which files may have, too."""
    names = [*filter(None, map(_plain, columns))] or ["table"]
    # One name alone may be one that no file can have, such as aux.
    return "_by_".join(names)[:60] if len(names) > 1 else f"by_{names[0]}"


def _quoted(value: object) -> str:
    """Write a text, a number or a list as TOML does, in one line."""
    text = json.dumps(value, ensure_ascii=False)  # leaves some signs that steer terminals
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


@dataclass(frozen=True, slots=True)
class _Noted:
    """A line that ends in notes, which are said in the language of the user."""

    start: str
    notes: tuple[str, ...]


def _written(line: str | _Noted, say: Callable[[str], str]) -> str:
    if isinstance(line, str):
        return line
    return line.start + ", ".join(map(say, line.notes))


def _note(*notes: str) -> _Noted:
    return _Noted("# ", notes)


def _setting(setting: str, note: str) -> _Noted:
    return _Noted(f"{setting:<30} # ", (note,))


def _text(
    draft: JobDraft, place: Place, *, table: str | None, folder: Path, reading: ReadOptions
) -> list[str | _Noted]:
    lines: list[str | _Noted] = [
        _note(
            Message("A release job, drafted by ckm job init: see what is marked with decide.")
        ),
        _note(Message("Comments tell shares and categories of the data: keep them inside.")),
        "schema = 1",
        _setting('# title = "…"', Message("decide: what the release is called")),
        "",
        *_data(draft, place, table, reading),
        "",
        "[keys]",
        _secret(folder),
        "",
        _setting(
            "[ptable]", Message("decide: how much noise; ckm ptable advise compares designs")
        ),
        *(_setting(f"{key} = {value}", note) for key, value, note in _NOISE),
        "",
        *_ledger(draft),
        "",
        *_limits(draft),
    ]
    if draft.hierarchies:
        note = Message("decide: each value of a column lies in one value of the column before")
        lines.append(_setting("[hierarchies]", note))
        for name, chain in draft.hierarchies.items():
            sizes = " > ".join(str(draft.columns[c].distinct) for c in chain)
            lines.append(
                _setting(
                    f"{name} = {_quoted(chain)}",
                    Message("{sizes} categories", sizes=Name(sizes)),
                )
            )
        lines.append("")
    used = {name for dimensions in draft.tables.values() for name in dimensions}
    categories = {name: draft.categories[name] for name in draft.categories if name in used}
    if categories:
        note = Message(
            "decide: these codes are printed; add what may occur, so that its zeros are known"
        )
        lines.append(_setting("[categories]", note))
        lines += [f"{_key(name)} = {_quoted(values)}" for name, values in categories.items()]
        lines.append("")
    for name, bands in draft.bands.items():
        lines += [*_banded(name, bands), ""]
    lines += _recoded(draft)
    for name, dimensions in draft.tables.items():
        cells = Message("at most {cells:,} cells", cells=draft.cells(dimensions))
        lines += ["[[table]]", f'name = "{name}"']
        lines += [
            _setting(
                f"dimensions = {_quoted(dimensions)}", Message("{cells}; decide", cells=cells)
            ),
            "",
        ]
    columns = Message("The columns of the data (sums need a section [[magnitude]]):")
    lines += [_note(columns), *_columns(draft, used)]
    if draft.refused:
        refused = Message(
            "Columns that are refused, and why (bands and declared categories can help):"
        )
        lines += ["", _note(refused)]
        lines += [_Noted(f"# {_quoted(name)}: ", (why,)) for name, why in draft.refused.items()]
    return lines


def _service_text(
    draft: JobDraft, place: Place, *, table: str | None, folder: Path, reading: ReadOptions
) -> list[str | _Noted]:
    """Write a service that offers the variables of the drafted tables."""
    nested = {column for chain in draft.hierarchies.values() for column in chain}
    usual = [name for name, bands in draft.bands.items() if bands.is_usual]
    plain = [name for name in draft.categories if name not in nested]
    names = [*draft.hierarchies, *plain, *usual][:_MOST_OFFERED]
    columns = {name: draft.hierarchies.get(name, [name]) for name in names}
    area = next((n for n in names if any(map(_PLACE.search, [n, *columns[n]]))), None)
    lines: list[str | _Noted] = [
        _note(
            Message("A service, drafted by ckm service init: see what is marked with decide.")
        ),
        _note(Message("Comments tell shares and categories of the data: keep them inside.")),
        "schema = 1",
        "",
        "[service]",
        _setting('id = "data"', Message("decide: its name in addresses")),
        _setting('title = "Data"', Message("decide: what readers see; or a text a language")),
        _setting('# source = "…"', Message("decide: who is responsible for the data")),
        _setting('# contact = "…"', Message("decide: contact for readers")),
        _setting("# updated = 2026-01-31", Message("decide: the date of the data")),
        _setting('# licence = "https://…"', Message("decide: the licence of the numbers")),
        _setting(
            "# figure_margins = 95",
            Message("decide: the margins of error of figures"),
        ),
        "",
        *_data(draft, place, table, reading),
        "",
        "[keys]",
        _secret(folder),
        "",
        _setting("[ptable]", Message("decide: the same noise as in releases of these data")),
        *(_setting(f"{key} = {value}", note) for key, value, note in _NOISE),
        "",
    ]
    chains = {name: draft.hierarchies[name] for name in names if name in draft.hierarchies}
    if chains:
        note = Message("decide: each value of a column lies in one value of the column before")
        lines.append(_setting("[hierarchies]", note))
        lines += [f"{_key(name)} = {_quoted(chain)}" for name, chain in chains.items()]
        lines.append("")
    categories = {name: draft.categories[name] for name in plain if name in names}
    if categories:
        note = Message(
            "decide: these codes are printed; add what may occur, so that its zeros are known"
        )
        lines.append(_setting("[categories]", note))
        lines += [f"{_key(name)} = {_quoted(values)}" for name, values in categories.items()]
        lines.append("")
    for name in names:
        has_codes = name == area or name in plain
        lines += _offered(draft, name, is_area=name == area, has_codes=has_codes)
    for name, bands in draft.bands.items():
        if name not in names:
            lines += [*_banded(name, bands, is_offered=False), ""]
    if area is not None and len(columns[area]) > 1:
        note = Message("decide: levels of areas where tables have fewer variables")
        lines += ["[rules]", _setting(f"small_areas = {_quoted(columns[area][-1:])}", note), ""]
    lines += _recoded(draft)
    audit = Message("decide, after ckm audit: limits of disclosure from all tables together")
    lines += [
        _setting("# [audit]", audit),
        '# report = "audit.json"',
        "# largest_share = 0.2",
        _setting("# [ledger]", Message("decide: compare tables with what was published")),
        '# path = "ledger.db"',
        '# official = ["job.toml"]',
        "",
        _note(Message("The columns of the data; what is not offered cannot be asked for:")),
        *_columns(draft, {*names}, has_sums=False),
    ]
    return lines


def _offered(
    draft: JobDraft, name: str, *, is_area: bool, has_codes: bool
) -> list[str | _Noted]:
    """Write a variable of a service: what readers see, and what tells where it lies."""
    lines: list[str | _Noted] = ["[[variable]]", f"name = {_quoted(name)}"]
    lines.append(_setting(f"labels = {_quoted(name)}", Message("decide: what readers see")))
    if name in draft.bands:
        lines += _banded(name, draft.bands[name])[2:]
    if is_area:
        note = Message("decide: rules are judged area by area")
        lines.append(_setting("is_area = true", note))
    if has_codes:
        note = (
            Message("decide: names and centres of areas, a CSV file of code,en,fr,former,x,y")
            if is_area
            else Message("decide: names of the codes, a CSV file of code,en,fr")
        )
        lines.append(_setting(f'# codelist = "{_plain(name)}.csv"', note))
    if is_area:
        note = Message("decide: made of boundaries by ckm service map")
        lines.append(_setting(f'# map = "{_plain(name)}.topojson"', note))
    return [*lines, ""]


def first_job(
    data: str,
    dimensions: Sequence[str],
    *,
    output: Path,
    settings: Mapping[str, str],
    secret: Path | None,
    ledger: Path,
    table: str | None = None,
    reading: ReadOptions | None = None,
) -> str:
    """Write the job of one table under the drafted noise; nothing is read.

    Parameters
    ----------
    data
        What `[data] path` would name, from the working folder.
    dimensions
        Columns of the table.
    output
        Where the job is to lie: its paths start there.
    settings
        Further settings of `[data]`, such as ``id``, and ``where`` of the table.
    secret
        The file of the secret; None for ``CKM_SECRET``.
    ledger
        The file of the ledger.
    table
        The table of a DuckDB file.
    reading
        What is declared of the columns of CSV.
    """

    def path_of(file: str | Path) -> str:
        return _quoted(os.path.relpath(file, output.parent))

    place = place_of(data)
    key = "database" if place.kind is PlaceKind.DATABASE else "path"
    of_data = {name: value for name, value in settings.items() if name != "where"}
    of_table = {name: value for name, value in settings.items() if name == "where"}
    measures = ["count", "weighted"] if "weight" in settings else ["count"]
    lines = [
        "schema = 1",
        "[data]",
        f"{key} = {_quoted(place.texts[0]) if place.is_elsewhere else path_of(data)}",
        *([f"table = {_quoted(table)}"] if table is not None else []),
        *_read(reading or ReadOptions()),
        *(f"{name} = {_quoted(value)}" for name, value in of_data.items()),
        "[keys]",
        *([f"secret = {path_of(secret)}"] if secret is not None else []),
        "[ptable]",
        *(f"{name} = {value}" for name, value, _ in _NOISE),
        "[ledger]",
        f"path = {path_of(ledger)}",
        "[[table]]",
        f"name = {_quoted(_table_name(dimensions))}",
        f"dimensions = {_quoted(list(dimensions))}",
        f"measures = {_quoted(measures)}",
        *(f"{name} = {_quoted(value)}" for name, value in of_table.items()),
    ]
    return "".join(f"{line}\n" for line in lines)


def drafted_noise() -> "NoiseSpec":
    """Return the noise of every draft."""
    from ptable import NoiseSpec

    noise: dict[str, Any] = {key: value for key, value, _ in _NOISE}
    return NoiseSpec(**noise)


def _limits(draft: JobDraft) -> list[str | _Noted]:
    """Write the limits that the drafted noise keeps, each for somebody to decide."""
    if not draft.limits:
        return []
    note = Message(
        "draft: the strictest that this noise keeps on these tables; not decided by the office"
    )
    who = Message(
        "decide: who decided the limits, and when; until then the report calls them a draft"
    )
    all_tables = Message(
        "decide, after ckm audit: what share of small counts may be inferred from all tables"
    )
    return [
        _setting("[report.limits]", note),
        *(_setting(f"{key} = {value}", _LIMITS[key]) for key, value in draft.limits.items()),
        _setting("# all_tables = 0.2", all_tables),
        _setting('# decided = { who = "…", when = 2026-01-31 }', who),
        "",
    ]


def _data(
    draft: JobDraft, place: Place, table: str | None, reading: ReadOptions
) -> list[str | _Noted]:
    path, options = place.texts[0], _read(reading)
    key = "database" if place.kind is PlaceKind.DATABASE else "path"
    lines: list[str | _Noted] = []
    if table is not None:
        lines.append(f"table = {_quoted(table)}")
    if draft.comma_columns:
        lines.append(_setting('# decimal = ","', _of_commas(draft)))
    stored = [name for name in draft.unique if name in _STORED]
    if stored:
        lines.append(
            _setting(f"record_key = {_quoted(stored[0])}", Message("a column of stored keys"))
        )
    elif draft.unique:
        note = Message("each record has its own; decide: is it the same in every release?")
        lines.append(_setting(f"id = {_quoted(draft.unique[0])}", note))
        lines += [
            _setting(f"# id = {_quoted(n)}", Message("the same")) for n in draft.unique[1:]
        ]
    else:
        keyed = re.sub(r"[*?\[\]]", "_", Path(path).stem) + ".keyed.parquet"
        words = [path, *(["--table", table] if table is not None else []), "-o", keyed]
        words += _arguments(reading)
        command = " ".join(shlex.quote(w) if w.isprintable() else _quoted(w) for w in words)
        lines += [
            _note(Message("No column tells records apart. Draw keys here, once; keep them:")),
            f"#     ckm keys draw {command}",
            _setting('# id = "…"', Message("or a column that does, in place of record_key")),
            'record_key = "record_key"',
        ]
        # The copy has a table of its own, and its numbers are read as it was made.
        others = (table is not None) + bool(draft.comma_columns)
        key, path, lines = "path", keyed, lines[others:]
        options = []
    for number, name in enumerate(draft.weights):
        setting = f"{'# ' if number else ''}weight = {_quoted(name)}"
        lines.append(_setting(setting, Message('decide: for measures = ["count", "weighted"]')))
    return ["[data]", f"{key} = {_quoted(path)}", *options, *lines]


def _of_commas(draft: JobDraft) -> Message:
    """Say which columns have numbers with a comma, of which nothing was declared."""
    names = draft.comma_columns
    few = Name(", ".join(map(_quoted, names[:_MOST_NAMED])))
    if len(names) > _MOST_NAMED:
        return Message("decide: numbers such as 7,0 in {names}, …", names=few)
    return Message("decide: numbers such as 7,0 in {names}", names=few)


def _read(reading: ReadOptions) -> list[str]:
    """Return the settings of a job that declare the same of columns of CSV."""
    types = ", ".join(f"{_key(name)} = {_quoted(word)}" for name, word in reading.types.items())
    return [
        *([f"types = {{ {types} }}"] if types else []),
        *(["text = true"] if reading.text else []),
        *([f"decimal = {_quoted(reading.decimal)}"] if reading.decimal != "." else []),
        *(
            [f"missing = [{', '.join(map(_quoted, reading.missing))}]"]
            if reading.missing
            else []
        ),
    ]


def _arguments(reading: ReadOptions) -> list[str]:
    """Return the arguments of a command that declare the same of columns of CSV."""
    words = [w for name, word in reading.types.items() for w in ("--type", f"{name}={word}")]
    words += ["--text"] if reading.text else []
    words += ["--decimal", reading.decimal] if reading.decimal != "." else []
    return words + [word for text in reading.missing for word in ("--missing", text)]


def _banded(
    name: str, bands: DraftBands, *, is_offered: bool | None = None
) -> list[str | _Noted]:
    """Write a variable in bands; as a comment where others would cut otherwise."""
    note = Message("decide: a variable in bands, made of a column whenever the data are read")
    settings = [
        f"name = {_quoted(name)}",
        f"of = {_quoted(bands.of)}",
        *(f"{key} = {getattr(bands, key):f}" for key in ("width", "start", "end")),
        *(['open = "both"'] if bands.opens_start else []),
    ]
    mark = "" if (bands.is_usual if is_offered is None else is_offered) else "# "
    return [_setting(f"{mark}[[variable]]", note), *(f"{mark}{one}" for one in settings)]


def _recoded(draft: JobDraft) -> list[str | _Noted]:
    """Write variables of codes without their decimals, for the office to take up."""
    lines: list[str | _Noted] = []
    for name, codes in draft.with_decimals.items():
        variable = f"{name}_codes"
        while variable.lower() in map(str.lower, [*draft.columns, *draft.hierarchies]):
            variable += "_"
        note = Message(
            "decide: whole numbers without decimals, as a dimension in place of {name}",
            name=Name(_quoted(name)),
        )
        pairs = ", ".join(
            f"{_quoted(code)} = {_quoted(text)}"
            for code, text in without_decimals(codes).items()
        )
        lines += [
            _setting("# [[variable]]", note),
            f"# name = {_quoted(variable)}",
            f"# of = {_quoted(name)}",
            f"# recode = {{ {pairs} }}",
            "",
        ]
    return lines


def _secret(folder: Path) -> _Noted:
    is_set = bool(os.environ.get(SECRET_VARIABLE)) and not (folder / "secret.key").exists()
    setting = f'{"# " if is_set else ""}secret = "secret.key"'
    return _setting(
        setting, Message("made once by ckm keys secret secret.key; without it CKM_SECRET")
    )


def _ledger(draft: JobDraft) -> list[_Noted]:
    """Write the ledger, as a comment where stored keys may be too short for it.

    Tables with small areas differ by few people nearly always: a draft that refused them would
    release nothing before the office has decided.
    """
    mark = "# " if any(name in _STORED for name in draft.unique) else ""
    section = Message("refuses other noise on records that were published before")
    file = Message("one file for all jobs of these data, beside the secret")
    policy = Message('decide: tables that differ by one person: told, or refused by "refuse"')
    return [
        _setting(f"{mark}[ledger]", section),
        _setting(f'{mark}path = "ledger.db"', file),
        _setting(f'{mark}policy = "flag"', policy),
    ]


def _sums(name: str, column: ColumnProfile) -> list[Message]:
    """Say how a job adds up a column; a service publishes no sums."""
    sums = Name(_quoted(["count", f"sum:{name}"]))
    facts: list[Message] = [
        Message('measures = {sums} with missing_values = "skip"', sums=sums)
        if column.missing
        else Message("measures = {sums}", sums=sums)
    ]
    if not column.is_positive:
        facts.append(Message("signed = true in its [[magnitude]]"))
    return facts


def _amounts(draft: JobDraft, name: str, *, has_sums: bool) -> list[Message]:
    """Say what can be made of a column of amounts: sums, and a dimension in bands."""
    facts = [Message("a dimension once cut into bands")]
    if has_sums:
        facts = [
            *_sums(name, draft.columns[name]),
            Message("or a dimension once cut into bands"),
        ]
    banded = [one for one, bands in draft.bands.items() if bands.of == name]
    if banded:
        facts.append(Message("see {quoted} above", quoted=Name(_quoted(banded[0]))))
    return facts


def _spelling(draft: JobDraft, name: str) -> list[Message]:
    """Say of codes and numbers what another program may have written otherwise."""
    facts: list[Message] = []
    if shorter := draft.shorter.get(name, []):
        few = Name(", ".join(map(_quoted, shorter[:_MOST_NAMED])))
        facts.append(
            Message("decide: {codes} shorter than the others: a zero lost?", codes=few)
        )
    if name in draft.with_decimals:
        facts.append(Message("decide: codes written with decimals, see above"))
    if name in draft.comma_columns:
        facts.append(Message('numbers with decimal = ","'))
    return facts


def _columns(draft: JobDraft, used: set[str], *, has_sums: bool = True) -> list[_Noted]:
    nested = {c: name for name, chain in draft.hierarchies.items() for c in chain}
    lines = []
    for name, column in draft.columns.items():
        number = column.distinct
        facts = [
            Message("{number} values", number=number)
            if number <= COUNTED
            else Message("about {number} values", number=number)
        ]
        if column.missing:
            facts.append(Message("{share:.3g} % missing", share=100 * column.missing))
        if name in {*draft.unique, *draft.weights}:
            facts.append(
                Message("a weight") if name in draft.weights else Message("an identifier")
            )
        elif name in draft.same:
            facts.append(
                Message(
                    "divides the records as {quoted} does",
                    quoted=Name(_quoted(draft.same[name])),
                )
            )
        elif name in nested:
            facts.append(Message("a level of {nested}", nested=Name(nested[name])))
        elif name in used:
            facts.append(Message("in a table"))
        elif name in draft.categories:
            facts.append(Message("may be a dimension"))
        elif _is_amount(column):
            facts += _amounts(draft, name, has_sums=has_sums)
        elif column.kind == "date" and column.distinct > _FEW:
            facts.append(Message('a dimension by width = "year" or "month" of a [[variable]]'))
        facts += _spelling(draft, name)
        kind = "number" if column.has_decimals and _is_amount(column) else column.kind
        lines.append(_Noted(f"# {_quoted(name)}: {kind}, ", tuple(facts)))
    return lines
