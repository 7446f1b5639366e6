"""Target record swapping: risky households change places with similar ones elsewhere.

A rival of the cell key method. It works on records, before any table: what it writes is a copy
of the records in which the geography of some households is that of others.
"""

from tables.swapping.swap import SwapReport, swap_records

__all__ = ["SwapReport", "swap_records"]
