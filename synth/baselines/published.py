"""Published methods behind `Synthesizer`: codes as frames, accounts as plain values."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dp import Adjacency
from footing.arrays import AnyIntegers, Flags
from footing.messages import Message, Name, said
from synth.baselines.coded import CodedColumn
from synth.baselines.model import Account
from synth.copulas.margins import Margin
from synth.errors import SynthError
from synth.marginals.measuring import Neighbours
from synth.methods import CodeModel

_NAMES = {
    "workload": "workload",
    "published": "priors",
    "label": "label",
    "settings": "settings",
}
_SILENT = {"ordered", "rules"}  # rules are kept by drawing again


class JointModel(CodeModel):
    """A model of codes that draws all columns together."""

    @abstractmethod
    def _drawn(self, number: int, rng: np.random.Generator) -> Sequence[NDArray[Any]]:
        """Draw the codes of each column, of at least one record."""

    def sample(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        allowed: Mapping[int, Flags] | None = None,  # noqa: ARG002 (its caller draws again)
    ) -> NDArray[np.int32]:
        """Draw records, whatever is allowed."""
        if not number:
            return np.zeros((0, len(self.sizes)), np.int32)
        return np.column_stack(self._drawn(number, rng)).astype(np.int32)


def margins_of_codes(heights: Iterable[Any]) -> tuple[Margin, ...]:
    """Return margins of codes, from how high each rises at each code."""
    curves = [np.array(one, np.float64) for one in heights]
    return tuple(
        Margin(values=np.arange(len(one), dtype=np.float64), cumulative=one) for one in curves
    )


def coded_columns(codes: AnyIntegers, *, ordered: Sequence[bool]) -> list[CodedColumn]:
    """Return codes as columns that go by their places; their values are those that occur."""
    columns = []
    for place, is_ordered in enumerate(ordered):
        values, places = np.unique(codes[:, place].astype(np.int64), return_inverse=True)
        column = CodedColumn(
            name=str(place),
            domain=tuple(values.tolist()),
            codes=places.astype(np.int64),
            is_numeric=is_ordered,
            dtype=np.dtype(np.int64),
            is_declared=False,
        )
        columns.append(column)
    return columns


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


def refuse_add_remove(neighbours: Neighbours, what: str) -> None:
    """Refuse neighbours whose number of records is confidential."""
    if neighbours.adjacency is not Adjacency.REPLACE:
        raise SynthError(
            Message("{what} needs a public number of records.", what=said(what)),
            hint=Message("Budget(…, adjacency='replace'), or --adjacency replace"),
        )


def refuse_others(others: Mapping[str, Any]) -> None:
    """Refuse the options of `synth.fit_codes` that a method cannot use."""
    if unknown := {*others} - {*_NAMES} - _SILENT:
        raise SynthError(Message("There is no option {names!r}.", names=Name(min(unknown))))
    for option, name in _NAMES.items():
        value = others.get(option)
        if value is not None and (option in ("label", "settings") or len(value) > 0):
            raise SynthError(
                Message("This method cannot use {name}.", name=Name(name)),
                hint=Message("method='tables' can"),
            )
