"""Tables of businesses: holdings, requests, sums of 0, and cells with their contributors."""

import csv
import itertools
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from ckm.config import JobError, read_job
from ckm.errors import ConfigError
from ckm.methods.suppression.office_rules import Requested
from ckm.methods.suppression.original_cells import open_originals
from ckm.release.job_inputs import job_cells
from ckm.release.suppressed import release_true_numbers
from tables import DataError, RequestError

HEAD = """
schema = 1
[data]
path = "{path}"
{data}
[suppression]
largest_hidden_share = 1.0
{rules}
[hierarchies]
geo = ["region", "town"]
[[table]]
name = "turnover"
dimensions = ["geo", "branch"]
measures = ["sum:turnover"]
{table}
"""


def firms(n=60, seed=3):
    rng = np.random.default_rng(seed)
    region = rng.integers(1, 3, n)
    return {
        "id": [f"MARKER-{i}" for i in range(n)],
        "region": [f"R{r}" for r in region],
        "town": [f"R{r}T{t}" for r, t in zip(region, rng.integers(1, 4, n), strict=True)],
        "branch": rng.choice(["a", "b", "c"], n).tolist(),
        "turnover": np.rint(rng.gamma(0.6, 300, n)).tolist(),
        "group": [None if g > 8 else f"G{g}" for g in rng.integers(0, 14, n)],
        "asked": (rng.random(n) < 0.3).tolist(),
    }


def job(folder, rules="", data='id = "id"', path="firms.parquet", table=""):
    rules += "\ncoalition = 0" * ("coalition" not in rules)
    text = HEAD.format(path=path, data=data, rules=rules, table=table)
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


@pytest.fixture
def folder(tmp_path):
    pq.write_table(pa.table(firms()), tmp_path / "firms.parquet")
    return tmp_path


def audit_rows(out):
    with (out / "internal" / "audit-turnover.csv").open(newline="") as file:
        return list(csv.DictReader(file))


PLACE, TOWNS = ("region", "town", "branch"), [f"R{r}T{t}" for r in (1, 2) for t in (1, 2, 3)]


def of_each_cell(cells):
    """Give the categories of every cell, and its row."""
    texts = [t for axis in cells.axes for t in axis.labels]
    ranks = [r for axis, r in zip(cells.axes, cells.ranks, strict=True) for _ in axis.columns]
    return list(zip(*(t[r] for t, r in zip(texts, ranks, strict=True)), strict=True))


@pytest.mark.parametrize("margins", ["", 'margins = [["region"], ["branch"], []]'])
def test_the_contributor_of_a_cell_is_the_holding(folder, margins):
    """Every margin is counted anew: a holding in two towns is one contributor of the region."""
    rules = 'threshold = 3\nholding = "group"'
    with open_originals(job(folder, rules, table=margins)) as opened:
        (cells,) = opened.cells().values()
        wider = [table for _, table in opened.whole()]
    truth = firms()
    assert len(wider) == (1 if margins else 0)
    for table in (cells, *wider):
        amounts = table.magnitudes["turnover"]
        for row, place in enumerate(of_each_cell(table)):
            given = {}
            for i, group in enumerate(truth["group"]):
                own = (truth["region"][i], truth["town"][i], truth["branch"][i])
                if all(p in {"Total", o} for p, o in zip(place, own, strict=True)):
                    name = group or truth["id"][i]
                    given[name] = given.get(name, 0) + truth["turnover"][i]
            largest = sorted(given.values(), reverse=True)
            assert amounts.contributors[row] == sum(x > 0 for x in largest)
            assert amounts.top[row].tolist() == [*largest, 0, 0][:2]
            assert amounts.total[row] == sum(largest)


def test_a_holding_gives_its_weighted_records_together(folder):
    """Weighted records of holdings are released as records of these amounts without weights."""
    records = firms()
    weight = np.random.default_rng(8).integers(1, 4, len(records["id"]))
    amount = (weight * np.array(records["turnover"])).tolist()
    rules = 'threshold = 3\np_percent = 10.0\nholding = "group"\ncoalition = 1'
    pq.write_table(pa.table(records | {"w": weight}), folder / "weighted.parquet")
    pq.write_table(pa.table(records | {"turnover": amount}), folder / "firms.parquet")
    weighted = job(folder, rules, 'id = "id"\nweight = "w"', "weighted.parquet")
    release_true_numbers(weighted, folder / "weighted/out")
    release_true_numbers(job(folder, rules), folder / "plain/out")
    names = ("public/turnover.csv", "internal/audit-turnover.csv")
    both = [
        [(folder / kind / "out" / name).read_text() for name in names]
        for kind in ("weighted", "plain")
    ]
    assert both[0] == both[1]
    assert len(audit_rows(folder / "plain/out")) > 4


