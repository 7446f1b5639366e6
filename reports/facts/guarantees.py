"""What is promised of synthetic records, as a name and numbers."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  (whoever parses facts needs it)
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class GuaranteeFact:
    """What the certificate beside synthetic records promises.

    Parameters
    ----------
    name
        A name of the catalogue of guarantees.
    values
        The numbers and texts of its words.
    """

    name: str
    values: Mapping[str, float | str] = field(default_factory=dict)
