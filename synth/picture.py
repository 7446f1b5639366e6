"""The fitted structure: who hangs together with whom, as plain values and as a picture."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Message, Name
from synth.errors import SynthError
from synth.marginals.model import TableModel

if TYPE_CHECKING:
    from footing.arrays import Floats
    from synth.fitted import Model


def structure(model: Model) -> dict[str, Any]:
    """Return the columns and the tables that were measured of several, from noisy counts.

    Parameters
    ----------
    model
        A model of the method ``"tables"``.

    Returns
    -------
    dict
        ``columns``; ``tables`` with their columns and noise; ``links`` between two columns
        with their Cramér's V in the model.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Budget, Category, Schema, SimulatedNoise, Synthesizer
    >>> schema = Schema(columns=[Category(name=n, values=["x", "y"]) for n in "ab"])
    >>> records = pd.DataFrame({"a": ["x", "y"] * 500, "b": ["x", "y"] * 500})
    >>> model = Synthesizer(schema=schema).fit(
    ...     records, Budget(epsilon=2, delta=1e-6), noise=SimulatedNoise(seed=1)
    ... )
    >>> structure(model)["links"][0]["columns"]
    ['a', 'b']
    """
    engine = model.engine
    if not isinstance(engine, TableModel):
        raise SynthError(
            Message(
                "No structure is known of the method {method!r}.", method=Name(model.method)
            )
        )
    names = model.schema.names
    several = [table for table in engine.tables if len(table.columns) > 1]
    pairs = sorted(
        {pair for table in several for pair in combinations(sorted(table.columns), 2)}
    )
    return {
        "columns": names,
        "tables": [
            {"columns": [names[c] for c in table.columns], "noise": table.scale}
            for table in several
        ],
        "links": [
            {
                "columns": [names[first], names[second]],
                "cramers_v": round(_cramers_v(engine.expected(first, second)), 4),
            }
            for first, second in pairs
        ],
    }


def draw_structure(model: Model, *, language: str = "en") -> str:
    """Return the structure as a picture: a line for each link, the wider the stronger.

    Parameters
    ----------
    model
        A model of the method ``"tables"``.
    language
        Of its words and numbers.

    Returns
    -------
    str
        SVG, with its data as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Budget, Category, Schema, SimulatedNoise, Synthesizer
    >>> schema = Schema(columns=[Category(name=n, values=["x", "y"]) for n in "ab"])
    >>> records = pd.DataFrame({"a": ["x", "y"] * 500, "b": ["x", "y"] * 500})
    >>> model = Synthesizer(schema=schema).fit(
    ...     records, Budget(epsilon=2, delta=1e-6), noise=SimulatedNoise(seed=1)
    ... )
    >>> draw_structure(model).startswith("<svg")
    True
    """
    from reports.plots import network_plot

    parts = structure(model)
    links = [(*link["columns"], link["cramers_v"]) for link in parts["links"]]
    return network_plot(parts["columns"], links, language=language).svg


def _cramers_v(table: Floats) -> float:
    table = np.clip(table, 0.0, None)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    total, least = table.sum(), min(table.shape) - 1
    if total <= 0 or least < 1:
        return 0.0
    expected = np.outer(table.sum(1), table.sum(0)) / total
    return float(np.sqrt(np.sum((table - expected) ** 2 / expected) / (total * least)))
