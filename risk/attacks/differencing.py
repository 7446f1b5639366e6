"""Differencing: two requests whose difference is one person, or nobody."""

from dataclasses import dataclass
from typing import Literal

from numpy.typing import ArrayLike

from footing.checks import problems_of
from footing.messages import Message, Name, joined
from ptable import PTable
from risk.attacks.oracle import Analyst, AttackResult, Oracle
from risk.distributions.noise_distributions import noise_law
from risk.errors import RiskError
from risk.wellformed import require_between, require_whole, truth_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferencingFigures:
    """What a pair of nested requests tells about the person in between.

    Parameters
    ----------
    p_equal
        The probability of equal published counts although the person is there.
    detection
        The probability of different published counts when the person is there; when nobody
        is, they are never different.
    accuracy
        The probability that the better guess is right.
    p_empty_if_equal
        The probability that nobody is there, given equal published counts.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> table = solve(NoiseSpec.r_ptable(2, 1.0))
    >>> figures = Differencing().figures(table)
    >>> round(figures.detection, 3), round(figures.p_empty_if_equal, 3)
    (0.781, 0.821)
    """

    p_equal: float
    detection: float
    accuracy: float
    p_empty_if_equal: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Differencing:
    """Tell whether a person is in the sliver between two nested groups.

    The same records have the same noise, so that different published counts prove that the
    sliver is not empty. More noise makes this easier, not harder: only a ledger of what was
    published, or groups that cannot be nested so closely, prevent it.

    Parameters
    ----------
    prior
        The probability that the person is there, before anything is published.
    measure
        ``"detection"``: the share of persons whose counts differ, at no false alarm;
        ``"accuracy"``: the share of all lines where the better guess is right.

    References
    ----------
    Fraser and Wooton (2005), A proposed method for confidentialising tabular output to
    protect against differencing, UNECE/Eurostat work session on confidentiality.

    Examples
    --------
    >>> import numpy as np
    >>> from ptable import NoiseSpec, solve
    >>> from risk.attacks.simulated import SimulatedOracle
    >>> table = solve(NoiseSpec(max_noise=2, variance=1.0))
    >>> rng = np.random.default_rng(1)
    >>> is_there = rng.integers(0, 2, 500)
    >>> counts = np.column_stack([np.full(500, 30), is_there])
    >>> oracle = SimulatedOracle(table, counts, rng=rng)
    >>> result = Differencing().run(oracle, truth=is_there)
    >>> round(result.rate, 2), round(Differencing().closed_form(table), 2)
    (0.78, 0.78)
    """

    prior: float = 0.5
    measure: Literal["detection", "accuracy"] = "detection"

    def __post_init__(self) -> None:
        problems = problems_of(self.prior, "prior", above=0, below=1)
        if self.measure not in {"detection", "accuracy"}:
            problems.append(
                Message(
                    "measure must be 'detection' or 'accuracy', not {measure!r}",
                    measure=Name(self.measure),
                )
            )
        if problems:
            raise RiskError(
                Message(
                    "An attack by differences cannot be built: {problems}",
                    problems=joined("; ", problems),
                )
            )

    def run(
        self,
        oracle: Oracle,
        *,
        truth: ArrayLike,
        p_equal: float = 0.0,
        closed_form: float | None = None,
    ) -> AttackResult:
        """Ask for the first category, and for the first two, one line after another.

        Parameters
        ----------
        oracle
            What publishes counts; the second category is the sliver.
        truth
            Whether the person is in the sliver, 1 or 0 per line 0, 1, ...
        p_equal
            The intruder's probability of equal counts although the person is there, see
            `DifferencingFigures`; it matters to the accuracy under an uneven prior.
        closed_form
            The probability to report beside the rate.

        Returns
        -------
        AttackResult
            Its trials are the lines with a person for ``"detection"``, and all lines for
            ``"accuracy"``. A line with a refusal is missed.

        Examples
        --------
        >>> oracle = lambda request: [5, 6]
        >>> Differencing(measure="accuracy").run(oracle, truth=[1, 1, 0]).successes
        2
        """
        people = truth_of(truth)
        if people.max() > 1:
            raise RiskError(
                Message("truth must be 1 or 0 per line: one person is there, or none.")
            )
        is_there = people.astype(bool)
        require_between(p_equal, name="p_equal", most=1.0)
        if self.measure == "detection" and not is_there.any():
            raise RiskError(
                Message("There must be a line with a person in its sliver to detect.")
            )
        name = f"same-contributor differencing, {self.measure}"
        analyst = Analyst(name, oracle, closed_form)
        says_empty_if_equal = 1 - self.prior >= self.prior * p_equal
        is_detection = self.measure == "detection"
        for line, truly in enumerate(is_there.tolist()):
            answers = analyst.ask_all(((0,), (0, 1)), line=line)
            if answers is None:
                continue
            differ = answers[0] != answers[1]
            if is_detection:
                analyst.successes += truly and differ
            else:
                analyst.successes += truly == (differ or not says_empty_if_equal)
        return analyst.result(trials=int(is_there.sum()) if is_detection else len(is_there))

    def figures(self, ptable: PTable, *, count: int | None = None) -> DifferencingFigures:
        """Compute what equal and different published counts tell.

        Parameters
        ----------
        ptable
            The p-table.
        count
            The records in the inner group; None for a large group.

        Notes
        -----
        Another record means another key, and independent noise: with ``n`` records in the
        inner group, ``p_equal`` is the sum of ``p_n(v) p_(n+1)(v - 1)`` over the noise ``v``.

        Examples
        --------
        >>> from ptable import Mechanism
        >>> table = Mechanism.random_rounding(3).build()
        >>> round(Differencing().figures(table, count=3).p_equal, 3)
        0.667
        """
        more = None if count is None else require_whole(count, name="count") + 1
        inner, outer = noise_law(ptable, count=count), noise_law(ptable, count=more)
        p_equal = float(inner.probabilities @ outer.at(inner.numbers - 1))
        empty, there = 1 - self.prior, self.prior
        return DifferencingFigures(
            p_equal=p_equal,
            detection=1 - p_equal,
            accuracy=there * (1 - p_equal) + max(empty, there * p_equal),
            p_empty_if_equal=empty / (empty + there * p_equal),
        )

    def closed_form(self, ptable: PTable, *, count: int | None = None) -> float:
        """Give the probability of success of the measure asked for.

        Parameters
        ----------
        ptable
            The p-table.
        count
            The records in the inner group; None for a large group.

        Examples
        --------
        >>> from ptable import NoiseSpec, solve
        >>> table = solve(NoiseSpec.r_ptable(5, 3.0))
        >>> round(Differencing().closed_form(table), 3)
        0.851
        >>> round(Differencing(measure="accuracy").closed_form(table), 3)
        0.925
        """
        figures = self.figures(ptable, count=count)
        return figures.detection if self.measure == "detection" else figures.accuracy
