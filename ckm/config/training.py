"""A training file: what a private model learns, from what, for which budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from ckm.config.problems import JobError, Problem, problem_from_pydantic
from ckm.config.read import _names, _parse, _read_text, _version_first
from ckm.config.section import Section, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpsgd import Category, Number, Plan, Schema

__all__ = ["TrainingJob", "is_training_file", "read_training", "training_schema"]


class TrainingDataModel(Section):
    """The records to learn from."""

    path: str | None = Field(
        default=None, min_length=1, description="A Parquet, CSV or DuckDB file, or a glob."
    )
    table: str | None = Field(
        default=None, min_length=1, description="The table of a DuckDB file."
    )
    about: str = Field(
        default="", description="Which data, and what of them is public: for the card."
    )
    touches: list[str] = Field(
        default=[], description="Other uses of these data, such as a look at their means."
    )
    trials: int = Field(
        default=1,
        ge=1,
        le=10_000,
        description="Plans of this cost run on these data, with this one.",
    )


class PlanModel(Section):
    """What is promised, and the noise and batches that keep it."""

    epsilon: float | None = Field(default=None, gt=0, description="What may be spent.")
    noise_multiplier: float | None = Field(
        default=None, ge=0, description="Noise over the clipping norm, in place of epsilon."
    )
    delta: float = Field(gt=0, lt=1, description="Delta of (epsilon, delta).")
    unit: str = Field(default="record", min_length=1, description="Who is protected.")
    adjacency: Literal["add-remove", "zero-out", "replace"] = Field(
        default="add-remove", description="What the neighbours are."
    )
    sampling: Literal["poisson", "fixed", "shuffled"] = Field(
        default="poisson", description="How batches are drawn."
    )
    dataset_size: int = Field(
        ge=1, description="Number of records; under add-remove a public guess."
    )
    batch_size: int = Field(ge=1, description="Expected records in a batch.")
    steps: int | None = Field(default=None, ge=1, description="How many batches.")
    epochs: float | None = Field(default=None, gt=0, description="Passes, in place of steps.")
    clipping_norm: float = Field(
        default=1.0, gt=0, description="The longest gradient of one record."
    )


class NetworkModel(Section):
    """What is trained, and how; none of it changes the cost."""

    hidden: list[int] = Field(default=[], description="Widths of hidden layers, if any.")
    learning_rate: float = Field(default=1.0, gt=0)
    momentum: float = Field(default=0.9, ge=0, lt=1)
    average: float = Field(
        default=0.0, ge=0, lt=1, description="Weight of the past in a moving average."
    )
    class_weights: list[float] | None = Field(
        default=None, description="Public weights of the classes, in their order."
    )


class ColumnModel(Section):
    """A column, declared from the questionnaire and never from the data."""

    name: str = Field(min_length=1, description="Its name.")
    low: float | None = Field(default=None, description="Lower public bound, for numbers.")
    high: float | None = Field(default=None, description="Upper public bound, for numbers.")
    cuts: list[float] = Field(default=[], description="Public values that may matter.")
    values: list[bool | int | str] | None = Field(
        default=None, description="The list of codes, in place of bounds."
    )
    may_be_missing: bool = Field(default=False, description="Whether a value may be absent.")


class TrainingModel(Section):
    """A training of ckm dpsgd."""

    version: Literal[1] = Field(alias="schema", description="Always 1.")
    data: TrainingDataModel = TrainingDataModel()
    plan: PlanModel
    network: NetworkModel = NetworkModel()
    target: ColumnModel
    column: list[ColumnModel] = Field(min_length=1, description="What the model may read.")


_SECTIONS: dict[str, type[BaseModel]] = {
    "data": TrainingDataModel,
    "plan": PlanModel,
    "network": NetworkModel,
    "target": ColumnModel,
    "column": ColumnModel,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """One training: the records, the plan and the network.

    Build one with `read_training`.

    Parameters
    ----------
    data
        The file of the records, or the glob; None where another place says it.
    table
        The table of a DuckDB file.
    about, touches, trials
        For the privacy card.
    schema
        The columns.
    promise
        The entries of ``[plan]``.
    network
        The entries of ``[network]``.
    """

    data: Path | None
    table: str | None
    about: str
    touches: tuple[str, ...]
    trials: int
    schema: Schema
    promise: Mapping[str, Any] = field(repr=False)
    network: Mapping[str, Any] = field(repr=False)

    @property
    def names(self) -> list[str]:
        """The columns that the model reads, and the one it predicts, last.

        Examples
        --------
        >>> read_training(None, changes=_EXAMPLE).names
        ['age', 'retired']
        """
        return [column.name for column in (*self.schema.columns, self.schema.target)]

    @property
    def is_classifier(self) -> bool:
        """Whether codes are predicted, and not numbers."""
        return hasattr(self.schema.target, "values")

    def plan(self, *, seed: int | None = None, **changes: Any) -> Plan:
        """Return the plan.

        Parameters
        ----------
        seed
            Makes a demonstration.
        changes
            Entries of ``[plan]`` that replace those of the file.

        Examples
        --------
        >>> read_training(None, changes=_EXAMPLE).plan().steps
        20
        """
        from dpsgd import Plan, PlanError

        entries = {**self.promise, **changes, "schema": self.schema, "seed": seed}
        epsilon, noise = entries.pop("epsilon"), entries.pop("noise_multiplier")
        if noise is not None:
            plan = Plan.for_noise(noise, **entries, epsilon=epsilon)
            plan.check_budget()
            return plan
        if epsilon is None:
            raise PlanError(
                "A plan has an epsilon, or a noise multiplier.", hint="give one of the two"
            )
        return Plan.for_budget(epsilon, **entries)


def read_training(
    path: Path | str | None, *, changes: Mapping[str, Any] | None = None
) -> TrainingJob:
    """Read and check a training file; relative paths start at its folder.

    The data are not opened.

    Parameters
    ----------
    path
        The file; None where the changes say everything.
    changes
        Section → entries that are put into it.

    Raises
    ------
    JobError
        With every problem of the file.

    Examples
    --------
    >>> job = read_training(None, changes=_EXAMPLE)
    >>> job.is_classifier, job.plan(epochs=4, steps=None).steps
    (True, 40)
    """
    folder, name, document = Path.cwd(), "the options", dict[str, Any]({"schema": 1})
    if path is not None:
        file = Path(path).absolute()
        folder, name = file.parent, file.name
        document = _parse(file, _read_text(file, kind="training"))
    document = _merged(document, changes or {})
    try:
        model = TrainingModel.model_validate(document)
    except ValidationError as error:
        problems = [
            problem_from_pydantic(
                e, sections=_known(), names={"column": _names(document, "column")}
            )
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise JobError(name, _version_first(document, dict.fromkeys(problems))) from None
    problems = []
    schema = _schema(model, problems)
    if schema is None:
        raise JobError(name, problems)
    data = model.data
    return TrainingJob(
        data=None if data.path is None else folder / data.path,
        table=data.table,
        about=data.about,
        touches=tuple(data.touches),
        trials=data.trials,
        schema=schema,
        promise=model.plan.model_dump(),
        network=model.network.model_dump(),
    )


def is_training_file(path: Path) -> bool:
    """Return whether a TOML file describes a training.

    Parameters
    ----------
    path
        The file; False where it cannot be read.

    Examples
    --------
    >>> is_training_file(Path("job.toml"))
    False
    """
    try:
        return {"plan", "target"} <= set(_parse(path, _read_text(path, kind="training")))
    except ValueError:
        return False


def training_schema() -> dict[str, Any]:
    """Return the JSON Schema of a training file, for editors.

    Examples
    --------
    >>> training_schema()["title"]
    'A training of ckm dpsgd'
    """
    return schema_of(TrainingModel, title="A training of ckm dpsgd")


def _known() -> dict[str, tuple[str, ...]]:
    keys = {name: tuple(model.model_fields) for name, model in _SECTIONS.items()}
    return {"": ("schema", *_SECTIONS), **keys}


def _merged(document: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with entries replaced, the target as a whole; columns are added."""
    found = dict(document)
    for name, entries in changes.items():
        held = found.get(name)
        if isinstance(entries, list):
            found[name] = [*(held if isinstance(held, list) else []), *entries]
        elif name == "target":
            found[name] = dict(entries)
        else:
            found[name] = {**(held if isinstance(held, dict) else {}), **entries}
    return found


