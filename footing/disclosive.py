"""Objects that hold what must not leave the process."""

from typing import NoReturn, SupportsIndex


class Disclosive:
    """Base of classes whose objects hold what nobody outside may see.

    They show nothing of what they hold, and cannot be pickled or copied by way of pickle; a
    class that derives from this one leaves both as they are. No writer takes one.

    Examples
    --------
    >>> Disclosive()
    Disclosive(…)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        msg = f"{type(self).__name__} cannot be pickled: what it holds stays in the process."
        raise TypeError(msg)
