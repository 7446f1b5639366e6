"""What all sections of a job file have in common, and texts for readers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Section", "Text", "TextModel"]


class Section(BaseModel):
    """A section: unknown keys are refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class TextModel(Section):
    """A text in both languages."""

    en: str = Field(min_length=1)
    fr: str = Field(min_length=1)


Text = Annotated[str, Field(min_length=1)] | TextModel
