"""Perturbation tables for the cell key method: design, proof, lookup and the layouts of others.

Pictures are in `ptable.pictures`, the layouts of other tools in `ptable.dialects`.
"""

from ptable.advice import Advice, advise, conflicts
from ptable.alternatives import alternatives
from ptable.cases import Alternative
from ptable.certificate import Certificate, RowCertificate
from ptable.dialects import detect, read_tables, write_tables
from ptable.errors import InfeasibleError, InternalError, PTableError, PTableWarning
from ptable.feasibility import Feasibility, RowFeasibility, feasible
from ptable.figures import Figures, figures
from ptable.goal import Goal
from ptable.guarantees import Guarantee, RowGuarantee, guarantee
from ptable.identify import Identification, RowFigures, identify
from ptable.key_matrix import key_matrix, table_from_key_matrix
from ptable.mechanisms import Mechanism
from ptable.quantise import Quantisation, RowQuantisation, quantise
from ptable.solve import solve
from ptable.spec import NoiseSpec
from ptable.stack import StackedSpec
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
    "key_matrix",
    "quantise",
    "read_tables",
    "solve",
    "table_from_key_matrix",
    "write_tables",
]
