"""Perturbation tables for the cell key method: design, proof, lookup and the layouts of others.

Pictures are in `ptable.pictures`, the layouts of other tools in `ptable.dialects`.
"""

from ptable.advice.advice import advise, conflicts
from ptable.advice.alternatives import alternatives
from ptable.advice.figures import Figures, figures
from ptable.design.goal import Goal
from ptable.design.limits import Limits
from ptable.design.mechanisms import Mechanism
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.dialects import detect, read_tables, write_tables
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.proof.certificate import Certificate
from ptable.proof.guarantees import Guarantee, guarantee
from ptable.proof.identify import identify
from ptable.quantisation.key_matrix import table_from_key_matrix
from ptable.quantisation.quantise import quantise
from ptable.solver.feasibility import Feasibility, RowFeasibility, feasible
from ptable.solver.solve import solve
from ptable.table import PTable

__all__ = [
    "Certificate",
    "Feasibility",
    "Figures",
    "Goal",
    "Guarantee",
    "InfeasibleError",
    "InternalError",
    "Limits",
    "Mechanism",
    "NoiseSpec",
    "PTable",
    "PTableError",
    "PTableWarning",
    "RowFeasibility",
    "StackedSpec",
    "advise",
    "alternatives",
    "conflicts",
    "detect",
    "feasible",
    "figures",
    "guarantee",
    "identify",
    "quantise",
    "read_tables",
    "solve",
    "table_from_key_matrix",
    "write_tables",
]
