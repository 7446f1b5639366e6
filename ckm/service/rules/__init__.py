"""Which tables are published: rules on a request's shape and on protected counts only.

A refusal that depended on the original counts would be an answer about them.
"""

from ckm.config.service.rules import RuleSettings
from ckm.service.rules.areas import commonest, judge_areas
from ckm.service.rules.finding import Finding
from ckm.service.rules.shape import Shape, judge_shape
from ckm.service.rules.slices import Slices

__all__ = [
    "Finding",
    "RuleSettings",
    "Shape",
    "Slices",
    "commonest",
    "judge_areas",
    "judge_shape",
]
