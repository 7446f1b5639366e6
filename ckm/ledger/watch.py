"""A watch beside an engine: it digests the tables that pass, and publishes them or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckm.ledger.appearances import n_counts_with_a_record
from ckm.ledger.definition import Definition
from ckm.ledger.errors import SecondMethodError
from ckm.ledger.ledger import Ledger, Policy
from ckm.ledger.protection import CellProtection
from ckm.ledger.record_sets.entry import Entry
from ckm.ledger.second_method import SecondMethod, refused_methods
from ckm.ledger.storage.record import ThinPair
from footing.progress import Progress
from tables.cells.parts import join_parts, without_amounts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from ckm.engine.engine import Engine
    from ckm.engine.protection import Protected, ProtectedCells
    from ckm.engine.request import TableRequest
    from tables import Cells, Request


class Watch:
    """Watch the tables of one request or of one release on their way out.

    Give it to `Engine.tabulate_all`, write the tables where nobody sees them yet, call
    `publish`, and show them only when it returns. So batch jobs and services do the same.

    Parameters
    ----------
    ledger
        The ledger.
    history
        The history that the tables belong to.
    also
        Further histories whose tables their readers know.
    data
        The version of the records and their keys. Where it is named, a table that is recorded
        needs no sketches; otherwise they tell whether it is still the same.

    Examples
    --------
    >>> watch = Watch(ledger)  # doctest: +SKIP
    >>> tables = engine.tabulate_all(requests, watch=watch)  # doctest: +SKIP
    >>> watch.publish(policy="refuse")  # doctest: +SKIP
    ()
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        history: str = "public",
        also: Sequence[str] = (),
        data: str = "",
    ) -> None:
        self._ledger = ledger
        self._history = history
        self._also = tuple(also)
        self._data = data
        self._entries: list[Entry] = []
        self._published: list[Definition] = []
        self._noises: dict[str, str] = {}

    def tables(
        self,
        engine: Engine,
        requests: Mapping[str, TableRequest],
        *,
        progress: Progress | None = None,
    ) -> Iterator[Protected]:
        """Protect tables as the engine does, and digest the cells of each that passes.

        Parameters
        ----------
        engine
            The engine.
        requests, progress
            As for `Engine.protect_tables`.

        Yields
        ------
        Protected
            Each table.

        Raises
        ------
        LedgerError, tables.TablesError, ConfigError
            If a sum was published with another noise, or the engine refuses.

        Examples
        --------
        >>> next(watch.tables(engine, requests)).table  # doctest: +SKIP
        PublishedTable(sex, count; 3 cells)
        """
        cell_requests = engine.requests_of_cells(requests)
        self.add_noise_identity(engine.noise_identities(requests))
        sketch = self.width(cell_requests)
        for protected in engine.protect_tables(requests, sketch=sketch, progress=progress):
            name, where = protected.name, protected.request.where
            self.add_table(name, cell_requests[name], protected.cells, where=where)
            yield protected
            del protected  # its cells, before those of the next table are protected

    def parts(
        self,
        engine: Engine,
        name: str,
        request: TableRequest,
        *,
        caution: Callable[[str], None] | None = None,
        progress: Progress | None = None,
    ) -> Iterator[tuple[float, ProtectedCells]]:
        """Protect a table part by part as the engine does, and digest all of its cells.

        Their sets of records stay in memory until the last part has passed.

        Parameters
        ----------
        engine
            The engine.
        name
            What the table is called.
        request, caution, progress
            As for `Engine.protect_parts`.

        Yields
        ------
        tuple
            As from `Engine.protect_parts`.

        Raises
        ------
        LedgerError, tables.TablesError, ConfigError
            As for `tables`.

        Examples
        --------
        >>> for share, part in watch.parts(engine, "t", request):
        ...     ...  # doctest: +SKIP
        """
        cell_requests = engine.requests_of_cells({name: request})
        self.add_noise_identity(engine.noise_identities({name: request}))
        sketch = self.width(cell_requests)
        sets: list[Cells] = []
        for share, part in engine.protect_parts(
            request, name=name, sketch=sketch, caution=caution, progress=progress
        ):
            if sketch and len(part.cells):
                sets.append(without_amounts(part.cells))
            yield share, part
            del part  # before the next one is tabulated
        if sets:
            cell_request = cell_requests[name]
            cells, _ = join_parts(sets, cell_request)
            sets.clear()
            self.add_table(name, cell_request, cells, where=request.where)

    def width(self, requests: Mapping[str, Request]) -> int:
        """Return the width of the sketches that these tables need, 0 when all are recorded.

        Parameters
        ----------
        requests
            Name → request.

        Examples
        --------
        >>> watch.width({"t": request})  # doctest: +SKIP
        2
        """
        if not self._data or self._ledger.has_second_noise:
            return self._ledger.width  # the same words may mean other records today, or noise
        definitions = (
            Definition.of(request, name=name, data=self._data)
            for name, request in requests.items()
        )
        is_known = (self._ledger.is_known(d, history=self._history) for d in definitions)
        return 0 if all(is_known) else self._ledger.width

    def add_noise_identity(self, noises: Mapping[str, str]) -> None:
        """Take note of the noise of sums before they are made; see `Ledger.publish`.

        Parameters
        ----------
        noises
            From `ckm.engine.magnitudes.noise_identities`.

        Raises
        ------
        LedgerError
            If a variable was published with another noise.

        Examples
        --------
        >>> watch.add_noise_identity({})  # doctest: +SKIP
        """
        self._ledger.require_amounts(noises, beside=self._noises)
        self._noises |= noises

    def add_table(
        self,
        name: str,
        request: Request,
        cells: Cells,
        *,
        where: str | None,
        protection: CellProtection | None = None,
    ) -> None:
        """Digest the cells of a table before they are protected.

        Parameters
        ----------
        name
            What the table is called.
        request
            The request.
        cells
            Its cells.
        where
            The filter as it was written.
        protection
            What protects them; None for the noise of the ledger.

        Examples
        --------
        >>> watch.add_table("t", request, cells, where=None)  # doctest: +SKIP
        """
        if cells.sketch is None:
            return
        definition = Definition.of(request, name=name, where=where, data=self._data)
        self._entries.append(self._ledger.entry(cells, definition, protection=protection))

    def protect(self, protection: CellProtection) -> None:
        """Take note that another method changes all tables seen, after the noise.

        Parameters
        ----------
        protection
            The method, with what all tables have in common.

        Examples
        --------
        >>> watch.protect(CellProtection(method="additivity"))  # doctest: +SKIP
        """
        self._entries = [entry.protected_by(protection) for entry in self._entries]

    def second_methods(self) -> tuple[SecondMethod, ...]:
        """Find the tables seen whose records were published in another way; record nothing.

        Returns
        -------
        tuple of SecondMethod
            The tables, see `Ledger.second_methods`.

        Examples
        --------
        >>> watch.second_methods()  # doctest: +SKIP
        ()
        """
        return self._ledger.second_methods(
            self._entries, history=self._history, also=self._also
        )

    def require_one_method(self, second_method: Policy) -> tuple[SecondMethod, ...]:
        """Return the second methods of the tables seen, or refuse them.

        Parameters
        ----------
        second_method
            ``"refuse"`` or ``"flag"``.

        Raises
        ------
        SecondMethodError
            If there is one that is to be refused.

        Examples
        --------
        >>> watch.require_one_method("refuse")  # doctest: +SKIP
        ()
        """
        seconds = self.second_methods()
        refused = refused_methods(seconds, allows_second_noise=self._ledger.allows_second_noise)
        if refused and second_method == "refuse":
            raise SecondMethodError(refused)
        return seconds

    def check(self) -> tuple[ThinPair, ...]:
        """Find the thin differences of all tables seen; record nothing.

        Returns
        -------
        tuple of ThinPair
            The thin differences, see `Ledger.check`.

        Examples
        --------
        >>> watch.check()  # doctest: +SKIP
        ()
        """
        return self._ledger.check(self._entries, history=self._history, also=self._also)

    def n_counts_with_a_record(self) -> int:
        """Return the most counts that contain one record, of the tables seen and recorded.

        Examples
        --------
        >>> watch.n_counts_with_a_record()  # doctest: +SKIP
        4
        """
        return n_counts_with_a_record(
            self._ledger.appearances(self._entries, history=self._history, also=self._also)
        )

    def other_histories(self) -> list[str]:
        """Return the histories of the ledger with which the tables seen are not compared.

        Examples
        --------
        >>> watch.other_histories()  # doctest: +SKIP
        ['public']
        """
        return self._ledger.other_histories([self._history, *self._also])

    def standing(self) -> tuple[ThinPair, ...]:
        """Find the thin differences that the tables seen added when recorded before.

        Returns
        -------
        tuple of ThinPair
            The thin differences, see `Ledger.standing`.

        Examples
        --------
        >>> watch.standing()  # doctest: +SKIP
        ()
        """
        return self._ledger.standing(self._entries, history=self._history)

    @property
    def head(self) -> str:
        """The head of the ledger, see `Ledger.require_whole`."""
        return self._ledger.head

    def numbers(self) -> dict[str, tuple[int, ...]]:
        """Return the entries of the tables that were published last: name → numbers.

        Examples
        --------
        >>> watch.numbers()  # doctest: +SKIP
        {'t': (1,)}
        """
        return {
            definition.name: self._ledger.numbers(definition, history=self._history)
            for definition in self._published
        }

    def publish(
        self,
        *,
        policy: Policy = "refuse",
        second_method: Policy = "refuse",
        allowed: Collection[ThinPair] = (),
    ) -> tuple[ThinPair, ...]:
        """Check and record all tables seen; see `Ledger.publish`.

        Parameters
        ----------
        policy, second_method
            ``"refuse"`` or ``"flag"``.
        allowed
            Thin differences, from `check`, that refuse nothing.

        Returns
        -------
        tuple of ThinPair
            The thin differences.

        Raises
        ------
        SecondMethodError, ThinDifferenceError, LedgerError
            Then nothing may be published.

        Examples
        --------
        >>> watch.publish()  # doctest: +SKIP
        ()
        """
        pairs = self._ledger.publish(
            self._entries,
            policy=policy,
            second_method=second_method,
            history=self._history,
            also=self._also,
            allowed=allowed,
            noises=self._noises,
        )
        self._published = [entry.definition for entry in self._entries]
        self._entries, self._noises = [], {}
        return pairs
