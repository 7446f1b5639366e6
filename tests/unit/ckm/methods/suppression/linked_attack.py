"""Attacks on the linked tables of a job over groups of records; shares no code with ours.

Whoever attacks has the public files, knows which of the finest groups of records are empty, and
knows what he gave himself. One program over the amounts of the groups bounds every unsafe cell.
"""

from __future__ import annotations

import csv
import itertools

import highspy
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ckm.config import read_job
from ckm.release.suppressed import release_true_numbers

LEAST, P, MARGIN = 3, 10.0, 10.0
JOB = """schema = 1
data = {{ path = "firms.parquet", id = "id" }}
suppression = {{ threshold = 3, largest_hidden_share = 1.0{rules} }}
hierarchies = {{ geo = ["region", "town"], zones = ["zone", "town"] }}
{tables}"""
#: dimensions and a filter by sex of the tables of a job
SHAPES = (
    [(["region", "job"], ""), (["region", "size"], "")],
    [(["geo", "job"], ""), (["region", "size"], "")],
    [(["region", "job"], ""), (["region", "size"], ""), (["job", "size"], "")],
    [(["geo", "job"], ""), (["zones", "size"], "")],
    [(["region", "job"], ""), (["region", "job"], "M")],
    [(["region", "job"], "M"), (["region", "size"], "")],
    [(["town"], ""), (["job", "size"], ""), (["zone", "sex"], "")],
    [(["geo", "job"], "")],
)
FINEST = ("town", "job", "sex", "size")


