"""One table in the ledger: its record sets as keyed digests, and their names."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.errors import InternalError
from ckm.ledger.complement import complement_sketches, complements
from ckm.ledger.pair import CellName
from tables.sketch import Sketch, join_sketches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.ledger.definition import Definition
    from ckm.ledger.seal import Seal
    from tables import Cells

    Words = NDArray[np.uint64]
    Numbers = NDArray[np.int64]

__all__ = ["Entry"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Entry:
    """The distinct record sets that one table publishes or lets derive.

    Made by `Ledger.entry`.

    Parameters
    ----------
    definition
        What table it is.
    identity
        For every set its keyed digest; equal sets have equal digests.
    lanes
        For every set the keyed digests of its lanes, 0 for an empty one.
    powers
        For every set the powers of its sketch.
    member_set, member
        The keyed digests of the smallest record keys of sets with an empty lane.
    cell, axis, whole
        What every set is: a cell of the table; or, where `axis` is not -1, the category
        `whole` of that axis without this cell.
    ranks
        For every cell its category on each axis.
    axes
        For every axis its columns and the labels of its categories in each.
    """

    definition: Definition
    identity: Words
    lanes: Words
    powers: Numbers
    member_set: Numbers
    member: Words
    cell: Numbers
    axis: Numbers
    whole: Numbers
    ranks: NDArray[np.int32]
    axes: tuple[tuple[tuple[str, ...], tuple[tuple[str, ...], ...]], ...]

    def __len__(self) -> int:
        return len(self.identity)

    def __repr__(self) -> str:
        return f"Entry({self.definition.name!r})"

    @classmethod
    def of(
        cls,
        cells: Cells,
        definition: Definition,
        *,
        seal: Seal,
        with_complements: bool = True,
        smallest: int = 1,
        shown: NDArray[np.bool_] | None = None,
    ) -> Entry:
        """Digest the cells of a table.

        Parameters
        ----------
        cells
            The cells, with their sketches.
        definition
            What table it is.
        seal
            The keys of the ledger.
        with_complements
            Also enter what is left of a cell without another one.
        smallest
            Cells with fewer records do not enter.
        shown
            Which of the cells the table shows, by default all of them.

        Examples
        --------
        >>> Entry.of(cells, definition, seal=seal)  # doctest: +SKIP
        """
        is_shown = np.ones(len(cells), bool) if shown is None else shown
        sketch, found = _sets(
            cells, is_shown, with_complements=with_complements, smallest=smallest
        )
        identity = np.zeros(len(sketch), np.uint64)
        for column in (*sketch.lanes.T, *sketch.powers.T.astype(np.uint64)):
            identity = seal.digests(identity ^ column, purpose="identity")
        first = np.sort(np.unique(identity, return_index=True)[1])
        sketch = sketch.take(first)
        lanes = [
            np.where(lane == 0, lane, seal.digests(lane, purpose=f"lane {number}"))
            for number, lane in enumerate(sketch.lanes.T)
        ]
        return cls(
            definition=definition,
            identity=identity[first],
            lanes=np.stack(lanes, axis=1),
            powers=sketch.powers,
            member_set=sketch.member_cell,
            member=seal.digests(sketch.member_key, purpose="member"),
            **_words(cells, {name: column[first] for name, column in found.items()}),
        )

    def name(self, number: int, *, entry: int | None = None) -> CellName:
        """Name a set in the words of categories.

        Parameters
        ----------
        number
            Number of the set.
        entry
            Number of this table in the ledger.

        Examples
        --------
        >>> entry.name(0)  # doctest: +SKIP
        CellName(…)
        """
        ranks = [int(rank) for rank in self.ranks[self.cell[number]]]
        without: tuple[tuple[str, str], ...] = ()
        axis = int(self.axis[number])
        if axis >= 0:
            without = self._labels(axis, ranks[axis])
            ranks[axis] = int(self.whole[number])
        return CellName(
            table=self.definition.name,
            entry=entry,
            where=self.definition.where,
            categories=tuple(p for a, rank in enumerate(ranks) for p in self._labels(a, rank)),
            without=without,
        )

    def _labels(self, axis: int, rank: int) -> tuple[tuple[str, str], ...]:
        columns, labels = self.axes[axis]
        return tuple((c, texts[rank]) for c, texts in zip(columns, labels, strict=True))

    def pack(self) -> bytes:
        """Return the sets as bytes, to be sealed.

        Examples
        --------
        >>> Entry.unpack(entry.pack(), definition)  # doctest: +SKIP
        """
        arrays: dict[str, Any] = {
            "identity": self.identity,
            "lanes": self.lanes,
            "powers": self.powers.astype(np.uint32),
            "member_set": _narrow(self.member_set),
            "member": self.member,
            "cell": _narrow(self.cell),
            "axis": self.axis.astype(np.int8),
            "whole": _narrow(self.whole),
            "ranks": _narrow(self.ranks),
            "axes": np.frombuffer(json.dumps(self.axes).encode(), np.uint8),
        }
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **arrays)
        return file.getvalue()

    @classmethod
    def unpack(cls, text: bytes, definition: Definition) -> Entry:
        """Read the sets back.

        Examples
        --------
        >>> Entry.unpack(entry.pack(), definition)  # doctest: +SKIP
        """
        with np.load(io.BytesIO(text), allow_pickle=False) as file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
        axes = json.loads(arrays.pop("axes").tobytes())
        for name in ("powers", "member_set", "cell", "axis", "whole"):
            arrays[name] = arrays[name].astype(np.int64)
        return cls(
            definition=definition,
            axes=tuple((tuple(c), tuple(tuple(t) for t in texts)) for c, texts in axes),
            **arrays,
        )


def _words(cells: Cells, found: dict[str, Numbers]) -> dict[str, Any]:
    """Return what names the sets: their cells and categories, without those of no set."""
    used, cell = np.unique(found["cell"], return_inverse=True)
    whole = found["whole"].copy()
    ranks = np.zeros((len(used), len(cells.axes)), np.int32)
    axes = []
    for number, axis in enumerate(cells.axes):
        is_here = found["axis"] == number
        mine = cells.ranks[number][used].astype(np.int64)
        kept, place = np.unique(np.concatenate([mine, whole[is_here]]), return_inverse=True)
        ranks[:, number] = place[: len(used)]
        whole[is_here] = place[len(used) :]
        labels = tuple(tuple(str(texts[rank]) for rank in kept) for texts in axis.labels)
        axes.append((axis.columns, labels))
    return {**found, "cell": cell, "whole": whole, "ranks": ranks, "axes": tuple(axes)}


def _sets(
    cells: Cells, is_shown: NDArray[np.bool_], *, with_complements: bool, smallest: int
) -> tuple[Sketch, dict[str, Numbers]]:
    """Return the sketches of cells and of complements, and what each set is."""
    if cells.sketch is None:
        raise InternalError("The cells of a ledger's entry have no sketches.")
    kept = np.flatnonzero((cells.count >= smallest) & is_shown)
    none = np.full(len(kept), -1, np.int64)
    mine, found = cells.sketch.take(kept), {"cell": kept, "axis": none, "whole": none}
    if not with_complements:
        return mine, found
    pairs = complements(cells)
    pairs = pairs[is_shown[pairs.whole] & is_shown[pairs.part]]
    pairs = pairs[cells.count[pairs.whole] - cells.count[pairs.part] >= smallest]
    rank = np.zeros(len(pairs), np.int64)
    for number, ranks in enumerate(cells.ranks):
        is_here = pairs.axis == number
        rank[is_here] = ranks[pairs.whole[is_here]]
    derived = {"cell": pairs.part, "axis": pairs.axis, "whole": rank}
    return (
        join_sketches([mine, complement_sketches(cells, pairs)]),
        {name: np.concatenate([column, derived[name]]) for name, column in found.items()},
    )


def _narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Store integers in the smallest type that holds them."""
    low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return numbers.astype(kind)
    return numbers.astype(np.int64)
