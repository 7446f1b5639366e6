"""Secondary suppression of turnover by activity, region and size, beside tau-ARGUS and Gauss.

Records are lognormal, the rule is p % with p = 10, axes have trees; in sparse tables half of
the cells or more are unsafe. Every pattern, ours and theirs, is audited here: primary cells
that an outsider comes too near, and those that a contributor does. Theirs are also repaired,
see `bench.suppression_repair`, which is what the same safety costs them. ``CKM_TAU_ARGUS``
names a Python that has `pytauargus`; packages of R are those of ``bench/peers``.
With ``--quick`` the two smallest tables, against outsiders alone; with
``--scale`` two large ones, ours against outsiders alone, and with ``--cells 20000 100000`` the
least tables with as many. Lines are printed as they come, and what is done meanwhile.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import Line, best_cpu, in_process, in_r, peak_mb, report, show

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ckm.methods.suppression import Problem

_TAU_ARGUS = "CKM_TAU_ARGUS"
_P, _AXES = 10, ("activity", "region", "size")
#: name → branches of the tree of each axis, records, sigma of the logarithm, seed
TABLES: dict[str, tuple[list[list[int]], int, float, int]] = {
    "604 cells": ([[3, 4], [6], [5]], 3_000, 1.2, 2),
    "1,423 cells": ([[4, 5], [10], [5]], 7_000, 1.2, 2),
    "1,257 cells, skewed": ([[4, 5], [10], [5]], 2_600, 1.8, 2),
    "1,098 cells, sparse": ([[4, 5], [10], [5]], 1_200, 1.5, 2),
    "3,587 cells, sparse": ([[5, 5], [4, 5], [7]], 3_500, 1.8, 2),
    "4,964 cells": ([[5, 5], [4, 5], [7]], 22_000, 1.2, 2),
    "20,761 cells": ([[6, 8], [6, 8], [7]], 110_000, 1.2, 2),
    "102,902 cells": ([[10, 10], [10, 10], [9]], 600_000, 1.2, 2),
}
#: name → the most CPU seconds of search and audit, of tables that ``--scale`` takes
_LARGE = {"20,761 cells": 180.0, "102,902 cells": 900.0}
#: Every so many seconds of a search, what it does is told.
_OFTEN_S = 30.0
_MOST_MB = 4_000.0
#: Also protected against contributors, which takes longer.
_CONTRIBUTORS = ("604 cells", "1,423 cells", "1,257 cells, skewed", "1,098 cells, sparse")
#: What our value may be, at most, beside that of a peer for the same safety.
_GOALS = {
    ("tau-ARGUS MOD", 0): 1.0,
    ("tau-ARGUS MOD, repaired", 0): 1.0,
    ("tau-ARGUS MOD", 1): 1.15,
    ("tau-ARGUS MOD, repaired", 1): 1.15,
    ("GaussSuppression, repaired", 0): 1.1,
    ("GaussSuppression, repaired", 1): 1.1,
}


class Turnover:
    """Records of businesses, and their sums over all categories of three axes."""

    def __init__(self, name: str) -> None:
        branches, n, sigma, seed = TABLES[name]
        rng = np.random.default_rng(seed)
        self.trees = [np.array(tree(widths)) for widths in branches]
        self.places = []
        for parents in self.trees:
            leaves = np.setdiff1d(np.arange(len(parents)), parents)
            share = rng.gamma(1.2, 1, len(leaves)) + 0.05
            self.places.append(leaves[rng.choice(len(leaves), n, p=share / share.sum())])
        self.amount = np.maximum(1, np.rint(rng.lognormal(4, sigma, n))).astype(np.int64)
        record, code = self._above(self.places)
        amount = self.amount[record]
        order = np.lexsort((-amount, code))
        self.codes, start, self.number = np.unique(
            code[order], return_index=True, return_counts=True
        )
        self.values = np.add.reduceat(amount[order], start)
        largest = [amount[order][np.minimum(start + k, len(order) - 1)] for k in (0, 1)]
        self.top = np.stack(largest, axis=1) * (self.number[:, None] > np.arange(2))

    def _above(self, places: list[NDArray[np.int64]]) -> tuple[Any, Any]:
        """Return the number of each finest cell or record and a cell above it, all of them."""
        above = []
        for parents, own in zip(self.trees, places, strict=True):
            lines = [own]
            while (lines[-1] > 0).any():
                lines.append(np.where(lines[-1] >= 0, parents[lines[-1]], -1))
            above.append(lines)
        shape, found = tuple(map(len, self.trees)), []
        for chosen in itertools.product(*above):
            row = np.flatnonzero(np.all([place >= 0 for place in chosen], axis=0))
            cell = np.ravel_multi_index([place[row] for place in chosen], shape)
            found.append((row, cell))
        rows, cells = zip(*found, strict=True)
        return np.concatenate(rows), np.concatenate(cells)

    @property
    def ranks(self) -> tuple[NDArray[np.int64], ...]:
        """The category of every cell on each axis."""
        return np.unravel_index(self.codes, tuple(map(len, self.trees)))

    def problem(self, coalition: int) -> Problem:
        """State what is to be protected."""
        from types import SimpleNamespace

        from ckm.methods.suppression import Grid, Percent, Problem, Relations, primary_cells

        amounts: Any = SimpleNamespace(
            total=self.values.astype(np.float64),
            contributors=self.number,
            top=self.top.astype(np.float64),
            top_weight=(self.top > 0).astype(np.float64),
        )
        grid = Grid(parents=tuple(self.trees), ranks=self.ranks)
        return Problem(
            relations=Relations.of_grids([grid], values=self.values),
            values=self.values,
            primary=primary_cells([Percent(p=_P)], amounts=amounts),
            coalition=coalition,
        )

    def finest(self) -> list[tuple[int, int]]:
        """List which finest cells, from 1, are in which cells, from 1."""
        shape = tuple(map(len, self.trees))
        inner = np.unique(np.ravel_multi_index(self.places, shape))
        row, code = self._above(list(np.unravel_index(inner, shape)))
        cell = np.searchsorted(self.codes, code)
        return [(r + 1, c + 1) for r, c in zip(row.tolist(), cell.tolist(), strict=True)]


def tree(branches: list[int]) -> list[int]:
    """Branch so often on each level: the parent of every category."""
    parents, level = [-1], [0]
    for width in branches:
        below = []
        for node in level:
            below += range(len(parents), len(parents) + width)
            parents += [node] * width
        level = below
    return parents


def ours(name: str, coalition: int) -> dict[str, Any]:
    """Suppress as a job does by default, against contributors or outsiders."""
    from ckm.methods.suppression import suppress

    problem = Turnover(name).problem(coalition)
    told = time.monotonic()

    def tell(stage: str, done: int, of: int) -> None:
        nonlocal told
        if time.monotonic() - told > _OFTEN_S:
            told = time.monotonic()
            text = f"{name}: {stage} {done:,} of {of:,}, {time.process_time():.0f} CPU s"
            print(text, file=sys.stderr, flush=True)

    cpu, found = best_cpu(lambda: suppress(problem, limit_s=3600.0, progress=tell), 1)
    audit_cpu, seen = best_cpu(found.audit, 1)
    return {
        "cpu": cpu,
        "audit": audit_cpu,
        "hidden": np.flatnonzero(found.hidden).tolist(),
        "primary": int(problem.primary.is_primary.sum()),
        "programs": seen.n_programs,
        "exact": int(seen.is_exact.sum()),
        "under": len(seen.under_protected),
        "MB": peak_mb(),
    }


def audited(name: str, hidden: list[int], coalition: int) -> dict[str, Any]:
    """Audit a pattern of whomever, without the changes that its search found."""
    from ckm.methods.suppression import audit

    problem = Turnover(name).problem(coalition)
    is_primary = problem.primary.is_primary
    mask = np.zeros(len(is_primary), bool)
    mask[hidden] = True
    cpu, found = best_cpu(lambda: audit(problem, mask | is_primary), 1)
    return {
        "cells": len(mask),
        "primary": int(is_primary.sum()),
        "secondary": int((mask & ~is_primary).sum()),
        "value": float(problem.value[mask & ~is_primary].sum()),
        "exact": int(found.is_exact.sum()),
        "under": len(found.under_protected),
        "exposed": len(found.exposed) if coalition else "",
        "audit": cpu,
    }


def mended(name: str, hidden: list[int], coalition: int) -> dict[str, Any]:
    """Repair a pattern of another tool to the safety of ours."""
    from bench.suppression_repair import repaired

    problem = Turnover(name).problem(coalition)
    mask = problem.primary.is_primary.copy()
    mask[hidden] = True
    cpu, whole = best_cpu(lambda: repaired(problem, mask), 1)
    return {"cpu": cpu, "hidden": np.flatnonzero(whole).tolist()}


def gauss(name: str) -> dict[str, Any] | None:
    """Suppress by Gaussian elimination in R, the dearest cells published first."""
    given = Turnover(name)
    is_primary = given.problem(0).primary.is_primary.astype(int)
    with tempfile.TemporaryDirectory() as folder:
        for stem, header, rows in (
            ("finest", ("finest", "cell"), given.finest()),
            ("cells", ("value", "primary"), zip(given.values, is_primary, strict=True)),
        ):
            with (Path(folder) / f"{stem}.csv").open("w", newline="") as file:
                csv.writer(file).writerows([header, *rows])
        return in_r("gauss.R", folder)


def tau_argus(name: str, python: str) -> dict[str, Any]:
    """Suppress by the modular approach of tau-ARGUS."""
    given = Turnover(name)

    def lines(parents: list[int], node: int, depth: int) -> list[str]:
        below = [c for c, parent in enumerate(parents) if parent == node]
        parts = [["@" * depth + f"c{c:03d}", *lines(parents, c, depth + 1)] for c in below]
        return list(itertools.chain(*parts))

    trees = ["\n".join(lines(parents.tolist(), 0, 0)) + "\n" for parents in given.trees]
    places = [[f"c{c:03d}" for c in own.tolist()] for own in given.places]
    settings = {
        "records": dict(zip(_AXES, places, strict=True)) | {"amount": given.amount.tolist()},
        "trees": dict(zip(_AXES, trees, strict=True)),
        "rule": f"P({_P},1)",
        "method": "MOD(1)",
    }
    script = Path(__file__).parent / "peers" / "tau_argus.py"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        path.write_text(json.dumps(settings))
        done = subprocess.run(
            [python, str(script), str(path)], capture_output=True, text=True, check=True
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    codes = {f"c{c:03d}": c for c in range(max(map(len, given.trees)))}
    status = {
        tuple(codes.get(code.strip(), 0) for code in row[:-1]): row[-1]
        for row in answer["rows"]
    }
    cells = zip(*(rank.tolist() for rank in given.ranks), strict=True)
    hidden = [cell for cell, place in enumerate(cells) if status[place] in {"U", "M"}]
    return {"cpu": answer["cpu"], "hidden": hidden}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--cells", type=int, nargs="+", metavar="N")
    given = parser.parse_args()
    if given.scale or given.cells:
        _scale(list(dict.fromkeys(map(large_enough, given.cells or []))) or list(_LARGE))
    else:
        _compare(is_quick=given.quick)


def _compare(*, is_quick: bool) -> None:
    """Suppress and audit beside the peers."""
    python = os.environ.get(_TAU_ARGUS) or (find_spec("pytauargus") and sys.executable)
    columns = ["cells", "primary", "secondary", "value", "exact", "under", "exposed", "audit"]
    rows, lines = list[list[object]](), list[Line]()
    for name in [name for name in TABLES if name not in _LARGE][: 2 if is_quick else None]:
        peers = {
            "GaussSuppression": gauss(name),
            "tau-ARGUS MOD": tau_argus(name, python) if python else None,
        }
        for coalition in (0, 1) if name in _CONTRIBUTORS and not is_quick else (0,):
            own = in_process(ours, name, coalition)
            print(f"{name}: {own['cpu']:.3g} CPU s, {own['audit']:.3g} audit", flush=True)
            patterns = {"ours": own}
            for peer, found in peers.items():
                if found is not None:
                    patterns[peer] = found
                    again = in_process(mended, name, found["hidden"], coalition)
                    patterns[f"{peer}, repaired"] = again
            seen = {
                method: found | in_process(audited, name, found["hidden"], coalition)
                for method, found in patterns.items()
            }
            against = "contributors" if coalition else "outsiders"
            for method, found in seen.items():
                figures = [*(found[c] for c in columns), found["cpu"]]
                ratio = found["value"] / seen["ours"]["value"]
                rows.append([name, against, method, *figures, ratio])
            lines += _lines(f"{name}, {against}", own, seen, coalition)
    show(
        "Secondary suppression; value and CPU s of searches, audits apart",
        ["table", "against", "method", *columns, "CPU s", "value to ours"],
        rows,
        ours="",
    )
    report("Secondary suppression, audit included", lines)


def large_enough(cells: int) -> str:
    """Name the least table with so many cells or more, or the largest."""
    sizes = {name: int(name.split(" ")[0].replace(",", "")) for name in TABLES}
    return min(sizes, key=lambda name: (sizes[name] < cells, abs(sizes[name] - cells)))


def _scale(names: list[str]) -> None:
    """Suppress and audit tables, and print the lines of each as soon as it is done."""
    columns = ["primary", "exact", "under", "programs", "audit", "cpu", "MB"]
    for name in names:
        found = in_process(ours, name, 0)
        row = [name, len(found["hidden"]), *(found[c] for c in columns)]
        show(f"Against outsiders, {name}", ["table", "hidden", *columns], [row], ours="")
        cpu = found["cpu"] + found["audit"]
        memory = _MOST_MB if name in _LARGE else None
        report(
            f"Search and audit, {name}",
            [
                Line(f"search and audit, {name}", cpu, "CPU s", goal=_LARGE.get(name)),
                Line(f"peak memory, {name}", found["MB"], "MB", goal=memory),
                Line(f"under-protected, {name}", found["under"], "cells", goal=0.0),
            ],
        )


def _lines(
    name: str, own: dict[str, Any], seen: dict[str, dict[str, Any]], coalition: int
) -> list[Line]:
    """Return the figures that have goals."""
    value, found = seen["ours"]["value"], []
    for (peer, number), goal in _GOALS.items():
        if number == coalition and peer in seen:
            words = (f"value hidden, {name}", value, "", peer, seen[peer]["value"])
            found.append(Line(*words, goal))
    theirs = seen.get("tau-ARGUS MOD", {}).get("cpu")
    beside = ("tau-ARGUS MOD", theirs, 1.5) if theirs else ()
    found.append(Line(f"search and audit, {name}", own["cpu"] + own["audit"], "CPU s", *beside))
    failed = seen["ours"]["under"] + (seen["ours"]["exposed"] or 0)
    return [*found, Line(f"under-protected or exposed, {name}", failed, "cells", goal=0.0)]


if __name__ == "__main__":
    main()
