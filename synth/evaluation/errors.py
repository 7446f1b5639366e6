"""The errors of the evaluation."""

from __future__ import annotations

from typing import ClassVar

from synth.errors import SynthError


class EvaluationError(SynthError):
    """The frames or the request cannot be evaluated.

    Examples
    --------
    >>> EvaluationError.code
    'synth-evaluation'
    """

    code: ClassVar[str] = "synth-evaluation"
