"""From the cells of a table to the table that is published."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ckm.engine.inputs import find_secret
from ckm.engine.magnitudes.measures import noise_identities, noise_name, published_mean
from ckm.engine.magnitudes.noise.alike import (
    CountNoise,
    alike_caution,
    alike_numbers,
    tells_count,
)
from ckm.engine.magnitudes.noise.perturb import perturb_magnitudes
from ckm.engine.magnitudes.quantiles import published_quantiles, quantile_noise
from ckm.engine.perturbation import perturb, perturb_counts
from ckm.engine.published_table import PublishedTable, published_numbers, table_of
from ckm.engine.request import variable_of
from ckm.errors import InternalError, MagnitudeError
from footing.disclosive import Disclosive
from footing.messages import Message, Name
from tables.cells.parts import join_parts
from tables.filtering.filters import Filter
from tables.magnitudes.exact import has_few_values, joint_moments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.engine.magnitudes.quantiles import Values
    from ckm.engine.magnitudes.settings import VariableNoises
    from ckm.engine.request import TableRequest
    from footing.arrays import Floats, Integers
    from ptable import PTable
    from tables import Cells, Request, Secret
    from tables.quality import KeyQuality
    from tables.source.source import Source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ProtectedCells(Disclosive):
    """The cells of a table, or of a part of one, with their published numbers beside them.

    Parameters
    ----------
    cells
        The cells before protection.
    counts
        The published count of every cell.
    numbers
        Measure → the published number of every cell.
    sums
        Variable → the published sum of every cell.
    """

    cells: Cells
    counts: Integers
    numbers: Mapping[str, NDArray[Any]]
    sums: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Protected(Disclosive):
    """A table as a method of protection gives it, and the cells that it was made of.

    The table alone may be published: all else stays in the process.

    Parameters
    ----------
    name, request
        What the table is called, and what was asked for.
    cells
        The cells before protection.
    table
        The table as it is published.
    counts
        The published count of every cell; hidden ones are masked.
    sums
        Variable → the published sum of every cell.
    cautions
        What to tell the office of this table.
    before_additivity
        The table before it was made to add up; None where it was not.
    """

    name: str
    request: TableRequest
    cells: Cells
    table: PublishedTable
    counts: NDArray[Any]
    sums: Mapping[str, Floats] = field(default_factory=dict)
    cautions: Sequence[str] = ()
    before_additivity: PublishedTable | None = None

    @classmethod
    def of(
        cls,
        name: str,
        request: TableRequest,
        cells: ProtectedCells,
        *,
        cautions: Sequence[str] = (),
    ) -> Self:
        """Lay cells out as the table that is published."""
        table = table_of(
            cells.cells, cells.counts, cells.numbers, empty_cells=request.empty_cells
        )
        return cls(
            name=name,
            request=request,
            cells=cells.cells,
            table=table,
            counts=cells.counts,
            sums=cells.sums,
            cautions=cautions,
        )

    @classmethod
    def of_parts(
        cls,
        name: str,
        request: TableRequest,
        parts: Sequence[ProtectedCells],
        *,
        cell_request: Request,
        table: PublishedTable,
    ) -> Self:
        """Put all parts of a streamed table together, as if it had been made at once."""
        cells, order = join_parts([part.cells for part in parts], cell_request)
        return cls(
            name=name,
            request=request,
            cells=cells,
            table=table,
            counts=np.concatenate([part.counts for part in parts])[order],
            sums={
                variable: np.concatenate([part.sums[variable] for part in parts])[order]
                for variable in parts[0].sums
            },
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Protection:
    """How cells become published numbers; the same for every table of an engine.

    Parameters
    ----------
    ptable
        The perturbation table of counts.
    secret
        The secret, or None when nothing needs one.
    mixes
        Mix cell keys with the secret before the lookup.
    noises
        Variable → how its sums are perturbed.
    weight
        The column of weights, or None.
    rounds_weighted
        Round weighted counts to about one mean weight of their cell.
    """

    ptable: PTable
    secret: Secret | None
    mixes: bool = True
    noises: VariableNoises
    weight: str | None = None
    rounds_weighted: bool = True

    @property
    def mixing_secret(self) -> Secret | None:
        """The secret that mixes cell keys; None where they are not mixed."""
        return self.secret if self.mixes else None

    @property
    def count_noise(self) -> CountNoise:
        """The noise of counts, which sums of amounts that are alike have too."""
        return CountNoise(ptable=self.ptable, secret=self.mixing_secret)

    def counts(self, cells: Cells) -> Integers:
        """Return the published count of every cell."""
        return perturb(cells, ptable=self.ptable, secret=self.mixing_secret)

    def counts_of_each(self, parts: Sequence[Cells]) -> list[Integers]:
        """Return the published counts of cells of several tables, all looked up together."""
        if len(parts) <= 1:
            return [self.counts(cells) for cells in parts]
        published = perturb_counts(
            np.concatenate([cells.count for cells in parts]),
            np.concatenate([cells.cell_key for cells in parts]),
            key_range=parts[0].key_range,
            ptable=self.ptable,
            secret=self.mixing_secret,
        )
        return np.split(published, np.cumsum([len(cells.count) for cells in parts])[:-1])

    def numbers(
        self,
        cells: Cells,
        published: Integers | None = None,
        *,
        measures: Sequence[str] = ("count",),
    ) -> dict[str, NDArray[Any]]:
        """Return the published counts and weighted counts of cells."""
        return published_numbers(
            cells,
            self.counts(cells) if published is None else published,
            measures=measures,
            round_weighted=self.rounds_weighted,
        )

    def protect(
        self,
        cells: Cells,
        request: TableRequest,
        *,
        secret: Secret | None = None,
        values: Values | None = None,
    ) -> ProtectedCells:
        """Protect cells of a table; `values` reads ranks for quantiles."""
        published = self.counts(cells)
        sums = self._sums(cells, published, request, secret)
        numbers = self.numbers(cells, published, measures=request.measures)
        numbers |= self._amounts(cells, published, request, sums)
        numbers |= self._quantiles(cells, published, request, secret, values)
        return ProtectedCells(cells=cells, counts=published, numbers=numbers, sums=sums)

    def sums_secret(self, requests: Iterable[TableRequest]) -> Secret | None:
        """Return the secret of the noise of amounts, or say at once that it is missing."""
        variables = {name for request in requests for name in request.variables}
        is_needed = any(self.noises[name].rules == "ckm" for name in variables)
        for measure in chain.from_iterable(request.quantiles for request in requests):
            quantile_noise(measure, ptable=self.ptable, noises=self.noises)
            is_needed = True
        return self.secret or find_secret(None, is_needed=is_needed)

    def noise_identities(self, requests: Iterable[TableRequest]) -> dict[str, str]:
        """Return what tells the noise of the sums of tables apart, for a ledger."""
        variables = dict.fromkeys(name for request in requests for name in request.variables)
        return noise_identities(variables, self.noises, weight=self.weight)

    def require_keys(self, requests: Iterable[TableRequest], *, quality: KeyQuality) -> None:
        """Refuse sums of records without a key, which ``checks="warn"`` accepts for counts.

        A contributor without a key does not change the noise: two cells that differ by this
        contributor alone would differ by the exact amount.
        """
        measures = (measure for request in requests for measure in request.measures)
        used = [name for name in map(variable_of, measures) if name is not None]
        if used and quality.missing_share > 0:
            raise MagnitudeError(
                Message(
                    "Some records have no key, and what is published of {used!r} would give "
                    "their amounts away: they would have no part in the noise.",
                    used=Name(used[0]),
                ),
                hint=Message("give every record a key, or leave these out beforehand"),
            )

    def require_amounts(
        self,
        requests: Mapping[str, TableRequest],
        cell_requests: Mapping[str, Request],
        source: Source,
    ) -> None:
        """Refuse variables whose sums are counts, once a scan has looked at them."""
        for table, request in requests.items():
            where = cell_requests[table].where
            for name in request.variables:
                spread = source.spreads[name]
                if spread.decimals == 0 and 0 < spread.largest <= 1:
                    raise MagnitudeError(
                        Message(
                            "The variable {name!r} holds 0 and 1 alone: its sum is a count, "
                            "and the "
                            "noise of sums does not protect counts.",
                            name=Name(name),
                        ),
                        hint=Message("count these records: put the variable into where"),
                    )
                is_own = self.noises[name].rules == "ckm"  # others are repeated as they are
                condition = where if isinstance(where, Filter) else None
                if is_own and has_few_values(source, name, condition):
                    prefix = (
                        Message("table {table!r}: ", table=Name(table)) if table else Message()
                    )
                    raise MagnitudeError(
                        Message(
                            "{prefix}The variable {name!r} has one value or two among the "
                            "records of "
                            "the table: its sum tells how many have each.",
                            prefix=prefix,
                            name=Name(name),
                        ),
                        hint=Message(
                            "publish that count instead: put the variable and one of its "
                            "values into "
                            'where, with the measure "count"'
                        ),
                    )
        self._require_no_count_together(requests, cell_requests, source)

    def _require_no_count_together(
        self,
        requests: Mapping[str, TableRequest],
        cell_requests: Mapping[str, Request],
        source: Source,
    ) -> None:
        """Refuse variables of which a combination is nearly the same for every record."""
        variance = self.count_noise.variance
        together = {
            (tuple(r.variables), cell_requests[n].where): n for n, r in requests.items()
        }
        of_all = dict.fromkeys(
            name for request in requests.values() for name in request.variables
        )
        together.setdefault((tuple(of_all), None), "")
        for (variables, where), table in together.items():
            names = [v for v in variables if self.noises[v].rules == "ckm"]
            if len(names) < 2 or not variance:
                continue
            condition = where if isinstance(where, Filter) else None
            means, products = map(np.array, joint_moments(source, names, condition))
            if None in means:  # no record has all of them
                continue
            shares = np.array([self.noises[v].least_share for v in names])
            spread = np.array([source.spreads[v].variation for v in names])
            if tells_count(
                means,
                products - np.outer(means, means),
                shares=shares,
                variations=spread,
                variance=variance,
            ):
                prefix = Message("table {table!r}: ", table=Name(table)) if table else Message()
                raise MagnitudeError(
                    Message(
                        "{prefix}A combination of the variables {names!r} is nearly the same "
                        "for "
                        "every record: their sums together tell how many there are.",
                        prefix=prefix,
                        names=Name.each(names),
                    ),
                    hint=Message("publish all but one of them"),
                )

    def alike(self, cells: Cells) -> dict[str, NDArray[np.int64]]:
        """Count the cells of which sums have the noise of counts, too, and all, by variable."""
        is_noisy = self.count_noise.variance > 0
        return {
            magnitudes.variable: alike_numbers(magnitudes)
            for name, magnitudes in (cells.magnitudes or {}).items()
            if is_noisy and self.noises[name].rules == "ckm"
        }

    def cautions(self, table: str, alike: Mapping[str, NDArray[np.int64]]) -> list[str]:
        """Say which sums of a table have the noise of counts, too; for inside use."""
        texts = (alike_caution(table, variable, n) for variable, n in alike.items())
        return [text for text in texts if text is not None]

    def _sums(
        self, cells: Cells, published: Integers, request: TableRequest, secret: Secret | None
    ) -> dict[str, Floats]:
        """Return the published sums of cells."""
        totals = {}
        for variable in request.variables:
            magnitudes = (cells.magnitudes or {})[variable]
            total = perturb_magnitudes(
                replace(magnitudes, variable=noise_name(variable, self.weight)),
                self.noises[variable],
                secret=secret,
                cell_keys=cells.cell_key,
                counts=self.count_noise,
            )
            if self.noises[variable].zero_with_count:
                total = np.where(published > 0, total, 0.0)
            totals[variable] = total
        return totals

    def _amounts(
        self,
        cells: Cells,
        published: Integers,
        request: TableRequest,
        sums: Mapping[str, Floats],
    ) -> dict[str, Floats]:
        """Return the published sums and means of cells.

        A mean is the published sum over the published count, weighted where the data have a
        weight, whether or not these are shown. The unweighted count says whether there is one.
        """
        if not sums:
            return {}
        name = "count" if self.weight is None else "weighted"
        divisor = self.numbers(cells, published, measures=[name])[name]
        numbers = {}
        for measure in request.measures:
            variable = variable_of(measure)
            if variable is not None and measure not in request.quantiles:
                total = sums[variable]
                is_sum = measure.startswith("sum:")
                noise = self.noises[variable]
                numbers[measure] = (
                    total if is_sum else published_mean(total, divisor, published, noise)
                )
        return numbers

    def _quantiles(
        self,
        cells: Cells,
        published: Integers,
        request: TableRequest,
        secret: Secret | None,
        values: Values | None,
    ) -> dict[str, Floats]:
        """Return the published quantiles of cells."""
        if not request.quantiles:
            return {}
        if secret is None or values is None:
            raise InternalError(
                Message("Quantiles were asked for without records or a secret.")
            )
        return published_quantiles(
            list(request.quantiles),
            cells,
            published,
            values,
            ptable=self.ptable,
            noises=self.noises,
            secret=secret,
        )
