"""A swap: what a swap file says, checked and with its paths resolved."""

from functools import cached_property
from pathlib import Path

from pydantic import Field

from ckm.config.job.data import Records, SecretPath
from ckm.config.job.ledger import RecordsLedger
from ckm.config.read import build, kind_of, open_settings
from ckm.config.reading import Reading
from ckm.config.section import Items, Label, Section, SettingsFile, Some, optional
from ckm.methods.settings import SwapSettings
from footing.messages import Message
from tables import RequestError
from tables.swapping.plan import SwapPlan


class SwapKeys(Section):
    """Where the secret lies that decides who moves."""

    secret: SecretPath | None = optional(
        "Path of a secret file. Without it: CKM_SECRET.", repr=False
    )


class SwapSection(Section):
    """Who moves, and where to."""

    household: Label = Field(description="Column of the household's identifier.")
    geography: Some[str] = Field(description="Columns, from broad to fine.")
    risk: Items[str] = optional(
        "Columns whose combinations make a record easy to find.", default=()
    )
    risk_values: Items[str] = optional(
        "Columns of risks computed elsewhere, instead of risk.", default=()
    )
    risk_threshold: float | None = optional("Who has this risk or more moves.", gt=0)
    carry_along: Items[str] = optional("Further columns that move along.", default=())
    similar: Some[Items[str]] = optional(
        "Profiles that partners share, tried in turn.", default=((),)
    )
    k: int = optional("Fewer alike records in an area are at risk.", default=3, ge=0)
    rate: float = optional("The least share of households that move.", default=0.05, ge=0, le=1)
    any_size: bool = optional(
        "Take a household of another size as a last resort.", default=False
    )
    seed: int | None = optional("Decides who moves, instead of a secret.", ge=0, repr=False)

    @cached_property
    def plan(self) -> SwapPlan:
        """Who moves, and where to, for the one who moves them."""
        return SwapPlan(**self.model_dump(exclude={"seed"}))

    @property
    def settings(self) -> SwapSettings:
        """The parameters of the method."""
        return SwapSettings(plan=self.plan, seed=self.seed)

    def add_problems(self, reading: Reading) -> None:
        """Note what the plan says it cannot be."""
        try:
            self.plan  # noqa: B018
        except RequestError as error:
            hint = Message("ckm swap --help says what the columns are for")
            reading.add_error(("swap",), error, hint)


class SwapLedger(RecordsLedger):
    """The record of what was published of the same records, which a swap enters."""

    def add_problems(self, reading: Reading) -> None:
        """Note that nothing tells the records apart, too."""
        super().add_problems(reading)
        if self.id is None and self.record_key is None:
            text = Message(
                "needs id or record_key: by what are records the same as those of jobs?"
            )
            hint = Message('id = "person_id", as in [data] of the jobs')
            reading.add(("ledger",), text, hint)


class SwapJob(SettingsFile, title="A swap of ckm"):
    """One swap: the records, what decides, and who moves. `read_swap` reads one."""

    data: Records
    keys: SwapKeys = SwapKeys()
    swap: SwapSection
    ledger: SwapLedger | None = None

    def add_problems(self, reading: Reading) -> None:
        """Note two things that decide."""
        if self.keys.secret is not None and self.swap.seed is not None:
            text = Message("there are both [keys] secret and [swap] seed.")
            hint = Message("keep one: with a secret, others cannot draw the same")
            reading.add(("swap",), text, hint, key="seed")


def read_swap(path: Path | str) -> SwapJob:
    r"""Read and check a swap file; relative paths start at its folder.

    The data are not opened.
    """
    reading, document = open_settings(path, kind="swap")
    if "swap" not in document and "table" in document:
        hint = Message("ckm release and ckm suppress take jobs; a swap file has [swap]")
        reading.add((), Message("This is a job, not a swap."), hint)
        raise reading.error()
    return build(SwapJob, document, reading)


def is_swap_file(path: Path) -> bool:
    """Return whether a TOML file describes a swap."""
    return kind_of(path) == "swap"