@pytest.mark.slow
def test_a_cell_of_two_firms_of_one_holding_is_that_of_one_contributor(folder):
    records = {
        "id": ["1", "2", "3", "4", "5", "6", "7", "8"],
        "region": ["N"] * 8,
        "town": ["x", "x", "x", "x", "y", "y", "y", "y"],
        "branch": ["a", "a", "b", "b", "a", "a", "b", "b"],
        "turnover": [50, 50, 60, 40, 30, 30, 70, 70],
        "group": ["G", "G", None, None, None, None, None, None],
    }
    pq.write_table(pa.table(records), folder / "firms.parquet")
    for rules, hidden in (("threshold = 2", 0), ('threshold = 2\nholding = "group"', 4)):
        out = folder / f"out{hidden}"
        release_true_numbers(job(folder, rules), out)
        rows = audit_rows(out)
        assert len(rows) == hidden
        assert all(row["town"] in "xy" for row in rows)


def test_cells_are_unsafe_of_which_one_who_asked_has_much(folder):
    release_true_numbers(
        job(folder, 'request = { column = "asked", percent = 60.0 }'), folder / "out"
    )
    found = {
        (r["region"], r["town"], r["branch"])
        for r in audit_rows(folder / "out")
        if r["status"] == "primary"
    }
    truth, expected = firms(), set()
    places = zip(truth["region"], truth["town"], truth["branch"], strict=True)
    for place in {tuple(p) for own in places for p in above(own)}:
        inside = [
            i
            for i in range(60)
            if place in above([truth[c][i] for c in ("region", "town", "branch")])
        ]
        total = sum(truth["turnover"][i] for i in inside)
        asked = max((truth["turnover"][i] for i in inside if truth["asked"][i]), default=0)
        if asked > 0.6 * total:
            expected.add(place)
    assert found == expected
    assert len(expected) > 1
    for row in audit_rows(folder / "out"):
        if row["status"] == "primary":
            assert float(row["most"]) >= 1.1 * float(row["original"])


def above(own):
    region, town, branch = own
    geo = [(region, town), (region, "Total"), ("Total", "Total")]
    return [(*g, b) for g, b in itertools.product(geo, (branch, "Total"))]


@pytest.mark.parametrize("method", ["exact", "sequential"])
def test_a_sum_of_zero_over_records_is_hidden_and_may_be_more(folder, method):
    records = {
        "id": list("12345678"),
        "region": ["N"] * 8,
        "town": [*"xxxxyyyy"],
        "branch": [*"aabbaabb"],
        "turnover": [0, 0, 60, 40, 30, 30, 70, 70],
    }
    pq.write_table(pa.table(records), folder / "firms.parquet")
    rules = f'zero_margin = 12.0\nmethod = "{method}"'
    release_true_numbers(job(folder, rules), folder / "out")
    rows = audit_rows(folder / "out")
    (zero,) = [row for row in rows if row["status"] == "primary"]
    assert (zero["town"], zero["branch"], zero["original"]) == ("x", "a", "0")
    assert float(zero["most"]) >= 12
    assert len(rows) == 4
    with pytest.raises(JobError, match="threshold is missing"):
        job(folder, 'holding = "id"')


CELLS = 'cells = ["region", "town", "branch"]\ncount = "FREQ"\n'
NAMES = '[data.amounts.turnover]\nn = "FREQ"\nlargest = ["MAX1", "MAX2"]\n'


def cells_of(records):
    """Add up as an office would: n, zeros among them, the sum, and the largest two."""
    found = {}
    for place, amount, asked in zip(
        zip(records["region"], records["town"], records["branch"], strict=True),
        records["turnover"],
        records["asked"],
        strict=True,
    ):
        found.setdefault(place, []).append((amount, asked))
    rows = [
        {
            **dict(zip(("region", "town", "branch"), place, strict=True)),
            "FREQ": len(parts),
            "turnover": sum(x for x, _ in parts),
            "MAX1": max(0, *(x for x, _ in parts)),
            "MAX2": sorted([0, 0, *(x for x, _ in parts)])[-2],
            "MAXREQ": max(0, 0, *(x for x, a in parts if a)),
        }
        for place, parts in sorted(found.items())
    ]
    return pa.Table.from_pylist(rows)


def test_an_office_without_records_suppresses_as_with_them(folder):
    pyarrow.csv.write_csv(cells_of(firms()), folder / "cells.csv")
    rules = "threshold = 3\np_percent = 10.0\nzero_margin = 5.0\n"
    release_true_numbers(job(folder, rules), folder / "records")
    release_true_numbers(job(folder, rules, CELLS + NAMES, "cells.csv"), folder / "cells")
    names = ("public/turnover.csv", "internal/audit-turnover.csv")
    for name in names:
        assert (folder / "cells" / name).read_text() == (folder / "records" / name).read_text()
    assert len(audit_rows(folder / "cells")) > 4


@pytest.mark.slow
def test_requests_are_read_from_cells(folder):
    pyarrow.csv.write_csv(cells_of(firms()), folder / "cells.csv")
    asked = 'request = { column = "asked", percent = 60.0 }'
    release_true_numbers(job(folder, asked), folder / "records")
    data = CELLS + NAMES + 'asked = "MAXREQ"\n'
    release_true_numbers(
        job(folder, "request = { percent = 60.0 }", data, "cells.csv"), folder / "cells"
    )
    texts = [(folder / w / "public/turnover.csv").read_text() for w in ("records", "cells")]
    assert texts[0] == texts[1]
    bare = job(folder, "request = { percent = 60.0 }", CELLS + NAMES, "cells.csv")
    with pytest.raises(RequestError, match="turnover"), open_originals(bare):
        pass


