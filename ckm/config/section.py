"""What the sections of every settings file have in common, and what their keys become."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ckm.config.lines import KeyPath, Lines
from ckm.config.problems import Problem
from ckm.config.reading import LANGUAGES, Reading
from footing.errors import ExplainedError, Location
from footing.messages import Message

_AS_IT_IS = core_schema.plain_serializer_function_ser_schema(lambda value: value)


class Section(BaseModel):
    """A section: unknown keys are refused, and nothing is turned into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="after")
    def _checked(self, info: ValidationInfo) -> Self:
        if info.context is not None:
            self.add_problems(info.context)
        return self

    def add_problems(self, reading: Reading) -> None:
        """Note what is wrong with the section in the file that is read."""

    def changed(self, **changes: Any) -> Self:
        """Return the section with other values; what was worked out of it before stays."""
        return self.model_copy(update=changes)


class SettingsFile(Section):
    """A whole file. Built without one, it stands in the working folder."""

    version: Literal[1] = Field(alias="schema", description="Always 1.")
    _reading: Reading = PrivateAttr(default_factory=lambda: Reading(Path("job.toml")))

    def model_post_init(self, context: Any, /) -> None:
        """Keep what was read."""
        if context is not None:
            self._reading = context

    @property
    def path(self) -> Path:
        """The file."""
        return self._reading.path

    @property
    def text(self) -> str:
        """What the file says."""
        return self._reading.text

    def place_of(self, argument: KeyPath) -> KeyPath:
        """Return the place in the file of what is an argument of the engine."""
        return argument

    def place(self, error: ExplainedError, section: KeyPath = ()) -> None:
        """Say in an error about the data, or a section, which line of the file it is about."""
        lines = Lines(self.text)

        def placed(one: ExplainedError) -> str:
            at = (*section, *self.place_of(one.at))
            number = lines.at(at)[1] if at else None
            if number is None:
                return one.problem
            one.location = Location(self.path.name, number, one.problem)
            return Problem(where="", text=one.problem, number=number).placed(self.path.name)

        error.reword_each(placed)


@dataclass(frozen=True)
class ReadAs:
    """Read a key in one form and keep what it means; without a file it is taken as it is.

    Parameters
    ----------
    form
        What stands in the file.
    become
        Called with that and the `Reading`; returns what is kept.
    """

    form: Any
    become: Callable[[Any, Reading], Any]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Read the form, whatever the annotated type is."""

        def read(value: Any, form: Callable[[Any], Any], info: ValidationInfo) -> Any:
            return value if info.context is None else self.become(form(value), info.context)

        return core_schema.with_info_wrap_validator_function(
            read,
            handler.generate_schema(self.form),
            serialization=_AS_IT_IS,
        )


@dataclass(frozen=True)
class AsTuple:
    """Read a list and keep a tuple.

    Parameters
    ----------
    least, most
        How many entries it has.
    """

    least: int | None = None
    most: int | None = None

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Read a list of what the annotated tuple holds."""
        entry = handler.generate_schema(get_args(source)[0])
        form = core_schema.list_schema(
            entry, min_length=self.least, max_length=self.most, strict=False
        )
        return core_schema.no_info_after_validator_function(
            tuple, form, serialization=_AS_IT_IS
        )


def optional(description: str, *, default: Any = None, **rules: Any) -> Any:
    """Return a key that may be left out: what it says, what it is then, and its limits."""
    return Field(default=default, description=description, **rules)


class TextModel(Section):
    """A text by language, in each of those that the file asks for."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    en: str | None = Field(default=None, min_length=1, description="In English.")
    fr: str | None = Field(default=None, min_length=1, description="In French.")

    @model_validator(mode="after")
    def _speaks(self, info: ValidationInfo) -> Self:
        languages = LANGUAGES if info.context is None else info.context.languages
        if None in [getattr(self, language) for language in languages]:
            msg = Message("a language is missing")
            raise ValueError(msg)
        return self


#: Language → text; empty where nothing was said.
Texts: TypeAlias = dict[str, str]


def texts_of(text: str | TextModel | None) -> Texts:
    """Return a text by language; one text serves both, as one that is alone does."""
    if text is None:
        return {}
    if isinstance(text, str):
        return dict.fromkeys(LANGUAGES, text)
    texts = {code: getattr(text, code) for code in LANGUAGES}
    alone = next(filter(None, texts.values()), "")
    return {code: words or alone for code, words in texts.items()}


def one_text(texts: Mapping[str, str]) -> str | Mapping[str, str]:
    """Return one text where all languages have the same, empty where nothing was said."""
    different = set(texts.values())
    return dict(texts) if len(different) > 1 else next(iter(different), "")


_T = TypeVar("_T")

Label: TypeAlias = Annotated[str, Field(min_length=1)]
#: A list in the file, and one that is not empty.
Items: TypeAlias = Annotated[tuple[_T, ...], AsTuple()]
Some: TypeAlias = Annotated[tuple[_T, ...], AsTuple(least=1)]
#: A text in one language or both; language → text, empty where nothing is said.
Words = Annotated[Texts, ReadAs(Label | TextModel, lambda text, _: texts_of(text))]
FilePath = Annotated[Path, ReadAs(Label, lambda name, reading: reading.resolve(name))]
Date = Annotated[str, ReadAs(dt.date, lambda date, _: date.isoformat())]


def keys_of(model: type[Section]) -> dict[str, tuple[str, ...]]:
    """Return the keys of each section of a file; those of its top level under ``""``."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    sections = {"": tuple(fields)}
    for key, field in fields.items():
        for inner in _sections_in(Annotated[field.annotation, None, *field.metadata]):
            below = keys_of(inner)
            sections |= {f"{key}.{name}" if name else key: keys for name, keys in below.items()}
    return sections


def _sections_in(kind: Any) -> Iterator[type[Section]]:
    """Return the section that a key holds, once or as a list."""
    marks = getattr(kind, "__metadata__", ())
    forms = [mark.form for mark in marks if isinstance(mark, ReadAs)]
    parts = forms or [part for part in get_args(kind) if part not in (type(None), ...)]
    if isinstance(kind, type) and issubclass(kind, Section):
        yield kind
    elif marks or len(parts) == 1:
        yield from _sections_in(parts[0])


class _ForEditors(GenerateJsonSchema):
    """What TOML can say: it has no null, and a default is worth showing where it is short."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        form = self.generate_inner(schema["schema"])
        default = schema.get("default")
        if default == ():
            return {**form, "default": []}
        return {**form, "default": default} if isinstance(default, str | int | float) else form

    def field_title_should_be_set(self, schema: Any) -> bool:
        del schema
        return False


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file, for editors."""
    schema = model.model_json_schema(by_alias=True, schema_generator=_ForEditors)
    schema.pop("description", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
