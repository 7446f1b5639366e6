"""What each figure of a risk-utility map means and is called; its unit, its better way.

The texts stand in ``figures.toml``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from footing.data_files import read_data


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a figure means.

    Parameters
    ----------
    side
        ``"risk"`` or ``"utility"``.
    words
        What it is called.
    unit, definition
        What it counts, and its formula in words.
    better
        Whether ``"low"`` or ``"high"`` is better.
    is_drawn
        Whether it comes from simulated keys instead of the p-table.

    Examples
    --------
    >>> FIGURES["aad"].better
    'low'
    """

    side: Literal["risk", "utility"]
    words: str
    unit: str
    definition: str
    better: Literal["low", "high"] = "low"
    is_drawn: bool = False


#: Name of a figure → what it means.
FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        name: Figure(**entry)
        for name, entry in read_data("risk.risk_map", "figures.toml").items()
    }
)
