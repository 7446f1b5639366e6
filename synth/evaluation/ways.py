"""Ways to synthesise by name: methods with budgets and settings, and controls beside them."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dp import Adjacency
from footing.messages import Argument, Message, Name
from reports.catalogues.synthesis import UNPROTECTED
from synth.claims import Claim
from synth.errors import EvaluationError
from synth.marginals.measuring import SimulatedNoise
from synth.marginals.spending import Budget
from synth.methods import is_unprotected, settings_of
from synth.schema.schema import Schema
from synth.synthesizer import Synthesizer

Way = Callable[[pd.DataFrame, int], pd.DataFrame]

_DELTA = 1e-6
#: What a way has besides the settings of its method.
_OWN = ("method", "epsilon", "delta", "rho", "adjacency", "label")


def ways_of(
    blocks: Sequence[Mapping[str, Any]], *, schema: Schema
) -> dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]]:
    """Name every combination of blocks of factors, and check all before any is run."""
    schema.require_declared()
    ways: dict[str, Way] = {}
    for place, block in enumerate(blocks, start=1):
        factors = {
            name: value if isinstance(value, (list, tuple)) else [value]
            for name, value in block.items()
        }
        if "method" not in factors:
            raise EvaluationError(
                Message("Way {place} names no method.", place=place),
                hint=Message('method = "tables"'),
            )
        if empty := [name for name, values in factors.items() if not values]:
            raise EvaluationError(
                Message(
                    "Way {place} has no value of {empty!r}.", place=place, empty=Name(empty[0])
                )
            )
        twice = [name for name, v in factors.items() if len({*map(repr, v)}) < len(v)]
        if twice:
            raise EvaluationError(
                Message(
                    "In way {place} a value of {twice!r} is there twice.",
                    place=place,
                    twice=Name(twice[0]),
                )
            )
        for values in itertools.product(*factors.values()):
            choice = dict(zip(factors, values, strict=True))
            title = _title(choice)
            if title in ways:
                raise EvaluationError(
                    Message("The way {title!r} is there twice.", title=Name(title))
                )
            ways[title] = _prepared(choice, schema)
    if not ways:
        raise EvaluationError(
            Message("There is no way to try."), hint=Message('[[ways]] with method = "tables"')
        )
    return ways


def control_ways() -> dict[str, Callable[[pd.DataFrame, int], pd.DataFrame]]:
    """Return what figures of a sweep are compared with: known records as ways of their own."""
    return {"train": _same, "bootstrap": _drawn_again, "independent": _shuffled}


def _title(choice: Mapping[str, Any]) -> str:
    mark = f" ({UNPROTECTED})" if is_unprotected(choice["method"]) else ""
    rest = [f"{name}={value}" for name, value in choice.items() if name != "method"]
    return ", ".join([f"{choice['method']}{mark}", *rest])


def _prepared(choice: Mapping[str, Any], schema: Schema) -> Way:
    """Return what fits and draws, or refuse what cannot be meant."""
    method = choice["method"]
    settings = {name: value for name, value in choice.items() if name not in _OWN}
    synthesizer = Synthesizer(
        schema=schema,
        method=method,
        label=choice.get("label"),
        settings=settings_of(method, settings),
    )
    budget = _budget(choice)

    def way(train: pd.DataFrame, seed: int) -> pd.DataFrame:
        model = synthesizer.fit(train, budget, noise=SimulatedNoise(seed=seed))
        records: pd.DataFrame = model.sample(len(train), rng=np.random.default_rng(seed))
        return records

    return way


def _budget(choice: Mapping[str, Any]) -> Budget | Claim:
    """Return what may be spent, or what the method claims."""
    epsilon, delta, rho = (_number(choice, name) for name in ("epsilon", "delta", "rho"))
    if is_unprotected(choice["method"]):
        if rho is not None or delta is not None:
            raise EvaluationError(
                Message(
                    "{chosen!r} claims an epsilon, no rho and no delta.",
                    chosen=Argument(choice["method"]),
                )
            )
        return Claim(epsilon=epsilon)
    if rho is None and delta is None:
        delta = _DELTA
    adjacency = choice.get("adjacency", Adjacency.REPLACE)
    return Budget(epsilon=epsilon, delta=delta or 0.0, rho=rho, adjacency=adjacency)


def _number(choice: Mapping[str, Any], name: str) -> float | None:
    value = choice.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EvaluationError(
            Message("{name} is a number, or a list of numbers.", name=Name(name))
        )
    return float(value)


def _same(train: pd.DataFrame, _seed: int) -> pd.DataFrame:
    return train


def _drawn_again(train: pd.DataFrame, seed: int) -> pd.DataFrame:
    return train.sample(frac=1, replace=True, random_state=seed).reset_index(drop=True)


def _shuffled(train: pd.DataFrame, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {name: train[name].iloc[rng.permutation(len(train))] for name in train.columns}
    return pd.DataFrame({name: one.reset_index(drop=True) for name, one in columns.items()})
