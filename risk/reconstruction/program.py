"""HiGHS, asked again and again about the same tables with another goal."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Name
from risk.errors import RiskError

#: One thread and one seed: the same question gets the same answer.
_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-6,
}
#: Another goal leaves the last vertex feasible: no presolve, primal simplex from there.
_WARM: dict[str, bool | int | float | str] = {
    "presolve": "off",
    "solver": "simplex",
    "simplex_strategy": 4,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Hold linear constraints ``lower <= weights of columns <= upper``, row after row.

    Parameters
    ----------
    starts, columns, weights
        Row ``r`` has the entries from ``starts[r]`` to ``starts[r + 1] - 1``.
    lower, upper
        The bounds of every row; infinite where there is none.
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def hold(self, point: ArrayLike) -> bool:
        """Tell whether a point satisfies every row."""
        parts = self.weights * np.asarray(point)[self.columns]
        row = np.repeat(np.arange(len(self.lower)), np.diff(self.starts))
        sums = np.bincount(row, parts, minlength=len(self.lower))
        return bool(((sums >= self.lower) & (sums <= self.upper)).all())


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Hold what HiGHS found.

    Parameters
    ----------
    bound
        No point has less; the least itself where `is_exact`.
    point
        The best point found; empty where there is none.
    is_exact
        Whether `point` attains `bound`.

    Examples
    --------
    >>> Answer(bound=2.0, point=np.array([2.0]), is_exact=True).bound
    2.0
    """

    bound: float
    point: NDArray[np.float64]
    is_exact: bool


class Program:
    """Ask for the least of a weighted sum of columns, over all points that satisfy the rows.

    Parameters
    ----------
    rows
        The constraints.
    lower, upper
        The least and the largest of every column.
    most_nodes
        None for real numbers; else for whole numbers, giving up after so many nodes.
    max_seconds
        Give up after so long, with what was found; the answer then depends on the machine.
    bounds_move
        Whether bounds will change more than goals do: the dual simplex then starts better.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        most_nodes: int | None = None,
        max_seconds: float = math.inf,
        bounds_move: bool = False,
    ) -> None:
        # heavy, and the other attacks do without
        import highspy

        self._highs = highspy
        self._solver = highspy.Highs()  # type: ignore[no-untyped-call]
        options = _OPTIONS | (_WARM if most_nodes is None else {"mip_max_nodes": most_nodes})
        options |= {"time_limit": max_seconds}
        if bounds_move:
            options["simplex_strategy"] = 1
        for name, value in options.items():
            self._solver.setOptionValue(name, value)
        # arrays go in as they are; a model filled attribute by attribute copies them as lists
        n_columns, is_whole = len(lower), most_nodes is not None
        kind = highspy.HighsVarType.kInteger if is_whole else highspy.HighsVarType.kContinuous
        self._solver.passModel(
            n_columns,
            len(rows.lower),
            len(rows.columns),
            highspy.MatrixFormat.kRowwise.value,
            highspy.ObjSense.kMinimize.value,
            0.0,
            np.zeros(n_columns),
            np.asarray(lower, np.float64),
            np.asarray(upper, np.float64),
            rows.lower,
            rows.upper,
            rows.starts.astype(np.int32),
            rows.columns.astype(np.int32),
            rows.weights,
            np.full(n_columns, kind.value, np.int32),
        )
        self.is_whole = most_nodes is not None
        self._costed: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._start: Any = None

    def hold(self, columns: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Change the least and the largest of some columns."""
        where = np.asarray(columns, dtype=np.int32)
        low, high = (np.asarray(bound, dtype=np.float64) for bound in (lower, upper))
        self._solver.changeColsBounds(len(where), where, low, high)

    def start_from(self, columns: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Begin at a basis of some columns, and of all rows but as many.

        Other columns are at their least. A basis that is none is mended by the solver.
        """
        solver, states = self._solver, self._highs.HighsBasisStatus
        both = np.array([states.kLower, states.kBasic], dtype=object)
        of_columns = np.zeros(solver.getNumCol(), np.int8)
        of_rows = np.ones(solver.getNumRow(), np.int8)
        of_columns[columns], of_rows[rows] = 1, 0
        basis = self._highs.HighsBasis()
        basis.col_status, basis.row_status = both[of_columns].tolist(), both[of_rows].tolist()
        basis.valid = True
        self._start = basis
        self.restart()

    def restart(self) -> None:
        """Begin at the basis given to `start_from` again, if one was, not at the last answer.

        Where goals and bounds both change, the last answer is no better a start, and a sparse
        basis makes faster steps.
        """
        if self._start is not None:
            self._solver.setBasis(self._start)

    def add(self, rows: Rows) -> None:
        """Add constraints."""
        self._solver.addRows(
            len(rows.lower),
            rows.lower,
            rows.upper,
            len(rows.columns),
            rows.starts[:-1].astype(np.int32),
            rows.columns.astype(np.int32),
            rows.weights,
        )

    @property
    def prices(self) -> NDArray[np.float64]:
        """By how much the last answer would change per unit of each row's bounds.

        Real numbers only.
        """
        return np.array(self._solver.getSolution().row_dual)

    @property
    def steps(self) -> int:
        """How many steps of the simplex method the last answer took."""
        return max(int(self._solver.getInfo().simplex_iteration_count), 0)

    def least(self, columns: ArrayLike, costs: ArrayLike) -> Answer | None:
        """Minimise the sum of costs times columns."""
        where = np.asarray(columns, dtype=np.int32)
        if self._costed.size:
            nothing = np.zeros(len(self._costed))
            self._solver.changeColsCost(len(self._costed), self._costed, nothing)
        self._solver.changeColsCost(len(where), where, np.asarray(costs, dtype=np.float64))
        self._costed = where
        self._solver.run()
        states, status = self._highs.HighsModelStatus, self._solver.getModelStatus()
        if status == states.kUnknown:  # the last vertex was a bad start
            for presolve in ("off", "on"):
                self._solver.clearSolver()
                self._solver.setOptionValue("presolve", presolve)
                self._solver.run()
                status = self._solver.getModelStatus()
                if status != states.kUnknown:
                    break
            self._solver.setOptionValue("presolve", "choose" if self.is_whole else "off")
        if status == states.kInfeasible:
            return None
        is_exact = status == states.kOptimal
        gave_up = self.is_whole and status in {states.kSolutionLimit, states.kTimeLimit}
        if not is_exact and not gave_up:
            raise RiskError(
                Message("HiGHS could not bound a cell: {status}.", status=Name(status.name)),
                hint=Message("every base cell needs a published sum that bounds it"),
            )
        info, solution = self._solver.getInfo(), self._solver.getSolution()
        return Answer(
            bound=info.mip_dual_bound if self.is_whole else info.objective_function_value,
            point=np.array(solution.col_value if solution.value_valid else []),
            is_exact=is_exact,
        )
