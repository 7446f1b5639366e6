"""What an evaluation found: figures, each beside its controls."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import pandas as pd

from footing.messages import Message
from footing.serialisation import content_of, document, plain_fields
from reports.catalogues.synthesis import FIGURES, Good
from synth.errors import EvaluationError

_FORMAT = "ckm-synth-evaluation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of synthetic records, and the same figure of known records.

    Parameters
    ----------
    name
        A name of `reports.catalogues.synthesis.FIGURES`.
    value
        The figure; None where it is not defined.
    controls
        Name of a control → the figure for it; None where it is not defined.
    subject
        The column that it is about, or the columns of the worst table.
    reason
        Why there is no value.
    real, made, sampling
        Of an amount: what it is in the real and in the synthetic records, and how far off, as a
        share, another sample of real records is in 19 of 20 cases.
    part
        The category that an amount is of; empty for all records.

    Examples
    --------
    >>> figure = Figure(name="tvd2", value=0.04, controls={"independent": 0.09})
    >>> figure.direction
    'low'
    >>> Figure(name="exact_matches", value=0.0).meaning
    'The share of records that equal a training record in every column.'
    """

    name: str
    value: float | None
    controls: Mapping[str, float | None] = field(default_factory=dict)
    subject: str = ""
    reason: str = ""
    real: float | None = None
    made: float | None = None
    sampling: float | None = None
    part: str = ""

    @property
    def direction(self) -> Good:
        """Where its good values are."""
        return FIGURES[self.name].good

    @property
    def meaning(self) -> str:
        """What it is, in one sentence."""
        return FIGURES[self.name].meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The figures of one set of synthetic records. They follow from confidential records.

    Parameters
    ----------
    figures
        In the order of the catalogue.
    settings
        Seed, sizes and choices.
    seconds
        Time that each group took, controls included.

    Examples
    --------
    >>> found = Evaluation(figures=(Figure(name="tvd2", value=0.04),))
    >>> found.value("tvd2"), found
    (0.04, Evaluation(1 figures))
    """

    figures: tuple[Figure, ...]
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    seconds: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __repr__(self) -> str:
        return f"Evaluation({len(self.figures)} figures)"

    def find(self, name: str, subject: str | None = None) -> Figure | None:
        """Give a figure by its name, and by its subject where several have the name.

        Examples
        --------
        >>> Evaluation(figures=()).find("tvd2") is None
        True
        """
        for figure in self.figures:
            if figure.name == name and subject in (None, figure.subject):
                return figure
        return None

    def value(self, name: str, subject: str | None = None) -> float | None:
        """Give the value of a figure; None where there is none.

        Examples
        --------
        >>> Evaluation(figures=()).value("tvd2") is None
        True
        """
        figure = self.find(name, subject)
        return None if figure is None else figure.value

    def to_frame(self) -> pd.DataFrame:
        """Give one line per figure, with a column per control.

        Examples
        --------
        >>> figure = Figure(name="tvd2", value=0.04, controls={"independent": 0.09})
        >>> Evaluation(figures=(figure,)).to_frame().columns.tolist()
        ['figure', 'subject', 'value', 'independent', 'good', 'reason']
        """
        controls = list(dict.fromkeys(name for f in self.figures for name in f.controls))
        lines = [
            {
                "figure": figure.name,
                "subject": figure.subject,
                "value": figure.value,
                **{name: figure.controls.get(name) for name in controls},
                "good": figure.direction,
                "reason": figure.reason,
            }
            for figure in self.figures
        ]
        columns = ["figure", "subject", "value", *controls, "good", "reason"]
        if any(figure.real is not None for figure in self.figures):
            parts = ("real", "made", "sampling")
            for line, figure in zip(lines, self.figures, strict=True):
                line |= {part: getattr(figure, part) for part in parts}
            columns[3:3] = parts
        return pd.DataFrame(lines, columns=columns)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON.

        Examples
        --------
        >>> Evaluation(figures=()).to_dict()["format"]
        'ckm-synth-evaluation'
        """
        figures = [
            {**plain_fields(figure), "good": figure.direction} for figure in self.figures
        ]
        return {"format": _FORMAT, **plain_fields(self), "figures": figures}

    def to_json(self) -> str:
        """Give everything as JSON."""
        return document(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Evaluation:
        """Read what `to_dict` gave, or refuse what is something else.

        Parameters
        ----------
        content
            The plain values.
        """
        try:
            return _evaluation(content)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise EvaluationError(
                Message("This is no evaluation of synthetic records."),
                hint=Message("give what `ckm synth evaluate -o figures.json` wrote"),
            ) from None

    @classmethod
    def from_json(cls, text: str) -> Evaluation:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text
            The text.

        Raises
        ------
        EvaluationError
            If it is something else.

        Examples
        --------
        >>> found = Evaluation(figures=(Figure(name="tvd2", value=0.04),))
        >>> Evaluation.from_json(found.to_json()).value("tvd2")
        0.04
        """
        return cls.from_dict(content_of(text, form=_FORMAT))


def _evaluation(content: Mapping[str, Any]) -> Evaluation:
    if content["format"] != _FORMAT:
        raise ValueError
    return Evaluation(
        figures=tuple(map(_figure, content["figures"])),
        settings=dict(content["settings"]),
        seconds=dict(content["seconds"]),
    )


def _figure(record: Mapping[str, Any]) -> Figure:
    if record["name"] not in FIGURES:
        raise ValueError
    own = ("real", "made", "sampling")  # which evaluations of earlier versions do not have
    values: dict[str, Any] = {
        one.name: record.get(one.name) if one.name in own else record[one.name]
        for one in fields(Figure)
        if one.name != "part"
    }
    values["part"] = record.get("part", "")
    numbers = [values["value"], *values["controls"].values(), *map(values.get, own)]
    texts = [values["subject"], values["reason"], values["part"]]
    is_right = all(isinstance(text, str) for text in texts) and all(
        number is None or (isinstance(number, (int, float)) and math.isfinite(number))
        for number in numbers
    )
    if not is_right:
        raise ValueError
    return Figure(**values)
