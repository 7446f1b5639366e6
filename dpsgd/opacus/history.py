"""Histories of Opacus' accountants: what a checkpoint claims, and a plan as they read it."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from dp import Adjacency, BudgetLedger
from dpsgd.accounting.accounts import epsilon_of_parts
from dpsgd.accounting.cost import Cost, Sampling, check_neighbours
from dpsgd.errors import CheckpointError, PlanError
from footing.checks import is_number, require_integer, require_number
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from _typeshed import StrPath

    from dp.budget.entries import Entry
    from dpsgd.plan import Plan

_LARGEST = 2**53
_MOST = 10_000
_ACCOUNTANTS = ("prv", "rdp", "gdp")


class OpacusStep(NamedTuple):
    """Steps of one kind in the history of an accountant of Opacus.

    Examples
    --------
    >>> OpacusStep(noise_multiplier=1.0, sampling_rate=0.01, steps=300).steps
    300
    """

    noise_multiplier: float
    sampling_rate: float
    steps: int


class _Nothing:
    """What stands for an accountant in a checkpoint."""


def _name_of(_owner: Any, name: str) -> str:
    return name


#: Opacus 1.5 writes a method of its accountant where the name belongs; what is read there
#: in its place does nothing.
_STANDING_IN: list[Any] = [
    (_name_of, "builtins.getattr"),
    (_Nothing, "opacus.accountants.rdp.RDPAccountant"),
    (_Nothing, "opacus.accountants.prv.PRVAccountant"),
    (_Nothing, "opacus.accountants.gdp.GaussianAccountant"),
]


def read_checkpoint(path: Any, **settings: Any) -> dict[str, Any]:
    """Return what a checkpoint of Opacus holds, read as data: code in it does not run."""
    import torch

    settings.pop("weights_only", None)
    try:
        with _standing_in():
            content = torch.load(path, weights_only=True, **settings)
    except Exception as error:
        raise CheckpointError(
            Message("The checkpoint cannot be read as data."),
            hint=Message(
                "write it with engine.save_checkpoint, without objects of your own in it"
            ),
        ) from error
    if not isinstance(content, dict):
        raise _no_checkpoint()
    return content


def _standing_in() -> contextlib.AbstractContextManager[Any]:
    """Read what stands for accountants, where this PyTorch can."""
    import torch

    safe = getattr(torch.serialization, "safe_globals", None)
    return contextlib.nullcontext() if safe is None else safe(_STANDING_IN)


def read_history(checkpoint: StrPath | Mapping[str, Any]) -> tuple[OpacusStep, ...]:
    """Return the steps that a checkpoint of Opacus claims.

    Parameters
    ----------
    checkpoint
        A file of `PrivacyEngine.save_checkpoint`, read as data; or the state of an accountant.

    Examples
    --------
    >>> read_history({"history": [(1.0, 0.01, 300)], "mechanism": "prv"})
    (OpacusStep(noise_multiplier=1.0, sampling_rate=0.01, steps=300),)
    """
    state: Any = checkpoint
    if not isinstance(checkpoint, dict):
        state = read_checkpoint(checkpoint).get("privacy_accountant_state_dict")
    history = state.get("history") if isinstance(state, dict) else None
    if not isinstance(history, (list, tuple)) or not 0 < len(history) <= _MOST:
        raise _no_checkpoint()
    return tuple(_step(entry) for entry in history)


def cost_of_history(
    history: Sequence[OpacusStep],
    *,
    sampling: str,
    dataset_size: int,
    delta: float,
    unit: str,
    adjacency: str = "zero-out",
) -> Cost:
    """Return what the steps of a history cost, by the account of the ledger.

    Parameters
    ----------
    history
        The steps.
    sampling
        How batches were drawn: ``poisson``, or ``shuffled``.
    dataset_size
        Number of records.
    delta, unit, adjacency
        The delta, who is protected, and the neighbours.

    Examples
    --------
    >>> steps = read_history({"history": [(2.0, 0.1, 50), (1.5, 0.1, 50)], "mechanism": "rdp"})
    >>> told = {"dataset_size": 1000, "delta": 1e-4, "unit": "person"}
    >>> round(cost_of_history(steps, sampling="poisson", **told).epsilon, 2)
    2.53
    >>> round(cost_of_history(steps, sampling="shuffled", **told).epsilon, 2)
    8.76
    """
    way, neighbours = Sampling(sampling), Adjacency(adjacency)
    if way == Sampling.FIXED:
        raise PlanError(
            Message("Opacus draws no batches of a fixed size."),
            hint=Message(
                "sampling='poisson' if poisson_sampling was not switched off, or 'shuffled'"
            ),
        )
    check_neighbours(way, neighbours)
    require_integer(dataset_size, "dataset_size", error=PlanError, minimum=1, maximum=_LARGEST)
    require_number(delta, "delta", error=PlanError, above=0, below=1)
    if delta >= 1 / dataset_size:
        raise PlanError(
            Message(
                "delta must lie below 1 / {dataset_size}, not be {delta:g}.",
                dataset_size=dataset_size,
                delta=delta,
            ),
            hint=Message("a mechanism that publishes one record may have such a delta"),
        )
    epsilon, accountant = epsilon_of_parts(
        tuple((part.noise_multiplier, part.sampling_rate, part.steps) for part in history),
        delta=float(delta),
        adjacency=neighbours,
        is_poisson=way == Sampling.POISSON,
        size=dataset_size,
    )
    return Cost(
        epsilon=epsilon,
        delta=delta,
        adjacency=neighbours,
        unit=unit,
        sampling=way,
        steps=sum(part.steps for part in history),
        accountant=accountant,
    )


# claim dpsgd-opacus-charge
def charge_opacus(
    checkpoint: StrPath | Mapping[str, Any],
    *,
    ledger: BudgetLedger | StrPath,
    who: str,
    what: str = "a model",
    **told: Any,
) -> Entry:
    """Charge a ledger for a training that Opacus made, as its author declares it.

    The file holds noise, rates and steps; it is its author's claim, and the entry says so. The
    amount is that of the ledger's own account.

    Parameters
    ----------
    checkpoint
        A file of `PrivacyEngine.save_checkpoint`, read as data; or the state of an accountant.
    ledger, who, what
        The budget that pays, or the path to it; who trained, and what.
    told
        What the file does not hold: ``sampling`` (``poisson``, or ``shuffled`` where
        ``poisson_sampling=False``), ``dataset_size``, ``delta`` and ``unit``; ``adjacency``,
        which is ``zero-out``, since rates of Opacus tell the number of records.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/budget.db"
    >>> ledger = BudgetLedger.create(
    ...     file, epsilon=3, delta=1e-4, adjacency="zero-out", unit="person"
    ... )
    >>> state = {"history": [(2.0, 0.1, 100)], "mechanism": "prv"}
    >>> told = {"sampling": "poisson", "dataset_size": 1000, "delta": 1e-4, "unit": "person"}
    >>> charge_opacus(state, ledger=ledger, who="Ada", what="income model", **told).what
    'income model (declared, from a checkpoint of Opacus)'
    """
    names = ("sampling", "dataset_size", "delta", "unit")
    if missing := [name for name in names if told.get(name) is None]:
        raise PlanError(
            Message(
                "A checkpoint of Opacus does not tell {missing}.", missing=Name.each(missing)
            ),
            hint=Message(
                "ask the person who trained it: sampling is 'poisson', or 'shuffled' after "
                "poisson_sampling=False"
            ),
        )
    cost = cost_of_history(read_history(checkpoint), **told)
    book = ledger if isinstance(ledger, BudgetLedger) else BudgetLedger.open(ledger)
    words = f"{what.strip()} (declared, from a checkpoint of Opacus)"
    return book.spend(cost.guarantee, who=who, what=words)


def opacus_history(
    plan: Plan, *, steps: int | None = None, mechanism: str = "prv"
) -> dict[str, Any]:
    """Return the steps of a plan as the state of an accountant of Opacus.

    Parameters
    ----------
    plan
        The plan.
    steps
        After how many steps; None for all.
    mechanism
        The accountant: ``prv``, ``rdp`` or ``gdp``.

    Examples
    --------
    >>> from dpsgd import Plan
    >>> plan = Plan(
    ...     dataset_size=1000, sampling_rate=0.1, steps=100, noise_multiplier=2, delta=1e-4
    ... )
    >>> opacus_history(plan)["history"]
    [(2.0, 0.1, 100)]
    """
    if mechanism not in _ACCOUNTANTS:
        raise PlanError(
            Message("Unknown accountant {accountant!r}.", accountant=Name(mechanism)),
            hint=Message("known: {names}", names=Name.each(_ACCOUNTANTS)),
        )
    if plan.sampling != Sampling.POISSON or plan.cuts_noise or not plan.noise_multiplier:
        raise PlanError(
            Message("Accountants of Opacus know Poisson batches with noise, and nothing else."),
            hint=Message("plan.cost() is what the plan costs"),
        )
    count = plan.steps if steps is None else require_integer(
        steps, "steps", error=PlanError, minimum=0, maximum=plan.steps
    )  # fmt: skip
    entry = (float(plan.noise_multiplier), float(plan.sampling_rate), count)
    return {"history": [entry] if count else [], "mechanism": mechanism}


def _step(entry: Any) -> OpacusStep:
    parts = tuple(entry) if isinstance(entry, (list, tuple)) else ()
    if len(parts) != len(OpacusStep._fields) or not all(map(is_number, parts)):
        raise _no_checkpoint()
    noise, rate, steps = parts
    if not 0 < rate <= 1 or steps != int(steps) or not 0 < steps <= _LARGEST or noise < 0:
        raise _no_checkpoint()
    if not noise or not math.isfinite(noise):
        raise CheckpointError(
            Message("The checkpoint has steps without noise: no budget pays for them."),
            hint=Message("keep the model inside"),
        )
    return OpacusStep(float(noise), float(rate), int(steps))


def _no_checkpoint() -> CheckpointError:
    return CheckpointError(
        Message("This file holds no history of Opacus' accountant."),
        hint=Message("write one with engine.save_checkpoint(path=…, module=…)"),
    )
