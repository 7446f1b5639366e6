"""Ways to synthesise by name: methods with budgets and settings, and controls beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dp import Adjacency
from synth.budget import Budget
from synth.claims import Claim
from synth.errors import SynthError
from synth.evaluation.errors import EvaluationError
from synth.evaluation.sweep import grid
from synth.methods import is_unprotected, settings_of
from synth.noise import SimulatedNoise
from synth.synthesizer import Synthesizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from synth.schema import Schema

    Way = Callable[[pd.DataFrame, int], pd.DataFrame]

__all__ = ["control_ways", "ways_of"]

_DELTA = 1e-6
#: What a way has besides the settings of its method.
_OWN = ("method", "epsilon", "delta", "rho", "adjacency", "label")


def ways_of(
    blocks: Sequence[Mapping[str, Any]], *, schema: Schema
) -> dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]]:
    """Name every combination of some blocks of factors, and check them all before any is run.

    Parameters
    ----------
    blocks
        Each with a ``method``, and ``epsilon`` (with ``delta``, 1e-6 by default) or ``rho``,
        ``adjacency`` (``"replace"`` by default), ``label``, and settings of the method. What is
        a list is a factor: all of its values are tried.
    schema
        The declaration of the records.

    Returns
    -------
    dict
        Name → what makes as many synthetic records as there are training records. The noise
        comes from a seed, so that a sweep can be repeated: for inside alone.

    Raises
    ------
    SynthError
        If a way cannot be meant.

    Examples
    --------
    >>> from synth.columns import Category
    >>> from synth.schema import Schema
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"])])
    >>> blocks = [{"method": "tables", "epsilon": [1, 8]}, {"method": "vine"}]
    >>> list(ways_of(blocks, schema=schema))
    ['tables, epsilon=1', 'tables, epsilon=8', 'vine (NOT DP as claimed)']
    """
    schema.require_declared()
    found: dict[str, Way] = {}
    for place, block in enumerate(blocks, start=1):
        factors = {
            name: value if isinstance(value, (list, tuple)) else [value]
            for name, value in block.items()
        }
        if "method" not in factors:
            raise EvaluationError(f"Way {place} names no method.", hint='method = "tables"')
        if empty := [name for name, values in factors.items() if not values]:
            raise EvaluationError(f"Way {place} has no value of {empty[0]!r}.")
        twice = [name for name, v in factors.items() if len({*map(repr, v)}) < len(v)]
        if twice:
            raise EvaluationError(f"In way {place} a value of {twice[0]!r} is there twice.")
        for name, chosen in grid(_Chosen, **factors).items():
            made = chosen(None, 0)  # type: ignore[arg-type]  # of a grid of names, not of fits
            title = made.title(name)
            if title in found:
                raise EvaluationError(f"The way {title!r} is there twice.")
            found[title] = made.prepared(schema)
    if not found:
        raise EvaluationError("There is no way to try.", hint='[[ways]] with method = "tables"')
    return found


def control_ways() -> dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]]:
    """Return what figures of a sweep are compared with: known records as ways of their own.

    Examples
    --------
    >>> list(control_ways())
    ['train', 'bootstrap', 'independent']
    """
    return {"train": _same, "bootstrap": _drawn_again, "independent": _shuffled}


class _Chosen:
    """One combination of factors."""

    def __init__(self, _train: object, *, seed: int, **chosen: Any) -> None:
        del seed
        self.chosen = chosen

    def title(self, name: str) -> str:
        method = self.chosen["method"]
        rest = name.replace(f"method={method}", "").strip(", ")
        mark = " (NOT DP as claimed)" if is_unprotected(method) else ""
        return ", ".join(part for part in (f"{method}{mark}", rest) if part)

    def prepared(self, schema: Schema) -> Way:
        """Return what fits and draws, or refuse what cannot be meant."""
        method = self.chosen["method"]
        settings = {name: v for name, v in self.chosen.items() if name not in _OWN}
        synthesizer = Synthesizer(
            schema=schema,
            method=method,
            label=self.chosen.get("label"),
            settings=settings_of(method, settings),
        )
        budget = self._budget()

        def way(train: pd.DataFrame, seed: int) -> pd.DataFrame:
            model = synthesizer.fit(train, budget, noise=SimulatedNoise(seed=seed))
            made: pd.DataFrame = model.sample(len(train), rng=np.random.default_rng(seed))
            return made

        return way

    def _budget(self) -> Budget | Claim:
        given = {name: self.chosen.get(name) for name in ("epsilon", "delta", "rho")}
        wrong = [
            name
            for name, value in given.items()
            if value is not None
            and (isinstance(value, bool) or not isinstance(value, (int, float)))
        ]
        if wrong:
            raise EvaluationError(f"{wrong[0]} is a number, or a list of numbers.")
        if is_unprotected(self.chosen["method"]):
            if given["rho"] is not None or given["delta"] is not None:
                raise EvaluationError(
                    f"{self.chosen['method']!r} claims an epsilon, no rho and no delta."
                )
            return Claim(epsilon=given["epsilon"])
        if given["rho"] is None and given["delta"] is None:
            given["delta"] = _DELTA
        try:
            adjacency = Adjacency(self.chosen.get("adjacency", Adjacency.REPLACE))
        except ValueError:
            raise EvaluationError("adjacency is 'add-remove' or 'replace'.") from None
        try:
            return Budget(
                epsilon=given["epsilon"],
                delta=given["delta"] or 0.0,
                rho=given["rho"],
                adjacency=adjacency,
            )
        except SynthError:
            raise
        except ValueError:  # of the arithmetic below
            raise EvaluationError("epsilon, delta and rho are positive and finite.") from None


def _same(train: pd.DataFrame, _seed: int) -> pd.DataFrame:
    return train


def _drawn_again(train: pd.DataFrame, seed: int) -> pd.DataFrame:
    return train.sample(frac=1, replace=True, random_state=seed).reset_index(drop=True)


def _shuffled(train: pd.DataFrame, seed: int) -> pd.DataFrame:
    import pandas as pd

    rng = np.random.default_rng(seed)
    columns = {name: train[name].iloc[rng.permutation(len(train))] for name in train.columns}
    return pd.DataFrame({name: one.reset_index(drop=True) for name, one in columns.items()})
