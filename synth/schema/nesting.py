"""Codes that nest: each code of a column lies in one of another, by a public code list.

Nothing here looks at records. What code lists look like is a proposal; only whoever declares
it, or a noisy count of the records at a price, says that it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footing.arrays import AnyIntegers, Flags, Floats, Integers
from footing.messages import Argument, Message, Name
from synth.errors import SchemaError
from synth.schema.columns import Category, Column, Plain, is_text

_MOST_PREFIX = 100
_MOST_SHOWN = 5
_FEW = 1e-6
_LEAST_BRANCHING = 1.2  # codes for each code of the parent, of columns that look nested
_LEAST_FILLED = 0.8  # of the codes of a parent that others lie in
_MOST_PROPOSALS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Parents:
    """The code of a coarser column that each code of a finer one lies in.

    Parameters
    ----------
    child, parent
        The columns: a commune lies in a district.
    codes
        The parent of each code, from a public code list. None as a parent is said of a code
        that lies in no single one, such as "abroad": it goes with all of them.
    prefix
        In place of codes: with how many characters of its own a code writes its parent.
    declared_by
        Who says so, from what.

    Examples
    --------
    >>> Parents(child="commune", parent="district", prefix=2).prefix
    2
    """

    child: str
    parent: str
    codes: Mapping[str, Plain] | None = None
    prefix: int | None = None
    declared_by: str = ""

    def __post_init__(self) -> None:
        for name in (self.child, self.parent, self.declared_by):
            if not is_text(name):
                raise SchemaError(Message("child, parent and declared_by are texts."))
        if self.child == self.parent:
            raise SchemaError(
                Message("Column {name!r} is its own parent.", name=Name(self.child))
            )
        if (self.codes is None) == (self.prefix is None):
            raise SchemaError(
                Message(
                    "The parents of {child!r} are said by codes or by a prefix.",
                    child=Name(self.child),
                ),
                hint=Message('"prefix": 2, or "codes": {"0111": "01"}'),
            )
        if self.prefix is not None and not (
            type(self.prefix) is int and 1 <= self.prefix <= _MOST_PREFIX
        ):
            raise SchemaError(
                Message("prefix is a whole number from 1 to {most}.", most=_MOST_PREFIX)
            )
        if self.codes is not None:
            object.__setattr__(self, "codes", _one_parent_each(self.child, self.codes))

    @property
    def label(self) -> str:
        """What certificates call it.

        Examples
        --------
        >>> Parents(child="commune", parent="district", prefix=2).label
        'commune in district'
        """
        return f"{self.child} in {self.parent}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Nest:
    """Declared parents as codes.

    Parameters
    ----------
    child, parent
        The places of the columns.
    above
        The code of the parent that each code of the child lies in; -1 where any goes with it.
    values
        How many codes of the parent are values; those from there on are missing, and go with
        any code of the child.
    """

    child: int
    parent: int
    above: Integers
    values: int

    def mask(self, parents: Integers, children: Integers) -> Floats:
        """Return which groups of codes go together, one axis a column, the parent's first.

        Parameters
        ----------
        parents, children
            The group of each code; codes of a group of children lie in one group of parents.
        """
        allowed = np.zeros((int(parents.max()) + 1, int(children.max()) + 1))
        allowed[:, children[self.above < 0]] = 1.0
        is_placed = self.above >= 0
        allowed[parents[self.above[is_placed]], children[is_placed]] = 1.0
        allowed[parents[self.values :], :] = 1.0
        return allowed

    def kinds(self, parents: Integers) -> Integers:
        """Return for each code of the child the group of its parent; -1 where any goes with it.

        Parameters
        ----------
        parents
            The group of each code of the parent.
        """
        return np.where(self.above < 0, -1, parents[self.above])

    def contradictions(self, codes: AnyIntegers) -> Flags:
        """Return which records have a code that does not lie in their code of the parent.

        Parameters
        ----------
        codes
            Records as codes.
        """
        above, parent = self.above[codes[:, self.child]], codes[:, self.parent]
        return np.asarray((above >= 0) & (parent < self.values) & (above != parent))


def _one_parent_each(child: str, codes: Mapping[str, Plain]) -> dict[str, Plain]:
    if not codes or not hasattr(codes, "items"):
        raise SchemaError(
            Message("The parents of {child!r} are an object of codes.", child=Name(child))
        )
    by_text: dict[str, Plain] = {}
    for code, above in codes.items():
        if by_text.setdefault(str(code), above) != above:
            raise _two_parents(child)
    return by_text


def _two_parents(child: str) -> SchemaError:
    return SchemaError(
        Message("A code of {child!r} has two parents.", child=Name(child)),
        hint=Message("a code lies in one; where two vintages differ, declare one of them"),
    )


def nests_of(parents: Sequence[Parents], columns: Sequence[Column]) -> list[Nest]:
    """Return the declared parents as codes, those of coarser columns first.

    Raises
    ------
    SchemaError
        If a code has no parent, or two by two ways, or columns go round in a circle.
    """
    names = [column.name for column in columns]
    for one in parents:
        for name in (one.child, one.parent):
            if name not in names:
                raise SchemaError(
                    Message(
                        "Parents name a column that is not declared: {name}.", name=Name(name)
                    )
                )
    pairs = Counter((one.child, one.parent) for one in parents)
    twice = [pair for pair, number in pairs.items() if number > 1]
    if twice:
        raise SchemaError(
            Message(
                "The parents of {child!r} in {parent!r} are declared twice.",
                child=Name(twice[0][0]),
                parent=Name(twice[0][1]),
            )
        )
    nests = []
    for one in _coarsest_first(parents):
        child, parent = (_with_codes(columns[names.index(n)]) for n in (one.child, one.parent))
        nests.append(
            Nest(
                child=names.index(one.child),
                parent=names.index(one.parent),
                above=_above(one, child, parent),
                values=parent.domain_size,
            )
        )
    _require_agreement(nests, names)
    return nests


def _with_codes(column: Column) -> Category:
    if not isinstance(column, Category):
        raise SchemaError(
            Message("Column {name!r} has no codes that nest.", name=Name(column.name)),
            hint=Message('parents are of columns of the kind "category"'),
        )
    return column


def _coarsest_first(parents: Sequence[Parents]) -> list[Parents]:
    waiting, ordered = list(parents), list[Parents]()
    while waiting:
        children = {one.child for one in waiting}
        ready = [one for one in waiting if one.parent not in children]
        if not ready:
            raise SchemaError(
                Message(
                    "Parents go round in a circle: {names}.", names=Name.each(sorted(children))
                )
            )
        ordered += ready
        waiting = [one for one in waiting if one not in ready]
    return ordered


def _above(one: Parents, child: Category, parent: Category) -> Integers:
    """Return the code of the parent for each code of the child; -1 where any goes with it."""
    places = {str(value): place for place, value in enumerate(parent.known)}
    values = [str(value) for value in child.known]
    if one.codes is None:
        codes: Mapping[str, Plain] = {value: value[: one.prefix] for value in values}
        if child.other is not None and codes[str(child.other)] not in places:
            codes = {**codes, str(child.other): None}
    else:
        codes = one.codes
    if strange := {*codes} - {*values}:
        raise SchemaError(
            Message(
                "{number} codes have a parent and are no values of {child!r}.",
                number=len(strange),
                child=Name(one.child),
            )
        )
    above = np.full(child.size, -1, np.int64)
    orphans = []
    for place, value in enumerate(values):
        if value in codes and codes[value] is None:
            continue  # it goes with every parent
        if value in codes and str(codes[value]) in places:
            above[place] = places[str(codes[value])]
        else:
            orphans.append(value)
    if orphans:
        raise SchemaError(
            Message(
                "{number} codes of {child!r} have no parent among the values of {parent!r}: "
                "{codes}.",
                number=len(orphans),
                child=Name(one.child),
                parent=Name(one.parent),
                codes=Argument(orphans[:_MOST_SHOWN]),
            ),
            hint=Message("null says of a code that it lies in no single one"),
        )
    return above


def _require_agreement(nests: Sequence[Nest], names: Sequence[str]) -> None:
    """Refuse two ways from a column to another that lead to different codes."""
    reached: dict[int, dict[int, Integers]] = {}
    for one in nests:  # coarsest first: what lies above the parent is reached already
        ways = [(one.parent, one.above)]
        for far, above in reached.get(one.parent, {}).items():
            ways.append((far, np.where(one.above < 0, -1, above[one.above])))
        own = reached.setdefault(one.child, {})
        for far, above in ways:
            before = own.setdefault(far, above)
            if ((before != above) & (before >= 0) & (above >= 0)).any():
                raise SchemaError(
                    Message(
                        "Two ways from {child!r} to {parent!r} lead to different codes.",
                        child=Name(names[one.child]),
                        parent=Name(names[far]),
                    )
                )


def nested_looking(columns: Sequence[Column]) -> list[Parents]:
    """Return the columns whose lists of values look nested: each begins with one of another.

    Only the nearest coarser column of each is proposed. That code lists look so proves nothing
    of the records: a place of birth is written like a place of residence.

    Parameters
    ----------
    columns
        The columns; nothing but their declared values is read.

    Examples
    --------
    >>> region = Category(name="region", values=["A", "B"])
    >>> town = Category(name="town", values=["A1", "A2", "B1", "B2"])
    >>> [one.label for one in nested_looking([region, town])]
    ['town in region']
    """
    lists = {
        column.name: [str(value) for value in column.known if value != column.other]
        for column in columns
        if isinstance(column, Category) and column.is_declared and len(column.known) > 1
    }
    widths = {name: {len(value) for value in values} for name, values in lists.items()}
    numbers = {
        column.name
        for column in columns
        if isinstance(column, Category) and not all(map(is_text, column.values or ()))
    }
    # Prefixes are read where all values of the parent are equally long, and no single digits of
    # whole numbers, which every number begins with: else they mislead more often than not.
    coarse = {
        name: (width, {*values})
        for name, values in lists.items()
        if len(widths[name]) == 1
        and len(values) > 1
        and (width := min(widths[name])) > (name in numbers)
    }
    proposals: list[Parents] = []
    for child, values in lists.items():
        best: tuple[int, int, str] | None = None
        for parent, (width, above) in coarse.items():
            if (
                parent == child
                or not 0 < width < min(widths[child], default=0)
                or len(values) < _LEAST_BRANCHING * len(above)
                or not (prefixes := {value[:width] for value in values}) <= above
                or len(prefixes) < _LEAST_FILLED * len(above)
            ):
                continue
            best = max(filter(None, (best, (len(above), width, parent))))
        if best is not None:
            proposals.append(Parents(child=child, parent=best[2], prefix=best[1]))
    sizes = {name: len(values) for name, values in lists.items()}
    return sorted(proposals, key=lambda one: -sizes[one.child])[:_MOST_PROPOSALS]


def parents_from_tree(
    child: Column, parent: Column, *, tree: Iterable[tuple[str, str]], declared_by: str = ""
) -> Parents | None:
    """Return the parents that a public code list says, however many levels lie between.

    Parameters
    ----------
    child, parent
        The columns.
    tree
        Each code with the code above it, of all levels.
    declared_by
        What the list is.

    Returns
    -------
    Parents or None
        None where the list does not lead every value of the child to a value of the parent.

    Raises
    ------
    SchemaError
        If the list gives a code two parents, or goes round in a circle.

    Examples
    --------
    >>> region = Category(name="region", values=["R"])
    >>> town = Category(name="town", values=["t1", "t2"])
    >>> tree = [("t1", "d"), ("t2", "d"), ("d", "R")]
    >>> parents_from_tree(town, region, tree=tree).codes
    {'t1': 'R', 't2': 'R'}
    """
    if not (isinstance(child, Category) and isinstance(parent, Category)):
        return None
    if not (child.is_declared and parent.is_declared):
        return None
    above: dict[str, str] = {}
    for code, upper in tree:
        if code and upper and above.setdefault(str(code), str(upper)) != str(upper):
            raise _two_parents(child.name)
    ends = {str(value): value for value in parent.known}
    codes: dict[str, Plain] = {}
    for value in child.known:
        step, path = above.get(str(value)), {str(value)}
        while step is not None and step not in ends:
            if step in path:
                raise SchemaError(
                    Message(
                        "The code list of {child!r} goes round in a circle.",
                        child=Name(child.name),
                    )
                )
            path.add(step)
            step = above.get(step)
        if step is not None:
            codes[str(value)] = ends[step]
        elif value != child.other:
            return None
        else:
            codes[str(value)] = None
    return Parents(child=child.name, parent=parent.name, codes=codes, declared_by=declared_by)


def parents_in_tree(
    columns: Sequence[Column], *, tree: Iterable[tuple[str, str]], declared_by: str = ""
) -> list[Parents]:
    """Return the parents of all columns that a code list tells, each with its nearest one."""
    pairs = list(tree)
    if not pairs:
        return []
    nearest: list[Parents] = []
    for child in columns:
        ways = [
            one
            for parent in columns
            if parent is not child
            and (one := parents_from_tree(child, parent, tree=pairs, declared_by=declared_by))
        ]
        sizes = {column.name: column.size for column in columns}
        if ways:
            nearest.append(max(ways, key=lambda one: sizes[one.parent]))
    return nearest


def repair_nests(
    codes: NDArray[np.int32],
    nests: Sequence[Nest],
    *,
    rng: np.random.Generator,
    allowed: Mapping[int, Flags],
) -> NDArray[np.int32]:
    """Return records in which every code lies in its parent: one that does not is drawn again.

    The coarser code stays, as it is counted more precisely. Of the finer ones in it one is
    drawn, as often as all records together have each; any of them where none has one.
    """
    codes = codes.copy()
    for one in nests:  # coarsest first
        wrong = np.flatnonzero(one.contradictions(codes))
        if not wrong.size:
            continue
        weights = np.bincount(codes[:, one.child], minlength=len(one.above)) + _FEW
        weights *= (one.above >= 0) & allowed.get(one.child, True)
        order = np.argsort(one.above, kind="stable")
        steps = np.concatenate(([0.0], np.cumsum(weights[order])))
        ends = np.searchsorted(one.above[order], np.arange(one.values + 1))
        above = codes[wrong, one.parent]
        low, high = steps[ends[above]], steps[ends[above + 1]]
        places = low + rng.random(len(wrong)) * (high - low)
        picks = np.searchsorted(steps, places, side="right") - 1
        picks = np.clip(picks, ends[above], ends[above + 1] - 1)
        is_possible = high > low  # otherwise the record breaks what is declared, and goes
        codes[wrong[is_possible], one.child] = order[picks[is_possible]]
    return codes


def narrowed(
    allowed: Mapping[int, Flags], nests: Sequence[Nest], *, sizes: Sequence[int]
) -> dict[int, Flags]:
    """Return which codes are possible in each column, given those allowed in some of them."""
    flags = dict(allowed)
    for one in reversed(nests):  # finest first: what a child may be says what its parent may be
        child = flags.get(one.child)
        if child is not None and not child[one.above < 0].any():
            possible = np.arange(sizes[one.parent]) >= one.values
            possible[one.above[child]] = True
            flags[one.parent] = flags.get(one.parent, True) & possible
    return narrowed_below(flags, nests)


def narrowed_below(allowed: Mapping[int, Flags], nests: Sequence[Nest]) -> dict[int, Flags]:
    """Return which codes are possible, given those allowed of coarser columns."""
    flags = dict(allowed)
    for one in nests:  # coarsest first
        parent = flags.get(one.parent)
        if parent is not None and not parent[one.values :].any():
            possible = (one.above < 0) | parent[one.above]
            flags[one.child] = flags.get(one.child, True) & possible
    return flags


def labels_under_rules(
    sizes: Sequence[int],
    nests: Sequence[Nest],
    *,
    label: Callable[[int, Integers], Integers],
) -> list[Integers]:
    """Return a label for each code of each column, of parents first.

    Parameters
    ----------
    sizes
        How many codes each column has.
    nests
        What nests; codes of a label lie in parents of one label.
    label
        Given a column, and numbers, equal for codes that may share a label: the labels.
    """
    labels: dict[int, Integers] = {}
    above: dict[int, list[Nest]] = {}
    for one in nests:
        above.setdefault(one.child, []).append(one)
    below = {one.parent: one.values for one in nests}
    order = [column for column in range(len(sizes)) if column not in above]
    order += dict.fromkeys(one.child for one in nests)
    for column in order:
        kinds = np.zeros(sizes[column], np.int64)
        if column in below:  # what is missing goes with any child, unlike a value
            kinds = kinds * 2 + (np.arange(sizes[column]) >= below[column])
        for one in above.get(column, ()):
            _, kinds = np.unique(
                np.stack([kinds, one.kinds(labels[one.parent])]), axis=1, return_inverse=True
            )
            kinds = kinds.ravel()
        labels[column] = label(column, kinds)
    return [labels[column] for column in range(len(sizes))]
