"""Perturbation tables for the cell key method: feasibility, solving, lookup and files."""

from ptable.certificate import Certificate, RowCertificate
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.feasibility import Feasibility, RowFeasibility, feasible
from ptable.solve import solve
from ptable.spec import NoiseSpec
from ptable.table import PTable

__all__ = [
    "Certificate",
    "Feasibility",
    "InfeasibleError",
    "InternalError",
    "NoiseSpec",
    "PTable",
    "PTableError",
    "PTableWarning",
    "RowCertificate",
    "RowFeasibility",
    "feasible",
    "solve",
]
