"""The sections ``[[magnitude]]``: the noise of the sums and means of every variable."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ckm.config.job.suppression import (
    DominanceSection,
    PriorPosteriorSection,
)
from ckm.config.lines import KeyPath
from ckm.config.section import AsTuple, FilePath, Label, Section, Words, optional
from ckm.errors import ConfigError
from footing.messages import Argument, Enumeration, Message, Name
from ptable import NoiseSpec, PTable, PTableError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckm.config.reading import Reading
    from ckm.engine.magnitudes import Condition, Flex, MagnitudeNoise


_PTABLES = ("ptable", "even", "odd", "small_cells")
_NAMED = Message('named_cells = [{ region = "North", branch = "steel" }]')
#: What the noise has in another form, or by a rule of its own.
_OTHERS = {"scale", "sensitive", "named_cells", "least_noise", *_PTABLES}


class FlexSection(Section):
    """Let the share of a step of noise fall from small amounts to large ones."""

    point: float = Field(gt=0, description="Up to this amount the share is small.")
    small: float = Field(gt=0, le=1, description="The share of small amounts.")
    large: float = Field(gt=0, le=1, description="The share of very large amounts.")
    power: int = optional("How fast the share falls.", default=3, ge=1, le=20)

    def made(self) -> Flex:
        """Return the scale; a ConfigError says what it cannot be."""
        from ckm.engine.magnitudes import Flex

        return Flex(**dict(self))


class AmountTableSection(Section):
    """The p-table of amounts: a specification to solve, or a file."""

    path: FilePath | None = optional("A p-table file.")
    max_noise: int | None = optional("Largest noise, in steps.", ge=1, le=1000)
    variance: float | None = optional("Variance of the noise.", gt=0)
    step: int | None = optional("Parts of a step.", ge=1, le=1000)

    @property
    def given(self) -> dict[str, Any]:
        """What the specification says."""
        return self.model_dump(exclude_none=True, exclude={"path"})

    def made(self) -> NoiseSpec | Path:
        """Return the file, or the specification; a PTableError says what it cannot be."""
        from ckm.engine.magnitudes.ptables import amount_spec

        return self.path or amount_spec(**self.given)


class SensitiveSection(Section):
    """Which cells are sensitive: those that any of these finds."""

    few: int | None = optional("Fewer contributors than this.", ge=2)
    dominance: DominanceSection | None = optional("The nk rule.")
    p_percent: float | None = optional("The p % rule.", gt=0, lt=100)
    prior_posterior: PriorPosteriorSection | None = optional("The p-q rule.")
    weighted: bool = optional("Hold them to weighted totals.", default=False)

    def made(self) -> tuple[Condition, ...]:
        """Return the conditions; a ConfigError says what one of them cannot be."""
        from ckm.engine.magnitudes import Dominance, FewContributors, PPercent, PriorPosterior

        conditions: list[Condition] = []
        if self.few is not None:
            conditions.append(FewContributors(least=self.few))
        if self.dominance is not None:
            conditions.append(Dominance(**dict(self.dominance), weighted=self.weighted))
        if self.p_percent is not None:
            conditions.append(PPercent(percent=self.p_percent, weighted=self.weighted))
        if self.prior_posterior is not None:
            conditions.append(
                PriorPosterior(**dict(self.prior_posterior), weighted=self.weighted)
            )
        return tuple(conditions)


class JobMagnitude(Section):
    """The noise of the sums and means of a variable, before its p-tables are there."""

    name: Label | None = optional("The column; without it, all other variables.")
    unit: Words = optional("Of its amounts: euros.", default={})
    rules: Literal["ckm", "cellkey", "tauargus"] = optional(
        "ckm, or another tool's rules to repeat its releases.", default="ckm"
    )
    spread: float | None = optional("Standard deviation, as a share of the base.", gt=0, le=1)
    share: float | None = optional("One step of noise, as a share of the base.", gt=0, le=1)
    flex: FlexSection | None = optional("A share that falls.")
    base: Literal["top", "mean", "range", "sum"] = optional(
        "What noise is a share of.", default="top"
    )
    factors: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1)], ...], AsTuple(least=1, most=6)
    ] = optional("One for each contributor.", default=(1.0,))
    ptable: AmountTableSection | None = optional("The p-table.")
    even: AmountTableSection | None = optional("Of even numbers.")
    odd: AmountTableSection | None = optional("Of odd numbers.")
    small_cells: AmountTableSection | None = optional("Of cells below the separation point.")
    sensitive: SensitiveSection | None = optional("Which cells are sensitive.")
    named_cells: list[dict[str, str]] = optional(
        "Further sensitive cells, by dimension and category.", default=[]
    )
    least_noise: float | None = optional("What sensitive cells have more, in steps.", ge=0)
    signed: bool = optional("Whether amounts may be negative.", default=False)
    zero_keys: bool = optional("Whether zeros count in the key.", default=False)
    jitter: bool = optional("Spread noise evenly within its step.", default=True)
    given_decimals: Literal["all"] | Annotated[int, Field(ge=-15, le=15)] | None = Field(
        default=None,
        alias="decimals",
        description="Decimals of published sums, -3 for thousands.",
    )
    period: str = optional("That of the data: 2027.", default="")
    zero_with_count: bool = optional(
        "Publish 0 where the published count is 0: small sums are too low.", default=False
    )
    mean_from: int = optional(
        "The least published count of records of which a mean is published.",
        default=3,
        ge=1,
        le=1000,
    )
    same_key: bool = optional("Of cellkey: the first key unturned.", default=True)
    key_decimals: int = optional("Of tauargus.", default=8, ge=1, le=15)

    @property
    def decimals(self) -> int | None:
        """How many decimals sums have; None for all digits, as other tools have them."""
        value = self.given_decimals
        return None if self.rules != "ckm" or value == "all" else value or 0

    @property
    def place(self) -> KeyPath:
        """Where it stands in the file."""
        return ("magnitude", self.name or "")

    @property
    def ptables(self) -> Mapping[str, NoiseSpec | Path]:
        """Field of the noise → the specification of its p-table, or the file."""
        sections = {name: getattr(self, name) for name in _PTABLES}
        return {
            name: section.made() for name, section in sections.items() if section is not None
        }

    def noise(self, ptables: Mapping[str, PTable]) -> MagnitudeNoise:
        """Return the noise."""
        from ckm.engine.magnitudes import MagnitudeNoise, Proportional

        alike = {field.name for field in fields(MagnitudeNoise)} - _OTHERS
        settings: dict[str, Any] = {name: getattr(self, name) for name in alike} | dict(ptables)
        if self.rules != "ckm":  # other tools have no rules unless the job says so
            settings |= {"sensitive": (), "least_noise": 0.0}
        scale = self.flex.made() if self.flex else self.share and Proportional(share=self.share)
        others = {
            "scale": scale,
            "spread": None if scale else self.spread,
            "sensitive": None if self.sensitive is None else self.sensitive.made(),
            "named_cells": self.named_cells or None,
            "least_noise": self.least_noise,
        }
        return MagnitudeNoise.start(
            **settings | {k: v for k, v in others.items() if v is not None}
        )

    def add_problems(self, reading: Reading) -> None:
        """Note settings that contradict each other, and p-tables that cannot be had."""
        where, scales = self.place, ("spread", "share", "flex")
        names = [name for name in scales if getattr(self, name) is not None]
        if len(names) > 1:
            reading.add(
                where,
                Message("{keys} say the same.", keys=Enumeration(" and ", Name.each(names))),
                Message("keep one of them"),
                key=names[0],
            )
        if self.rules != "ckm" and self.given_decimals not in (None, "all"):
            text = Message(
                "decimals is for the program's own rules, not for {rules!r}.",
                rules=Argument(self.rules),
            )
            reading.add(
                where,
                text,
                Message("remove it: other tools publish all digits"),
                key="decimals",
            )
        before = len(reading.problems)
        for name in ("flex", "sensitive", *_PTABLES):
            section = getattr(self, name)
            try:
                _ = section and section.made()
            except (ConfigError, PTableError) as error:
                reading.add_error((*where, name), error)
            if name in _PTABLES and section is not None and section.path is not None:
                reading.require_file(where, f"{name}.path", section.path)
                if section.given:
                    text = Message(
                        "{name} has both path and {keys}.",
                        name=Name(name),
                        keys=Name.each(section.given),
                    )
                    hint = Message(
                        "a p-table file has its own specification: keep one of the two"
                    )
                    reading.add(where, text, hint, key=name)
        if len(reading.problems) > before:
            return
        try:
            # P-tables that fit any noise, to look at everything else.
            stand_in = PTable(noise=((0,), (-1, 1)), upper=((8,), (4, 8)), key_range=8)
            self.noise(dict.fromkeys(self.ptables, stand_in))
        except ConfigError as error:
            is_named = error.at == ("named_cells",)
            reading.add_error(where, error, _NAMED if is_named else None)
