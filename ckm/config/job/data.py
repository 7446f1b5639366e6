"""The sections ``[data]`` and ``[keys]``: the records, and what tells them apart."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, PrivateAttr

from ckm.config.lines import KeyPath
from ckm.config.reading import Reading
from ckm.config.section import Items, Label, ReadAs, Section, Some, optional
from footing import places
from footing.addresses import Address
from footing.messages import Message, Name
from footing.places import PlaceKind, place_of
from tables.secret import SecretCommand

if TYPE_CHECKING:
    from tables import ReadOptions


def _places(value: str | tuple[str, ...], reading: Reading) -> Path | str | tuple[Path, ...]:
    """Return paths of this machine; what lies elsewhere stays as it is written."""
    if isinstance(value, str):
        return value if place_of(value).is_elsewhere else reading.resolve(value)
    return tuple(reading.resolve(name) for name in value)


_READABLE = {PlaceKind.FILES, PlaceKind.STANDARD_INPUT}
Places = Annotated[Path | str | tuple[Path, ...], ReadAs(Label | Some[Label], _places)]


class Records(Section):
    """The microdata: one row per person or unit."""

    path: Places | None = optional(
        "Parquet, CSV, Arrow or office files: a path, a glob, a folder or a list of these; "
        'a DuckDB file; "-" for standard input; or s3://….'
    )
    database: Label | None = optional(
        "The URI of a database, postgresql://…, without a password; instead of path."
    )
    table: Label | None = optional(
        "The table of a DuckDB file or a database, or the sheet of a workbook."
    )
    query: Label | None = optional("The query of a database, instead of a table.")
    types: dict[str, Literal["text", "integer", "decimal", "date"]] = optional(
        "For CSV: the types of columns, which their texts must fit.", default={}
    )
    text: bool = optional(
        "For CSV: all columns that types does not name are texts.", default=False
    )
    decimal: Literal[".", ","] = optional("For CSV: the decimal mark.", default=".")
    missing: list[Label] = optional(
        'For CSV: texts that stand for a missing value, such as "NA".', default=[]
    )
    _copies: list[Any] = PrivateAttr(default_factory=list)  # at most one `LocalCopy`
    _start: Path | None = PrivateAttr(default=None)  # the folder of the file that is read

    @property
    def place(self) -> places.Place | None:
        """Where the records lie."""
        return place_of(self.database or self.path)

    @property
    def local(self) -> Self:
        """The records as they lie on this machine: of what lies elsewhere, a private copy.

        It is made once, when it is first asked for, and removed with the section.
        """
        place = self.place
        if place is None or not place.is_elsewhere:
            return self
        if not self._copies:
            from tables.source.copies import LocalCopy

            local_copy = LocalCopy(
                place, table=self.table, query=self.query, folder=self._start
            )
            self._copies.append(local_copy)
        path = Path(self._copies[0].path)
        return self.changed(path=path, database=None, table=None, query=None)

    @property
    def read_options(self) -> "ReadOptions":
        """What is declared of the columns of CSV files."""
        from tables import ReadOptions

        return ReadOptions(
            types=self.types, text=self.text, decimal=self.decimal, missing=self.missing
        )

    @property
    def patterns(self) -> list[str]:
        """The globs of files that the next reading would find."""
        return [] if self.place is None else self.place.patterns

    def files(self) -> tuple[Path, ...]:
        """Return the files on this machine that hold the records, sorted.

        Examples
        --------
        >>> from pathlib import Path
        >>> Records(path=Path("people.parquet")).files()
        (PosixPath('people.parquet'),)
        """
        matches = () if (place := self.local.place) is None else place.matches
        return tuple(Path(file) for path, files in matches for file in files or [path])

    def name_of(self, file: Path) -> str | None:
        """Return what a file of a copy stands for; None for other files."""
        return self._copies[0].names.get(str(file)) if self._copies else None

    def _can_read(self, place: places.Place) -> bool:
        if self.database:
            return place.kind is PlaceKind.DATABASE
        return place.kind in _READABLE or place.scheme == "s3"

    def add_problems(self, reading: Reading) -> None:
        """Note a place that cannot be, and files that are not there."""
        self._start = reading.path.parent
        files = place_of(self.path)
        for path in () if files is None else files.paths:
            reading.require_file(("data",), "path", Path(path), is_glob=True)
        place = self.place
        key = "database" if self.database else "path"
        if (self.path is None) == (self.database is None):
            reading.add(
                ("data",),
                Message("needs path or database, one of the two."),
                Message('path = "…"'),
                key="path",
            )
        elif place is not None and place.has_password:  # not echoed
            hint = Message(
                "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD, S3 in AWS_… or ~/.aws"
            )
            reading.add(
                ("data",),
                Message("{key} must not hold a password.", key=Name(key)),
                hint,
                key=key,
            )
        elif place is not None and not self._can_read(place):
            hint = Message("files, s3://… and - are a path, postgresql://… is a database")
            reading.add(
                ("data",),
                Message("{key} names no place that can be read.", key=Name(key)),
                hint,
                key=key,
            )
        if self.query is not None and self.database is None:
            reading.add(
                ("data",),
                Message("query goes with a database."),
                Message("remove query"),
                key="query",
            )


class AmountSection(Section):
    """The columns of a table of cells for one variable, where they have other names."""

    n: Label | None = optional("How many contribute.")
    largest: Items[Label] = optional("The largest contributions, falling.", default=())
    asked: Label | None = optional("The largest contribution of one who asked.")
    holdings: bool = optional(
        "Whether contributors are holdings: n and largest of totals are those of their rows.",
        default=False,
    )


class JobData(Records):
    """The microdata of a job: one row per person or unit; or cells made of them."""

    id: Label | None = optional("Column of stable identifiers; needs a secret.")
    record_key: Label | None = optional("Column of stored random keys, instead of id.")
    key_range: Annotated[int, Field(gt=1)] | None = optional(
        "Stored keys run from 0 to key_range - 1; for example 256."
    )
    cells: Some[Label] | None = optional(
        "For a table of cells instead of records: the columns that tell cells apart."
    )
    count: Label = optional("For cells: column of numbers of records.", default="count")
    cell_key: Label | None = optional("For cells: column of sums of record keys.")
    amounts: dict[str, AmountSection] = optional(
        "For cells: the columns of each variable, where they have other names.", default={}
    )
    weight: Label | None = optional("Column of weights.")
    allow_empty: bool = optional(
        "Whether there may be no record: then every table is empty.", default=False
    )
    engine: Literal["duckdb", "spark"] = optional(
        "What tabulates the records; the numbers are the same.", default="duckdb"
    )
    master: Label | None = optional('For spark: "local[*]" or "spark://host:7077".')
    spark: dict[str, str | int | bool] = optional(
        'For spark: settings of Spark, such as "spark.executor.memory".', default={}
    )

    @property
    def spark_settings(self) -> dict[str, str]:
        """Settings of Spark as it writes them."""
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in self.spark.items()
        }

    @property
    def is_distributed(self) -> bool:
        """Whether Spark alone reads the records, from a store that its workers see."""
        is_far = self.place is not None and self.place.kind is PlaceKind.STORE
        return self.engine == "spark" and is_far

    def files(self) -> tuple[Path, ...]:
        """Return the files on this machine that hold the records, sorted."""
        return () if self.is_distributed else super().files()

    def add_problems(self, reading: Reading) -> None:
        """Note keys that do not go together, and files that are not there."""
        where = ("data",)
        if self.cells is not None:
            self._add_problems_of_cells(where, reading)
        elif {"cell_key", "count", "amounts"} & self.model_fields_set:
            hint = Message('cells = ["region", "sex"], the columns that tell cells apart')
            reading.add(
                where, Message("count, cell_key and amounts go with cells alone."), hint
            )
        if self.id is None and self.record_key is None and self.cells is None:
            hint = Message(
                'id = "person_id" for a stable identifier, record_key = "rkey" for stored keys'
            )
            reading.add(where, Message("needs id or record_key: whence the keys?"), hint)
        if self.id is not None and self.record_key is not None:
            reading.add(
                where,
                Message("has both id and record_key."),
                Message("remove one of the two"),
                key="id",
            )
        if self.key_range is not None and self.record_key is None and self.cell_key is None:
            reading.add(
                where,
                Message("key_range goes with stored keys alone."),
                Message("remove key_range"),
                key="key_range",
            )
        if self.engine == "spark":
            self._add_problems_of_spark(where, reading)
        elif self.master is not None or self.spark:
            key = "spark" if self.master is None else "master"
            reading.add(
                where,
                Message('{key} goes with engine = "spark" alone.', key=Name(key)),
                Message("remove {key}", key=Name(key)),
                key=key,
            )
        super().add_problems(reading)

    @property
    def has_keys(self) -> bool:
        """Whether there are keys to perturb with."""
        return self.cells is None or self.cell_key is not None

    def _can_read(self, place: places.Place) -> bool:
        return self.is_distributed or super()._can_read(place)

    def _add_problems_of_cells(self, where: KeyPath, reading: Reading) -> None:
        if self.id is not None or self.record_key is not None:
            text = Message("has cells beside the keys of records.")
            reading.add(
                where,
                text,
                Message('cell_key = "cell_key" for their sums; remove the other'),
                key="cells",
            )
        if self.engine == "spark":
            reading.add(
                where,
                Message("cells are tabulated by duckdb."),
                Message("remove engine"),
                key="cells",
            )

    def _add_problems_of_spark(self, where: KeyPath, reading: Reading) -> None:
        from tables.spark.session import is_master, reserved_settings

        for name in reserved_settings(self.spark):
            reading.add(
                where,
                Message("The setting {name!r} of Spark is not to be made.", name=Name(name)),
                Message("it decides answers, or what is shown of records: leave it out"),
                key="spark",
            )
        for name in filter(_is_confidential, self.spark):
            reading.add(
                where,
                Message("The setting {name!r} of Spark holds a secret.", name=Name(name)),
                Message("make it in spark-defaults.conf, or in the environment"),
                key="spark",
            )
        if self.table is not None and self.database is None:
            hint = Message("write the table to Parquet, and name its files as path")
            reading.add(
                where,
                Message("table goes with DuckDB files, which Spark cannot read."),
                hint,
                key="table",
            )
        if self.master is not None and Address(self.master).has_password:  # not echoed
            hint = Message("Spark Connect finds it in SPARK_CONNECT_AUTHENTICATE_TOKEN")
            reading.add(where, Message("master must not hold a token."), hint, key="master")
        elif self.master is not None and not is_master(self.master):
            hint = Message(
                'write "local[*]", "spark://host:7077", "yarn", "k8s://…" or "sc://host"'
            )
            reading.add(
                where,
                Message(
                    "{master!r} is no master of Spark.",
                    master=Name(Address(self.master).masked),
                ),
                hint,
                key="master",
            )


def _is_confidential(name: str) -> bool:
    """Whether the value of a setting of Spark is one that nobody may read in a job file."""
    return (
        re.search("secret|password|token|access.?key|credential", name, re.IGNORECASE)
        is not None
    )


def _secret(name: str, reading: Reading) -> Path:
    """Note a secret that is no file; it is not echoed: it may be the secret itself."""
    path = reading.resolve(name)
    try:
        is_file = path.is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        text = Message("secret must be the path of a file that exists, relative to this file.")
        hint = Message(
            "make one: ckm keys secret secret.key; never write the secret itself here"
        )
        reading.add(("keys",), text, hint, key="secret")
    return path


SecretPath = Annotated[Path, ReadAs(Label, _secret)]


class JobKeys(Section):
    """Where the secret lies, and how strictly keys are judged."""

    secret: SecretPath | None = optional(
        "Path of a secret file. Without it: CKM_SECRET.", repr=False
    )
    secret_command: Some[Label] | None = optional(
        "A program that prints the secret, and its arguments, instead of secret.", repr=False
    )
    checks: Literal["stop", "warn", "skip"] = optional(
        "What to do when the keys are poor.", default="stop"
    )
    mix: bool = optional(
        "Mix cell keys with the secret; false replays other tools.", default=True
    )
    version: Literal[1, 2] = optional(
        "Of the record keys of identifiers; 1 goes on with a ledger of 0.1.0.", default=2
    )
    _commands: list[SecretCommand] = PrivateAttr(default_factory=list)  # at most one

    @property
    def place(self) -> Path | SecretCommand | None:
        """Where the secret is read; None for the environment."""
        if self.secret_command is None:
            return self.secret
        if not self._commands:
            self._commands.append(SecretCommand(self.secret_command))
        return self._commands[0]

    def add_problems(self, reading: Reading) -> None:
        """Note two places of one secret."""
        if self.secret is not None and self.secret_command is not None:
            reading.add(
                ("keys",),
                Message("has both secret and secret_command."),
                Message("remove one of the two"),
                key="secret_command",
            )
