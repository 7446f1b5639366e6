"""Geographic differencing: the people between the zones of two zonings."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from footing.messages import Message, Name
from ptable import PTable
from risk.anonymity.groups import columns_of
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import difference_law, noise_law
from risk.errors import RiskError
from risk.wellformed import require_integers, require_whole, truth_of

Zoning = Literal["old", "new"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliverLaw:
    """Hold the law of a published difference beside the original one; for inside.

    Parameters
    ----------
    difference
        The original difference: the records of the sliver.
    law
        Of the published difference, see `risk.difference_law`.
    """

    difference: int
    law: Law

    @property
    def p_seen(self) -> float:
        """The probability that the published counts differ.

        Equal sets of records are always published alike, so where one set lies inside another
        this is the share of slivers that an intruder is certain about, without a single false
        alarm.
        """
        return 1 - float(self.law.at(0))

    @property
    def p_exact(self) -> float:
        """The probability that the published difference is the original one."""
        return float(self.law.at(self.difference))

    @property
    def accuracy(self) -> float:
        """How often an intruder is right who says "empty" exactly when no difference shows.

        Before seeing the counts, an empty sliver and this one are equally likely.
        """
        return (1 + self.p_seen) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GeographicDifferencing:
    """Tell who lives between a zone and the zones of another zoning that lie inside it.

    A map shows which boundaries moved. The count of the larger zone less those of its parts is
    the count of the sliver between them, plus noise. With a single part, a published
    difference other than 0 proves that somebody lives there: equal sets of records are
    published alike.

    Parameters
    ----------
    n_parts
        Zones of the other zoning that are subtracted, 1 or more.
    measure
        ``"seen"``: the published difference is not 0, which needs a single part to be a proof;
        ``"exact"``: the published difference is the count of the sliver.

    Notes
    -----
    Category ``k`` below `n_parts` is the part ``k``, the last one is the sliver. Zones that
    overlap without one holding the other have two slivers and no single difference: their
    published counts differ, which tells nothing that the map does not.

    `find_slivers` lists the slivers between two zonings, and
    `ckm.engine.oracle.EngineOracle.of_slivers` asks an engine for their zones.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec.r_ptable(5, 3.0))
    >>> round(GeographicDifferencing().closed_form(table), 3)
    0.851
    >>> exact = GeographicDifferencing(measure="exact")
    >>> round(exact.closed_form(table), 3)
    0.162
    """

    n_parts: int = 1
    measure: Literal["seen", "exact"] = "seen"

    def __post_init__(self) -> None:
        require_integers(Message("an attack by zones"), n_parts=(self.n_parts, 1, 1000))
        if self.measure not in {"seen", "exact"}:
            raise RiskError(
                Message(
                    "measure must be 'seen' or 'exact', not {measure!r}.",
                    measure=Name(self.measure),
                )
            )
        if self.measure == "seen" and self.n_parts > 1:
            raise RiskError(
                Message("A difference from several parts proves nothing: they never add up."),
                hint=Message("measure='exact' asks whether the difference is right"),
            )

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The groups asked for: every part, then the zone that holds all of them.

        Examples
        --------
        >>> GeographicDifferencing().groups
        ((0,), (0, 1))
        """
        parts = tuple((part,) for part in range(self.n_parts))
        return (*parts, tuple(range(self.n_parts + 1)))

    def run(
        self, oracle: Oracle, *, truth: ArrayLike, closed_form: float | None = None
    ) -> AttackResult:
        """Ask for the zone and its parts, one sliver after another.

        Parameters
        ----------
        oracle
            What publishes counts.
        truth
            The original count of the sliver, per line 0, 1, ...
        closed_form
            The probability to report beside the rate.

        Returns
        -------
        AttackResult
            Its trials are the slivers that are not empty. A line with a refusal is missed.

        Examples
        --------
        >>> published = lambda request: [40, 43]
        >>> GeographicDifferencing(measure="exact").run(published, truth=[3, 2]).rate
        0.5
        """
        slivers = truth_of(truth)
        if not slivers.any():
            raise RiskError(Message("There must be a sliver that is not empty."))
        analyst = Analyst(f"geographic differencing, {self.measure}", oracle, closed_form)
        for line, sliver in enumerate(slivers.tolist()):
            answers = analyst.ask_all(self.groups, line=line)
            if sliver == 0 or answers is None:
                continue
            difference = answers[-1] - sum(answers[:-1])
            is_seen = self.measure == "seen"
            analyst.successes += difference != 0 if is_seen else difference == sliver
        return analyst.result(trials=int((slivers > 0).sum()))

    def closed_form(
        self, ptable: PTable, *, counts: ArrayLike | None = None, sliver: int = 1
    ) -> float:
        """Give the probability of success, under a keyed mix.

        Parameters
        ----------
        ptable
            The p-table.
        counts
            The original counts, line by line: of every part, then of the sliver. The mean over
            the lines whose sliver is not empty is given. None where all zones are large.
        sliver
            The count of the sliver where all zones are large.

        Notes
        -----
        The law is that of `risk.difference_law`; for large zones and one part, the probability
        of an exact difference is ``Σ_v p(v)²``, whatever the sliver.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
        >>> round(GeographicDifferencing().closed_form(table, counts=[[30, 1], [3, 4]]), 3)
        0.889
        """
        require_integers(Message("an attack by zones"), sliver=(sliver, 1, None))
        if counts is None:
            noise = noise_law(ptable)
            distribution = noise.minus(noise.repeated(self.n_parts)).shifted(sliver)
            return self._p(SliverLaw(difference=sliver, law=distribution))
        lines = truth_of(counts, n_columns=self.n_parts + 1)
        lines = lines[lines[:, -1] > 0]
        if not len(lines):
            raise RiskError(Message("There must be a sliver that is not empty."))
        kinds, times = np.unique(lines, axis=0, return_counts=True)
        chances = [self._p(self._law(ptable, kind)) for kind in kinds.tolist()]
        return float(np.average(chances, weights=times))

    def _law(self, ptable: PTable, counts: list[int]) -> SliverLaw:
        *parts, sliver = counts
        positive = [part for part in parts if part]  # empty zones are published as 0
        originals = (sum(parts) + sliver, *positive)
        distribution = (
            difference_law(ptable, originals, nested=True)
            if positive
            else noise_law(ptable, count=sliver).shifted(sliver)
        )
        return SliverLaw(difference=sliver, law=distribution)

    def _p(self, distribution: SliverLaw) -> float:
        return distribution.p_seen if self.measure == "seen" else distribution.p_exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliver:
    """Hold a zone and zones of the other zoning that differ from it by few records.

    Parameters
    ----------
    zoning
        The zoning of `zone`; its `parts` are of the other.
    zone, parts
        The zone, and the zones taken from it.
    n_only_zone, n_only_parts
        Records in the zone but in none of its parts, and the reverse. For inside use only.
    zone_count, part_counts
        Original counts. For inside use only.
    """

    zoning: Zoning
    zone: Any
    parts: tuple[Any, ...]
    n_only_zone: int = field(repr=False)
    n_only_parts: int = field(repr=False)
    zone_count: int = field(repr=False)
    part_counts: tuple[int, ...] = field(repr=False)

    @property
    def is_nested(self) -> bool:
        """Whether the parts lie inside the zone, so that their difference is the sliver."""
        return self.n_only_parts == 0

    def law(self, ptable: PTable) -> SliverLaw:
        """Compute the law of the published count of the zone less those of its parts."""
        if not self.is_nested:
            raise RiskError(
                Message("The parts must lie inside the zone; these reach beyond it.")
            )
        distribution = difference_law(ptable, (self.zone_count, *self.part_counts), nested=True)
        return SliverLaw(difference=self.n_only_zone, law=distribution)