def _schema(model: TrainingModel, problems: list[Problem]) -> Schema | None:
    from dpsgd import DPSGDError, Schema

    target = _column(model.target, "[target]", problems)
    columns = [_column(c, f"[[column]] {c.name!r}:", problems) for c in model.column]
    if problems or target is None:
        return None
    try:
        return Schema(columns=tuple(c for c in columns if c is not None), target=target)
    except DPSGDError as error:
        problems.append(Problem(where="", text=error.problem, hint=error.hint))
        return None


def _column(
    model: ColumnModel, where: str, problems: list[Problem]
) -> Number | Category | None:
    from dpsgd import Category, DPSGDError, Number

    try:
        if model.values is not None and model.low is None and model.high is None:
            return Category(
                name=model.name,
                values=tuple(model.values),
                may_be_missing=model.may_be_missing,
            )
        if model.values is None and model.low is not None and model.high is not None:
            return Number(
                name=model.name,
                low=model.low,
                high=model.high,
                cuts=tuple(model.cuts),
                may_be_missing=model.may_be_missing,
            )
    except DPSGDError as error:
        problems.append(Problem(where=where, text=error.problem, hint=error.hint))
        return None
    text = "needs low and high, for numbers, or values, for codes."
    problems.append(Problem(where=where, text=text, hint="take them from the questionnaire"))
    return None


_EXAMPLE: dict[str, Any] = {
    "plan": {
        "epsilon": 1.0,
        "delta": 1e-4,
        "dataset_size": 2000,
        "batch_size": 200,
        "steps": 20,
    },
    "target": {"name": "retired", "values": ["no", "yes"]},
    "column": [{"name": "age", "low": 0, "high": 100}],
}
