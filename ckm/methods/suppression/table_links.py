"""How the tables of a job are linked, in words that an office can confirm."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Literal

import numpy as np

from footing.messages import Message, Name
from reports.facts.suppression import DimensionLinkFact, EquationFact, TableLinkFact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckm.methods.settings import LinkSetting
    from footing.arrays import Codes, Flags, Integers
    from tables import Cells, Request
    from tables.cells.axes import Axis

    Groups = tuple[Flags, tuple[Codes, ...]]

Nesting = Literal["same", "whole", "part", "other", "finer", "coarser"]
#: Categories of so few groups each lie in those of another column by chance.
_GROUPS_EACH = 3
#: More pairs of tables are left to the overview.
_MOST_SENTENCES = 12


def table_links(
    tables: Mapping[str, Cells],
    requests: Mapping[str, Request],
    *,
    numbers: Sequence[Integers],
    groups: Sequence[Groups],
    links: Sequence[LinkSetting],
) -> tuple[TableLinkFact, ...]:
    """List which pairs of tables have cells of the same records, those with most of them first.

    Parameters
    ----------
    tables, requests
        The tables, and what they are of.
    numbers
        For each table, the numbers of its cells, the same for the same records.
    groups
        For each table the groups of records that cells are made of; none of one table.
    links
        What the office confirms.
    """
    confirmed = {frozenset(link.tables) for link in links if link.tables}
    facts = []
    for (i, first), (j, second) in itertools.combinations(enumerate(tables), 2):
        common = int(np.intersect1d(numbers[i], numbers[j]).size)
        if not common:
            continue
        own = groups[i], groups[j]
        nestings = _dimensions(
            (tables[first], tables[second]), (requests[first], requests[second]), own
        )
        facts.append(
            TableLinkFact(
                tables=(first, second),
                cells=common,
                dimensions=tuple(nestings),
                is_confirmed=frozenset({first, second}) in confirmed,
            )
        )
    return tuple(sorted(facts, key=lambda fact: -fact.cells))


def _dimensions(
    tables: tuple[Cells, Cells],
    requests: tuple[Request, Request],
    groups: tuple[Groups, Groups],
) -> Iterator[DimensionLinkFact]:
    """Yield which dimensions of two tables are of one column, or nest in the records."""
    first, second = requests
    for (i, own), (j, other) in itertools.product(
        enumerate(first.dimensions), enumerate(second.dimensions)
    ):
        axes = tables[0].axes[i], tables[1].axes[j]
        nesting = _by_columns(axes, (first.columns_of(own), second.columns_of(other)))
        if nesting is None and not {own, other} & ({*first.dimensions} & {*second.dimensions}):
            nesting = _by_records(*groups, (i, j))
        if nesting is not None:
            yield DimensionLinkFact(first=own, second=other, nesting=nesting)


def _by_columns(
    axes: tuple[Axis, Axis], columns: tuple[tuple[str, ...], tuple[str, ...]]
) -> Nesting | None:
    """Compare dimensions by the columns that they are made of, or the groups of their codes."""
    own: frozenset[object] = frozenset(columns[0])
    other: frozenset[object] = frozenset(columns[1])
    if not own & other:
        return None
    if len(own) == len(other) == 1:  # perhaps with trees over one column
        own, other = _groupings(axes[0]), _groupings(axes[1])
    if own == other:
        return "same"
    return "whole" if own > other else "part" if own < other else "other"


def _groupings(axis: Axis) -> frozenset[object]:
    """Return the sets of codes of the data that categories of a tree stand for."""
    leaves = [str(axis.labels[-1][rank]) for rank in axis.levels[0].ranks]
    codes = np.arange(axis.levels[0].size, dtype=np.int32)
    groupings = set[frozenset[str]]()
    for level in range(len(axis.levels) - 1):
        at = axis.raised(codes, 0, level)
        members: dict[int, list[str]] = {}
        for leaf, place in zip(leaves, at.tolist(), strict=True):
            members.setdefault(place, []).append(leaf)
        groupings |= {frozenset(names) for names in members.values()}
    return frozenset(groupings)


def _by_records(first: Groups, second: Groups, places: tuple[int, int]) -> Nesting | None:
    """Tell whether each category of one dimension lies in one of another, in all records."""
    is_in = first[0] & second[0]
    own, other = first[1][places[0]][is_in], second[1][places[1]][is_in]
    n_own, n_other = np.unique(own).size, np.unique(other).size
    if min(n_own, n_other) < 2 or own.size < _GROUPS_EACH * max(n_own, n_other):
        return None
    n_pairs = np.unique(np.stack([own, other]), axis=1).shape[1]
    if n_pairs == n_own == n_other:
        return "same"
    if n_pairs == n_own:
        return "finer"
    return "coarser" if n_pairs == n_other else None


def link_sentences(
    links: Sequence[TableLinkFact], equations: Sequence[EquationFact]
) -> Iterator[Message]:
    """Say what links there are, for the office to confirm."""
    for link in links[:_MOST_SENTENCES]:
        first, second = Name.each(link.tables)
        yield Message(
            "linked: {first} and {second} have {cells:,} cells in common"
            "{dimensions}{is_confirmed}",
            first=first,
            second=second,
            cells=link.cells,
            dimensions=Message(" ({nestings})", nestings=[*map(_nesting, link.dimensions)])
            if link.dimensions
            else Message(),
            is_confirmed=Message(", confirmed") if link.is_confirmed else Message(),
        )
    if len(links) > _MOST_SENTENCES:
        yield Message(
            "{number} more pairs of tables are linked: see the overview",
            number=len(links) - _MOST_SENTENCES,
        )
    for equation in equations:
        yield _equation(equation)


def _nesting(fact: DimensionLinkFact) -> Message:
    own, other = Name(fact.first), Name(fact.second)
    if fact.nesting == "same":
        return Message("{first} is {second}", first=own, second=other)
    if fact.nesting in {"part", "whole"}:
        part, whole = (own, other) if fact.nesting == "part" else (other, own)
        return Message("{part} is part of {whole}", part=part, whole=whole)
    if fact.nesting == "finer":
        return Message("{first} is finer than {second}", first=own, second=other)
    if fact.nesting == "coarser":
        return Message("{first} is coarser than {second}", first=own, second=other)
    return Message("{first} and {second} group one column otherwise", first=own, second=other)


def _equation(fact: EquationFact) -> Message:
    words = Name(fact.equation)
    if fact.status == "denied":
        return Message("not applied, as the job says: {equation}", equation=words)
    further = [
        Message("{variable} in {table}", variable=Name(variable), table=Name(table))
        for table, variable in fact.tables
    ]
    return Message(
        "linked: {equation}{status}{further}",
        equation=words,
        status=Message(", confirmed") if fact.status == "stated" else Message(),
        further=Message("; sums protected although not shown: {further}", further=further)
        if further
        else Message(),
    )
