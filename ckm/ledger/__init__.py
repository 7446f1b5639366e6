"""The ledger of publications: no table may give away a few records beside earlier ones.

Every published table is recorded with sealed digests of the record sets behind its cells and
behind what can be derived from them. A table whose cells differ from published ones by very
few records is refused or flagged, whatever words it was asked in.
"""

from ckm.ledger.definition import Definition
from ckm.ledger.errors import (
    LedgerError,
    ManyCountsError,
    SecondMethodError,
    ThinDifferenceError,
)
from ckm.ledger.ledger import Ledger, Published, copy_ledger, list_published
from ckm.ledger.protection import CellProtection
from ckm.ledger.second_method import SecondMethod
from ckm.ledger.storage.record import PAIR_COLUMNS, CellName, ThinPair
from ckm.ledger.watch import Watch

__all__ = [
    "PAIR_COLUMNS",
    "CellName",
    "CellProtection",
    "Definition",
    "Ledger",
    "LedgerError",
    "ManyCountsError",
    "Published",
    "SecondMethod",
    "SecondMethodError",
    "ThinDifferenceError",
    "ThinPair",
    "Watch",
    "copy_ledger",
    "list_published",
]
