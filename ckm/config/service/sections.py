"""The sections of a service file that a job has not."""

import datetime as dt
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Field, PrivateAttr

from ckm.config.job.ledger import JobLedger
from ckm.config.job.output import CsvFormulas, Languages
from ckm.config.job.variable import JobVariable
from ckm.config.reading import Reading
from ckm.config.section import (
    FilePath,
    Items,
    Label,
    ReadAs,
    Section,
    Words,
    optional,
    texts_of,
)
from ckm.config.service.places import Places, read_places
from footing.messages import Message, Name
from tables import FilterError
from tables.filtering.filters import parse_filter

Role: TypeAlias = Literal["public", "researcher", "officer"]
Reconstruction: TypeAlias = Literal["whoever may filter can reconstruct every true count"]

#: What an office has to say, word for word, before the public may filter.
RECONSTRUCTION: Reconstruction = get_args(Reconstruction)[0]

_OTHERS_MAY_READ = 0o077
_CODE = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
_ADDRESS = r"^https?://[^\s<>\"{}|\\^`]+$"
_Count = Annotated[int, Field(ge=1)]


class ServiceAbout(Section):
    """What the service calls itself, and where it listens."""

    id: str = optional(
        "Name of the table in addresses: /tables/{id}.",
        default="data",
        pattern=_CODE,
    )
    title: Words = Field(description="Title, one for both languages or { en = …, fr = … }.")
    description: Words = optional("A sentence or two.", default={})
    source: Words = optional("Who is responsible for the data.", default={})
    contact: Label = optional("The contact for questions.", default="")
    unit: Words = optional("What is counted: persons.", default={})
    updated: dt.date | None = optional("Date of the data.")
    issued: dt.date | None = optional("When the tables were first published.")
    revision: Words = optional("What changed when the data were last revised.", default={})
    licence: str = optional(
        "Address of the licence of the numbers.", default="", pattern=f"^$|{_ADDRESS}"
    )
    address: str = optional(
        "Where callers find the service, such as https://tables.example.org: links in answers "
        "begin with it.",
        default="",
        pattern=f"^$|{_ADDRESS}",
    )
    languages: Languages = optional(
        "Languages; the first is the default.", default=("en", "fr")
    )
    listen: Label = optional("Address to listen on.", default="127.0.0.1")
    port: int = optional("Port; 0 takes a free one.", default=8080, ge=0, le=65535)
    workers: int = optional("Processes.", default=1, ge=1, le=64)
    total_label: Label = optional("The code of totals.", default="Total")
    missing_label: Label = optional("The code of missing.", default="(missing)")
    publish_noise: bool = optional(
        "Say beside every table how far counts may lie from the true ones.", default=False
    )
    figure_margins: Literal[90, 95] | None = optional(
        "Say beside percentages, differences and sums of areas where the true figure lies, as "
        "often as so many per cent."
    )
    csv_formulas: CsvFormulas = optional(
        "escape puts an apostrophe before texts of CSV that could be formulas.", default="keep"
    )


class Described(Section):
    """What readers are told of a variable or a figure where it is not that of the service."""

    definition: Words = optional("What it means, for readers: a sentence or two.", default={})
    source: Words = optional("Who is responsible for it.", default={})
    contact: Label = optional("The contact for questions about it.", default="")
    updated: dt.date | None = optional("Its date.")
    revision: Words = optional("What changed when it was last revised.", default={})


class OfferedVariable(JobVariable, Described):
    """A variable that the service offers, with its words by language."""

    name: Label = Field(description="A column, or the name of a hierarchy.")
    is_area: bool = optional("Rules are judged area by area.", default=False)
    map: FilePath | None = optional(
        "The map of the areas, for pages with shares or rates; made by ckm service map."
    )
    is_sensitive: bool = optional("Looked at for group disclosure.", default=False)
    _places: Places = PrivateAttr(default_factory=Places)

    @property
    def former(self) -> Mapping[str, tuple[str, ...]]:
        """Code → names that the category had, by which it is found too."""
        return self._places.former

    @property
    def centres(self) -> Mapping[str, tuple[float, float]]:
        """Code of an area → its centre, by which polygons hold it or not."""
        return self._places.centres

    def add_problems(self, reading: Reading) -> None:
        """Let the name stand for labels that are not there; read what is said of areas."""
        super().add_problems(reading)
        if self.map is not None:
            where = ("variable", self.name)
            reading.require_file(where, "map", self.map)
            if not self.is_area:
                text = Message("has a map and is no variable of areas.")
                reading.add(where, text, Message("is_area = true, or leave map out"), key="map")
        if self.codelist is not None:
            add = partial(reading.add, ("variable", self.name), key="codelist")
            self._places = read_places(self.codelist, add=add)
        if not self.labels:
            object.__setattr__(self, "labels", texts_of(self.name))


