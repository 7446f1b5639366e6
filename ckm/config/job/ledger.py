"""The section ``[ledger]`` of a job or a service: the record of what was published."""

import re
from pathlib import Path
from typing import Literal

from ckm.config.reading import Reading
from ckm.config.section import FilePath, Items, Label, Section, optional
from footing.messages import Message, Name
from footing.places import has_password

_POSTGRES = re.compile(r"postgres(ql)?://")
_WHERE = ("ledger",)


class JobLedger(Section):
    """The record of what was published, which no table may contradict by a few records."""

    path: FilePath | None = optional("The ledger's file.")
    url: Label | None = optional("Or a database, postgresql://…")
    threshold: int = optional("Differences of so few records are thin.", default=2, ge=1, le=4)
    policy: Literal["refuse", "flag"] = optional(
        "refuse publishes nothing then, flag tells and publishes.", default="refuse"
    )
    smallest: int = optional("Smaller cells are not compared.", default=1, ge=1)
    history: Label = optional("Tables with the same readers.", default="public")
    also: Items[Label] = optional("Further histories that these readers know.", default=())

    @property
    def target(self) -> Path | str:
        """The file, or the URL of a database."""
        return self.path or self.url or ""

    def add_problems(self, reading: Reading) -> None:
        """Note a place that cannot be."""
        if (self.path is None) == (self.url is None):
            reading.add(
                _WHERE,
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
                _WHERE, Message("path must be a file of this machine."), hint, key="path"
            )
        elif path.is_dir():
            reading.add(
                _WHERE,
                Message("path {path!r} is a folder, not a file.", path=Name(path.name)),
                key="path",
            )
        elif not path.parent.is_dir():
            hint = Message("make it; relative paths start at the file that names the ledger")
            reading.add(
                _WHERE,
                Message("the folder of path {path!r} does not exist.", path=Name(path.name)),
                hint,
                key="path",
            )

    def _add_problems_of_url(self, url: str, reading: Reading) -> None:
        """Look at a URL, which is never echoed: somebody may have put a password there."""
        if not _POSTGRES.match(url):
            reading.add(
                _WHERE,
                Message("url must begin with postgresql://"),
                Message("a file is named with path"),
                key="url",
            )
            return
        if has_password(url):
            hint = Message("PostgreSQL finds it in ~/.pgpass or in PGPASSWORD")
            reading.add(_WHERE, Message("url must not hold a password."), hint, key="url")