@pytest.mark.parametrize(
    ("rules", "data", "said"),
    [
        (
            "request = { percent = 60.0 }",
            'id = "id"',
            "request names the column of records who",
        ),
        ('request = { column = "a", percent = 60.0 }', CELLS, "and of cells none"),
        ('threshold = 3\nholding = "group"', CELLS, "holding adds up records"),
        ("threshold = 3", 'id = "id"\n' + NAMES, "amounts go with cells alone"),
    ],
)
def test_keys_that_do_not_fit_the_data_are_found_before_they_are_read(
    folder, rules, data, said
):
    with pytest.raises(JobError, match=said):
        job(folder, rules, data)


SIGNED = """
[[magnitude]]
name = "turnover"
signed = true
"""


@pytest.mark.slow
def test_amounts_below_zero_are_protected_within_what_readers_know(folder):
    """Levels are those of absolute amounts, and so are the bounds of readers."""
    records = firms()
    flip = np.random.default_rng(5).random(60) < 0.4
    records["turnover"] = np.where(flip, -1, 1) * records["turnover"]
    pq.write_table(pa.table(records), folder / "firms.parquet")
    rules = "threshold = 3\np_percent = 10.0\nprior = { below = 100.0, above = 150.0 }"
    release_true_numbers(job(folder, rules, table=SIGNED), folder / "out")
    rows = audit_rows(folder / "out")
    seen = {(r["region"], r["town"], r["branch"]): r for r in rows}
    unsafe = 0
    areas = [("Total", "Total"), *((t[:2], t) for t in TOWNS), ("R1", "Total"), ("R2", "Total")]
    for area, branch in itertools.product(areas, [*"abc", "Total"]):
        place = (*area, branch)
        own = [
            x
            for *at, x in zip(*(records[c] for c in (*PLACE, "turnover")), strict=True)
            if all(p in {"Total", o} for p, o in zip(place, at, strict=True)) and x
        ]
        size = sorted(map(abs, own), reverse=True)
        need = 0.1 * size[0] - sum(size[2:]) if size else 0
        if 0 < len(size) < 3:
            need = max(need, 0.1 * sum(size))
        if need > 1e-9:
            unsafe += 1
            row = seen[place]
            assert row["status"] == "primary"
            assert float(row["least"]) <= sum(own) - need + 1e-4
            assert float(row["most"]) >= sum(own) + need - 1e-4
        if place in seen:
            row = seen[place]
            assert float(row["original"]) == pytest.approx(sum(own))
            assert float(row["least"]) >= sum(own) - sum(size) - 1e-4
            assert float(row["most"]) <= sum(own) + 1.5 * sum(size) + 1e-4
    assert unsafe >= 5
    assert len(seen) > unsafe
    ends = [tuple(float(row[end]) for end in ("original", "least")) for row in rows]
    assert any(x < 0 for x, _ in ends)
    assert any(low < x - abs(x) - 1 for x, low in ends)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("threshold = 3", "prior is missing: 'turnover' may be negative"),
        ("threshold = 3\ncoalition = 1", "contributors are thought of above 0 alone"),
        ('threshold = 3\nholding = "group"', "for records without holding alone"),
    ],
)
def test_amounts_below_zero_without_bounds_are_refused_before_they_are_read(
    folder, rules, said
):
    with pytest.raises(JobError, match=said):
        job(folder, rules, table=SIGNED)


def test_largest_contributions_that_are_none_are_refused(folder):
    cells = cells_of(firms())
    names = [{"MAX1": "MAX2", "MAX2": "MAX1"}.get(c, c) for c in cells.column_names]
    pq.write_table(cells.rename_columns(names), folder / "c.parquet")
    with pytest.raises(
        DataError, match="largest contributions to 'turnover' that are not those"
    ):
        release_true_numbers(
            job(folder, "threshold = 3", CELLS + NAMES, "c.parquet"), folder / "o"
        )
    assert not (folder / "o").exists()


def test_cells_of_holdings_are_not_handed_on(folder):
    with pytest.raises(ConfigError, match="Cells of holdings"):
        job_cells(job(folder, 'threshold = 3\nholding = "group"'))


def test_who_asked_is_protected_from_the_largest_other_contributor_of_the_cell():
    amounts = SimpleNamespace(
        total=np.array([100.0, 100.0, -100.0]),
        asked=np.array([60.0, 40.0, -60.0]),
        top=np.array([[60.0, 30.0], [50.0, 40.0], [-60.0, -30.0]]),
    )
    rule = Requested(percent=30, margin=10.0)
    need = [100, 100 / 30 * 40 - 100, 100]
    assert np.allclose(rule.on_amounts(amounts).upper, need)
    assert np.allclose(rule.rest(amounts, 0), need)
    assert np.allclose(rule.rest(amounts, 1), [0, need[1], 0])  # else he is the one who asked
    assert np.allclose(rule.rest(amounts, 2), need)
    assert not rule.rest(amounts, 3).any()
