"""Records of a unit, held within the bound that the proof needs."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message, Name
from synth.errors import UnitError
from synth.schema.coding import readable

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from synth.schema.schema import Unit


def within_bound(
    records: pd.DataFrame, unit: Unit, *, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the records, none of whose units has more than the bound.

    Which records of a unit are kept depends on that unit and on draws of its own: neighbours
    that differ in one unit still differ in `most_records` records at most afterwards.
    """
    if unit.identifier is None:
        return records
    if unit.identifier not in records.columns:
        raise UnitError(
            Message(
                "The identifier {identifier!r} is not in the records.",
                identifier=Name(unit.identifier),
            )
        )
    with readable(unit.identifier):
        units = _units(records[unit.identifier], unit.identifier)
    if (units < 0).any():
        raise UnitError(
            Message(
                "A record has no {unit}: {identifier!r} is null.",
                unit=Name(unit.name),
                identifier=Name(unit.identifier),
            ),
            hint=Message("give it an identifier of its own"),
        )
    sizes = np.bincount(units)
    if sizes.max(initial=0) <= unit.most_records:
        return records
    if unit.excess == "refuse":
        raise UnitError(
            Message(
                "A {unit} has more than {most_records} records.",
                unit=Name(unit.name),
                most_records=unit.most_records,
            ),
            hint=Message(
                "raise most_records, which costs accuracy, or declare excess='truncate'"
            ),
        )
    order = np.lexsort((rng.random(len(units)), units))
    first = np.cumsum(sizes) - sizes
    ranks = np.arange(len(units)) - first[units[order]]
    rows = np.sort(order[ranks < unit.most_records])
    return records.iloc[rows].reset_index(drop=True)


def _units(values: pd.Series, name: str) -> NDArray[np.intp]:
    """Return a number for each unit; a whole number and its text are one unit."""
    import pandas as pd

    places, distinct = pd.factorize(values)
    kind = getattr(distinct, "categories", distinct).dtype
    if pd.api.types.is_integer_dtype(kind) or isinstance(kind, pd.StringDtype):
        return np.asarray(places, np.intp)
    objects, is_null = values.to_numpy(object), values.isna().to_numpy()
    texts = [None if null else _text(one) for one, null in zip(objects, is_null, strict=True)]
    if any(one is None for one, null in zip(texts, is_null, strict=True) if not null):
        raise UnitError(
            Message(
                "The identifier {name!r} is neither text nor whole numbers.", name=Name(name)
            ),
            hint=Message("give it as text, or as int64: floats merge units from 16 digits on"),
        )
    units, _ = pd.factorize(np.array(texts, object))
    return np.asarray(units, np.intp)


def _text(value: object) -> str | None:
    """Return an identifier as text; None if it is neither text nor an exact whole number."""
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_whole or (
        isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value()
    ):
        return str(int(value))  # type: ignore[call-overload]
    return None