class ServicePopulation(Section):
    """Records of which tables can be asked for; all records are a population without a name."""

    name: str = Field(description="Its code in requests.", pattern=_CODE)
    title: Words = Field(description="What readers see, in one language or both.")
    where: Label = Field(description="Which records count, for example: status = 'employed'")

    def add_problems(self, reading: Reading) -> None:
        """Note a filter that cannot be read; the data tell whether it fits."""
        try:
            parse_filter(self.where)
        except FilterError as error:
            reading.add_error(("population", self.name), error)


class ServiceZone(Section):
    """A zone of the office: areas whose people are counted together, a population by itself."""

    name: str = Field(description="Its code in requests, as a population.", pattern=_CODE)
    title: Words = Field(description="What readers see, in one language or both.")
    level: Label = Field(description="The column of the areas.")
    areas: Items[Label | int] = Field(
        description="Codes of the areas, as the column has them: numbers without quotes."
    )

    def add_problems(self, reading: Reading) -> None:
        """Note a zone of nothing, or of an area twice."""
        where = ("zone", self.name)
        if not self.areas:
            reading.add(where, Message("has no areas."), Message('areas = ["75056"]'))
        if len(set(map(repr, self.areas))) < len(self.areas):
            reading.add(where, Message("names an area twice."), key="areas")

    @property
    def population(self) -> ServicePopulation:
        """The records in it."""
        codes = ", ".join(
            str(one) if isinstance(one, int) else "'" + one.replace("'", "''") + "'"
            for one in self.areas
        )
        column = "`" + self.level.replace("`", "``") + "`"
        return ServicePopulation.model_construct(
            name=self.name, title=self.title, where=f"{column} in ({codes})"
        )


class ServiceRate(Described):
    """A rate: some categories of a variable for so many persons of others."""

    name: str = Field(description="Its code in requests.", pattern=_CODE)
    title: Words = Field(description="What readers see, in one language or both.")
    per: _Count = optional("So many persons of the denominator.", default=100)
    variable: Label = Field(description="The variable whose categories are counted.")
    numerator: Items[Label] = Field(description="Codes of the categories above the line.")
    denominator: Items[Label] = Field(
        description="Codes of the categories below the line; the code of totals for all."
    )


class ServiceLimits(Section):
    """What one caller, and all callers together, may use."""

    requests_per_hour: _Count = optional("Of one token or address.", default=1000)
    requests_per_hour_researcher: _Count = optional("Of a researcher.", default=5000)
    requests_per_hour_officer: _Count = optional("Of an officer.", default=50_000)
    requests_per_day: _Count | None = optional("Of one token or address, whatever its role.")
    thin_difference_cost: int = optional(
        "Of so many requests one may be a refusal by the ledger; 0 for any number.",
        default=50,
        ge=0,
    )
    cells_researcher: _Count | None = optional("maximum_cells of researchers and officers.")
    request_bytes: int = optional("Largest request.", default=65_536, ge=1024)
    seconds: float = optional("Longest a request may work.", default=30.0, gt=0)
    concurrent_scans: _Count = optional("Scans at a time.", default=2)
    concurrent_requests: _Count = optional("Requests at a time.", default=64)
    cache_bytes: int = optional(
        "Memory for cells and for answers, each half.", default=256_000_000, ge=0
    )
    large_cells: _Count = optional(
        "Cells of a job; above maximum_cells, answers wait.", default=1_000_000
    )
    jobs: _Count = optional("Jobs that are kept or wait.", default=32)
    job_seconds: float = optional("Longest a job may work.", default=300.0, gt=0)
    job_hours: float = optional("How long results are kept.", default=24.0, gt=0)
    job_bytes: _Count = optional("Bytes of all results together.", default=1_000_000_000)
    ledger_sets: _Count = optional(
        "Sets of records in the ledger; then no new table.", default=5_000_000
    )
    least_variance: float = optional(
        "Share of a cell's variance that filtered tables leave to a project.",
        default=0.85,
        gt=0,
        le=1,
    )
    project_sets: int = optional(
        "Filtered sets of a project where that share is too dear to compute.", default=3, ge=0
    )
    connections: _Count = optional("Connections of one process.", default=512)
    memory_limit: Label | None = optional('DuckDB memory: "2GB".')
    threads: _Count | None = optional("DuckDB threads; all by default.")

    def per_hour(self, role: str) -> int:
        """Return the requests per hour of a role."""
        limits = {
            "researcher": self.requests_per_hour_researcher,
            "officer": self.requests_per_hour_officer,
        }
        return limits.get(role, self.requests_per_hour)


