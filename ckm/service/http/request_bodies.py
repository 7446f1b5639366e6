"""The bodies of requests. These models parse; queries are built from them."""

import json
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic.json_schema import models_json_schema

from ckm.formats import FORMATS
from ckm.service.answering.figures import MARGINS
from ckm.service.answering.messages import ClientError, Phrase

_Text = Annotated[str, Field(max_length=2000)]
_Codes = Annotated[list[_Text], FailFast(), Field(max_length=100_000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TextBody(_Body):
    """A body that may name the language of its answer."""

    lang: _Text | None = Field(default=None, description="Language of the answer: en or fr.")


class VariableSelectionBody(_Body):
    """The categories of one variable."""

    variableCode: _Text = Field(description="The variable.")  # noqa: N815  (PxWebApi 2)
    valueCodes: _Codes = Field(  # noqa: N815
        default=["*"], description="Codes and expressions: *, top(5), range(a,b) and so on."
    )
    codelist: _Text | None = Field(default=None, description="A code list of the variable.")
    outputValues: Literal["aggregated", "single"] | None = Field(default=None)  # noqa: N815


class PlacementBody(_Body):
    """The order of the variables: those of the stub, then those of the heading."""

    heading: list[_Text] = Field(default=[], max_length=100)
    stub: list[_Text] = Field(default=[], max_length=100)


class SelectionBody(_Body):
    """A selection as PxWebApi 2 has it."""

    selection: list[VariableSelectionBody] = Field(default=[], max_length=100)
    placement: PlacementBody | None = None


class TableBody(_Body):
    """A table in the words of a job file, whatever becomes of it."""

    dimensions: list[_Text] = Field(default=[], max_length=100, description="Variables.")
    margins: Literal["all", "none"] | Annotated[list[list[_Text]], Field(max_length=1000)] = (
        Field(default="all", description="Which totals beside the finest cells.")
    )
    where: Annotated[str, Field(min_length=1, max_length=20_000)] | None = Field(
        default=None, description="A filter, for example: sex = 'F'"
    )
    population: _Text | None = Field(
        default=None, description="One of the populations of the metadata; all by default."
    )
    measures: list[Literal["count", "weighted"]] = Field(
        default=["count"], min_length=1, max_length=2
    )
    select: dict[str, _Codes] = Field(
        default={}, description="Variable → the codes wanted; all by default."
    )
    figure: _Text | None = Field(
        default=None,
        description="What is made of the counts: count (with its margin), share, difference, "
        "index, rank, or the name of a rate.",
    )
    of: list[_Text] = Field(
        default=[], max_length=100, description="The variables that a figure is over."
    )
    base: _Text | None = Field(
        default=None, description="The category that differences and indices are against."
    )
    margin: _Text | None = Field(
        default=None,
        description="Which intervals figures have: public (the default), or exact, for "
        "officers.",
        json_schema_extra={"enum": [*MARGINS, None]},
    )
    level: float | None = Field(
        default=None,
        description="How often exact intervals hold, in per cent; 95 by default.",
    )
    zones: dict[_Text, _Codes] = Field(
        default={}, description="Name → the areas whose published counts are added up."
    )


class RequestBody(TableBody):
    """A table in the words of a job file."""

    format: _Text = Field(
        default="json-stat2",
        description="Format of the answer.",
        json_schema_extra={"enum": list(FORMATS)},
    )
    wait: bool = Field(default=True, description="false asks for a job, however small.")


class ZoneBody(_Body):
    """A polygon that a caller drew."""

    polygon: dict[str, Any] = Field(
        description="A Polygon or MultiPolygon of GeoJSON, or a Feature of one, in the "
        "coordinates of the service's areas."
    )
    level: _Text | None = Field(
        default=None, description="The level of the areas; the finest by default."
    )


def body_schemas(prefix: str) -> dict[str, Any]:
    """Return the shapes of the bodies, as JSON Schema has them, by name."""
    _, schemas = models_json_schema(
        [(SelectionBody, "validation"), (RequestBody, "validation"), (ZoneBody, "validation")],
        ref_template=prefix + "{model}",
    )
    return dict(schemas["$defs"])


Model = TypeVar("Model", bound=BaseModel)


def parse_body(raw: bytes, model: type[Model]) -> Model:
    """Parse the JSON body of a request."""
    return validated(json_of(raw), model)


def json_of(raw: bytes) -> Any:
    """Return the JSON of a body; raise where it is none, or is so by name only."""
    try:
        document = json.loads(
            raw.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once
        )
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        key = error.key if isinstance(error, _BodyError) else "no_json"
        raise ClientError("bad_body", detail=Phrase(key=key)) from None
    return document


def validated(document: Any, model: type[Model]) -> Model:
    """Return a document in the shape of a body; raise where it has another."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        response = Phrase(key="bad_field", filled={"name": place, "said": first["msg"]})
        raise ClientError("bad_body", detail=response) from None
    except RecursionError:
        raise ClientError("bad_body", detail=Phrase(key="too_deep")) from None


class _BodyError(ValueError):
    """A body that is JSON by name only."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(key)


def _no_constant(_: str) -> NoReturn:
    raise _BodyError("no_number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _BodyError("name_twice")
    return fields
