"""Methods measured by the criteria that a comparison asks about."""

from risk.criteria.coded import CodedRecords, LookedUpMethod
from risk.criteria.criteria import measure_criteria

__all__ = ["CodedRecords", "LookedUpMethod", "measure_criteria"]