class ServiceAccess(Section):
    """Who may ask."""

    mode: Literal["open", "tokens"] = optional(
        "open answers anybody, tokens only who has one.", default="open"
    )
    tokens: FilePath | None = optional("The file of hashed tokens.")
    audit: FilePath | None = optional("The file of the audit log.")
    budgets: FilePath | None = optional(
        "The file of used budgets, where the ledger's database does not keep them."
    )
    projects: FilePath | None = optional(
        "The file of the filters that projects used, kept as long as the data are served; by "
        "default in the ledger's database."
    )
    trusted_proxies: Items[Label] = optional(
        "Addresses whose X-Forwarded-For is believed.", default=()
    )
    filters: Role = optional(
        "The least role that may filter, or count some categories alone.", default="officer"
    )
    accepts_reconstruction: Annotated[bool, ReadAs(Reconstruction, lambda *_: True)] = optional(
        "What the office has to say where the mode is open and the public filters.",
        default=False,
    )
    mcp: bool = optional(
        "Let language models ask at /mcp, by the Model Context Protocol, as any caller.",
        default=False,
    )
    origins: Items[Label] = optional(
        'Web sites whose scripts may ask (CORS); ["*"] for all.', default=()
    )

    @property
    def has_filters(self) -> bool:
        """Whether there can be a caller who may filter."""
        return self.filters == "public" or self.tokens is not None

    @property
    def has_accounts(self) -> bool:
        """Whether there can be a caller whose filters are accounted."""
        return self.has_filters and self.filters != "officer"

    @property
    def lacks_account(self) -> bool:
        """Whether callers below officer may filter, and neither a file nor words say how."""
        is_open = self.mode == "open" and self.filters == "public"
        is_said = is_open or self.accepts_reconstruction or self.projects is not None
        return self.has_accounts and not is_said

    def add_problems(self, reading: Reading) -> None:
        """Note files that cannot be, and what opens the true counts to strangers."""
        where, tokens = ("access",), self.tokens
        if self.mode == "tokens" and tokens is None:
            hint = Message('tokens = "tokens.json", filled with: ckm token add')
            reading.add(
                where, Message('mode = "tokens" needs the file of tokens.'), hint, key="mode"
            )
        for path, what in ((tokens, "tokens"), (self.projects, "projects")):
            if path is not None and path.exists() and path.stat().st_mode & _OTHERS_MAY_READ:
                text = Message("the file of {what} can be read by others.", what=Name(what))
                reading.add(
                    where, text, Message("chmod 600 {path}", path=Name(path.name)), key=what
                )
        for key, what in (
            ("audit", Message("audit log")),
            ("budgets", Message("file of budgets")),
            ("projects", Message("file of projects")),
        ):
            path = getattr(self, key)
            if path is not None and not path.parent.is_dir():
                reading.add(
                    where,
                    Message("the folder of the {what} does not exist.", what=what),
                    key=key,
                )
        is_open = self.mode == "open" and self.filters == "public"
        if is_open and not self.accepts_reconstruction:
            text = Message(
                'filters = "public" in an open service allows every user to reconstruct '
                "the true counts, from some hundred filtered tables."
            )
            words = Message(
                'accepts_reconstruction = "{reconstruction}"',
                reconstruction=Name(RECONSTRUCTION),
            )
            hint = Message(
                "leave filters out, or accept it in these words: {words}", words=words
            )
            reading.add(where, text, hint, key="filters")


class ServiceAudit(Section):
    """What all tables together may give away."""

    report: FilePath | None = optional(
        "What ckm audit -o wrote: the service starts where it is of what is served."
    )
    largest_share: Annotated[float, Field(ge=0, le=1)] | None = optional(
        "Largest share of small counts found, of all tables or of those of one size."
    )
    largest_zeros_share: Annotated[float, Field(ge=0, le=1)] | None = optional(
        "Largest share of the cells with somebody, published as 0, that the audit names."
    )
    largest_attribute_share: Annotated[float, Field(ge=0, le=1)] | None = optional(
        "Largest share of right statements that all of a cell have a category."
    )
    small: int = optional("Counts from 1 to this are small.", default=2, ge=1, le=10)
    confidence: float = optional(
        "Share of right guesses from which on somebody is sure.", default=0.95, ge=0.5, le=1
    )
    areas: _Count | None = optional(
        "So many areas drawn at random are looked at, and tables by area alone; all by default."
    )

    def add_problems(self, reading: Reading) -> None:
        """Note an audit that nothing would come of."""
        if self.report is not None and self.largest_share is None:
            text = Message("report needs largest_share: what share may be inferred?")
            reading.add(
                ("audit",),
                text,
                Message("largest_share = 0.2 for a fifth of the small counts"),
                key="report",
            )


class ServiceLedger(JobLedger):
    """The record of what was published, by this service and by batch jobs."""

    smallest: int = optional("Smaller cells are not compared.", default=10, ge=1)
    official: Items[FilePath] = optional(
        "Job files whose tables are recorded before callers are heard; empty for none.",
        default=(),
    )

    def add_problems(self, reading: Reading) -> None:
        """Note a limit that is for jobs alone, too."""
        super().add_problems(reading)
        if self.maximum_numbers is not None:
            reading.add(
                ("ledger",),
                Message("maximum_numbers is for jobs: callers ask for one table at a time."),
                Message("keep it in the jobs of the ledger; ckm audit looks at all tables"),
                key="maximum_numbers",
            )
