"""Perturbation tables for the cell key method: design, proof, lookup and the layouts of others.

Pictures are in `ptable.pictures`, the layouts of other tools in `ptable.dialects`.
"""

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
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

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Certificate": "ptable.proof.certificate",
        "Feasibility": "ptable.solver.feasibility",
        "Figures": "ptable.advice.figures",
        "Goal": "ptable.design.goal",
        "Guarantee": "ptable.proof.guarantees",
        "InfeasibleError": "ptable.errors",
        "InternalError": "ptable.errors",
        "Limits": "ptable.design.limits",
        "Mechanism": "ptable.design.mechanisms",
        "NoiseSpec": "ptable.design.spec",
        "PTable": "ptable.table",
        "PTableError": "ptable.errors",
        "PTableWarning": "ptable.errors",
        "RowFeasibility": "ptable.solver.feasibility",
        "StackedSpec": "ptable.design.stack",
        "advise": "ptable.advice.advice",
        "alternatives": "ptable.advice.alternatives",
        "conflicts": "ptable.advice.advice",
        "detect": "ptable.dialects",
        "feasible": "ptable.solver.feasibility",
        "figures": "ptable.advice.figures",
        "guarantee": "ptable.proof.guarantees",
        "identify": "ptable.proof.identify",
        "quantise": "ptable.quantisation.quantise",
        "read_tables": "ptable.dialects",
        "solve": "ptable.solver.solve",
        "table_from_key_matrix": "ptable.quantisation.key_matrix",
        "write_tables": "ptable.dialects",
    },
)
