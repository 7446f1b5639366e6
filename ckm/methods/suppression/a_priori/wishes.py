"""What an office wants of single cells: safe, unsafe, kept, how wide, and at what cost."""

from __future__ import annotations

import csv
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.published_table import measure_columns
from ckm.errors import ConfigError
from ckm.methods.suppression.a_priori.cell_names import CellNames
from ckm.methods.suppression.a_priori.files import KEPT, SAFE, UNSAFE, Line, read_lines
from ckm.methods.suppression.primary import Primary
from footing.messages import Message, Name, joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ckm.engine.request import TableRequest
    from ckm.methods.settings import CellsFile, SuppressionSettings
    from footing.arrays import Flags, Floats, Integers
    from tables import Cells

logger = logging.getLogger(__name__)

_MAX_NAMED = 5
_HINT = Message(
    "codes are those of the table; a total is empty or has the label of totals; "
    'unknown = "ignore" leaves out what is said of others'
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Wishes:
    """What is wanted of cells; no number where nothing is.

    Parameters
    ----------
    status
        ``SAFE``, ``UNSAFE``, or 0 for what the rules say.
    lower, upper
        How wide an unsafe cell is kept, instead of what the rules ask for.
    cost
        What it costs to hide a cell, instead of its number.
    preferred, kept
        Cells that are hidden before others, and those published whatever it costs.
    """

    status: NDArray[np.int8]
    lower: Floats
    upper: Floats
    cost: Floats
    preferred: Flags
    kept: Flags

    @classmethod
    def none(cls, n: int) -> Wishes:
        """Want nothing."""
        lower, upper, cost = np.full((3, n), np.nan)
        status, (preferred, visible) = np.zeros(n, np.int8), np.zeros((2, n), bool)
        flags = {"preferred": preferred, "kept": visible}
        return cls(status=status, lower=lower, upper=upper, cost=cost, **flags)

    def over(self, other: Wishes) -> Wishes:
        """Put these wishes before others."""
        numbers = {
            name: np.where(
                np.isnan(getattr(self, name)), getattr(other, name), getattr(self, name)
            )
            for name in ("lower", "upper", "cost")
        }
        return Wishes(
            status=np.where(self.status, self.status, other.status),
            preferred=self.preferred | other.preferred,
            kept=self.kept | other.kept,
            **numbers,
        )

    def of_cells(self, cells: Integers, is_shown: Flags) -> Wishes:
        """Lay out by the cells of a measure, of which only those shown are meant."""
        none = self.none(len(cells))
        return Wishes(
            **{
                name: np.where(is_shown, getattr(self, name)[cells], getattr(none, name))
                for name in self.__slots__
            }
        )

    def primary(self, primary: Primary, values: NDArray[Any], *, margin: float) -> Primary:
        """Change what rules found unsafe; an unsafe cell without levels has a margin in %."""
        added = (self.status == UNSAFE) & ~primary.is_primary
        least = 1.0 if np.asarray(values).dtype.kind in "iu" else 0.0
        need = np.where(added, np.maximum(np.abs(values) * margin / 100, least), 0.0)
        is_primary = (primary.is_primary | added) & (self.status != SAFE)
        is_told = (self.lower != 0) | (self.upper != 0)  # 0 on both sides protects nothing
        levels = {
            name: np.where(
                is_primary, np.where(is_told & ~np.isnan(own), own, np.maximum(rule, need)), 0.0
            )
            for name, own, rule in (
                ("lower", self.lower, primary.lower),
                ("upper", self.upper, primary.upper),
            )
        }
        contributions = primary.contributions
        if contributions is not None:  # of other cells' contributors, as much as of outsiders
            is_new = added | is_told & ~(np.isnan(self.lower) & np.isnan(self.upper))
            own_levels = {
                name: np.minimum(getattr(contributions, name), own)
                for name, own in levels.items()
            }
            for name, own in own_levels.items():
                own[0] = np.where(is_new, levels[name], own[0])
            contributions = replace(contributions, **own_levels)
        return replace(primary, is_primary=is_primary, contributions=contributions, **levels)

    def costs(self, defaults: Floats, *, preferred_cost: float) -> Floats:
        """Return what it costs to hide cells; what is preferred costs a share of that."""
        own: Floats = np.where(np.isnan(self.cost), defaults, self.cost)
        return np.where(self.preferred, own * preferred_cost, own)


class APriori:
    """The wishes of a job, by measure, over the cells of all its tables.

    Parameters
    ----------
    rules
        The section, which names cells and files.
    tables, requests
        The cells of every table, and what was asked for.
    numbers
        For each table, the number of each of its cells.
    n_cells
        How many numbers there are.

    Raises
    ------
    ConfigError
        If cells are named that are not there, or two things are said of one.
    """

    def __init__(
        self,
        rules: SuppressionSettings,
        tables: Mapping[str, Cells],
        requests: Mapping[str, TableRequest],
        *,
        numbers: Sequence[Integers],
        n_cells: int,
    ) -> None:
        self._n = n_cells
        self._rules, self._requests = rules, requests
        self._numbers = dict(zip(tables, numbers, strict=False))
        self._names: dict[str, CellNames] = {}
        self._tables = tables
        self._wishes: dict[str | None, Wishes] = {None: Wishes.none(n_cells)}
        self._problems: list[str] = []
        self._said: dict[int, tuple[int, str]] = {}
        for file in rules.cells:
            self._take_file(file)
        for number, cell in enumerate(rules.keep, start=1):
            self._find("keep", number, cell, "kept")
        for number, cell in enumerate(rules.prefer, start=1):
            self._find("prefer", number, cell, "preferred")
        if rules.previous is not None:
            self._take_pattern(rules.previous)
        self._require_none()
        for measure in self._wishes:
            own_a_priori = self._of_measure(measure)
            self._require_one(
                np.flatnonzero(own_a_priori.kept & (own_a_priori.status == UNSAFE))
            )

    def of(self, measure: str, cells: Integers, is_shown: Flags) -> Wishes:
        """Return what is wanted of the cells of a measure."""
        return self._of_measure(measure).of_cells(cells, is_shown)

    def _of_measure(self, measure: str | None) -> Wishes:
        common = self._wishes[None]
        return self._wishes.get(measure, common).over(common)

    def _take_file(self, file: CellsFile) -> None:
        path, table, n_unknown = file.path, file.table, 0
        is_lenient = (file.unknown or self._rules.unknown) == "ignore"
        names = self._of(table)
        a_priori = self._wishes.setdefault(file.measure, Wishes.none(self._n))
        lines = read_lines(path, dimensions=names.dimensions, columns=names.columns)
        for line in lines:
            row = names.find(line.named)
            if row is None and is_lenient:
                n_unknown += 1
                continue
            if row is None:
                self._problems.append(
                    Message(
                        "line {number} of {path!r}",
                        number=line.number,
                        path=Name(path.name),
                    )
                )
                continue
            cell = int(self._numbers[table][row])
            self._said[cell] = (line.number, path.name)
            if not _set(a_priori, cell, line):
                self._require_one([cell])
            if line.status == KEPT:  # whatever measure is meant, all have one pattern
                self._wishes[None].kept[cell] = True
        if n_unknown:
            logger.warning(
                "%s",
                Message(
                    "{number:,} lines of {path!r} are of cells that are not there, and were "
                    "ignored.",
                    number=n_unknown,
                    path=Name(path.name),
                ),
                extra={"event": "lines ignored"},
            )

    def _require_one(self, cells: Sequence[int] | Integers) -> None:
        """Refuse to choose between two things that are said of a cell."""
        for cell in cells:
            number, name = self._said[int(cell)]
            raise ConfigError(
                Message(
                    "Line {number} of {name!r} says another thing of a cell than another line "
                    "or key.",
                    number=number,
                    name=Name(name),
                ),
                hint=Message("say one thing of each cell, in all tables that show it"),
            )

    def _find(self, key: str, number: int, codes: Mapping[str, str], field: str) -> None:
        """Find a cell in every table that has what it is named by."""
        is_there = False
        for table in self._tables:
            names = self._of(table)
            if set(codes) <= set(names.columns):
                row = names.find(codes)
                is_there |= row is not None
                if row is not None:
                    getattr(self._wishes[None], field)[self._numbers[table][row]] = True
        if not is_there and self._rules.unknown == "refuse":
            self._problems.append(
                Message("cell {number} of {key}", number=number, key=Name(key))
            )

    def _take_pattern(self, folder: Path) -> None:
        """Prefer what an earlier release hid; cells that are gone are passed over."""
        n_cells = 0
        for table, request in self._requests.items():
            names, columns = self._of(table), self._measures(table, request)
            path = next(
                (
                    p
                    for end in ("parquet", "csv")
                    if (p := pattern_file(folder, table, end)).is_file()
                ),
                None,
            )
            if path is None:
                continue
            n_cells += 1
            for row in _rows(path):
                if any(row.get(column, "?") in {"", None} for column in columns):
                    cell = names.find({n: str(row.get(n, "")) for n in names.columns})
                    if cell is not None:
                        self._wishes[None].preferred[self._numbers[table][cell]] = True
        if not n_cells:
            raise ConfigError(
                Message(
                    "The earlier release {folder!r} has no table of this job in CSV or "
                    "Parquet.",
                    folder=Name(folder.name),
                ),
                hint=Message(
                    "previous is the folder of a release by ckm suppress, with the same names"
                ),
            )

    def _measures(self, table: str, request: TableRequest) -> list[str]:
        """Return the columns of which a hole was suppressed: means have others."""
        axes = self._tables[table].axes
        dimensions = dict.fromkeys(column for axis in axes for column in axis.columns)
        columns = measure_columns(request.measures, dimensions)
        return [c for c, measure in columns.items() if not measure.startswith("mean:")]

    def _of(self, table: str) -> CellNames:
        if table not in self._names:
            self._names[table] = CellNames(
                self._tables[table], self._requests[table].dimensions
            )
        return self._names[table]

    def _require_none(self) -> None:
        if self._problems:
            n, examples = len(self._problems), self._problems[:_MAX_NAMED]
            more = (
                Message(" and {number:,} more", number=n - len(examples))
                if n > len(examples)
                else Message()
            )
            raise ConfigError(
                Message(
                    "Something is said of {number:,} cells that are not there: {words}{more}.",
                    number=n,
                    words=joined("; ", examples),
                    more=more,
                ),
                hint=_HINT,
            )


def pattern_file(folder: Path, table: str, end: str) -> Path:
    """Return where a release has a table."""
    return folder / "public" / f"{table}.{end}"


def _set(a_priori: Wishes, cell: int, line: Line) -> bool:
    """Take what a line says of a cell; false if another thing was said before."""
    values = {name: getattr(line, name) for name in ("lower", "upper", "cost")}
    own = {name: value for name, value in values.items() if not np.isnan(value)}
    if line.status in {SAFE, UNSAFE}:
        own["status"] = line.status
    is_new = True
    for name, value in own.items():
        array = getattr(a_priori, name)
        was = array[cell]
        is_new &= bool(was == value or (was == 0 if name == "status" else np.isnan(was)))
        array[cell] = value
    return is_new


def _rows(path: Path) -> Iterator[Mapping[str, Any]] | Iterable[Mapping[str, Any]]:
    """Read the rows of a published table."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from csv.DictReader(file)
        return
    import pyarrow.parquet as pq

    yield from pq.read_table(path).to_pylist()
