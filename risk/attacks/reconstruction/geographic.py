"""Geographic differencing: the people between the zones of two zonings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from risk.attacks.oracle.checks import require_integers, truth_of
from risk.attacks.oracle.laws import noise_law
from risk.attacks.oracle.oracle import CountRequest, Questioner
from risk.distributions.noise_distributions import difference_law
from risk.errors import RiskError
from risk.reconstruction.differences import SliverLaw

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ptable import PTable
    from risk.attacks.oracle.oracle import Oracle
    from risk.attacks.oracle.result import AttackResult


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

    `risk.attacks._solvers.geographic.find_slivers` lists the slivers between two zonings, and
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
        require_integers("an attack by zones", n_parts=(self.n_parts, 1, 1000))
        if self.measure not in {"seen", "exact"}:
            raise RiskError(f"measure must be 'seen' or 'exact', not {self.measure!r}.")
        if self.measure == "seen" and self.n_parts > 1:
            raise RiskError(
                "A difference from several parts proves nothing: they never add up.",
                hint="measure='exact' asks whether the difference is right",
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
            Its trials are the slivers that hold somebody. A line with a refusal is missed.

        Examples
        --------
        >>> published = lambda request: [40, 43]
        >>> GeographicDifferencing(measure="exact").run(published, truth=[3, 2]).rate
        0.5
        """
        slivers = truth_of(truth)
        if not slivers.any():
            raise RiskError("There must be a sliver that holds somebody.")
        questioner = Questioner(oracle=oracle)
        successes = 0
        for line, sliver in enumerate(slivers.tolist()):
            answers = questioner.ask(CountRequest(groups=self.groups, line=line))
            known = [answer for answer in answers if answer is not None]
            if sliver == 0 or len(known) < len(answers):
                continue
            difference = known[-1] - sum(known[:-1])
            successes += difference != 0 if self.measure == "seen" else difference == sliver
        return questioner.result(
            f"geographic differencing, {self.measure}",
            successes,
            trials=int((slivers > 0).sum()),
            closed_form=closed_form,
        )

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
            the lines whose sliver holds somebody is given. None where all zones are large.
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
        require_integers("an attack by zones", sliver=(sliver, 1, None))
        if counts is None:
            noise = noise_law(ptable)
            law = noise.minus(noise.repeated(self.n_parts)).shifted(sliver)
            return self._p(SliverLaw(difference=sliver, law=law))
        lines = truth_of(counts, n_columns=self.n_parts + 1)
        lines = lines[lines[:, -1] > 0]
        if not len(lines):
            raise RiskError("There must be a sliver that holds somebody.")
        kinds, times = np.unique(lines, axis=0, return_counts=True)
        chances = [self._p(self._law(ptable, kind)) for kind in kinds.tolist()]
        return float(np.average(chances, weights=times))

    def _law(self, ptable: PTable, counts: list[int]) -> SliverLaw:
        *parts, sliver = counts
        held = [part for part in parts if part]  # empty zones are published as 0
        originals = (sum(parts) + sliver, *held)
        law = (
            difference_law(ptable, originals, nested=True)
            if held
            else noise_law(ptable, count=sliver).shifted(sliver)
        )
        return SliverLaw(difference=sliver, law=law)

    def _p(self, law: SliverLaw) -> float:
        return law.p_seen if self.measure == "seen" else law.p_exact
