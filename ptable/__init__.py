"""Perturbation tables for the cell key method: design, proof, lookup and the layouts of others.

Pictures are in `ptable.pictures`, the layouts of other tools in `ptable.dialects`.
"""

from ptable.advice.advice import Advice, advise, conflicts
from ptable.advice.alternatives import alternatives
from ptable.advice.figures import Figures, figures
from ptable.advice.infeasibility_cases import Alternative
from ptable.design.goal import Goal
from ptable.design.mechanisms import Mechanism
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.dialects import detect, read_tables, write_tables
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.proof.certificate import Certificate, RowCertificate
from ptable.proof.guarantees import Guarantee, RowGuarantee, guarantee
from ptable.proof.identify import Identification, RowFigures, identify
from ptable.quantisation.key_matrix import table_from_key_matrix
from ptable.quantisation.quantise import Quantisation, RowQuantisation, quantise
from ptable.solver.feasibility import Feasibility, RowFeasibility, feasible
from ptable.solver.solve import solve
from ptable.table import PTable

__all__ = [
    "Advice",
    "Alternative",
    "Certificate",
    "Feasibility",
    "Figures",
    "Goal",
    "Guarantee",
    "Identification",
    "InfeasibleError",
    "InternalError",
    "Mechanism",
    "NoiseSpec",
    "PTable",
    "PTableError",
    "PTableWarning",
    "Quantisation",
    "RowCertificate",
    "RowFeasibility",
    "RowFigures",
    "RowGuarantee",
    "RowQuantisation",
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
