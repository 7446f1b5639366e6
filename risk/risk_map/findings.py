"""What a comparison of designs comes to: findings by stated rules, as names and numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from footing.messages import Argument, Message, Name
from risk.errors import RiskError
from risk.inference.nested import GivenAway

#: The numbers of a finding, by name.
Finding: TypeAlias = "dict[str, float | str]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a design must keep, one rule after the other.

    Parameters
    ----------
    posterior
        The most that a published count may tell: P(the original is sensitive | published).
    certain
        The largest share of sensitive originals that a cell and the same cell with one record
        more may show to be sensitive for certain.
    """

    posterior: float = 0.75
    certain: float = 0.001

    def __post_init__(self) -> None:
        for name in ("posterior", "certain"):
            if not 0 <= getattr(self, name) <= 1:
                raise RiskError(
                    Message(
                        "{name} must lie in [0, 1], not {getattr!r}.",
                        name=Name(name),
                        getattr=Argument(getattr(self, name)),
                    ),
                    hint=Message("it is a probability"),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A design and the numbers that the rules look at.

    Parameters
    ----------
    name
        As the office calls it.
    kind
        ``"fixed"`` when no chance is in it, ``"redrawn"`` when offices draw it afresh at each
        request, as random rounding, ``"keyed"`` when the records of a cell draw it.
    is_hidden
        Whether no sensitive count is ever published.
    risk
        The largest P(the original is sensitive | published).
    loss
        What users lose; small is good.
    given_away
        What one record more makes certain.
    seen_share
        P(the original is sensitive | a sensitive count is published); None without any.
    differing
        Share of the cells that two draws would publish differently.
    difference
        P(two nested large counts that differ by one record are published unequal).
    without
        The design with the same noise that publishes sensitive counts; empty for none.
    """

    name: str
    kind: Literal["fixed", "redrawn", "keyed"]
    is_hidden: bool
    risk: float
    loss: float
    given_away: GivenAway
    seen_share: float | None
    differing: float
    difference: float
    without: str = ""


def conclude(cases: Sequence[Case], *, rules: Rules | None = None) -> dict[str, Finding]:
    """Draw the findings of a comparison from its numbers.

    Parameters
    ----------
    cases
        The designs, at least one, with different names.
    rules
        The limits.

    Returns
    -------
    dict
        Name of a finding → its numbers, the conclusion first.

    Notes
    -----
    The rules apply one after the other, and after each the design with the least loss among
    those left is a finding: ``least-loss`` without any rule; ``-posterior``, that no published
    count tells more than the limit; ``-certain``, that one record more shows no more than a
    share of the sensitive originals to be sensitive for certain; ``-same-answer``, that the
    same question has the same answer without a list of the answers given; ``-threshold``, that
    no sensitive count is published. Where nothing is left
    it is ``none-left-…``. Of equal losses the lower risk wins, then the first.

    Examples
    --------
    >>> nothing = GivenAway()
    >>> case = Case(
    ...     name="a",
    ...     kind="keyed",
    ...     is_hidden=True,
    ...     risk=0.6,
    ...     loss=3.0,
    ...     given_away=nothing,
    ...     seen_share=None,
    ...     differing=0.9,
    ...     difference=0.8,
    ... )
    >>> (
    ...     list(conclude([case]))[0],
    ...     conclude([case], rules=Rules(posterior=0.5))["conclusion-none"],
    ... )
    ('conclusion-forbidding', {'designs': 1})
    """
    names = [case.name for case in cases]
    if not names or len(set(names)) < len(names):
        raise RiskError(
            Message("There must be at least one design, each with a name of its own.")
        )
    limits = rules or Rules()
    steps, winner = _steps(cases, limits)
    findings: dict[str, Finding] = _conclusion(winner, len(cases))
    findings |= steps
    findings |= _of_rounding(cases)
    findings |= _of_random_rounding(cases, winner, limits)
    findings |= _of_seen(cases)
    findings |= _of_forbidding(cases, winner)
    findings |= _of_differencing(cases, winner)
    return findings


def _steps(cases: Sequence[Case], rules: Rules) -> tuple[dict[str, Finding], Case | None]:
    """Apply the rules in turn; give the least loss after each, and the last winner."""
    steps: list[tuple[str, Finding, Callable[[Case], bool]]] = [
        ("", {}, lambda _case: True),
        ("-posterior", {"limit": rules.posterior}, lambda c: c.risk <= rules.posterior),
        (
            "-certain",
            {"limit": rules.certain},
            lambda c: c.given_away.set_probability <= rules.certain,
        ),
        ("-same-answer", {}, lambda c: c.kind != "redrawn"),
        ("-threshold", {}, lambda c: c.is_hidden),
    ]
    findings: dict[str, Finding] = {}
    rest = list(cases)
    for name, limit, keeps in steps:
        before = len(rest)
        rest = [case for case in rest if keeps(case)]
        if not rest:
            findings[f"none-left{name}"] = {**limit, "designs": before}
            return findings, None
        figures = _figures(_best(rest))
        findings[f"least-loss{name}"] = {**limit, "designs": len(rest), **figures}
    return findings, _best(rest)


def _best(cases: Sequence[Case]) -> Case:
    return min(cases, key=lambda case: (case.loss, case.risk))


def _figures(case: Case) -> Finding:
    return {"design": case.name, "loss": case.loss, "risk": case.risk}


def _conclusion(winner: Case | None, n_designs: int) -> dict[str, Finding]:
    """Say what kind of design all rules leave; with the threshold every one hides."""
    if winner is None:
        return {"conclusion-none": {"designs": n_designs}}
    name = "conclusion-forbidding" if winner.kind == "keyed" else "conclusion-rounding"
    return {name: _figures(winner)}


def _of_rounding(cases: Sequence[Case]) -> dict[str, Finding]:
    some = [c for c in cases if c.kind == "fixed" and c.given_away.original is not None]
    if not some:
        return {}
    worst = max(some, key=lambda case: case.given_away.probability)
    away = worst.given_away
    return {
        "rounding-certain": {
            "design": worst.name,
            "probability": away.probability,
            "original": float(away.original or 0),
            "published": float(away.published or 0),
            "published_more": float(away.published_more or 0),
        }
    }


def _of_random_rounding(
    cases: Sequence[Case], winner: Case | None, rules: Rules
) -> dict[str, Finding]:
    random_cases = [case for case in cases if case.kind == "redrawn"]
    if not random_cases:
        return {}
    most = max(random_cases, key=lambda case: case.differing)
    findings: dict[str, Finding] = {
        "random-rounding-answers": {"design": most.name, "share_pct": 100 * most.differing}
    }
    findings |= _of_certain(random_cases, rules)
    fit = [
        case
        for case in random_cases
        if case.risk <= rules.posterior
        and case.given_away.set_probability <= rules.certain
        and case.is_hidden
    ]
    if fit and winner is not None and _best(fit).loss < winner.loss:
        others: Finding = {"other": winner.name, "other_loss": winner.loss}
        findings["random-rounding-keyed"] = _figures(_best(fit)) | others
    return findings


def _of_certain(random_cases: Sequence[Case], rules: Rules) -> dict[str, Finding]:
    """Tell what random rounding shows for certain, though no single published count does."""
    some = [case for case in random_cases if case.risk <= rules.posterior]
    some = [case for case in some if case.given_away.set_probability > rules.certain]
    if not some:
        return {}
    best = _best(some)
    away = best.given_away
    return {
        "random-rounding-certain": {
            "design": best.name,
            "probability": away.set_probability,
            "published": float(away.set_published or 0),
            "published_more": float(away.set_published_more or 0),
        }
    }


def _of_seen(cases: Sequence[Case]) -> dict[str, Finding]:
    """Tell how often a published sensitive count stands for a sensitive original."""
    shares = [(case.seen_share, case.name) for case in cases if case.seen_share is not None]
    if not shares:
        return {}
    low, high = min(shares), max(shares)
    return {
        "sensitive-published": {
            "designs": len(shares),
            "least": low[0],
            "least_design": low[1],
            "most": high[0],
            "most_design": high[1],
        }
    }


def _of_forbidding(cases: Sequence[Case], winner: Case | None) -> dict[str, Finding]:
    """Tell what it costs and buys to forbid sensitive counts, for the winner if it can."""
    by_name = {case.name: case for case in cases}
    pairs = [case for case in cases if case.without in by_name and case.is_hidden]
    if not pairs:
        return {}
    case = winner if winner in pairs and winner is not None else _best(pairs)
    other = by_name[case.without]
    numbers: Finding = {
        **_figures(case),
        "other": other.name,
        "other_loss": other.loss,
        "other_risk": other.risk,
    }
    if other.loss > 0:
        numbers["cost_pct"] = 100 * (case.loss / other.loss - 1)
    return {"price-of-forbidding": numbers}


def _of_differencing(cases: Sequence[Case], winner: Case | None) -> dict[str, Finding]:
    """Tell what no noise hides: that a count changed at all."""
    if winner is None:
        return {}
    least = min(cases, key=lambda case: case.difference)
    return {
        "one-record-more": {
            "design": winner.name,
            "probability": winner.difference,
            "other": least.name,
            "other_probability": least.difference,
        }
    }
