"""The cells of a collection of places: a grid over a box, or areas that an office declares."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from footing.messages import Message, Name
from rappor.errors import RapporError, ReportFileError
from rappor.location.areas import Areas, Grid
from rappor.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import StrPath

    from footing.arrays import Integers

_LARGEST_EPSG = 32_767


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Zones:
    """Cells of one level or more, with their codes and, for a grid, where they lie.

    Parameters
    ----------
    areas
        The cells.
    codes
        For each level, coarse to fine, the code of each cell.
    names
        What the levels are called.
    grid
        The grid, where cells are its squares.
    in_degrees
        Whether the grid is of longitude and latitude.
    epsg
        The number of its coordinate system otherwise; None where it is not named.

    Examples
    --------
    >>> zones = Zones.of_grid(Grid(west=0, south=0, east=2, north=2, levels=(0, 1)))
    >>> zones.names, zones.codes[1]
    (('grid 1', 'grid 2'), ('r0c0', 'r0c1', 'r1c0', 'r1c1'))
    """

    areas: Areas
    codes: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    grid: Grid | None = None
    in_degrees: bool = False
    epsg: int | None = None

    @classmethod
    def of_grid(cls, grid: Grid, *, in_degrees: bool = False, epsg: int | None = None) -> Self:
        """Take the cells of a grid; their codes are rows and columns from the south-west.

        Parameters
        ----------
        grid
            The grid.
        in_degrees
            Whether its box is in degrees of longitude and latitude.
        epsg
            The number of its coordinate system, for maps.

        Raises
        ------
        RapporError
            If degrees lie beyond the globe or the number is none.

        Examples
        --------
        >>> Zones.of_grid(Grid(west=0, south=0, east=2, north=2, levels=(1,))).areas.n_levels
        1
        """
        if in_degrees:
            is_there = (
                -180 <= grid.west < grid.east <= 180 and -90 <= grid.south < grid.north <= 90
            )
            if not is_there:
                raise RapporError(
                    Message("A box in degrees lies within -180..180 and -90..90.")
                )
        if epsg is not None and (in_degrees or not 1024 <= epsg <= _LARGEST_EPSG):
            raise RapporError(
                Message("A coordinate system is a number of EPSG, of coordinates in metres.")
            )
        codes = []
        for halvings in grid.levels:
            side = 2**halvings
            codes.append(
                tuple(f"r{row}c{column}" for row in range(side) for column in range(side))
            )
        return cls(
            areas=grid.areas(),
            codes=tuple(codes),
            names=tuple(f"grid {2**halvings}" for halvings in grid.levels),
            grid=grid,
            in_degrees=in_degrees,
            epsg=epsg,
        )

    @classmethod
    def of_rows(cls, names: Sequence[str], rows: Sequence[Sequence[str]]) -> Self:
        """Take declared areas: a row for each finest one, its codes from broad to fine.

        Parameters
        ----------
        names
            What the levels are called.
        rows
            The codes.

        Raises
        ------
        RapporError
            If a code is missing, stands twice, or lies in two areas of the level above.

        Examples
        --------
        >>> zones = Zones.of_rows(["region", "town"], [["N", "a"], ["N", "b"], ["S", "c"]])
        >>> zones.codes[0], zones.areas.parents[0].tolist()
        (('N', 'S'), [0, 0, 1])
        """
        if not rows or not names or any(len(row) != len(names) for row in rows):
            raise RapporError(Message("Areas need a row for each, with a code of each level."))
        if len(set(names)) != len(names) or not all(
            code for row in rows for code in (*names, *row)
        ):
            raise RapporError(Message("Each level and each area needs a name of its own."))
        numbers: list[dict[str, int]] = [{} for _ in names]
        parents: list[list[int]] = [[] for _ in names[1:]]
        for row in rows:
            above = -1
            for level, code in enumerate(row):
                here = numbers[level]
                is_new = code not in here
                number = here.setdefault(code, len(here))
                if level and is_new:
                    parents[level - 1].append(above)
                elif level and parents[level - 1][number] != above:
                    raise RapporError(
                        Message(
                            "An area of {level!r} lies in two areas of the level above.",
                            level=Name(names[level]),
                        ),
                        hint=Message("give areas of two regions a code each"),
                    )
                above = number
        if len(numbers[-1]) != len(rows):
            raise RapporError(Message("An area of the finest level stands in two rows."))
        arrays = [np.array(parent, np.int64) for parent in parents]
        return cls(
            areas=Areas(parents=arrays, n_coarsest=len(numbers[0])),
            codes=tuple(tuple(here) for here in numbers),
            names=tuple(names),
        )

    @classmethod
    def read(cls, path: StrPath) -> Self:
        r"""Read declared areas from a CSV file: a column for each level, broad to fine.

        Parameters
        ----------
        path
            The file.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "areas.csv"
        >>> _ = file.write_text("region,town\nN,a\nS,c\n")
        >>> Zones.read(file).names
        ('region', 'town')
        """
        file = Path(path)
        try:
            names, *rows = [row for row in csv.reader(io.StringIO(read_text(file))) if row]
            return cls.of_rows(names, rows)
        except (ValueError, csv.Error, RapporError) as error:
            problem = error.problem if isinstance(error, RapporError) else Message("no areas")
            hint = error.hint if isinstance(error, RapporError) else None
            raise ReportFileError(
                Message(
                    "The areas {file!r} cannot be used: {problem}",
                    file=Name(file.name),
                    problem=_kept(problem),
                ),
                hint=hint,
            ) from None

    def cells_at(self, x: Any, y: Any) -> Integers:
        """Give the finest cells of points; -1 outside the grid.

        Parameters
        ----------
        x, y
            The points.

        Examples
        --------
        >>> zones = Zones.of_grid(Grid(west=0, south=0, east=2, north=2, levels=(1,)))
        >>> zones.cells_at([1.5, 9], [0.5, 0]).tolist()
        [1, -1]
        """
        if self.grid is None:
            raise RapporError(Message("Declared areas are named, and have no coordinates."))
        x, y, grid = np.asarray(x, float), np.asarray(y, float), self.grid
        is_inside = (grid.west <= x) & (x <= grid.east) & (grid.south <= y) & (y <= grid.north)
        cells = np.full(x.shape, -1, np.int64)
        cells[is_inside] = grid.cells(x[is_inside], y[is_inside])
        return cells

    def cells_named(self, codes: Sequence[str]) -> Integers:
        """Give the finest cells of codes; -1 for a code that is none.

        Parameters
        ----------
        codes
            Codes of the finest level.

        Examples
        --------
        >>> Zones.of_rows(["town"], [["a"], ["b"]]).cells_named(["b", "z"]).tolist()
        [1, -1]
        """
        numbers = {code: number for number, code in enumerate(self.codes[-1])}
        return np.array([numbers.get(code, -1) for code in codes], np.int64)

    def box(self, level: int, cell: int) -> tuple[float, float, float, float] | None:
        """Give west, south, east and north of a cell of a grid.

        Parameters
        ----------
        level, cell
            The cell.

        Examples
        --------
        >>> Zones.of_grid(Grid(west=0, south=0, east=2, north=2, levels=(1,))).box(0, 1)
        (1.0, 0.0, 2.0, 1.0)
        """
        if self.grid is None:
            return None
        grid, side = self.grid, 2 ** self.grid.levels[level]
        row, column = divmod(cell, side)
        across, up = (grid.east - grid.west) / side, (grid.north - grid.south) / side
        return (
            grid.west + column * across,
            grid.south + row * up,
            grid.west + (column + 1) * across,
            grid.south + (row + 1) * up,
        )

    def to_dict(self) -> dict[str, Any]:
        """Give what JSON keeps of it."""
        if self.grid is not None:
            grid = self.grid
            box = [grid.west, grid.south, grid.east, grid.north]
            return {
                "box": box,
                "levels": list(grid.levels),
                "in_degrees": self.in_degrees,
                "epsg": self.epsg,
            }
        finest = np.arange(len(self.codes[-1]))
        columns = [
            [codes[cell] for cell in self.areas.upward(finest, to=level).tolist()]
            for level, codes in enumerate(self.codes)
        ]
        return {
            "names": list(self.names),
            "areas": [list(row) for row in zip(*columns, strict=True)],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read what `to_dict` gave."""
        if "areas" in data:
            return cls.of_rows(data["names"], data["areas"])
        west, south, east, north = (float(edge) for edge in data["box"])
        if not all(map(math.isfinite, (west, south, east, north))):
            raise ValueError
        grid = Grid(
            west=west, south=south, east=east, north=north, levels=tuple(data["levels"])
        )
        return cls.of_grid(grid, in_degrees=data["in_degrees"], epsg=data["epsg"])


def _kept(problem: object) -> Message:
    return problem if isinstance(problem, Message) else Message()
