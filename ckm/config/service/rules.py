"""The section ``[rules]`` of a service: which tables are published."""

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Discriminator, Field, Tag

from ckm.config.section import Items, Label, ReadAs, Section, optional

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

    maximum_cells: _MostCount = optional("Cells of an answer.", default=100_000)
    maximum_categories: _MostCount = optional("Categories of one variable.", default=62_000)
    maximum_variables: _MostCount = optional("Variables, filters too.", default=6)
    small_areas: Items[Label] = optional("Levels of areas that are small.", default=())
    maximum_variables_small_areas: _MostCount = optional(
        "Variables of a table of small areas.", default=4
    )
    exclusive: Items[Items[Label]] = optional(
        "Groups of variables of which a table has one at most.", default=()
    )
    mandatory: Items[Label] = optional("Variables every table must have.", default=())
    minimum_population: _MostCount = optional("Persons of an area.", default=10)
    sparsity_a: _MostShare = optional(
        "Largest share of ones among cells that are not empty.", default=0.25
    )
    sparsity_b: _MostShare = optional(
        "Largest share of ones and twos among those.", default=0.5
    )
    permille_zeros: _MostPermille = optional("Such as 718.")
    permille_ones: _MostPermille = optional("Such as 281.")
    permille_dominant: _MostPermille = optional("Largest share of one category, such as 828.")
    mean_cell_size: _LeastMean = optional("Persons per cell of an area.", default=2.0)
    group_disclosure: _MostPersons = optional(
        "Sensitive variables: all but so many are in one category.", default=1
    )
    permille_disclosive: _Permille = optional(
        "Share of such groups that is borne.", default=45.0
    )
    judge_filters: bool = optional(
        "Variables of a filter count as if the table showed them.", default=True
    )
