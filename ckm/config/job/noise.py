"""The section ``[ptable]``: the noise, as a specification to solve or a file."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field

from ckm.config.job.limits import LimitsSection, as_limits
from ckm.config.reading import Reading
from ckm.config.section import FilePath, Items, ReadAs, Section, Some, optional
from footing.messages import Message, Name
from ptable import NoiseSpec, PTableError
from ptable.design.presets import spelled_out

_T = TypeVar("_T")
_PerRow: TypeAlias = _T | Items[_T] | None
_MaxNoise = Annotated[int, Field(ge=1, le=1000)]
_Probability = Annotated[float, Field(ge=0, lt=1)]


class PTableSection(Section):
    """The noise: a specification to solve, or a file."""

    path: FilePath | None = optional("A p-table file.")
    preset: str | None = optional("What an office documented, by name.")
    rule: str | None = optional("maximum-entropy; r-ptable for the problem of R's ptable.")
    max_noise: _PerRow[_MaxNoise] = optional("Largest noise, D; one, or one per row.")
    variance: _PerRow[float] = optional("Variance of the noise, V; one number, or one per row.")
    small: int | None = optional("No published count in 1..small.", ge=0)
    p_stay: _PerRow[float] = optional(
        "Probability that a count is published as it is; one, or one per row."
    )
    p_stay_rule: _PerRow[Literal["exact", "at-least", "at-most"]] = optional(
        "Whether p_stay is met, or a bound; one, or one per row."
    )
    monotone: _PerRow[Literal["none", "left", "both", "unimodal"]] = optional(
        "The shape of the probabilities; one, or one per row."
    )
    symmetric: _PerRow[bool] = optional("Whether noise v and -v are equally likely.")
    variance_rule: _PerRow[Literal["exact", "at-most", "nearest"]] = optional(
        "What to do where a row cannot reach the variance."
    )
    min_probability: _PerRow[_Probability] = optional(
        "Every allowed noise has at least this probability."
    )
    zero_bias: float | None = optional("Mean noise of a count of 0; zeros stay without.", ge=0)
    zero_variance: float | None = optional("Variance of the noise of a count of 0.", gt=0)
    positive_bias: float | None = optional(
        "Above 0, no positive count becomes 0; mean of the noise above small + 1 there.", ge=0
    )
    step: int | None = optional("Noise in multiples of 1/step, for magnitudes.", ge=1)
    anchors: Some[int] | None = optional("The counts that have a row, for magnitudes.")
    objective: (
        Literal["entropy", "least-deviation", "least-variance", "least-hellinger"] | None
    ) = optional("What is best within the limits.")
    limits: LimitsSection | None = optional("What an intruder may learn at most.")

    @property
    def given(self) -> dict[str, Any]:
        """What the specification says; nothing where there is a file alone."""
        return self.model_dump(exclude_none=True, exclude={"path", "limits"})


def noise_spec(section: PTableSection, reading: Reading) -> NoiseSpec | None:
    """Build the specification of the noise; None where a problem was noted."""
    try:
        options = spelled_out(section.given)
    except PTableError as error:
        reading.add_error(("ptable",), error)
        return None
    needs = ("max_noise",) if section.limits is not None else ("max_noise", "variance")
    missing = [name for name in needs if name not in options]
    if missing:
        hint = Message("give max_noise and variance, a preset, or the path of a p-table")
        text = (
            Message("max_noise and variance are missing.")
            if missing[1:]
            else Message("{key} is missing.", key=Name(missing[0]))
        )
        reading.add(("ptable",), text, hint)
        return None
    try:
        if section.limits is not None:
            options["limits"] = as_limits(section.limits, partial(_prior_of_tables, reading))
        return NoiseSpec(**options)
    except PTableError as error:
        reading.add_error(("ptable",), error)
        return None


def _prior_of_tables(reading: Reading) -> Any:
    if reading.prior_of_tables is None:
        raise PTableError(
            Message('The prior "tables" needs the data of a job, which are not read here.'),
            hint=Message('ckm ptable build reads them; or priors = ["textbook"]'),
        )
    return reading.prior_of_tables(reading.path)


def _noise(section: PTableSection, reading: Reading) -> NoiseSpec | Path:
    where = ("ptable",)
    for name in ("step", "anchors"):
        if getattr(section, name) is not None:
            text = Message(
                "{name} is for magnitudes, and a job publishes counts.", name=Name(name)
            )
            reading.add(where, text, Message("remove {name}", name=Name(name)), key=name)
    if section.path is None and section.limits is not None:
        hint = Message(
            'ckm ptable build {name} -o pt.parquet, and path = "pt.parquet" in [ptable]',
            name=Name("job.toml" if reading.kind == "service" else reading.path.name),
        )
        if reading.kind == "service":
            hint = Message("{command}; the limits stand in that job alone", command=hint)
        text = Message("A table by limits is chosen once and kept: a release never solves one.")
        reading.add(("ptable", "limits"), text, hint)
        return Path()
    if section.path is None:
        # With a problem noted the job is never used; any path will do.
        return noise_spec(section, reading) or Path()
    if section.given and section.limits is None:
        hint = Message("a p-table file has its own specification: keep one of the two")
        reading.add(
            where,
            Message("has both path and {keys}.", keys=Name.each(section.given)),
            hint,
            key="path",
        )
    reading.require_file(where, "path", section.path)
    return section.path


JobNoise = Annotated[NoiseSpec | Path, ReadAs(PTableSection, _noise)]
