"""The fitted structure: who hangs together with whom, as plain values and as a picture."""

from __future__ import annotations

import math
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import SynthError
from synth.marginals.model import TableModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from synth.fitted import Model

_SIZE, _RADIUS, _WIDEST = 760, 250, 9.0
_LONGEST = 24
_TITLE = "Columns measured together, and how strongly they hang together (Cramér's V)"


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
        raise SynthError(f"No structure is known of the method {model.method!r}.")
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


def draw_structure(model: Model) -> str:
    """Return the structure as a picture: a line for each link, the wider the stronger.

    Parameters
    ----------
    model
        A model of the method ``"tables"``.

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
    found = structure(model)
    names = found["columns"]
    turns = [2 * math.pi * place / len(names) - math.pi / 2 for place in range(len(names))]
    middle = _SIZE / 2
    where = {
        name: (middle + _RADIUS * math.cos(turn), middle + _RADIUS * math.sin(turn))
        for name, turn in zip(names, turns, strict=True)
    }
    lines = [_line(link, where) for link in found["links"]]
    marks = [_mark(name, where[name], turn) for name, turn in zip(names, turns, strict=True)]
    words = "; ".join(
        f"{' and '.join(link['columns'])}: {link['cramers_v']:.2f}" for link in found["links"]
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIZE} {_SIZE}"',
            ' role="img" aria-labelledby="title words" font-family="sans-serif"',
            ' font-size="13">',
            f'<title id="title">{_TITLE}</title>',
            f'<desc id="words">{_text(words)}</desc>',
            *lines,
            *marks,
            "</svg>",
        ]
    )


def _line(link: dict[str, Any], where: dict[str, tuple[float, float]]) -> str:
    (x1, y1), (x2, y2) = (where[name] for name in link["columns"])
    width = 0.75 + _WIDEST * link["cramers_v"]
    label = f"{' and '.join(link['columns'])}: {link['cramers_v']:.2f}"
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#1f4e79" '
        f'stroke-opacity="0.55" stroke-width="{width:.2f}"><title>{_text(label)}</title></line>'
    )


def _mark(name: str, place: tuple[float, float], turn: float) -> str:
    x, y = place
    shown = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    anchor = "start" if math.cos(turn) > 0.1 else "end" if math.cos(turn) < -0.1 else "middle"
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="#1f4e79"/>'
        f'<text x="{x + 12 * math.cos(turn):.1f}" y="{y + 16 * math.sin(turn) + 4:.1f}" '
        f'text-anchor="{anchor}" fill="#1a1a1a">{_text(shown)}</text>'
    )


def _text(words: str) -> str:
    return escape("".join(sign if sign.isprintable() else "�" for sign in words))


def _cramers_v(table: NDArray[np.float64]) -> float:
    table = np.clip(table, 0.0, None)
    table = table[table.sum(1) > 0][:, table.sum(0) > 0]
    total, least = table.sum(), min(table.shape) - 1
    if total <= 0 or least < 1:
        return 0.0
    expected = np.outer(table.sum(1), table.sum(0)) / total
    return float(np.sqrt(np.sum((table - expected) ** 2 / expected) / (total * least)))
