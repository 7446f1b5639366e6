"""What all sections of a job file have in common, and texts for readers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Section", "Text", "TextModel", "schema_of"]


class Section(BaseModel):
    """A section: unknown keys are refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class TextModel(Section):
    """A text in both languages."""

    en: str = Field(min_length=1)
    fr: str = Field(min_length=1)


Text = Annotated[str, Field(min_length=1)] | TextModel


def schema_of(model: type[BaseModel], *, title: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file, for editors.

    Parameters
    ----------
    model
        What the file holds.
    title
        What the file is called.

    Examples
    --------
    >>> schema_of(TextModel, title="A text")["required"]
    ['en', 'fr']
    """
    schema = model.model_json_schema(by_alias=True)
    schema.pop("description", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": title,
    }
