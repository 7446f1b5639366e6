"""The section ``[ptable.limits]``: what an intruder may learn from a published count."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ckm.config.section import Items, Section, Some, optional
from ptable import Limits

_Share = Annotated[float, Field(gt=0, le=1)]
#: Sensitive counts in a row, as a key of TOML.
_Class = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,3}-[1-9][0-9]{0,3}$")]
_Off: TypeAlias = Literal[False]
_Word: TypeAlias = Literal["tables", "textbook"]
#: The prior of the field's slides: small counts are frequent.
TEXTBOOK = tuple(0.0 if count == 0 else 1 / (count * (count + 1)) for count in range(1001))
#: What stands in the file where nobody asked.
_PRIORS: tuple[_Word, ...] = ("tables", "textbook")


class LimitsSection(Section):
    """What an intruder may learn at most; false takes a limit away that is there by itself."""

    sensitive: Some[int] | None = optional("Counts that nobody may infer, in a row from 1 on.")
    posterior: _Share | _Off | None = optional(
        "Largest probability of one sensitive count given a published one; 0.75, or false."
    )
    posterior_set: _Share | None = optional(
        "Largest probability that a count is sensitive, given a published one."
    )
    best_guess: _Share | dict[_Class, _Share] | None = optional(
        "Largest share of sensitive counts that the best guesses get right; or of classes, "
        '{ "1-2" = 0.8, "3-4" = 0.7 }.'
    )
    variance_floor: float | None = optional(
        "Least variance of every row; 2, or V where that is less.", ge=0
    )
    variance_ceiling: float | None = optional("Greatest variance of every row; V.", gt=0)
    neighbours: Items[float] | _Off | None = optional(
        "Epsilon and delta between positive counts one record apart; [1.0, 0.05], or false."
    )
    ratio: float | None = optional(
        "How many times likelier than from the next count, whatever the prior.", ge=1
    )
    p_stay: _Share | _Off | None = optional(
        "Largest probability that a count is published as it is; 0.5, or false."
    )
    priors: Some[_Word | Items[float]] | None = optional(
        'What is believed beforehand: "tables" (of this job, smoothed), "textbook", shares.'
    )
    zeros_in_prior: bool | None = optional("Whether posteriors count empty cells.")
    is_peaked: bool | None = optional("Whether full rows rise to no noise and fall from there.")


def as_limits(section: LimitsSection, prior_of_tables: Callable[[], Any]) -> Limits:
    """Build limits; the prior of the job's tables is asked for where it is named."""
    options: dict[str, Any] = section.model_dump(exclude_none=True, exclude={"priors"})
    options = {name: None if value is False else value for name, value in options.items()}
    for name in ("zeros_in_prior", "is_peaked"):
        if options.get(name, True) is None:
            options[name] = False
    if isinstance(options.get("best_guess"), dict):
        options["best_guess"] = {
            tuple(range(int(first), int(last) + 1)): limit
            for (first, last), limit in (
                (name.split("-"), limit) for name, limit in options["best_guess"].items()
            )
        }
    if isinstance(options.get("neighbours"), list):
        options["neighbours"] = tuple(options["neighbours"])
    words: dict[str, Callable[[], Any]] = {
        "tables": prior_of_tables,
        "textbook": lambda: TEXTBOOK,
    }
    priors = [
        words[prior]() if isinstance(prior, str) else prior
        for prior in section.priors or _PRIORS
    ]
    return Limits(**options, priors=tuple(priors))
