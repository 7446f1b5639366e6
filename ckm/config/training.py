"""A training file: what a private model learns, from what, for which budget."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ckm.config.lines import KeyPath
from ckm.config.read import build, open_settings
from ckm.config.reading import Reading
from ckm.config.section import (
    FilePath,
    Items,
    Label,
    Section,
    SettingsFile,
    optional,
)
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpsgd import Category, Number, Plan, Schema
    from dpsgd.features.images import ImageForm


class TrainingData(Section):
    """The records to learn from."""

    path: FilePath | None = optional(
        "A Parquet, CSV or DuckDB file, or a glob; of images a folder, .npz or IDX file."
    )
    table: Label | None = optional("The table of a DuckDB file.")
    labels: FilePath | None = optional("Of images in an IDX file: the file of their classes.")
    test: FilePath | None = optional("Other records, on which the model is scored once.")
    test_labels: FilePath | None = optional("Their classes, as labels.")
    about: str = optional("Which data, and what of them is public: for the card.", default="")
    touches: Items[str] = optional(
        "Other uses of these data, such as a look at their means.", default=()
    )
    trials: int = optional(
        "Plans of this cost run on these data, with this one.", default=1, ge=1, le=10_000
    )


class PlanSection(Section):
    """What is promised, and the noise and batches that keep it."""

    epsilon: float | None = optional("What may be spent.", gt=0)
    noise_multiplier: float | None = optional(
        "Noise over the clipping norm, in place of epsilon.", ge=0
    )
    delta: float = Field(gt=0, lt=1, description="Delta of (epsilon, delta).")
    unit: Label = optional("Who is protected.", default="record")
    adjacency: Literal["add-remove", "zero-out", "replace"] = optional(
        "What the neighbours are.", default="add-remove"
    )
    sampling: Literal["poisson", "fixed", "shuffled"] = optional(
        "How batches are drawn.", default="poisson"
    )
    dataset_size: int = Field(
        ge=1, description="Number of records; under add-remove a public guess."
    )
    batch_size: int = Field(ge=1, description="Expected records in a batch.")
    steps: int | None = optional("How many batches.", ge=1)
    epochs: float | None = optional("Passes, in place of steps.", gt=0)
    clipping_norm: float = optional("The longest gradient of one record.", default=1.0, gt=0)


class NetworkSection(Section):
    """What is trained, and how; none of it changes the cost."""

    hidden: list[int] = optional("Widths of hidden layers, if any.", default=[])
    learning_rate: float = optional("Length of a step.", default=1.0, gt=0)
    momentum: float = optional("Weight of earlier steps.", default=0.9, ge=0, lt=1)
    average: float = optional(
        "Weight of the past in a moving average.", default=0.0, ge=0, lt=1
    )
    engine: Literal["ckm", "opacus", "one-by-one"] = optional(
        "Who finds gradients of records.", default="ckm"
    )
    class_weights: list[float] | None = optional(
        "Public weights of the classes, in their order."
    )


class ImagesSection(Section):
    """Images, in place of columns: their form, declared and never looked up in the data."""

    classes: Items[bool | int | str] = Field(
        description="The public list of classes: names of folders, or labels."
    )
    height: int = Field(ge=1, description="Rows of pixels of every image; of features 1.")
    width: int = Field(ge=1, description="Columns of pixels; of features their number.")
    channels: Literal[1, 3] = optional("1 for grey, 3 for colours.", default=1)
    network: Literal["convolutions", "scattering", "features"] = optional(
        "What is trained: the usual small network, or a head on fixed features.",
        default="scattering",
    )
    factor: int = optional("By what sides are divided.", default=1, ge=1)
    deskew: bool = optional(
        "Shear and centre each image: for letters and digits.", default=False
    )
    level: bool = optional("Level scattering features by made-up strokes.", default=False)

    def form(self, *, factor: int | None = None) -> ImageForm:
        """Return the form; a DPSGDError says what it cannot be."""
        from dpsgd.features.images import ImageForm

        return ImageForm(
            height=self.height,
            width=self.width,
            channels=self.channels,
            network=self.network,
            factor=factor or self.factor,
            is_deskewed=self.deskew,
            is_levelled=self.level,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one image in a file."""
        sides = (self.height, self.width)
        return sides if self.channels == 1 else (*sides, self.channels)


