"""The section ``[report]``: what the reports of a release say, and what they hold it to."""

from typing import Annotated

from pydantic import Field

from ckm.config.job.output import Languages
from ckm.config.problems import did_you_mean
from ckm.config.reading import Reading
from ckm.config.section import Date, FilePath, Items, Label, Section, optional
from footing.messages import Argument, Message, Name

#: The attacks that a limit may be set for.
ATTACKS = (
    "differencing",
    "geographic-differencing",
    "two-partition",
    "small-cell",
    "repeated-answers",
    "hidden-bound",
    "linear-reconstruction",
    "subset-sums",
    "margin-bounds",
    "additive-keys",
)
_Limit = Annotated[float, Field(ge=0, le=1)]


class Decision(Section):
    """Who decided the limits, and when."""

    who: Label = Field(description="Who decided.")
    when: Date = Field(description="When: a date without quotes.")


class JobLimits(Section):
    """What the office allows; None and names that are missing set no limit."""

    posterior: _Limit | None = optional("Largest P(original | published) of a sensitive count.")
    posterior_set: _Limit | None = optional("Largest P(the original is sensitive | published).")
    known_small: _Limit | None = optional(
        "Largest share of a table's sensitive counts that one is more than 75 % sure are such."
    )
    attacks: dict[str, _Limit] = optional(
        "Name of an attack = its largest probability of success.", default={}
    )
    aad: float | None = optional("Largest mean deviation of a table, in counts.", ge=0)
    changed_cells: _Limit | None = optional(
        "Largest share of the cells with somebody that are published with another count."
    )
    false_zeros: _Limit | None = optional(
        "Largest share of the cells with somebody that are published as 0."
    )
    all_tables: _Limit | None = optional(
        "Largest share of small counts found from all tables together, by the audit."
    )
    occupied_zeros: _Limit | None = optional(
        "Largest share of the cells with somebody, published as 0, that the audit names."
    )
    attributes: _Limit | None = optional(
        "Largest share of right statements that all of a cell have a category, by the audit."
    )
    decided: Decision | None = optional(
        "Who decided the limits, and when; without it the report says that nobody did."
    )

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return self.changed(decided=None) != JobLimits()

    def add_problems(self, reading: Reading) -> None:
        """Note the attacks that are unknown."""
        for name in self.attacks:
            if name not in ATTACKS:
                hint = did_you_mean(name, ATTACKS) or Message(
                    "known are {attacks}", attacks=Name.each(ATTACKS)
                )
                reading.add(
                    ("report", "limits"),
                    Message("the attack {name!r} is unknown.", name=Name(name)),
                    hint,
                    key=("attacks", name),
                )


class Allowance(Section):
    """Something that a rule forbids and somebody allowed; perhaps a check that may fail."""

    what: Label = Field(description="What is allowed.")
    who: Label = Field(description="Who allowed it.")
    when: Date = Field(description="When it was allowed: a date without quotes.")
    why: Label = Field(description="Why it was allowed.")
    check: Label | None = optional("A check of the release that may fail.")
    continuous: Label | None = optional(
        "A dimension that may be continuous, or tell records apart; the public report says it."
    )
    second_ptable: bool = optional(
        "Whether records of the ledger may be published with a second p-table, too.",
        default=False,
    )
    public_counts: bool = optional(
        "Whether counts are published in full beside hidden sums: of suppression alone.",
        default=False,
    )


class JobReport(Section):
    """What the reports of a release say beside its numbers; texts are empty for none."""

    id: Label = optional("What the release is called.", default="")
    date: Date = optional("Of the release, without quotes.", default="")
    contact: Label = optional("Whom readers may ask; shown to everybody.", default="")
    ptable_label: Label = optional(
        "Your own name of the p-table, shown to everybody; no parameter, no hash.", default=""
    )
    languages: Languages = optional("Languages of the pages.", default=("en", "fr"))
    designs: FilePath | None = optional("A file of other designs to compare.")
    audit: FilePath | None = optional("What ckm audit -o wrote of this job.")
    frontier: FilePath | None = optional(
        "What ckm ptable frontier -o wrote of this job, as .json."
    )
    sensitive: int = optional(
        "Counts from 1 to this one are sensitive.", default=4, ge=1, le=1000
    )
    limits: JobLimits = JobLimits()
    exceptions: Items[Allowance] = optional("What somebody allowed, and why.", default=())

    @property
    def allows_second_ptable(self) -> bool:
        """Whether somebody allowed a p-table beside the one that a ledger knows."""
        return any(entry.second_ptable for entry in self.exceptions)

    @property
    def has_public_counts(self) -> bool:
        """Whether somebody declared numbers of records public, beside hidden sums of them."""
        return any(entry.public_counts for entry in self.exceptions)

    def add_problems(self, reading: Reading) -> None:
        """Note designs that are not there, and checks that nobody may allow to fail."""
        if self.designs is not None:
            reading.require_file(("report",), "designs", self.designs)
        if self.frontier is not None:
            reading.require_file(("report",), "frontier", self.frontier)
        of_audit = ("all_tables", "occupied_zeros", "attributes")
        needs = [name for name in of_audit if getattr(self.limits, name) is not None]
        if needs and self.audit is None:
            reading.add(
                ("report", "limits"),
                Message(
                    "{limit} needs an audit: what do all tables tell together?",
                    limit=Name(needs[0]),
                ),
                Message(
                    'audit = "audit.json" in [report], made by: ckm audit job.toml -o '
                    "audit.json"
                ),
                key=needs[0],
            )
        from reports.catalogues.release import CHECKS

        allowable = [name for name in CHECKS if name != "public-scan"]
        for number, entry in enumerate(self.exceptions):
            where = ("report", "exceptions", number)
            allowed = {
                "check": entry.check is not None,
                "continuous": entry.continuous is not None,
                "second_ptable": entry.second_ptable,
                "public_counts": entry.public_counts,
            }
            if sum(allowed.values()) > 1:
                names = [name for name, is_there in allowed.items() if is_there]
                text = Message("allows several things: {names}.", names=Name.each(names))
                reading.add(
                    where,
                    text,
                    Message("write an exception for each, with its own why"),
                    key=names[0],
                )
            if entry.check is not None and entry.check not in allowable:
                hint = did_you_mean(entry.check, allowable)
                hint = hint or Message("these can: {allowable}", allowable=Name.each(allowable))
                reading.add(
                    where,
                    Message(
                        "the check {check!r} cannot be allowed to fail.",
                        check=Argument(entry.check),
                    ),
                    hint,
                    key="check",
                )
