"""The papers and handbooks behind a page. Their titles stay in their own language."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REFERENCES", "Reference"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A source.

    Parameters
    ----------
    short
        Authors and year.
    text
        Its title and where it appeared.
    language
        Of the title.
    link
        Its address; empty for none.
    """

    short: str
    text: str
    language: str = "en"
    link: str = ""


#: Name of a source → where to find it.
REFERENCES: Mapping[str, Reference] = MappingProxyType(
    {
        "fraser-wooton": Reference(
            short="Fraser, Wooton (2005)",
            text="A proposed method for confidentialising tabular output to protect against "
            "differencing. Joint UNECE/Eurostat work session on statistical data "
            "confidentiality, Geneva.",
        ),
        "asghar-kaafar": Reference(
            short="Asghar, Kaafar (2020)",
            text="Averaging attacks on bounded noise-based disclosure control algorithms. "
            "Proceedings on Privacy Enhancing Technologies 2020(2).",
            link="https://arxiv.org/abs/1902.06414",
        ),
        "dinur-nissim": Reference(
            short="Dinur, Nissim (2003)",
            text="Revealing information while preserving privacy. Proceedings of PODS.",
            link="https://doi.org/10.1145/773153.773173",
        ),
        "wilson": Reference(
            short="Wilson (1927)",
            text="Probable inference, the law of succession, and statistical inference. "
            "Journal of the American Statistical Association 22.",
            link="https://doi.org/10.1080/01621459.1927.10502953",
        ),
        "handbook": Reference(
            short="Handbook",
            text="Handbook on Statistical Disclosure Control, second edition.",
            link="https://sdctools.github.io/HandbookSDC/",
        ),
    }
)
