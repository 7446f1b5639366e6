"""cvxpy comes without the package that it takes one function of."""

import subprocess
import sys

import pytest

CODE = """
import sys
from ptable.solver.modelling import load_cvxpy
cp = load_cvxpy()
assert "scipy.stats" not in sys.modules
import numpy as np
from scipy.stats import norm
x = cp.quantum_rel_entr(np.eye(2) / 2, np.eye(2) / 4)
assert abs(x.value - np.log(2)) < 1e-9
assert norm.cdf(0) == 0.5
"""


@pytest.mark.slow
def test_a_solver_starts_without_statistics_and_its_function_works_later():
    subprocess.run([sys.executable, "-c", CODE], check=True)
