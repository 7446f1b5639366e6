"""Methods measured by the criteria that a comparison asks about."""

from risk.criteria.coded import CodedRecords
from risk.criteria.criteria import measure_criteria
from risk.criteria.methods import LookedUpMethod

__all__ = ["CodedRecords", "LookedUpMethod", "measure_criteria"]