class ColumnSection(Section):
    """A column, declared from the questionnaire and never from the data."""

    name: Label = Field(description="Its name.")
    low: float | None = optional("Lower public bound, for numbers.")
    high: float | None = optional("Upper public bound, for numbers.")
    cuts: Items[float] | None = optional(
        "Public values that may matter; by default they are found, which is paid for."
    )
    values: Items[bool | int | str] | None = optional("The list of codes, in place of bounds.")
    may_be_missing: bool = optional("Whether a value may be absent.", default=False)
    reference: bool | int | float | str | None = optional(
        "A usual value, from common knowledge: the others are set against it."
    )

    def made(self) -> Number | Category:
        """Return the column; a DPSGDError says what it cannot be."""
        from dpsgd import Category, DPSGDError, Number

        common = self.model_dump(include={"name", "may_be_missing", "reference"})
        if self.values is not None and self.low is None and self.high is None:
            return Category(values=self.values, **common)
        if self.values is None and self.low is not None and self.high is not None:
            return Number(low=self.low, high=self.high, cuts=self.cuts, **common)
        raise DPSGDError(
            Message("needs low and high, for numbers, or values, for codes."),
            hint=Message("take them from the questionnaire"),
        )


class TrainingJob(SettingsFile, title="A training of ckm dpsgd"):
    """One training: the records, the plan and the network. `read_training` reads one."""

    data: TrainingData = TrainingData()
    promise: PlanSection = Field(alias="plan", repr=False)
    network: NetworkSection = Field(default=NetworkSection(), repr=False)
    target: ColumnSection | None = optional("What is predicted of a table.")
    column: Items[ColumnSection] = optional("What the model may read of a table.", default=())
    images: ImagesSection | None = optional("Images, in place of columns and target.")

    @cached_property
    def declared(self) -> Schema:
        """The columns, and the one to predict; a DPSGDError says what they cannot be."""
        from dpsgd import Schema

        assert self.target is not None  # noqa: S101 (a file without images has one)

        columns = tuple(column.made() for column in self.column)
        return Schema(columns=columns, target=self.target.made())

    def add_problems(self, reading: Reading) -> None:
        """Note columns, or images, that cannot be."""
        from dpsgd import DPSGDError

        if self.images is not None:
            self._add_problems_of_images(reading, self.images)
            return
        for name, is_there in (("target", self.target is not None), ("column", self.column)):
            if not is_there:
                reading.add(
                    (),
                    Message("{name} is missing.", name=Name(name)),
                    Message("a table has a target and columns; images have [images]"),
                    key=name,
                )
        if self.target is None:
            return
        places: dict[KeyPath, ColumnSection] = {
            ("column", column.name): column for column in self.column
        }
        for where, column in {**places, ("target",): self.target}.items():
            try:
                column.made()
            except DPSGDError as error:
                reading.add_error(where, error)
        if not reading.problems:
            try:
                self.declared  # noqa: B018
            except DPSGDError as error:
                reading.add_error((), error)

    def _add_problems_of_images(self, reading: Reading, images: ImagesSection) -> None:
        if self.target is not None or self.column:
            reading.add(
                ("images",),
                Message("images have no columns and no target."),
                Message("list their classes under [images] classes"),
            )
        if len({*map(str, images.classes)}) < max(2, len(images.classes)):
            reading.add(
                ("images",),
                Message("classes must be two or more, each once."),
                key="classes",
            )

    @property
    def names(self) -> list[str]:
        """The columns that the model reads, and the one it predicts, last."""
        target = () if self.target is None else (self.target,)
        return [column.name for column in (*self.column, *target)]

    @property
    def is_classifier(self) -> bool:
        """Whether codes are predicted, and not numbers."""
        return self.target is None or self.target.values is not None

    @property
    def classes(self) -> tuple[Any, ...]:
        """The public list of what is predicted; empty for numbers."""
        if self.images is not None:
            return self.images.classes
        return () if self.target is None else tuple(self.target.values or ())

    def plan(self, *, seed: int | None = None, **changes: Any) -> Plan:
        """Return the plan."""
        from dpsgd import Plan, PlanError

        schema = self.declared if self.images is None else None
        entries = {**dict(self.promise), **changes, "schema": schema, "seed": seed}
        epsilon, noise = entries.pop("epsilon"), entries.pop("noise_multiplier")
        if noise is not None:
            plan = Plan.for_noise(noise, **entries, epsilon=epsilon)
            plan.check_budget()
            return plan
        if epsilon is None:
            raise PlanError(
                Message("A plan has an epsilon, or a noise multiplier."),
                hint=Message("give one of the two"),
            )
        return Plan.for_budget(epsilon, **entries)


def read_training(
    path: Path | str | None, *, changes: Mapping[str, Any] | None = None
) -> TrainingJob:
    """Read and check a training file; relative paths start at its folder.

    The data are not opened.
    """
    reading, document = Reading(Path.cwd() / "the options"), dict[str, Any]({"schema": 1})
    if path is not None:
        reading, document = open_settings(path, kind="training")
    return build(TrainingJob, _merged(document, changes or {}), reading)


def _merged(document: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with entries replaced, the target as a whole; columns are added."""
    content = dict(document)
    for name, entries in changes.items():
        before = content.get(name)
        if isinstance(entries, list):
            content[name] = [*(before if isinstance(before, list) else []), *entries]
        elif name == "target":
            content[name] = dict(entries)
        else:
            content[name] = {**(before if isinstance(before, dict) else {}), **entries}
    return content