def find_slivers(old: Any, new: Any, *, largest: int) -> tuple[Sliver, ...]:
    """List the zones that differ from zones of the other zoning by few records.

    Parameters
    ----------
    old, new
        Per record its zone in either zoning; missing is a zone of its own.
    largest
        The largest number of records of a sliver, on either side.

    Returns
    -------
    tuple
        Pairs of zones that overlap and differ by 1 to `largest` records on the sides where
        they differ; then zones that differ by 1 to `largest` records from all the zones, two
        or more, that lie inside them. Sorted by zoning and zone.

    Notes
    -----
    Zones that hold the same records are no sliver: their published counts are equal and tell
    nothing. A zone inside another one stands as a part of the larger.

    Examples
    --------
    >>> found = find_slivers(list("AAAAAB"), list("aabbcc"), largest=1)
    >>> [(sliver.zone, sliver.parts) for sliver in found]
    [('A', ('a', 'b')), ('c', ('B',))]
    """
    require_whole(largest, name="largest", least=1)
    if len(old) != len(new):
        raise RiskError(
            Message(
                "Both zonings need one zone per record: {number} and {number_2}.",
                number=len(old),
                number_2=len(new),
            )
        )
    before, after = columns_of({"old": _plain(old), "new": _plain(new)}, ["old", "new"])
    width = len(after.categories)
    pairs, shared = np.unique(before.codes * width + after.codes, return_counts=True)
    a, b = pairs // width, pairs % width
    sizes = np.bincount(before.codes), np.bincount(after.codes)
    names = before.categories, after.categories
    only_a, only_b = sizes[0][a] - shared, sizes[1][b] - shared
    is_near = (np.maximum(only_a, only_b) <= largest) & (only_a + only_b > 0)

    def make(side: int, zone: int, parts: list[int], n_only_parts: int) -> Sliver:
        count, part_counts = int(sizes[side][zone]), sizes[1 - side][parts].tolist()
        return Sliver(
            zoning="new" if side else "old",
            zone=names[side][zone],
            parts=tuple(names[1 - side][part] for part in parts),
            n_only_zone=count - sum(part_counts) + int(n_only_parts),
            n_only_parts=int(n_only_parts),
            zone_count=count,
            part_counts=tuple(part_counts),
        )

    slivers = []
    for place in np.flatnonzero(is_near).tolist():
        # the larger is the zone; the old one where neither holds the other
        side = int(only_a[place] == 0)
        ends, rest = (a[place], b[place]), (only_a[place], only_b[place])
        slivers.append(make(side, ends[side], [ends[1 - side]], rest[1 - side]))
    for side, (zone, part, beyond) in enumerate(((a, b, only_b), (b, a, only_a))):
        is_inside = beyond == 0
        n_parts = np.bincount(zone[is_inside], minlength=len(sizes[side]))
        overlap = np.bincount(zone[is_inside], shared[is_inside], minlength=len(sizes[side]))
        remainder = sizes[side] - overlap.astype(np.int64)
        for one in np.flatnonzero(
            (n_parts > 1) & (remainder > 0) & (remainder <= largest)
        ).tolist():
            parts = part[is_inside & (zone == one)].tolist()
            slivers.append(make(side, one, parts, 0))
    slivers.sort(key=lambda s: (s.zoning == "new", str(s.zone), tuple(map(str, s.parts))))
    return tuple(slivers)


def _plain(zones: Any) -> Any:
    return zones.to_numpy() if hasattr(zones, "to_numpy") else list(zones)
