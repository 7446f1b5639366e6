"""What the clients of google/rappor draw, where it differs from what they were told."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Literal

from footing.messages import Argument, Message, Name
from rappor.errors import RapporError
from rappor.parameters import Parameters

Language = Literal["python", "cpp", "java"]

_STEPS_F = 128
_STEPS_PQ = 256


def as_drawn(parameters: Parameters, *, language: Language) -> Parameters:
    """Give the probabilities that a client of google/rappor really draws with.

    Decode its reports with these, and account for them with these.

    Parameters
    ----------
    parameters
        What the client was told.
    language
        ``"python"``, ``"cpp"`` (with randomness from the kernel) or ``"java"``.

    Raises
    ------
    RapporError
        If the client destroys the answers: the C++ one draws zeros alone for a probability
        of 1.

    Notes
    -----
    f is rounded to 1/128, up, down or to the nearest; C++ rounds p and q down to 1/256 and
    turns 1 into 0.

    Examples
    --------
    >>> from rappor import Parameters
    >>> told = Parameters(n_bits=8, n_hashes=2, n_cohorts=128, f=0.45, p=0.39, q=0.61)
    >>> drawn = as_drawn(told, language="cpp")
    >>> drawn.f, drawn.p, drawn.q
    (0.4453125, 0.38671875, 0.609375)
    """
    rounding: dict[str, Callable[[float], int]] = {
        "python": math.ceil,
        "cpp": math.floor,
        "java": lambda value: math.floor(value + 0.5),
    }
    if language not in rounding:
        names = Name.each(rounding)
        raise RapporError(
            Message(
                "language must be one of {names!r}, not {language!r}.",
                names=names,
                language=Argument(language),
            )
        )
    f, p, q = parameters.f, parameters.p, parameters.q
    f = rounding[language](_STEPS_F * f) / _STEPS_F
    if language == "cpp":
        if 1 in {p, q}:
            raise RapporError(
                Message(
                    "The C++ client of google/rappor draws zeros alone for a probability of 1."
                ),
                hint=Message("its reports cannot be decoded; collect them again"),
            )
        p, q = (math.floor(_STEPS_PQ * value) / _STEPS_PQ for value in (p, q))
    return dataclasses.replace(parameters, f=f, p=p, q=q)
