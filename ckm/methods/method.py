"""What a method of protection is to whoever releases, compares or explains tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from footing.disclosive import Disclosive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ckm.engine.protection import Protected
    from ckm.engine.request import TableRequest
    from ckm.ledger.protection import CellProtection
    from footing.progress import Progress

_Data_contra = TypeVar("_Data_contra", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Statement(Disclosive):
    """What a method says of itself; after its tables were protected, of these as well.

    Parameters
    ----------
    words
        What tells the public of it: a name in ``methods.toml``, or the sentences.
    is_original
        Whether the numbers that it publishes are original ones.
    notice
        What the office must know before all else; for inside use, like all that follows.
    notes
        What the internal report tells of the tables.
    measures
        What the office needs to know of each measure.
    links
        What links tables and columns, for the office to confirm.
    """

    words: str | Sequence[str]
    is_original: bool = False
    notice: str = ""
    notes: Sequence[str] = ()
    measures: Sequence[Mapping[str, Any]] = ()
    links: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class InternalRecord(Disclosive):
    """The part of the internal manifest that is a method's own.

    Parameters
    ----------
    method
        Its parameters, and figures of what it did.
    inside
        The files that it wrote there.
    last
        What stands at the end.
    """

    method: Mapping[str, Any]
    inside: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)


class Method(Protocol[_Data_contra]):
    """Protects tables of some data.

    Whoever publishes asks `require` first, writes what `protect` yields, and only then reads
    the `statement` and the `record` of the tables.
    """

    @property
    def settings(self) -> object:
        """Its parameters, which do not change."""

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Raise one error with every reason why it cannot protect these tables."""

    def protect(
        self,
        data: _Data_contra,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Protect tables, one after the other; what is refused, is refused before the first."""

    def statement(self) -> Statement:
        """Say what the method is, and what it did."""

    def record(self, folder: Path) -> InternalRecord:
        """Write what stays inside into a folder, and return what its manifest says of it."""


class RecordedMethod(Method[_Data_contra], Protocol[_Data_contra]):
    """A method that draws no noise by the keys of cells, and whose tables a ledger can keep."""

    def cell_protection(self, protected: Protected) -> CellProtection:
        """Return what stands for each cell of a table that was protected."""
