"""Read which ways to synthesise a sweep tries, on what, and what it measures."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ckm.config.read import build, open_settings
from ckm.config.reading import Reading
from ckm.config.section import FilePath, Items, Section, SettingsFile, optional
from footing.messages import Message


class SweepMeasure(Section):
    """What is measured; see `synth.evaluation.Plan`."""

    only: Items[str] | None = optional("Measures; all without it.")
    classes: Items[str] | None = optional("Categories to predict.")
    numbers: Items[str] | None = optional("Numbers to predict.")
    keys: Items[str] | None = optional("What an intruder knows.")
    sensitive: Items[str] | None = optional("What an intruder wants to know.")
    learner: Literal["histogram", "xgboost"] = optional("What predicts.", default="histogram")


class SweepPlan(SettingsFile, title="A sweep of ckm synth"):
    """What a sweep tries: the records, their schema, and blocks of factors."""

    data: FilePath = Field(description="The records.")
    declared: FilePath = Field(description="The schema of them.")
    ways: Items[dict[str, Any]] = optional("See `synth.evaluation.ways`.", default=())
    folds: int = optional("Of the cross-validation.", default=5, ge=2, le=1000)
    seed: int = optional("Of the cross-validation.", default=0, ge=0, le=2**31 - 1)
    controls: bool = optional("Whether known records are tried as well.", default=True)
    measure: SweepMeasure = SweepMeasure()

    def add_problems(self, reading: Reading) -> None:
        """Note a sweep that tries nothing."""
        if not self.ways:
            hint = Message('write [[ways]], and below it method = "tables", epsilon = [1, 8]')
            reading.add(("ways",), Message("must name at least one way to synthesise."), hint)


def read_sweep(path: Path | str) -> SweepPlan:
    r"""Read the file of a sweep; its paths start at its folder."""
    reading, document = open_settings(path, kind="sweep")
    return build(SweepPlan, document, reading)
