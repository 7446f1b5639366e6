"""A finished picture: the drawing, what it says in words, and its data."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from footing.files import write_whole
from footing.messages import Message, Name
from ptable.errors import PTableError
from ptable.pictures.svg import Drawing

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from ptable.table import PTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Hold a drawing with its text alternative and its data.

    A picture of a p-table shows its parameters, so it stays inside as the table does.

    Parameters
    ----------
    svg
        The drawing, complete in itself: no script, no style sheet, nothing fetched.
    description
        What the drawing shows, in words.
    table
        The figures drawn, as an HTML table.
    data_heading
        What the table is called where it is folded away.

    Examples
    --------
    >>> from ptable import PTable
    >>> from ptable.pictures import heatmap
    >>> picture = heatmap(PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8))
    >>> picture.svg[:4], picture.table[:6]
    ('<svg', '<table')
    """

    svg: str
    description: str
    table: str
    data_heading: str = "Data of the picture"

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the drawing to a file, all or nothing.

        Parameters
        ----------
        path
            A name ending in ``.svg``.
        overwrite
            Whether a file of that name may be replaced.

        Examples
        --------
        >>> try:
        ...     Picture(svg="<svg/>", description="", table="").write("picture.png")
        ... except PTableError as error:
        ...     print(error)
        A picture is written to .svg, not '.png'.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise PTableError(
                Message(
                    "A picture is written to .svg, not {suffix!r}.", suffix=Name(target.suffix)
                )
            )
        write_whole(target, self.svg + "\n", error=PTableError, overwrite=overwrite)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        heading = html.escape(self.data_heading)
        data = f"<details><summary>{heading}</summary>{self.table}</details>"
        return f"<div>{self.svg}{data}</div>"


def begun(table: PTable, what: str) -> Drawing:
    """Begin a drawing, named after what it shows and its table."""
    return Drawing(f"{what}: {table.label}" if table.label else what)


def finished(drawing: Drawing, notes: Iterable[str], description: str, data: str) -> Picture:
    """Write remarks below a drawing, and finish it."""
    for note in notes:
        drawing.note(note)
    return Picture(svg=drawing.finish(description), description=description, table=data)
