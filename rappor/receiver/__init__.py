"""What takes reports of many clients as they come: one a client and period, sums alone kept."""

from rappor.receiver.periods import PERIODS, period_end, period_of
from rappor.receiver.sending import RefusedError, pack_sending, tokens_of, unpack_sending
from rappor.receiver.store import Receipt, Receiver, period_counts

__all__ = [
    "PERIODS",
    "Receipt",
    "Receiver",
    "RefusedError",
    "pack_sending",
    "period_counts",
    "period_end",
    "period_of",
    "tokens_of",
    "unpack_sending",
]
