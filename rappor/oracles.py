"""Frequency oracles: the ways of answering once that others than RAPPOR found best.

Each is a set of `Parameters`, and goes through the same clients, ledger, files and decoder.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, get_args

from footing.checks import require_integer, require_number
from footing.messages import Argument, Message, Name
from rappor.errors import RapporError
from rappor.parameters import Hash, Parameters
from rappor.solver import predict

if TYPE_CHECKING:
    from rappor.solver import Design, Goal

Oracle = Literal["grr", "oue", "olh", "hadamard"]

_SAFE = 1 + 1e-9  # of the chance of a lie, so that no rounding makes a report cost more
_ROWS = 10  # counts of OLH for each value: a tenth more variance
_FEWEST_ROWS = 64  # of a Hadamard matrix: rows without a value measure the fit
_LARGE = 700.0  # nearly the largest power of e in floating point


def oracle(name: Oracle, n_values: int, *, epsilon: float) -> Parameters:
    """Give the parameters of a frequency oracle for values that are reported once.

    Parameters
    ----------
    name
        ``"grr"``, generalised randomised response: the value, or each other one with the same
        chance. ``"oue"``, optimised unary encoding: a bit a value. ``"olh"``, optimised local
        hashing: one of about ``e**epsilon + 1`` symbols, by the hash function of the client's
        cohort. ``"hadamard"``: one of two symbols, by an entry of a Hadamard matrix.
    n_values
        Number of values, at least 2. For ``"olh"`` they are texts, for others numbers from 0.
    epsilon
        What a report costs; a second one costs as much again.

    Notes
    -----
    `oracle_variance` has the formulas, which say which is best. OLH takes its hash functions
    from a number of cohorts, as fast local hashing does, not anew for each client: the
    decoder knows them, and a tenth more variance remains of their collisions.

    References
    ----------
    Kairouz, Bonawitz, Ramage: Discrete Distribution Estimation under Local Privacy, ICML 2016
    (GRR); Wang, Blocki, Li, Jha: Locally Differentially Private Protocols for Frequency
    Estimation, USENIX Security 2017 (OUE, OLH); Acharya, Sun, Zhang: Hadamard Response, AISTATS
    2019; Cormode, Maddock, Maple: Frequency Estimation under Local Differential Privacy, VLDB
    2021 (hash functions from a pool).

    Examples
    --------
    >>> [oracle(name, 200, epsilon=1).n_bits for name in ("grr", "oue", "olh", "hadamard")]
    [200, 200, 4, 2]
    """
    if name not in get_args(Oracle):
        names = Name.each(get_args(Oracle))
        raise RapporError(
            Message(
                "An oracle is one of {names!r}, not {name!r}.", names=names, name=Argument(name)
            )
        )
    require_integer(n_values, "n_values", error=RapporError, minimum=2, maximum=2**16)
    require_number(epsilon, "epsilon", error=RapporError, above=0)
    odds = math.exp(min(epsilon, _LARGE))
    if name == "grr":
        return _symbols(n_values, odds, n_cohorts=1, hashed="index")
    if name == "oue":
        return Parameters.basic(n_values, f=0.0, p=_SAFE / (odds + 1), q=0.5)
    if name == "hadamard":
        rows = max(_FEWEST_ROWS, 2 ** (n_values.bit_length() + 1))  # half of them to spare
        return _symbols(2, odds, n_cohorts=rows, hashed="hadamard")
    size = _symbols_of(odds, n_values)
    least = math.ceil(_ROWS * n_values / (size - 1))
    return _symbols(size, odds, n_cohorts=2 ** (least - 1).bit_length(), hashed="mmh3")


def oracle_variance(
    name: Oracle, n_values: int, *, epsilon: float, share: float = 0.0
) -> float:
    """Give the variance of an estimated number of clients, divided by the number of clients.

    Parameters
    ----------
    name, n_values, epsilon
        As for `oracle`.
    share
        Share of clients with the value; 0 for a rare one.

    Notes
    -----
    With ``E = e**epsilon``, ``x`` the share and ``d`` values, for a rare value:

    ============  ===================================  =========================  ===========
    oracle        variance                             best for                   bits sent
    ============  ===================================  =========================  ===========
    GRR           ``(E + d - 2) / (E - 1)²``           ``d < 3 E + 2``            ``log2 d``
    OUE           ``4 E / (E - 1)²``                   any larger ``d``           ``d``
    OLH           ``4 E / (E - 1)²``, if E is whole    the same, fewer bits       few dozen
    Hadamard      ``(E + 1)² / (E - 1)²``              small epsilon, large d     ``log2 8d``
    ============  ===================================  =========================  ===========

    In general a value's report is counted for it with chance ``a`` where it is true and ``b``
    elsewhere, and the variance is ``π (1 - π) / (a - b)²`` with ``π = a x + b (1 - x)``:
    a, b are ``q, p`` for GRR and OUE, ``q, 1/g`` for OLH with g symbols, and
    ``E / (E + 1), 1/2`` for Hadamard: there b is the mean over hash functions, or rows. The
    clients count as a sample of a population; of those who answered ``x (1 - x)`` is less.

    References
    ----------
    Wang et al. 2017 for GRR, OUE and OLH; Acharya et al. 2019: see `oracle`.

    Examples
    --------
    >>> [round(oracle_variance(o, 200, epsilon=1), 2) for o in ("grr", "oue", "hadamard")]
    [67.98, 3.68, 4.68]
    """
    shape = oracle(name, n_values, epsilon=epsilon)
    require_number(share, "share", error=RapporError, minimum=0, maximum=1)
    true, other = shape.q, shape.p
    if name in {"olh", "hadamard"}:
        other = 1 / shape.n_bits
    rate = true * share + other * (1 - share)
    return rate * (1 - rate) / (true - other) ** 2


def compare_oracles(goal: Goal) -> dict[Oracle, Design]:
    """Predict what each oracle sees at the loss of one report, the best first.

    Parameters
    ----------
    goal
        Its candidates are all values, its loss is that of one report.

    Examples
    --------
    >>> from rappor import Goal
    >>> goal = Goal(epsilon_one=1, epsilon_permanent=float("inf"), population=10**6)
    >>> [*compare_oracles(goal)]
    ['oue', 'olh', 'hadamard', 'grr']
    """
    designs = {
        name: predict(oracle(name, goal.n_candidates, epsilon=goal.epsilon_one), goal)
        for name in get_args(Oracle)
    }
    return dict(sorted(designs.items(), key=lambda item: item[1].standard_error))


def bits_sent(parameters: Parameters) -> int:
    """Give the bits that a report needs: its cohort, and its bits or its symbol."""
    own = parameters.n_bits
    if parameters.response == "symbol":
        own = (parameters.n_bits - 1).bit_length()
    return own + (parameters.n_cohorts - 1).bit_length()


def _symbols_of(odds: float, n_values: int) -> int:
    """Give the number of symbols of least variance; more than values are never needed."""
    return max(2, min(n_values, round(min(odds, 2.0**16)) + 1))


def _symbols(size: int, odds: float, *, n_cohorts: int, hashed: Hash) -> Parameters:
    lie = _SAFE / (odds + size - 1)
    truth = 1 - (size - 1) * lie
    shape = {"n_bits": size, "n_hashes": 1, "n_cohorts": n_cohorts}
    return Parameters(**shape, f=0.0, p=lie, q=truth, hash=hashed, response="symbol")
