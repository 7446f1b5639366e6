"""Local differential privacy by RAPPOR: encode, sum, decode, account.

::

    import rappor

    paper = rappor.Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    rappor.epsilon_after(paper, reports=1)  # 1.07, and 4.39 after all that are ever sent

Where people are, for as long as they like, is `rappor.location`.
"""

from rappor.accounting import epsilon_after, epsilon_between
from rappor.client.account import ValueLedger
from rappor.client.client import Client, encode, encode_stream
from rappor.client.google import as_drawn
from rappor.client.simulate import population, simulate_counts
from rappor.counts import Counts
from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode
from rappor.decoding.diagnostics import diagnostics
from rappor.decoding.joint import joint
from rappor.decoding.ngrams import discover, draw_pairs, pieces
from rappor.encoded import Reports
from rappor.errors import (
    CapError,
    MismatchError,
    RapporError,
    RapporInfeasibleError,
    ReportFileError,
)
from rappor.oracles import compare_oracles, oracle, oracle_variance
from rappor.parameters import Parameters
from rappor.report_files import read_reports, sum_files, write_reports
from rappor.solver import Goal, predict, solve

__all__ = [
    "Candidates",
    "CapError",
    "Client",
    "Counts",
    "Goal",
    "MismatchError",
    "Parameters",
    "RapporError",
    "RapporInfeasibleError",
    "ReportFileError",
    "Reports",
    "ValueLedger",
    "as_drawn",
    "compare_oracles",
    "decode",
    "diagnostics",
    "discover",
    "draw_pairs",
    "encode",
    "encode_stream",
    "epsilon_after",
    "epsilon_between",
    "joint",
    "oracle",
    "oracle_variance",
    "pieces",
    "population",
    "predict",
    "read_reports",
    "simulate_counts",
    "solve",
    "sum_files",
    "write_reports",
]