def drawn(seed, *, least=30, most=90, sigma=2.0):
    """Draw firms of skewed turnover, in holdings."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(least, most))
    town = rng.integers(0, 6, n)
    return {
        "id": np.arange(n),
        "region": np.array([f"R{t % 3}" for t in town]),
        "zone": np.array([f"Z{t % 2}" for t in town]),
        "town": np.array([f"T{t}" for t in town]),
        "job": rng.choice([*"abcd"], n, p=[0.45, 0.3, 0.15, 0.1]),
        "sex": rng.choice([*"FM"], n),
        "size": rng.choice([*"123"], n, p=[0.5, 0.3, 0.2]),
        "turnover": np.ceil(rng.lognormal(4, sigma, n)),
        "holding": np.array([f"H{h}" for h in rng.integers(0, int(0.7 * n), n)]),
    }


def released(folder, data, tables, *, measures=("count", "sum:turnover"), rules="", more=""):
    """Release, and return for every row of every table the row, and who stands in it."""
    pq.write_table(pa.table({k: list(v) for k, v in data.items()}), folder / "firms.parquet")
    text = more
    for number, (dimensions, sex) in enumerate(tables):
        text += f"[[table]]\nname = 't{number}'\ndimensions = {dimensions}\n"
        text += f"measures = {list(measures)}\n" + f'where = "sex = {sex!r}"\n' * bool(sex)
    rules += f", p_percent = {P}" * (list(measures) != ["count"])
    (folder / "job.toml").write_text(JOB.format(rules=rules, tables=text))
    release_true_numbers(read_job(folder / "job.toml"), folder / "out")
    found = []
    for number, (_, sex) in enumerate(tables):
        with (folder / f"out/public/t{number}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                inside = np.isin(data["sex"], [sex or "F", "M"])
                for column in set(row) & set(data):
                    if row[column] != "Total":
                        inside &= data[column] == row[column]
                found.append((number, row, inside))
    return found


class Attack:
    """One measure of a release, and what its contributors work out."""

    def __init__(
        self, rows, data, column, *, holding=False, knows_alone="table", finest=FINEST
    ):
        self.is_count = column == "count"
        self.value = np.ones(len(data["id"])) if self.is_count else data["turnover"]
        names = data["holding"] if holding and not self.is_count else data["id"]
        _, self.unit = np.unique(names, return_inverse=True)
        self.n_units = int(self.unit.max()) + 1
        place = np.array(list(zip(*(data[c].tolist() for c in finest), strict=True)))
        self.group = np.unique(place, axis=0, return_inverse=True)[1].ravel()
        self.n_groups = int(self.group.max()) + 1
        self.truth = np.bincount(self.group, self.value)
        self.rows, self.knows_alone = rows, knows_alone
        self.inside = np.array([i for *_, i in rows])
        self.lines = np.array(
            [np.bincount(self.group[i], minlength=self.n_groups) > 0 for i in self.inside]
        )
        self.shown = np.array([row[column] != "" for _, row, _ in rows])
        self.totals = self.inside @ self.value
        told = [float(row[column]) for _, row, _ in rows if row[column] != ""]
        assert np.allclose(told, self.totals[self.shown])
        self.by_unit = np.zeros((len(rows), self.n_units))
        for r, inside in enumerate(self.inside):
            self.by_unit[r] = np.bincount(self.unit[inside], self.value[inside], self.n_units)
        self.gave = np.zeros((self.n_units, self.n_groups))
        np.add.at(self.gave, (self.unit, self.group), self.value)
        self.parts = self._parts()
        self._model()

    def _parts(self):
        """Return in how many finest cells of any one table the people of a row stand."""
        found = np.zeros(len(self.rows), int)
        for table in {number for number, *_ in self.rows}:
            finest = [
                line
                for (number, row, _), line in zip(self.rows, self.lines, strict=True)
                if number == table and "Total" not in row.values()
            ]
            parts = (self.lines.astype(int) @ np.array(finest, int).T) > 0
            found = np.maximum(found, parts.sum(axis=1))
        return found

    def needs(self, r, who):
        """Return how far below and above a cell must seem possible to somebody; or None."""
        own = self.by_unit[r]
        given = np.sort(own[own > 0])[::-1]
        number, total = len(given), given.sum()
        inside = [u for u in who if own[u] > 0]
        if number == 0 or len(inside) > 1 or number == len(inside):
            return None
        if self.is_count:
            least = max(number - 1, self.parts[r])
            return (number - least, LEAST - number) if number < LEAST else None
        need = 0.0
        rest = total - sum(own[u] for u in inside)
        is_unsafe = total - given[:2].sum() < P / 100 * given[0] - 1e-9
        if number < LEAST:
            need = MARGIN / 100 * rest
        if is_unsafe and not who:
            need = max(need, P / 100 * given[0] - given[2:].sum())
        elif is_unsafe:
            others = own.copy()
            others[inside] = 0
            need = max(need, P / 100 * others.max() - (rest - others.max()))
        return (need, need) if need > 1e-9 else None

    def _model(self):
        """Hold every published number, and every hidden one as a row between ends."""
        hidden = ~self.shown & (self.totals > 0)
        self.hidden = np.flatnonzero(hidden)
        use = np.flatnonzero(self.shown | hidden)
        self.row_of = {int(r): n for n, r in enumerate(use)}
        low = np.where(self.shown, self.totals, 1.0 if self.is_count else 0.0)[use]
        high = np.where(self.shown, self.totals, np.inf)[use]
        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = len(use), self.n_groups
        model.col_cost_ = np.zeros(self.n_groups)
        model.col_lower_ = np.zeros(self.n_groups)
        model.col_upper_ = np.full(self.n_groups, np.inf)
        model.row_lower_, model.row_upper_ = low, high
        columns = [np.flatnonzero(line) for line in self.lines[use]]
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.cumsum([0, *map(len, columns)])
        model.a_matrix_.index_ = np.concatenate(columns)
        model.a_matrix_.value_ = np.ones(sum(map(len, columns)))
        self.solver = highspy.Highs()
        self.solver.silent()
        self.solver.setOptionValue("threads", 1)
        self.solver.passModel(model)
        self.use, self.low, self.high = use, low, high

    def ends(self, who):
        """Return what somebody knows of the groups, and of the rows."""
        gave = self.gave[list(who)].sum(axis=0)
        top = np.full(self.n_groups, np.inf)
        low, high = self.low.copy(), self.high.copy()
        if who:
            is_all = self.by_unit[:, list(who)].sum(axis=1) >= self.totals - 1e-9
            if self.knows_alone in ("table", "group"):
                known = is_all[self.use]
                low[known] = high[known] = self.totals[self.use][known]
            if self.knows_alone == "group":
                top = np.where(gave >= self.truth - 1e-9, self.truth, top)
        return gave, top, low, high

    def farthest(self, r, sign, ends, aim):
        """Move a cell as far as somebody believes, at most to the aim; return the groups."""
        gave, top, low, high = (np.array(end) for end in ends)
        own = self.row_of[r]
        if sign > 0:
            high[own] = max(min(high[own], aim), self.totals[r])
        else:
            low[own] = min(max(low[own], aim), self.totals[r])
        places = np.arange(self.n_groups, dtype=np.int32)
        self.solver.changeColsBounds(len(places), places, gave, top)
        for k in range(len(low)):
            self.solver.changeRowBounds(k, low[k], high[k])
        goal = -sign * self.lines[r].astype(float)
        self.solver.changeColsCost(len(places), places, goal)
        self.solver.run()
        assert self.solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return np.array(self.solver.getSolution().col_value)

    def aim(self, r, sign, far, ends):
        """Return what a cell must seem possible to be: no less than were nothing published."""
        aim = self.totals[r] + sign * far
        if sign > 0 or not self.is_count:
            return aim
        is_zero = self.high <= 0
        low, high = np.where(is_zero, 0.0, 1.0), np.where(is_zero, 0.0, np.inf)
        is_whole = ends[2] == ends[3]
        is_whole &= ~self.shown[self.use]
        low[is_whole] = high[is_whole] = ends[2][is_whole]
        unpublished = (*ends[:2], np.maximum(low, np.minimum(ends[2], 1.0)), high)
        return max(aim, self.farthest(r, -1, unpublished, aim)[self.lines[r]].sum())

    def failures(self, coalition=1):
        """Return the unsafe cells, and those that somebody comes too near, with whom."""
        unsafe = [r for r in self.hidden.tolist() if self.needs(r, ()) is not None]
        self.seen = np.append(self.truth, self.lines[self.use] @ self.truth)[None]
        failed = []
        for size in range(coalition + 1):
            for who in itertools.combinations(range(self.n_units), size):
                failed += self._failures(who, unsafe)
        return unsafe, failed

    def _failures(self, who, unsafe):
        ends, near = self.ends(who), 1e-6
        low, high = np.concatenate([ends[0], ends[2]]), np.concatenate([ends[1], ends[3]])
        scale = near * (1 + np.append(self.truth, self.totals[self.use]))
        believed = ((self.seen >= low - scale) & (self.seen <= high + scale)).all(axis=1)
        for r in unsafe:
            need, own = self.needs(r, who), self.n_groups + self.row_of[r]
            if need is None:
                continue
            if not self.is_count:  # the rest of a cell is not below 0
                need = (
                    min(need[0], self.totals[r] - self.by_unit[r][list(who)].sum()),
                    need[1],
                )
            for sign, far in zip((-1, 1), need, strict=True):
                aim = self.totals[r] + sign * far
                gone = sign * (self.seen[believed, own] - aim)
                if far <= 0 or (gone >= -near * max(1, far)).any():
                    continue
                point = self.farthest(r, sign, ends, aim)
                self.seen = np.vstack(
                    [self.seen, np.append(point, self.lines[self.use] @ point)]
                )
                believed = np.append(believed, True)
                end = self.seen[-1, own]
                if sign * (end - aim) >= -1e-4 * max(1e-3, far):
                    continue
                if sign * (end - self.aim(r, sign, far, ends)) < -1e-4 * max(1e-3, far):
                    yield r, sign, who, float(end), aim
