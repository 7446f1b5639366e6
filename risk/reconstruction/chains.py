"""Markov chains of joint counts given all that is published, many at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats, Integers, Levels, along
from ptable import PTable
from risk.errors import RiskError
from risk.reconstruction.lattice import Lattice, Shown

_SLACK = 64
_RESIZE, _EXCHANGE = 0.04, 0.5  # shares of proposals, cumulated
_WITHIN = 0.5


class CellVector:
    """The cells of all tables behind each other, and how likely each of their counts is.

    Parameters
    ----------
    lattice, shown
        The tables, and what they show.
    ptable
        The noise of a count.
    area
        The variable of areas: the tables that show it come first. It is left aside where areas
        of a finer level lie in several of the coarsest.

    Raises
    ------
    RiskError
        If a published count comes from no true count.
    """

    def __init__(
        self,
        lattice: Lattice,
        shown: Mapping[Levels, Shown],
        ptable: PTable,
        *,
        area: int | None = None,
    ) -> None:
        tops = [len(one) - 1 for one in lattice.groups]
        coarsest: dict[int, Any] = {}
        if area is not None:
            levels = range(tops[area])
            coarsest = {at: lattice.codes(area, at, tops[area] - 1) for at in levels}
            area = None if any(codes is None for codes in coarsest.values()) else area
        self.lattice, self.area, self.tables = lattice, area, list(shown)
        if area is not None:
            self.tables.sort(key=lambda table: table[area] == tops[area])
        self.by_area = sum(area is None or table[area] < tops[area] for table in self.tables)
        self.shows = np.array(self.tables) < tops
        self.strides = [math.prod(lattice.shape[axis + 1 :]) for axis in range(len(tops))]
        # The cell of a joint cell in each table is the sum of one part for each variable.
        shapes = [lattice.shape_of(table) for table in self.tables]
        self.starts = np.cumsum([0, *map(math.prod, shapes)])
        self.parts = []
        for axis, groups in enumerate(lattice.groups):
            strides = [math.prod(shape[axis + 1 :]) for shape in shapes]
            codes = np.stack([groups[table[axis]] for table in self.tables], axis=1)
            self.parts.append(codes * strides)
        self.parts[0] = self.parts[0] + self.starts[:-1]
        # The coarsest area of each finest one, and of each cell; one more for those of no area.
        self.block = np.zeros(1, np.int64) if area is None else lattice.groups[area][-2]
        self.blocks = np.full(self.starts[-1], int(self.block.max()) + 1)
        for at, table in enumerate(self.tables[: self.by_area] if area is not None else ()):
            codes = coarsest[table[area or 0]]
            part = self.blocks[self.starts[at] : self.starts[at + 1]]
            part[:] = np.broadcast_to(along(codes, area or 0, len(tops)), shapes[at]).ravel()
        self.published = np.concatenate([shown[t].published.ravel() for t in self.tables])
        is_shown = np.concatenate([shown[t].is_shown.ravel() for t in self.tables])
        known = np.where(is_shown, self.published, -1)
        different, self.row = np.unique(known, return_inverse=True)
        self.logs = _log_likelihoods(ptable, different.tolist())
        self.first = self.published - ptable.max_noise - 1  # the count of a row's first entry

    def code(self, joint: Integers, axis: int) -> Integers:
        """Give the category of joint cells, which are numbered one after the other."""
        return joint // self.strides[axis] % self.lattice.shape[axis]

    def places(self, joint: Integers) -> Integers:
        """Give the cell of each table that joint cells are part of, tables last."""
        codes = [self.code(joint, axis) for axis in range(len(self.parts))]
        parts = [part[code] for part, code in zip(self.parts, codes, strict=True)]
        places: Integers = np.sum(parts, axis=0, dtype=np.int64)
        return places

    def sums(self, joint: NDArray[Any]) -> NDArray[Any]:
        """Add joint counts up to all cells."""
        sums = self.lattice.sums(joint)
        return np.concatenate([sums[table].ravel() for table in self.tables])

    def log_likelihoods(self, counts: Integers) -> Floats:
        """Give the logarithm of how likely each cell is published as it is, cells last."""
        last = self.logs.shape[1] - 1
        found: Floats = self.logs[self.row, np.clip(counts - self.first, 0, last)]
        return found

    def by_table(self, values: Floats) -> dict[Levels, Floats]:
        """Cut values of all cells into tables."""
        parts = np.split(values, self.starts[1:-1])
        return {
            table: part.reshape(*self.lattice.shape_of(table), *values.shape[1:])
            for table, part in zip(self.tables, parts, strict=True)
        }


def _log_likelihoods(ptable: PTable, published: Sequence[int]) -> Floats:
    """Return log P(published | count) for the counts around it; 0 for -1, which is unknown."""
    from ptable.lookup import cycle_length, serving_row
    from ptable.proof.divergence import laws_of

    laws = laws_of(ptable, key_range=ptable.key_range)
    cycle = cycle_length(ptable.large_counts, n_rows=len(laws))
    noise = ptable.max_noise
    logs = np.full((len(published), 2 * noise + 3), -np.inf)
    for row, seen in zip(logs, published, strict=True):
        for at, count in enumerate(range(seen - noise - 1, seen + noise + 2)):
            law = laws[serving_row(count, n_rows=len(laws), cycle=cycle)] if count >= 0 else {}
            if seen - count in law:
                row[at] = math.log(law[seen - count] / ptable.key_range)
        if seen < 0:
            row[:] = 0.0
        elif np.isinf(row).all():
            raise RiskError(
                f"No true count is published as {seen} with this p-table.",
                hint="the p-table is another than that of the tables",
            )
    return logs


class _Proposal(NamedTuple):
    """Joint cells that lose or gain a person, and the lanes they are in, shape ``(k, n)``.

    Of two or more the first half loses. The ratio is the logarithm of how much the prior rises,
    less how often this is proposed; it leaves out the counts and the number of occupied cells.
    """

    joint: Integers
    lanes: Integers
    loses: Flags
    ratio: Floats


class _Move(NamedTuple):
    """Cells that lose or gain a person, shape ``(joint cells, lanes, tables)``."""

    cells: Integers
    row: Integers
    loses: Flags
    sign: Integers

    def of_tables(self, some: slice) -> _Move:
        return _Move(
            self.cells[..., some], self.row[..., some], self.loses, self.sign[..., some]
        )

    def of_lanes(self, some: Integers | Flags) -> _Move:
        return _Move(
            self.cells[:, some], self.row[:, some], self.loses[:, some], self.sign[:, some]
        )


class Chains:
    """Independent chains of joint counts, and what they add up to.

    Parameters
    ----------
    cells
        The cells of all tables.
    shares, total
        The prior: the share of each category of each variable, and the mean of all together.
    starts
        The joint counts that each chain starts from.
    rng
        Where chance comes from.

    Notes
    -----
    Metropolis-Hastings on the counts of joint cells. A step of a chain takes an occupied joint
    cell of each of the coarsest areas, and proposes that one of its persons has another
    category of one variable, that two persons exchange their categories (of areas, also those
    of two areas at random), or that there is a person more or less. The tables by area decide
    first, for each area by itself, as no two areas share a cell; then the other tables, for one
    after the other of those that are left (delayed acceptance).

    References
    ----------
    Christen, Fox 2005, Markov chain Monte Carlo using an approximation.
    """

    def __init__(
        self,
        cells: CellVector,
        *,
        shares: Sequence[Floats],
        total: float,
        starts: Integers,
        rng: np.random.Generator,
    ) -> None:
        self.cells, self.shares, self.total, self.rng = cells, shares, total, rng
        self.area, block = cells.area, cells.block
        self.n_joint, self.n_cells = math.prod(cells.lattice.shape), len(cells.published)
        self.n_chains = len(starts)
        self.order, self.n_members = np.argsort(block, kind="stable"), np.bincount(block)
        self.first = np.cumsum(self.n_members) - self.n_members
        self.n_blocks = len(self.n_members)
        self.log_shares = [np.log(share) for share in shares]
        if self.area is not None:  # an area is drawn among those of its block
            self.log_shares[self.area] += np.log(self.n_members[block])
        self.columns = [np.flatnonzero(shows) for shows in cells.shows.T]
        self.columns.append(np.arange(len(cells.tables)))  # of more or fewer persons
        self.parts = [[part[:, some] for part in cells.parts] for some in self.columns]
        # Sums, as places in their rows of rises; joint counts; and by lane, which is a block of
        # a chain, the occupied joint cells.
        self.seen = (np.stack([cells.sums(one) for one in starts]) - cells.first + 1).ravel()
        self.counts, self.slots = starts.ravel(), np.zeros(starts.size, np.int64)
        occupied = np.flatnonzero(self.counts)
        lanes = occupied // self.n_joint * self.n_blocks
        if self.area is not None:
            lanes += block[cells.code(occupied, self.area)]
        sizes = np.bincount(lanes, minlength=self.n_chains * self.n_blocks)
        room = min(self.n_joint, 2 * int(sizes.max()) + _SLACK)
        self.occupied = np.zeros((len(sizes), room), np.int64)
        order = np.argsort(lanes, kind="stable")
        for lane, some in enumerate(np.split(occupied[order], np.cumsum(sizes)[:-1])):
            self._list(np.full(len(some), lane), some, np.arange(len(some)))
        self.n_occupied = sizes
        self.soften(1.0)

    def soften(self, penalty: float) -> None:
        """Let counts that do not fit cost so much for each person that they are off."""
        logs = self.cells.logs
        places = np.arange(logs.shape[1])
        far = np.array(
            [np.abs(places[:, None] - places[fit]).min(axis=1) for fit in np.isfinite(logs)]
        )
        known = np.where(np.isfinite(logs), logs, -penalty * (1 + far))
        ends = np.where(logs.any(axis=1), penalty, 0.0)[:, None]
        rise = np.concatenate([ends, np.diff(known, axis=1), -ends], axis=1)
        self.width, self.rise = rise.shape[1], rise.ravel()
        self.offset = self.cells.row * self.width

    def run(self, steps: int) -> None:
        """Make steps in all chains."""
        n_axes = len(self.shares)
        for kind, which in self.rng.random((steps, 2)):
            axis = int(which * n_axes)
            if kind < _RESIZE:
                self._step(self._one_more_or_less(), n_axes)
            else:
                propose = self._exchange if kind < _EXCHANGE else self._other_category
                self._step(propose(axis, *self._lanes(axis)), axis)

    # --- proposals

    def _lanes(self, axis: int) -> tuple[Integers, Integers]:
        """Give lanes in pairs: of areas two blocks at random, or as else each with itself."""
        lanes = np.arange(len(self.n_occupied))
        if axis != self.area or self.n_blocks == 1 or self.rng.random() < _WITHIN:
            return lanes, lanes
        order = self.rng.random((self.n_chains, self.n_blocks)).argsort(axis=1)
        order += np.arange(self.n_chains)[:, None] * self.n_blocks
        half = self.n_blocks // 2
        return order[:, :half].ravel(), order[:, half : 2 * half].ravel()

    def _pick(self, lanes: Integers) -> Integers:
        """Draw an occupied joint cell, or any where none is."""
        u = self.rng.random(len(lanes)) * self.n_occupied[lanes]
        found: Integers = self.occupied[lanes, u.astype(np.int64)]
        return found

    def _category(self, axis: int, lanes: Integers) -> Integers:
        u = self.rng.random(len(lanes))
        if axis != self.area:
            return (u * self.cells.lattice.shape[axis]).astype(np.int64)
        block = lanes % self.n_blocks
        rank = self.first[block] + (u * self.n_members[block]).astype(np.int64)
        found: Integers = self.order[rank]
        return found

    def _other_category(self, axis: int, lanes: Integers, others: Integers) -> _Proposal:
        here, new = self._pick(lanes), self._category(axis, others)
        old, logs = self.cells.code(here, axis), self.log_shares[axis]
        there = here + (new - old) * self.cells.strides[axis]
        return self._between([here, there], [lanes, others], logs[new] - logs[old])

    def _exchange(self, axis: int, lanes: Integers, others: Integers) -> _Proposal:
        one, other = self._pick(lanes), self._pick(others)
        code = self.cells.code
        by = (code(other, axis) - code(one, axis)) * self.cells.strides[axis]
        joint = [one, other, other - by, one + by]
        return self._between(joint, [lanes, others] * 2, np.zeros(len(lanes)))

    def _between(
        self, joint: list[Integers], lanes: list[Integers], ratio: Floats
    ) -> _Proposal:
        loses = np.arange(len(joint)) < len(joint) // 2
        shape = (len(joint), len(ratio))
        return _Proposal(
            np.stack(joint), np.stack(lanes), np.broadcast_to(loses[:, None], shape), ratio
        )

    def _one_more_or_less(self) -> _Proposal:
        lanes = np.arange(len(self.n_occupied))
        made = lanes // self.n_blocks * self.n_joint
        for axis, share in enumerate(self.shares):
            if axis == self.area:
                codes = self._category(axis, lanes)
            else:
                codes = self.rng.choice(len(share), len(lanes), p=share)
            made = made + codes * self.cells.strides[axis]
        # Each lane has either by chance: steps of one kind alone do not keep the posterior.
        loses = self.rng.random(len(lanes)) < 0.5
        joint = np.where(loses, self._pick(lanes), made)
        ratio = np.full(len(lanes), np.log(self.total))
        if self.area is not None:
            ratio += self.log_shares[self.area][self.cells.code(joint, self.area)]
        return _Proposal(joint[None], lanes[None], loses[None], np.where(loses, -ratio, ratio))

    # --- acceptance

    def _step(self, proposal: _Proposal, columns: int) -> None:
        joint, lanes, loses, ratio = proposal
        before, occupied, half = self.counts[joint], self.n_occupied[lanes], len(joint) // 2
        change = np.where(loses, -1 * (before == 1), before == 0)
        then = occupied + ((lanes[:, None] == lanes) * change[:, None]).sum(axis=0)
        ok = (~loses | ((before > 0) & (occupied > 0))) & (then <= self.occupied.shape[1])
        if half:  # else nothing is to change
            ok[:half] &= joint[:half] != joint[half]
        keep = np.flatnonzero(ok.all(axis=0))
        times = np.where(loses, before * occupied, (before + 1) * then)[:, keep]
        joint, lanes, loses = joint[:, keep], lanes[:, keep], loses[:, keep]
        ratio = ratio[keep] + (np.where(loses, 1, -1) * np.log(times)).sum(axis=0)
        chain = lanes[0] // self.n_blocks
        move = self._move(joint, loses, chain, columns)
        split = int(np.searchsorted(self.columns[columns], self.cells.by_area))
        here, others = move.of_tables(slice(split)), move.of_tables(slice(split, None))
        u = np.log(self.rng.random((2, len(keep))))
        accepted = u[0] < ratio + self._rise(here)
        if split < len(self.columns[columns]):
            at = np.flatnonzero(accepted)
            turn = np.arange(len(at)) - np.searchsorted(chain[at], chain[at])
            for now in range(int(turn.max(initial=-1)) + 1):
                some = at[turn == now]
                part = others.of_lanes(some)
                kept = u[1][some] < self._rise(part)
                accepted[some[~kept]] = False
                self._make(part.of_lanes(kept))
        self._make(here.of_lanes(accepted))
        for lane, one, is_loss in zip(lanes, joint, loses, strict=True):
            lost, gained = accepted & is_loss, accepted & ~is_loss
            self._lose(lane[lost], one[lost])
            self._gain(lane[gained], one[gained])

    def _move(self, joint: Integers, loses: Flags, chain: Integers, columns: int) -> _Move:
        """Find the cells that lose or gain a person."""
        place = np.zeros(1, np.int64)
        for axis, part in enumerate(self.parts[columns]):
            place = place + part[self.cells.code(joint, axis)]
        half = len(joint) // 2
        sign = np.where(loses, -1, 1)[..., None] + 0 * place
        for one in range(half):
            sign *= place[half] != place[one]  # else the table does not tell them apart
        cells = place + (chain * self.n_cells)[:, None]
        return _Move(cells, self.offset[place], loses[..., None], sign)

    def _rise(self, move: _Move) -> Floats:
        """Return by how much the log likelihood rises."""
        step = np.minimum(np.maximum(self.seen[move.cells] - move.loses, 0), self.width - 1)
        found: Floats = (self.rise[move.row + step] * move.sign).sum(axis=(0, 2))
        return found

    def _make(self, move: _Move) -> None:
        moved = move.sign != 0
        self.seen[move.cells[moved]] += move.sign[moved]

    def _list(self, lanes: Integers, joint: Integers, slots: Integers) -> None:
        self.occupied[lanes, slots], self.slots[joint] = joint, slots

    def _lose(self, lanes: Integers, joint: Integers) -> None:
        self.counts[joint] -= 1
        gone = self.counts[joint] == 0
        lanes, joint = lanes[gone], joint[gone]
        self.n_occupied[lanes] -= 1
        self._list(lanes, self.occupied[lanes, self.n_occupied[lanes]], self.slots[joint])

    def _gain(self, lanes: Integers, joint: Integers) -> None:
        new = self.counts[joint] == 0
        self.counts[joint] += 1
        lanes, joint = lanes[new], joint[new]
        self._list(lanes, joint, self.n_occupied[lanes])
        self.n_occupied[lanes] += 1

    def sums(self) -> Integers:
        """Return the count of each cell in each chain."""
        counts: Integers = self.seen.reshape(self.n_chains, -1) + self.cells.first - 1
        return counts
