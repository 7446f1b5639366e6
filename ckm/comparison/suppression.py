"""Suppression on the bench: planned tables protected together, others refused or alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ckm.suppression import Frequency, Grid, Problem, Relations, Suppression, primary_cells
from ckm.suppression.secondary.search import Method, suppress
from risk.criteria.coded import CodedRecords, CubeRequest

Numbers = NDArray[np.float64]

#: An audit solves a program or two for every hidden cell.
_MAX_AUDITED = 3_000


class SuppressionMethod:
    """Publish true counts, and hide small ones with what would give them away.

    Parameters
    ----------
    records
        The records.
    planned
        The tables that are protected together.
    least
        The least count that is published.
    search
        How secondary cells are found, see `ckm.suppression.secondary.search`.
    limit_s
        When the exact search stops.
    others
        Whether tables that were not planned are ``"refused"``, or each is protected
        ``"alone"``.
    progress
        Called with a stage, how much of it is done, and how much there is.
    """

    def __init__(
        self,
        records: CodedRecords,
        planned: Sequence[CubeRequest],
        *,
        least: int,
        search: Method,
        limit_s: float,
        others: str,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> None:
        self._progress = progress
        self._records = records
        self._least = least
        self._search: Method = search
        self._limit_s = limit_s
        self._others = others
        self._planned = [_identity(request) for request in planned]
        self._together = self._protected(planned) if planned else None

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish the cells that are not hidden, or refuse the table."""
        identity = _identity(request)
        if identity in self._planned and self._together is not None:
            return self._shown(self._together, request, table=self._planned.index(identity))
        if self._others == "refused":
            return None
        return self._shown(self._protected([request]), request, table=0)

    def facts(self) -> Mapping[str, float | None]:
        """Tell what was hidden, and what an audit finds that readers can work out of it."""
        if self._together is None:
            return {}
        status = self._together.status
        found: dict[str, float | None] = {
            "cells": float(np.count_nonzero(self._together.problem.value > 0)),
            "primary": float((status == 1).sum()),
            "secondary": float((status == 2).sum()),
        }
        if int(self._together.hidden.sum()) > _MAX_AUDITED:
            return found
        audit = self._together.audit()
        found["exact"] = float(audit.is_exact.sum())
        found["under_protected"] = float(len(audit.under_protected))
        widths = audit.high - audit.low
        finite = widths[np.isfinite(widths)]
        found["narrowest"] = float(finite.min()) if finite.size else None
        return found

    def _protected(self, requests: Sequence[CubeRequest]) -> Suppression:
        grids = [
            Grid.full([[*([size] * size), -1] for size in self._inner(request)] or [[-1]])
            for request in requests
        ]
        values, numbers = self._cells(requests)
        relations = Relations.of_grids(grids, numbers=numbers)
        problem = Problem(
            relations=relations,
            values=values,
            primary=primary_cells([Frequency(least=self._least)], counts=values),
        )
        return suppress(
            problem, method=self._search, limit_s=self._limit_s, progress=self._progress
        )

    def _inner(self, request: CubeRequest) -> list[int]:
        return [self._records.sizes[place] for place in request.dimensions]

    def _cells(
        self, requests: Sequence[CubeRequest]
    ) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
        """Give every cell a number; one that several tables show has one number."""
        codes, counts = [], []
        for request in requests:
            count = self._records.counts(request)
            code = np.repeat(np.array([self._records.sizes]), count.size, axis=0)
            places = np.indices(count.shape).reshape(count.ndim, count.size)
            for place, code_of in zip(request.dimensions, places, strict=True):
                code[:, place] = code_of
            codes.append(code)
            counts.append(count.ravel())
        every = np.concatenate(codes)
        _, first, number = np.unique(every, axis=0, return_index=True, return_inverse=True)
        ends = np.cumsum([len(code) for code in codes])[:-1]
        return np.concatenate(counts)[first], np.split(number.ravel(), ends)

    def _shown(self, found: Suppression, request: CubeRequest, *, table: int) -> Numbers:
        masked = found.masked(table=table).astype(np.float64)
        shown: Numbers = masked.filled(np.nan).reshape(self._records.shape(request))
        return shown


def _identity(request: CubeRequest) -> tuple[object, ...]:
    return request.dimensions, tuple(sorted(request.within.items())), request.without
