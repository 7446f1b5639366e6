"""Published methods behind `Synthesizer`: codes as frames, accounts as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from synth.errors import SynthError
from synth.marginals.measuring import SimulatedNoise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from synth.baselines.model import Account
    from synth.marginals.measuring import NoiseSource

_NAMES = {
    "workload": "workload",
    "published": "priors",
    "label": "label",
    "settings": "settings",
}
_SILENT = {"ordered", "present", "rules"}  # rules are kept by drawing again


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CodedRecords:
    """Records as a published method takes them.

    Parameters
    ----------
    frame
        Codes: whole numbers for columns with an order, texts for others.
    domains
        Per column its codes, as declared.

    Examples
    --------
    >>> import numpy as np
    >>> as_frame(np.array([[1]]), sizes=[2], ordered=[True]).domains
    {'0': [0, 1]}
    """

    frame: pd.DataFrame
    domains: dict[str, list[Any]]


def as_frame(
    codes: NDArray[np.integer],
    *,
    sizes: Sequence[int],
    ordered: Sequence[bool],
) -> CodedRecords:
    """Turn codes into a frame with declared domains; columns go by their places."""
    columns: dict[str, Any] = {}
    domains: dict[str, list[Any]] = {}
    for place, (size, is_ordered) in enumerate(zip(sizes, ordered, strict=True)):
        name, listed = str(place), list(range(size))
        column = codes[:, place].astype("int64")
        if is_ordered:
            columns[name], domains[name] = column, listed
        else:
            domains[name] = [str(code) for code in listed]
            columns[name] = pd.Series(column.astype(str), dtype=object)
    return CodedRecords(frame=pd.DataFrame(columns), domains=domains)


def account_record(
    account: Account, *, label: str, claimed: float | None, rows: int
) -> dict[str, Any]:
    """Return what a method really spends, as plain values; None where nothing bounds it."""

    def bounded(epsilon: float) -> float | None:
        return epsilon * rows if math.isfinite(epsilon) else None

    parts = dict.fromkeys(charge.part for charge in account.charges)
    return {
        "label": label,
        "claimed": claimed,
        "epsilon": bounded(account.spent()),
        "parts": {part: bounded(account.spent(part)) for part in parts},
    }


def seeded_by(noise: NoiseSource | None) -> np.random.Generator | None:
    """Return the generator of simulated noise; none where noise is secure."""
    return noise.rng if isinstance(noise, SimulatedNoise) else None


def refuse_conditions(conditions: Mapping[int, int] | None) -> None:
    """Refuse conditions, where a method draws all columns together."""
    if conditions:
        raise SynthError(
            "This method cannot draw given the values of columns.",
            hint="where=\"sex == 'F'\" draws again until records fit",
        )


def refuse_others(others: Mapping[str, Any]) -> None:
    """Refuse the options of `synth.fit_codes` that a method cannot use."""
    if unknown := {*others} - {*_NAMES} - _SILENT:
        raise SynthError(f"Nobody knows the option {min(unknown)!r}.")
    for option, name in _NAMES.items():
        value = others.get(option)
        is_given = value is not None and (option in ("label", "settings") or len(value) > 0)
        if is_given:
            raise SynthError(f"This method cannot use {name}.", hint="method='tables' can")
