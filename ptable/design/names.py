"""What the kinds of designs are called."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Name of a mechanism, or kind of another design → what it is called.
DESIGN_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "noise": "cell key method",
        "stacked": "cell key method in parts",
        "rounding": "deterministic rounding",
        "random-rounding": "random rounding",
        "small-count-rounding": "random rounding of small counts",
        "discrete-laplace": "discrete Laplace noise",
        "discrete-gaussian": "discrete Gaussian noise",
    }
)
