"""How much a search has done, in units that are the same on every machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from risk.reconstruction.program import Program

#: What ends a search: `limit_s` in work, or in time on a slow machine; or its share, which is
#: where more is hardly worth it.
Ending: TypeAlias = Literal["work", "clock", "share"]

#: How long "auto" improves a first choice: so many times its work, but some seconds at least.
#: Against contributors, most of what a longer pass saves is hidden again for them.
IMPROVED, IMPROVED_INSIDE = (0.25, 20.0), (0.0, 10.5)
#: So many units were done in a second of one core where they were measured.
PER_SECOND = 1_000_000.0
#: Units of a program, and for each of its rows and columns: to lay it out, and to ask it.
_LAID_OUT, _ASKED = (2_000.0, 2.0), (1_000.0, 0.7)
#: Units of a step of the simplex method, and for each row and column.
_STEP = (9.0, 0.005)
#: A search is careful until it did this share of its limit, if not the work of fewer seconds.
_CARE = 0.25
#: The thread's own clock ends a search after so many times the seconds that it was given, and
#: so many more; other programs on the machine do not move it.
_CLOCK, _MORE_S = 5.0, 10.0


class Work:
    """Counts what a search does, and tells when it has done enough.

    The same problem takes the same units everywhere, so that searches that stop by their count
    end with the same choice. The clock is there for machines that are much slower.

    Parameters
    ----------
    limit_s
        The seconds of which the limit is made.
    care_s
        The seconds of which care lasts, at most.
    """

    def __init__(self, limit_s: float = np.inf, *, care_s: float = np.inf) -> None:
        self.units, self.limit = 0.0, limit_s * PER_SECOND
        self.clock = time.thread_time() + _CLOCK * limit_s + _MORE_S
        self.ended_by: Ending | None = None
        self._share = self._most = np.inf
        self._care = min(_CARE * self.limit, care_s * PER_SECOND)

    def add(self, units: float) -> None:
        """Count some units."""
        self.units += units

    def rest(self) -> Work:
        """Return what counts here, and goes on after the share by half as much again."""
        rest = _Apart(self)
        rest.units, rest.clock = self.units, self.clock
        rest.limit = min(self.limit, max(self.units, self._share) + self._most / 2)
        return rest

    def apart(self) -> Work:
        """Return what counts here, and is never over."""
        return _Apart(self)

    def share(self, times: float, *, least_s: float) -> None:
        """End after so many times the work that was done, but some seconds' at least."""
        self._most = max(times * self.units, least_s * PER_SECOND)
        self._share = self.units + self._most

    def has(self, units: float) -> bool:
        """Tell whether the share leaves so much; where it does not, it ends the search."""
        if self.ended_by is None and self.units + units > self._share:
            self.ended_by = "share"
        return self.ended_by is None

    def laid_out(self, size: int) -> None:
        """Count a program of so many rows and columns."""
        self.add(_LAID_OUT[0] + size * _LAID_OUT[1])

    def asked(self, program: Program, size: int) -> None:
        """Count a question to a program of so many rows and columns."""
        self.add(_ASKED[0] + size * _ASKED[1] + program.steps * (_STEP[0] + size * _STEP[1]))

    @property
    def has_care(self) -> bool:
        """Whether so little was done that changes are looked for with care."""
        return self.units < self._care

    @property
    def is_over(self) -> bool:
        """Whether the limit is reached; from then on it stays so."""
        if self.ended_by is None:
            if self.units >= self.limit:
                self.ended_by = "work"
            elif self.units >= self._share:
                self.ended_by = "share"
            elif time.thread_time() >= self.clock:
                self.ended_by = "clock"
        return self.ended_by is not None

    @property
    def left_s(self) -> float:
        """How many seconds the clock leaves, 1 or more."""
        return max(1.0, self.clock - time.thread_time())


class _Apart(Work):
    """Work that another one counts, and that goes on when that is over."""

    def __init__(self, whole: Work) -> None:
        super().__init__()
        self._whole = whole

    def add(self, units: float) -> None:
        """Count some units on both."""
        super().add(units)
        self._whole.add(units)

    @property
    def has_care(self) -> bool:
        """Whether the other one has."""
        return self._whole.has_care
