"""Places of an office's trips as reports, summed by period and level; what a map is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from footing.files import write_whole
from footing.messages import Message, Name
from footing.serialisation import content_of, digest_of, json_line
from rappor.client.client import encode, identifiers
from rappor.counts import Counts
from rappor.encoded import Reports
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.location.collect import Collection, as_values, levels_of_names
from rappor.location.zones import Zones
from rappor.text_files import read_text

if TYPE_CHECKING:
    from _typeshed import StrPath

    from footing.arrays import Integers
    from rappor.client.ledger import ClientLedger
    from rappor.client.permanent import SecretKey

_FORMAT = "rappor-places"
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Where persons were, each once in a period.

    Parameters
    ----------
    persons
        Their names.
    periods
        The number of each point's period.
    cells
        The finest cell of each; -1 outside all cells.
    """

    persons: Sequence[str]
    periods: Integers
    cells: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlaceCounts:
    """The sums of reports of places, by period and level.

    Parameters
    ----------
    collection
        How people reported.
    zones
        The cells.
    metric
        The name of the question.
    periods
        Labels of periods, in order.
    counts
        For each period, the counts of each level.

    Examples
    --------
    >>> from rappor.location.areas import Areas
    >>> zones = Zones.of_rows(["town"], [["a"], ["b"]])
    >>> design = Collection(areas=zones.areas, f=0.5, p=0.25, q=0.75)
    >>> day = Counts(n=[9], ones=[[5, 2]], parameters=design.parameters[0])
    >>> places = PlaceCounts(
    ...     collection=design,
    ...     zones=zones,
    ...     metric="m",
    ...     periods=("2027-03-01",),
    ...     counts=((day,),),
    ... )
    >>> (places + places).counts[0][0].total
    18
    """

    collection: Collection
    zones: Zones
    metric: str
    periods: tuple[str, ...]
    counts: tuple[tuple[Counts, ...], ...]

    def _design(self) -> dict[str, Any]:
        design = self.collection
        return {
            "zones": self.zones.to_dict(),
            "f": design.f,
            "p": design.p,
            "q": design.q,
            "shares": list(design.shares or ()),
            "cap": design.cap,
            "metric": self.metric,
        }

    def __add__(self, other: Self) -> PlaceCounts:
        if not isinstance(other, PlaceCounts):
            return NotImplemented
        if self._design() != other._design():
            raise MismatchError(
                Message("Places were collected with another design, and do not add up."),
                hint=Message("draw a map of each collection by itself"),
            )
        by_period = dict(zip(self.periods, self.counts, strict=True))
        for period, levels in zip(other.periods, other.counts, strict=True):
            mine = by_period.get(period)
            by_period[period] = (
                levels
                if mine is None
                else tuple(a + b for a, b in zip(mine, levels, strict=True))
            )
        periods = tuple(sorted(by_period))
        return PlaceCounts(
            collection=self.collection,
            zones=self.zones,
            metric=self.metric,
            periods=periods,
            counts=tuple(by_period[period] for period in periods),
        )

    def chosen(self, periods: Sequence[str]) -> PlaceCounts:
        """Give the same of some periods.

        Parameters
        ----------
        periods
            Their labels.

        Raises
        ------
        RapporError
            If one is not there.
        """
        by_period = dict(zip(self.periods, self.counts, strict=True))
        for period in periods:
            if period not in by_period:
                raise RapporError(
                    Message("There is no period {period!r}.", period=Name(period)),
                    hint=Message(
                        "the periods are {periods!r}", periods=Name.each(self.periods)
                    ),
                )
        return PlaceCounts(
            collection=self.collection,
            zones=self.zones,
            metric=self.metric,
            periods=tuple(periods),
            counts=tuple(by_period[period] for period in periods),
        )

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Write the sums with their design, and a digest of both.

        Parameters
        ----------
        path
            A name ending in ``.json``.
        overwrite
            Whether a file of that name may be replaced.
        """
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "design": self._design(),
            "periods": {
                period: [np.column_stack([c.n, c.ones])[0].tolist() for c in levels]
                for period, levels in zip(self.periods, self.counts, strict=True)
            },
        }
        text = json_line(content | {"digest": digest_of(content)}) + "\n"
        write_whole(Path(path), text, error=ReportFileError, overwrite=overwrite)

    @classmethod
    def read(cls, path: StrPath) -> PlaceCounts:
        """Read what `write` wrote.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        ReportFileError
            If the file is none of places, or damaged.
        """
        file = Path(path)
        content = content_of(read_text(file), form=_FORMAT)
        digest = content.pop("digest", None)
        if not content or digest != digest_of(content) or content.get("version") != _VERSION:
            raise ReportFileError(
                Message(
                    "The file {name!r} holds no places of this version, or is damaged.",
                    name=Name(file.name),
                ),
                hint=Message("make it with ckm rappor location collect"),
            )
        try:
            return cls._of(content)
        except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
            raise ReportFileError(
                Message("The places of {name!r} do not fit each other.", name=Name(file.name))
            ) from error

    @classmethod
    def _of(cls, content: dict[str, Any]) -> PlaceCounts:
        design = content["design"]
        zones = Zones.from_dict(design["zones"])
        collection = Collection(
            areas=zones.areas,
            shares=design["shares"],
            cap=design["cap"],
            **{name: design[name] for name in ("f", "p", "q")},
        )
        counts = [
            tuple(
                Counts(n=np.array([n]), ones=np.array([ones]), parameters=parameters)
                for (n, *ones), parameters in zip(rows, collection.parameters, strict=True)
            )
            for rows in content["periods"].values()
        ]
        return cls(
            collection=collection,
            zones=zones,
            metric=design["metric"],
            periods=tuple(content["periods"]),
            counts=tuple(counts),
        )


def collect_points(
    points: Iterable[Points],
    *,
    collection: Collection,
    secret: SecretKey,
    ledger: ClientLedger,
    cap: float,
    metric: str = "location",
    rng: np.random.Generator | None = None,
) -> tuple[dict[int, tuple[Counts, ...]], dict[str, int]]:
    """Turn points into reports and sum them; no report and no name is kept.

    Parameters
    ----------
    points
        Where people were, piece by piece, periods in order.
    collection
        How they report.
    secret
        From which permanent responses, and everybody's level, derive.
    ledger
        What each person has spent, in a ``with`` block; to be committed by whoever publishes.
    cap
        The largest loss of a person over all that the ledger holds; a report beyond it is not
        sent.
    metric
        The name of the question.
    rng
        For simulations alone; by default the operating system's randomness.

    Returns
    -------
    tuple
        For each period, the counts of each level; and how many points were ``sent``, lay
        ``outside`` all cells, and were kept back ``beyond the cap``.

    Examples
    --------
    >>> from tables import Secret
    >>> from rappor.client.ledger import ClientLedger
    >>> zones = Zones.of_rows(["town"], [["a"], ["b"]])
    >>> design = Collection(areas=zones.areas, f=0.5, p=0.25, q=0.75)
    >>> points = Points(
    ...     persons=["ann", "bob"], periods=np.array([1, 1]), cells=np.array([0, -1])
    ... )
    >>> secret = Secret(bytes(16))
    >>> with ClientLedger(None, secret=secret) as ledger:
    ...     days, numbers = collect_points(
    ...         [points], collection=design, secret=secret, ledger=ledger, cap=3
    ...     )
    >>> days[1][0].total, numbers
    (1, {'sent': 1, 'outside': 1, 'beyond the cap': 0})
    """
    zero = tuple(Counts.zeros(parameters) for parameters in collection.parameters)
    sums: dict[int, list[Counts]] = {}
    numbers = {"sent": 0, "outside": 0, "beyond the cap": 0}
    for piece in points:
        is_inside = piece.cells >= 0
        numbers["outside"] += int((~is_inside).sum())
        names = [name for name, inside in zip(piece.persons, is_inside, strict=True) if inside]
        cells, periods = piece.cells[is_inside], piece.periods[is_inside]
        levels = levels_of_names(
            identifiers(names), secret=secret, shares=collection.shares or ()
        )
        for level, parameters in enumerate(collection.parameters):
            places = np.flatnonzero(levels == level)
            if not places.size:
                continue
            question: dict[str, Any] = {
                "parameters": parameters,
                "metric": f"{metric}, level {level}",
            }
            values = as_values(collection.areas.upward(cells[places], to=level), parameters)
            persons = [names[place] for place in places]
            is_sent = ledger.charge(values, persons, cap=cap, **question)
            numbers["beyond the cap"] += int((~is_sent).sum())
            numbers["sent"] += int(is_sent.sum())
            senders = [name for name, sent in zip(persons, is_sent, strict=True) if sent]
            reports = encode(values[is_sent], senders, secret=secret, rng=rng, **question)
            when = periods[places][is_sent]
            for period in np.unique(periods[places]).tolist():
                mine = when == period
                part = Reports(
                    cohorts=reports.cohorts[mine],
                    packed=reports.packed[mine],
                    parameters=parameters,
                )
                sums.setdefault(period, list(zero))[level] += part.sum()
    return {period: tuple(counts) for period, counts in sorted(sums.items())}, numbers
