"""The section ``[ledger]`` of jobs, swaps and services: the record of what was published."""

import re
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ckm.config.job.data import SecretPath
from ckm.config.lines import KeyPath
from ckm.config.reading import Reading
from ckm.config.section import FilePath, Items, Label, Section, optional
from footing.addresses import Address
from footing.messages import Message, Name

_POSTGRES = re.compile(r"postgres(ql)?://")


class LedgerPlace(Section):
    """Where the record of what was published lies, and who reads the tables."""

    path: FilePath | None = optional("The ledger's file.")
    url: Label | None = optional("Or a database, postgresql://…")
    second_method: Literal["refuse", "flag"] = optional(
        "The same records by another method, or in another rounding: refuse publishes nothing, "
        "flag tells and publishes.",
        default="refuse",
    )
    history: Label = optional("Tables with the same readers.", default="public")
    also: Items[Label] = optional("Further histories that these readers know.", default=())
    _where: ClassVar[KeyPath] = ("ledger",)

    @property
    def target(self) -> Path | str:
        """The file, or the URL of a database."""
        return self.path or self.url or ""

    def add_problems(self, reading: Reading) -> None:
        """Note a place that cannot be."""
        if (self.path is None) == (self.url is None):
            reading.add(
                self._where,
                Message("needs path or url, one of the two."),
                Message('path = "ledger.db"'),
                key="path",
            )
        elif self.url is not None:
            self._add_problems_of_url(self.url, reading)
        elif self.path is not None:
            self._add_problems_of_file(self.path, reading)

    def _add_problems_of_file(self, path: Path, reading: Reading) -> None:
        if reading.is_elsewhere(path):
            hint = Message("a database is named with url")
            reading.add(
                self._where, Message("path must be a file of this machine."), hint, key="path"
            )
        elif path.is_dir():
            reading.add(
                self._where,
                Message("path {path!r} is a folder, not a file.", path=Name(path.name)),
                key="path",
            )
        elif not path.parent.is_dir():
            hint = Message("make it; relative paths start at the file that names the ledger")
            reading.add(
                self._where,
                Message("the folder of path {path!r} does not exist.", path=Name(path.name)),
                hint,
                key="path",
            )

    def _add_problems_of_url(self, url: str, reading: Reading) -> None:
        """Look at a URL, which is never echoed: somebody may have put a password there."""
        if not _POSTGRES.match(url):
            reading.add(
                self._where,
                Message("url must begin with postgresql://"),
                Message("a file is named with path"),
                key="url",
            )
            return
        if Address(url).has_password:
            hint = Message("PostgreSQL finds it in ~/.pgpass or in PGPASSWORD")
            reading.add(self._where, Message("url must not hold a password."), hint, key="url")


class JobLedger(LedgerPlace):
    """The record of what was published, which no table may contradict by a few records."""

    threshold: int = optional("Differences of so few records are thin.", default=2, ge=1, le=4)
    policy: Literal["refuse", "flag"] = optional(
        "refuse publishes nothing then, flag tells and publishes.", default="refuse"
    )
    smallest: int = optional("Smaller cells are not compared.", default=1, ge=1)
    maximum_numbers: int | None = optional(
        "So many published counts may contain a record, over all releases; none is published "
        "beyond.",
        ge=1,
    )


class RecordsLedger(LedgerPlace):
    """The same for what is no job: which of its columns tells records apart, as jobs do it."""

    id: Label | None = optional("Column of stable identifiers, as in [data] of the jobs.")
    record_key: Label | None = optional("Column of stored random keys, instead of id.")
    key_range: Annotated[int, Field(gt=1)] | None = optional(
        "Stored keys run from 0 to key_range - 1."
    )
    secret: SecretPath | None = optional(
        "The secret of the ledger and of the jobs. Without it: CKM_SECRET.", repr=False
    )

    def add_problems(self, reading: Reading) -> None:
        """Note keys that do not go together, too."""
        super().add_problems(reading)
        if self.id is not None and self.record_key is not None:
            reading.add(
                self._where,
                Message("has both id and record_key."),
                Message("remove one of the two"),
                key="id",
            )
