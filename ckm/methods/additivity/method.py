"""Additivity after another method: the nearest table of whole numbers that adds up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from ckm.engine.request_fitting import raise_together, table_measures
from ckm.errors import ConfigError
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ckm.engine.protection import Protected
    from ckm.engine.request import TableRequest
    from ckm.methods.additivity.release_step import Restorer
    from ckm.methods.method import InternalRecord, Method, Statement
    from ckm.methods.settings import AdditivitySettings
    from footing.progress import Progress

_Data = TypeVar("_Data")


class Additivity(Generic[_Data]):
    """Makes what another method publishes add up, table by table.

    Parameters
    ----------
    method
        The method before.
    restorer
        What restores additivity, and measures what that changed.
    """

    def __init__(self, method: Method[_Data], restorer: Restorer) -> None:
        self._method, self._restorer = method, restorer

    @property
    def settings(self) -> AdditivitySettings:
        """What decides which table is the nearest."""
        return self._restorer.settings

    def require(self, tables: Mapping[str, TableRequest]) -> None:
        """Refuse what the method before refuses, and other measures than counts."""
        self._method.require(tables)
        raise_together(
            [
                ConfigError(
                    Message(
                        "Table {name!r} shows {measure!r}, and additivity is for counts.",
                        name=Name(name),
                        measure=Name(measure),
                    ),
                    hint=Message("publish it in a job of its own without additive"),
                )
                for name, measure in table_measures(tables)
                if measure != "count"
            ]
        )

    def protect(
        self,
        data: _Data,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Protect tables as the method before, and let each add up."""
        for protected in self._method.protect(data, requests, progress=progress):
            yield replace(
                protected,
                table=self._restorer.restore(protected),
                before_additivity=protected.table,
            )
            del protected  # its cells, before those of the next table are protected

    def statement(self) -> Statement:
        """Say what was changed a second time."""
        before = self._method.statement()
        notes = (*before.notes, *self._restorer.warnings())
        return replace(before, words="additive", notes=notes)

    def record(self, folder: Path) -> InternalRecord:
        """Write what the method before writes, and tell the changes."""
        before = self._method.record(folder)
        return replace(before, last={**before.last, "additivity": self._restorer.to_dict()})
