"""How good synthetic records are, and what they give away: figures beside their controls.

Everything here is a function of frames and declared kinds; how the synthetic records were made
does not matter. The figures follow from confidential records and stay inside.
"""

from footing.lazy import moved
from synth.errors import EvaluationError
from synth.evaluation.evaluate import EvaluationPlan, evaluate
from synth.evaluation.records import Kind, encode, kinds_of, read_kinds
from synth.evaluation.result import Evaluation
from synth.evaluation.sweep import Sweep, grid, sweep

__all__ = [
    "Evaluation",
    "EvaluationError",
    "EvaluationPlan",
    "Kind",
    "Sweep",
    "encode",
    "evaluate",
    "grid",
    "kinds_of",
    "read_kinds",
    "sweep",
]

__getattr__ = moved(__name__, {"Plan": "synth.evaluation:EvaluationPlan"})
