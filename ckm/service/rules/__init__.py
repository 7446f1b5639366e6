"""Which tables are published: rules on a request's shape and on protected counts only.

A refusal that depended on the original counts would be an answer about them.
"""

from ckm.config.service.rules import RuleSettings
from ckm.service.rules.areas import Slices, commonest, judge_areas
from ckm.service.rules.shape import Finding, Shape, judge_shape

__all__ = [
    "Finding",
    "RuleSettings",
    "Shape",
    "Slices",
    "commonest",
    "judge_areas",
    "judge_shape",
]
