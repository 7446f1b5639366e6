"""When work must end, whether its time is over or nobody waits for it any more."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from footing.messages import Message
from tables.errors import StoppedError

_AGAIN_S = 0.05


class Deadline:
    """Ends work after some seconds, or as soon as it is called off.

    Parameters
    ----------
    seconds
        Time from now; without limit by default.

    Examples
    --------
    >>> deadline = Deadline(60.0)
    >>> deadline.is_over
    False
    >>> deadline.call_off()
    >>> deadline.is_over, deadline.left_s()
    (True, 0.0)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self._is_off = False
        self._changed = threading.Condition()

    @property
    def is_over(self) -> bool:
        """Whether the work must end now."""
        return self.left_s() == 0

    def left_s(self, most: float = 1e9) -> float:
        """Return the seconds that are left.

        Parameters
        ----------
        most
            The most to return.
        """
        if self._is_off:
            return 0.0
        return most if self._end is None else min(most, max(0.0, self._end - time.monotonic()))

    def call_off(self) -> None:
        """End the work; what runs in the database is interrupted."""
        with self._changed:
            self._is_off = True
            self._changed.notify_all()

    def require(self) -> None:
        """Raise if the work must end.

        Raises
        ------
        StoppedError
            If the time is over, or the work was called off.
        """
        if self.is_over:
            raise stopped()

    @contextlib.contextmanager
    def interrupting(
        self, interrupt: Callable[[], object], *, within_s: float | None = None
    ) -> Iterator[None]:
        """Interrupt what is done inside once it must end, as often as it takes.

        An interruption is lost on a database that has not quite begun: one is not enough.

        Parameters
        ----------
        interrupt
            Interrupts the work.
        within_s
            Seconds for this part of it.
        """
        wait_s = self.left_s(1e6 if within_s is None else within_s)
        is_done = False

        def watch() -> None:
            with self._changed:
                self._changed.wait_for(lambda: is_done or self._is_off, wait_s)
                while not is_done:
                    interrupt()
                    self._changed.wait_for(lambda: is_done, _AGAIN_S)

        threading.Thread(target=watch, daemon=True, name="ckm-deadline").start()
        try:
            yield
        finally:
            with self._changed:
                is_done = True
                self._changed.notify_all()

    def __repr__(self) -> str:
        return "Deadline(…)"


def stopped() -> StoppedError:
    """Return the error for a table that takes too long."""
    return StoppedError(
        Message("The table took too long to find."),
        hint=Message("ask for fewer variables, or for a larger kind of area"),
    )
