"""The section ``[rules]`` of a service: which tables are published."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Discriminator, Field, Tag

from ckm.config.section import Items, Name, ReadAs, Section

_Kind = TypeVar("_Kind")
_Count = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Permille = Annotated[float, Field(ge=0, le=1000)]


def _limit_or_off(value: object) -> str:
    """Tell false from a limit of 0, which equals it and is the strictest of all."""
    return "off" if value is False else "limit"


def _none_if_off(value: Any, _: object) -> Any:
    return None if value is False else value


_Given: TypeAlias = Annotated[
    Annotated[_Kind, Tag("limit")] | Annotated[Literal[False], Tag("off")],
    Discriminator(_limit_or_off),
]
_MostCount = Annotated[int | None, ReadAs(_Given[_Count], _none_if_off)]
_MostShare = Annotated[float | None, ReadAs(_Given[_Share], _none_if_off)]
_MostPermille = Annotated[float | None, ReadAs(_Given[_Permille], _none_if_off)]
_LeastMean = Annotated[
    float | None, ReadAs(_Given[Annotated[float, Field(gt=0)]], _none_if_off)
]
_MostPersons = Annotated[int | None, ReadAs(_Given[Annotated[int, Field(ge=0)]], _none_if_off)]


class RuleSettings(Section):
    """Which tables are published; false switches a rule off, which is None here.

    The rules of one vendor's example (zeros, ones, dominant category) are off by default: with
    those of sparsity, mean cell size and group disclosure they say little more.

    Examples
    --------
    >>> RuleSettings().sparsity_a, RuleSettings(sparsity_a=None).sparsity_a
    (0.25, None)
    """

    maximum_cells: _MostCount = Field(default=100_000, description="Cells of an answer.")
    maximum_categories: _MostCount = Field(
        default=62_000, description="Categories of one variable."
    )
    maximum_variables: _MostCount = Field(default=6, description="Variables, filters too.")
    small_areas: Items[Name] = Field(default=(), description="Levels of areas that are small.")
    maximum_variables_small_areas: _MostCount = Field(
        default=4, description="Variables of a table of small areas."
    )
    exclusive: Items[Items[Name]] = Field(
        default=(), description="Groups of variables of which a table has one at most."
    )
    mandatory: Items[Name] = Field(default=(), description="Variables every table must have.")
    minimum_population: _MostCount = Field(default=10, description="Persons of an area.")
    sparsity_a: _MostShare = Field(
        default=0.25, description="Largest share of ones among cells that are not empty."
    )
    sparsity_b: _MostShare = Field(
        default=0.5, description="Largest share of ones and twos among those."
    )
    permille_zeros: _MostPermille = Field(default=None, description="Such as 718.")
    permille_ones: _MostPermille = Field(default=None, description="Such as 281.")
    permille_dominant: _MostPermille = Field(
        default=None, description="Largest share of one category, such as 828."
    )
    mean_cell_size: _LeastMean = Field(default=2.0, description="Persons per cell of an area.")
    group_disclosure: _MostPersons = Field(
        default=1, description="Sensitive variables: all but so many are in one category."
    )
    permille_disclosive: _Permille = Field(
        default=45.0, description="Share of such groups that is borne."
    )
    judge_filters: bool = Field(
        default=True, description="Variables of a filter count as if the table showed them."
    )
