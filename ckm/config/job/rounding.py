"""The section ``[rounding]``: true counts to multiples of a base, so that tables add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ckm.config.job.suppression import add_problems_without_noise
from ckm.config.section import Section, optional
from ckm.methods.settings import RoundingSettings
from footing.messages import Message, Name

if TYPE_CHECKING:
    from ckm.config.job.job import Job
    from ckm.config.reading import Reading

_WHERE = ("rounding",)


class JobRounding(Section):
    """Controlled rounding: all counts become multiples of a base, and add up."""

    base: int = Field(ge=3, le=1000, description="Published numbers are multiples of it.")
    bound: int | None = optional("How far a number may lie from the true count.", ge=1)
    exact: bool = optional("Find the table that deviates least, if small.", default=False)
    counts: Literal["all", "small"] = optional(
        "Round all counts, or groups of records below the base alone, to it or to 0.",
        default="all",
    )
    limit_s: float = optional(
        "When the search within bound, or for exact, ends.", default=60.0, gt=0
    )

    @property
    def settings(self) -> RoundingSettings:
        """The parameters of the method."""
        return RoundingSettings(**dict(self))

    def add_problems(self, reading: Reading) -> None:
        """Note a bound that most counts are not within."""
        if self.bound is not None and self.bound < self.base // 2:
            reading.add(
                _WHERE,
                Message("bound must be {base} or more: half the base.", base=self.base // 2),
                key="bound",
            )
        if self.exact and self.counts == "small":
            reading.add(
                _WHERE,
                Message("exact is for all counts, and small ones are rounded within a bound."),
                Message("remove exact; bound = {bound} is tight", bound=self.base - 1),
                key="exact",
            )

    def add_problems_beside(self, job: Job, reading: Reading) -> None:
        """Note what noise has and rounding has not."""
        add_problems_without_noise(_WHERE, job, reading)
        if job.suppression is not None:
            text = Message(
                "stands beside [suppression]: true numbers beside rounded ones tell more."
            )
            reading.add(
                _WHERE, text, Message("write two jobs, and publish the tables of one of them")
            )
        for table in job.table:
            if others := [measure for measure in table.measures if measure != "count"]:
                text = Message(
                    "is for counts, and table {table!r} shows {others!r}.",
                    table=Name(table.name),
                    others=Name(others[0]),
                )
                reading.add(
                    _WHERE, text, Message("publish it in a job with noise or suppression")
                )
