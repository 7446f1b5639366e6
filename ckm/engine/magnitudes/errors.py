"""The error of amounts that cannot be protected as asked."""

from __future__ import annotations

from ckm.errors import CkmError


class MagnitudeError(CkmError):
    """The amounts of a table do not fit the noise that was asked for.

    Examples
    --------
    >>> print(MagnitudeError("The variable 'income' has negative values.", hint="set signed"))
    The variable 'income' has negative values.
      hint: set signed
    """

    code = "ckm-magnitude"
