"""The sections ``[data]`` and ``[keys]``: the records, and what tells them apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ckm.config.reading import files_of
from ckm.config.section import FilePath, Name, ReadAs, Section, Some, optional

if TYPE_CHECKING:
    from ckm.config.reading import Reading


class Records(Section):
    """The microdata: one row per person or unit."""

    path: FilePath = Field(description="A Parquet or CSV file, a glob, or a DuckDB file.")
    table: Name | None = optional("The table of a DuckDB file.")

    def files(self) -> tuple[Path, ...]:
        """Return the files that `path` stands for, sorted.

        Examples
        --------
        >>> from pathlib import Path
        >>> Records(path=Path("people.parquet")).files()
        (PosixPath('people.parquet'),)
        """
        return files_of(self.path)

    def add_problems(self, reading: Reading) -> None:
        """Note a file that is not there."""
        reading.require_file("[data]", "path", self.path, is_glob=True)


class JobData(Records):
    """The microdata of a job: one row per person or unit; or cells made of them."""

    id: Name | None = optional("Column of stable identifiers; needs a secret.")
    record_key: Name | None = optional("Column of stored random keys, instead of id.")
    key_range: Annotated[int, Field(gt=1)] | None = optional(
        "Stored keys run from 0 to key_range - 1; for example 256."
    )
    cells: Some[Name] | None = optional(
        "For a table of cells instead of records: the columns that tell cells apart."
    )
    count: Name = optional("For cells: column of numbers of records.", default="count")
    cell_key: Name | None = optional("For cells: column of sums of record keys.")
    weight: Name | None = optional("Column of weights.")
    engine: Literal["duckdb", "spark"] = optional(
        "What tabulates the records; the numbers are the same.", default="duckdb"
    )
    master: Name | None = optional('For spark: "local[*]" or "spark://host:7077".')

    def add_problems(self, reading: Reading) -> None:
        """Note keys that do not go together, and files that are not there."""
        where = "[data]"
        if self.cells is not None:
            self._add_problems_of_cells(where, reading)
        elif self.cell_key is not None or "count" in self.model_fields_set:
            hint = 'cells = ["region", "sex"], the columns that tell cells apart'
            reading.add(where, "count and cell_key go with cells alone.", hint)
        if self.id is None and self.record_key is None and self.cells is None:
            hint = (
                'id = "person_id" for a stable identifier, record_key = "rkey" for stored keys'
            )
            reading.add(where, "needs id or record_key: whence the keys?", hint)
        if self.id is not None and self.record_key is not None:
            reading.add(where, "has both id and record_key.", "remove one of the two")
        if self.key_range is not None and self.record_key is None and self.cell_key is None:
            reading.add(where, "key_range goes with stored keys alone.", "remove key_range")
        if self.engine == "spark":
            self._add_problems_of_spark(where, reading)
        elif self.master is not None:
            reading.add(where, 'master goes with engine = "spark" alone.', "remove master")
        super().add_problems(reading)

    @property
    def has_keys(self) -> bool:
        """Whether there are keys to perturb with."""
        return self.cells is None or self.cell_key is not None

    def _add_problems_of_cells(self, where: str, reading: Reading) -> None:
        if self.id is not None or self.record_key is not None:
            text = "has cells beside the keys of records."
            reading.add(where, text, 'cell_key = "cell_key" for their sums; remove the other')
        if self.engine == "spark":
            reading.add(where, "cells are tabulated by duckdb.", "remove engine")

    def _add_problems_of_spark(self, where: str, reading: Reading) -> None:
        from tables.spark.session import is_master

        if self.table is not None:
            hint = "write the table to Parquet, and name its files as path"
            reading.add(where, "table goes with DuckDB files, which Spark cannot read.", hint)
        if self.master is not None and not is_master(self.master):
            hint = 'write "local[*]", "spark://host:7077", "yarn" or "k8s://…"'
            reading.add(where, f"{self.master!r} is no master of Spark.", hint)


def _secret(name: str, reading: Reading) -> Path:
    """Note a secret that is no file; it is not echoed: it may be the secret itself."""
    path = reading.resolve(name)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        text = "secret must be the path of a file that exists, relative to this file."
        hint = "make one: ckm keys secret secret.key; never write the secret itself here"
        reading.add("[keys]", text, hint)
    return path


SecretPath = Annotated[Path, ReadAs(Name, _secret)]


class JobKeys(Section):
    """Where the secret lies, and how strictly keys are judged."""

    secret: SecretPath | None = optional(
        "Path of a secret file. Without it: CKM_SECRET.", repr=False
    )
    checks: Literal["stop", "warn", "skip"] = optional(
        "What to do when the keys are poor.", default="stop"
    )
    mix: bool = optional(
        "Mix cell keys with the secret; false replays other tools.", default=True
    )
