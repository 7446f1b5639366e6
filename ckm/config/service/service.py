"""A service: what a service file says, checked and with its paths resolved."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from pydantic import Field, PrivateAttr

from ckm.config.job.data import JobData, JobKeys
from ckm.config.job.job import Categories, Hierarchies, Job, add_problems_of_dimensions
from ckm.config.job.ledger import JobLedger
from ckm.config.job.noise import JobNoise
from ckm.config.job.output import JobOutput
from ckm.config.job.variable import JobVariable, add_problems_of_variables
from ckm.config.problems import JobError, did_you_mean
from ckm.config.read import build, kind_of, open_settings, read_job
from ckm.config.reading import Reading
from ckm.config.section import Items, SettingsFile, Some, optional
from ckm.config.service.rules import RuleSettings
from ckm.config.service.sections import (
    OfferedVariable,
    ServiceAbout,
    ServiceAccess,
    ServiceAudit,
    ServiceLedger,
    ServiceLimits,
    ServicePopulation,
    ServiceRate,
    ServiceZone,
)
from footing.messages import Message, Name


class Service(SettingsFile, title="A service of ckm"):
    """A service that answers table requests. `read_service` reads one."""

    about: ServiceAbout = Field(alias="service")
    data: JobData
    keys: JobKeys = JobKeys()
    ptable: JobNoise
    hierarchies: Hierarchies = Field(default={})
    categories: Categories = Field(default={})
    variable: Some[OfferedVariable] = Field(description="What may be asked for.")
    population: Items[ServicePopulation] = optional("Records that count alone.", default=())
    zone: Items[ServiceZone] = optional(
        "Zones of the office, counted by themselves.", default=()
    )
    rate: Items[ServiceRate] = optional("Rates that can be asked for.", default=())
    rules: RuleSettings = RuleSettings()
    limits: ServiceLimits = ServiceLimits()
    access: ServiceAccess = ServiceAccess()
    audit: ServiceAudit = ServiceAudit()
    ledger: ServiceLedger | None = None
    _official: tuple[Job, ...] = PrivateAttr(default=())
    _discrete: tuple[str, ...] = PrivateAttr(default=())
    _derived: tuple[JobVariable, ...] = PrivateAttr(default=())

    @cached_property
    def job(self) -> Job:
        """Data, keys and noise, without tables."""
        job = Job.model_construct(
            **{name: getattr(self, name) for name in ("data", "keys", "ptable")},
            hierarchies=self.hierarchies,
            categories=self.categories,
            variable=(*self.variable, *self._derived),
            table=(),
            output=JobOutput(
                total_label=self.about.total_label,
                missing_label=self.about.missing_label,
                csv_formulas=self.about.csv_formulas,
            ),
        )
        job.model_post_init(self._reading)
        job.take_discrete(self._discrete)
        return job

    def take_discrete(self, columns: Iterable[str]) -> None:
        """Take columns for categories, as the job does of which these are the tables."""
        self._discrete = tuple(columns)

    def take_derived(self, variables: Iterable[JobVariable]) -> None:
        """Derive columns as the job does of which these are the tables; offer none of them."""
        self._derived = tuple(one for one in variables if one.derived is not None)

    @cached_property
    def variables(self) -> Mapping[str, OfferedVariable]:
        """Name → what may be asked for."""
        return {variable.name: variable for variable in self.variable}

    @cached_property
    def populations(self) -> Mapping[str, ServicePopulation]:
        """Name → a population beside all records; zones of the office are such."""
        zones = [zone.population for zone in self.zone]
        return {population.name: population for population in (*self.population, *zones)}

    @cached_property
    def rates(self) -> Mapping[str, ServiceRate]:
        """Name → a rate."""
        return {rate.name: rate for rate in self.rate}

    @property
    def official(self) -> tuple[Job, ...]:
        """The jobs whose tables are recorded before callers are heard."""
        return () if self.ledger is None else self._official

    @property
    def method(self) -> str:
        """The word of what is said about the noise, on every page and in every answer."""
        return "reconstruction" if self.access.accepts_reconstruction else "method"

    @property
    def is_unaudited(self) -> bool:
        """Whether anybody may ask, and no audit of all tables is named."""
        return self.access.mode == "open" and self.audit.report is None

    @property
    def has_accounts_in_ledger(self) -> bool:
        """Whether the ledger's database keeps account of projects."""
        return self.access.lacks_account and self.ledger is not None

    @property
    def area(self) -> str | None:
        """The variable of areas."""
        return next((v.name for v in self.variables.values() if v.is_area), None)

    @property
    def time(self) -> str:
        """The variable of times; empty for none."""
        return next((v.name for v in self.variables.values() if v.role == "time"), "")

    @property
    def cautions(self) -> tuple[str, ...]:
        """What an office should know before it opens the service to strangers."""
        sentences = []
        if self.ledger is None:
            sentences.append(
                Message(
                    "without [ledger] requests are not compared with what was published: "
                    "two tables that differ by one person disclose that person"
                )
            )
        elif not self.official:
            sentences.append(
                Message(
                    "[ledger] reserves nothing: a table that a caller asks for first may keep "
                    'one of the office from publication; official = ["job.toml"] prevents it'
                )
            )
        if self.is_unaudited:
            sentences.append(
                Message(
                    "not audited: disclosure from all tables of this service together was "
                    "not assessed; ckm audit {file} -o audit.json does it, and report in "
                    "[audit] names it",
                    file=Name(self.path.name),
                )
            )
        if self.access.has_accounts:
            who = (
                Message("every researcher with a token")
                if self.access.filters != "public"
                else Message("everybody")
                if self.access.mode == "open"
                else Message("everybody with a token")
            )
            can = (
                Message(
                    "users who may filter can reconstruct the true counts from some "
                    "hundred tables, with a ledger too"
                )
                if self.access.projects is None and not self.has_accounts_in_ledger
                else Message(
                    "the account limits what each project infers by itself, not what "
                    "several infer together"
                )
            )
            sentences.append(
                Message(
                    '{who} may filter: {can}; filters = "officer" in [access] prevents it',
                    who=who,
                    can=can,
                )
            )
        return tuple(sentences)

    def add_problems(self, reading: Reading) -> None:
        """Note what several sections contradict each other in."""
        add_problems_of_dimensions(self.hierarchies, self.categories, reading)
        add_problems_of_variables(self.variable, self.hierarchies, reading)
        self._add_problems_of_populations(reading)
        self._add_problems_of_accounts(reading)
        self._add_problems_of_figures(reading)
        names = list(self.variables)
        for section in ("hierarchies", "categories"):
            for name in getattr(self, section):
                if name not in names:
                    hint = did_you_mean(name, names) or Message(
                        "name it in a [[variable]], or drop it"
                    )
                    reading.add(
                        (section,),
                        Message("{name!r} is no variable of the service.", name=Name(name)),
                        hint,
                        key=name,
                    )
        for secret in (self.data.id, self.data.record_key):
            if secret is not None and secret in self._levels_of(names):
                text = Message(
                    "column {secret!r} tells persons apart: it is no variable.",
                    secret=Name(secret),
                )
                reading.add(("variable",), text, Message("offer groups of people"))
        rules = self.rules
        areas = self._levels_of(v.name for v in self.variable if v.is_area)
        rule_names = [*rules.mandatory, *(name for group in rules.exclusive for name in group)]
        for entries, choices, what in (
            (rule_names, names, Message("variable of the service")),
            (rules.small_areas, areas, Message("level of the area variable")),
        ):
            for name in dict.fromkeys(entries):
                if name not in choices:
                    reading.add(
                        ("rules",),
                        Message("{name!r} is no {what}.", name=Name(name), what=what),
                        did_you_mean(name, choices),
                    )
        if self.ledger is not None:
            self._official = tuple(self._official_jobs(self.ledger, reading))

    def _add_problems_of_populations(self, reading: Reading) -> None:
        names = [*(one.name for one in self.population), *(zone.name for zone in self.zone)]
        for name, times in Counter(names).items():
            if times > 1:
                reading.add(
                    ("population",),
                    Message("the name {name!r} occurs more than once.", name=Name(name)),
                )
        areas = self._levels_of(v.name for v in self.variable if v.is_area)
        for zone in self.zone:
            if zone.level not in areas:
                reading.add(
                    ("zone", zone.name),
                    Message(
                        "{level!r} is no level of the area variable.", level=Name(zone.level)
                    ),
                    did_you_mean(zone.level, areas),
                    key="level",
                )

    def _add_problems_of_figures(self, reading: Reading) -> None:
        """Note rates that cannot be told apart or made, and margins that would not hold."""
        taken = Counter(rate.name for rate in self.rate)
        for rate in self.rates.values():
            if taken[rate.name] > 1 or rate.name in FIGURES:
                text = Message("the name {name!r} is taken.", name=Name(rate.name))
                reading.add(
                    ("rate",), text, Message("{names} have it", names=Name.each(FIGURES))
                )
            if rate.variable not in self.variables:
                reading.add(
                    ("rate",),
                    Message(
                        "{name!r} is no variable of the service.", name=Name(rate.variable)
                    ),
                    did_you_mean(rate.variable, list(self.variables)),
                )
            if not rate.numerator or not rate.denominator:
                text = Message(
                    "rate {name!r} needs categories in both lists.", name=Name(rate.name)
                )
                reading.add(("rate",), text, Message('numerator = ["A"]'))
        if self.about.figure_margins is not None and not self.keys.mix:
            text = Message("margins of figures need mixed keys: noises must be independent.")
            reading.add(
                ("service",), text, Message("leave mix = false out"), key="figure_margins"
            )

    def _add_problems_of_accounts(self, reading: Reading) -> None:
        if self.access.lacks_account and self.ledger is None:
            text = Message("callers below officer may filter, and no account is kept of it.")
            hint = Message(
                'name a file to keep it in: projects = "projects.sqlite"; or a [ledger]'
            )
            reading.add(("access",), text, hint)

    def _levels_of(self, names: Iterable[str]) -> Sequence[str]:
        """Return the columns behind variables."""
        nested = {name: self.hierarchies.get(name) for name in names}
        columns = [h if isinstance(h, list) else [name] for name, h in nested.items()]
        return [column for levels in columns for column in levels]

    def _official_jobs(self, ledger: ServiceLedger, reading: Reading) -> Iterable[Job]:
        """Read the jobs whose tables are reserved; note where nothing is and has to be."""
        where = ("ledger",)
        if self.access.has_filters and not ledger.official:
            text = Message(
                "reserves nothing, while callers may filter: one table of theirs can keep "
                "a table of the office from publication for ever."
            )
            hint = Message('name the jobs whose tables come first: official = ["job.toml"]')
            reading.add(where, text, hint)
        elif "official" not in ledger.model_fields_set:
            text = Message(
                "does not say which tables of the office come first: a table that a caller "
                "asks for before may keep one of these from publication for ever."
            )
            hint = Message(
                'official = ["job.toml"] names their jobs; official = [] says that there are '
                "none"
            )
            reading.add(where, text, hint)
        for path in ledger.official:
            before, name = len(reading.problems), reading.name_of(path)
            reading.require_file(where, "official", path)
            if len(reading.problems) > before:
                continue
            try:
                job = read_job(path)
            except JobError as error:
                for problem in error.problems:
                    text = Message(
                        "official {name!r}: {line}", name=Name(name), line=problem.line()
                    )
                    reading.add(where, text, problem.hint, key=("official", name))
                continue
            if job.ledger is None or _place(job.ledger) != _place(ledger):
                text = Message(
                    "official {name!r} names another ledger or history, or none.",
                    name=Name(name),
                )
                reading.add(
                    where,
                    text,
                    Message("give the job the path and history of the service"),
                    key=("official", name),
                )
            yield job


#: Figures that every table has.
FIGURES = ("count", "share", "difference", "index", "rank", "rate", "weighted")


def _place(ledger: JobLedger) -> tuple[Path | str, str]:
    """Return where a ledger keeps tables: its file or database, and the history."""
    target = ledger.target
    return (target.resolve() if isinstance(target, Path) else target), ledger.history


def is_service_file(path: Path) -> bool:
    """Return whether a TOML file describes a service rather than a job."""
    return kind_of(path) == "service"


def read_service(path: Path | str) -> Service:
    r"""Read and check a service file; relative paths start at its folder."""
    reading, document = open_settings(path, kind="service")
    return build(Service, document, reading)
