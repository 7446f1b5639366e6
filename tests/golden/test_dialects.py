"""P-table files of other tools, read and written back; the reference README lists them."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from ptable import PTable, PTableError
from ptable.dialects import detect, read_tables, write_tables

NO_TABLES = {"exact_rows", "exact_solutions", "exact_where_ptable_fails", "settings"}

#: The cumulative matrix printed by Höhne and Höninger, for changes of -4 to 4.
OVERLAY = """\
-4,-3,-2,-1,0,1,2,3,4
0,0,0,0,1,1,1,1,1
0,0,0,0.6875,0.6875,0.6875,0.9375,1,1
0,0,0.3533,0.3533,0.3533,0.9440,0.9970,0.9990,1
0,0.1620,0.1620,0.1620,0.6620,0.8560,0.9970,0.9990,1
0.0870,0.0870,0.0870,0.1920,0.6920,0.8590,0.9970,0.9990,1
0,0,0.1450,0.3270,0.8270,0.8590,0.8930,0.9490,1
0,0.0400,0.1500,0.2850,0.7850,0.8600,0.9200,0.9600,1
0.0200,0.0600,0.1450,0.2500,0.7500,0.8550,0.9400,0.9800,1
"""


def reference_files(shared):
    folder = shared / "reference"
    found = [path for path in (folder / "ptable").iterdir() if path.stem not in NO_TABLES]
    for name in ("cellkey", "inseeckm", "lookup"):
        found += (folder / name).glob("ptable_*.csv")
    return sorted(found)


def expected_rows(path):
    """Read a list of intervals a second way: noise and width of every interval, by count."""
    frame = pd.read_csv(path, sep=None, engine="python", dtype=str, skipinitialspace=True)
    frame.columns = [{"lb": "p_int_lb", "ub": "p_int_ub"}.get(n, n) for n in frame.columns]
    kinds = frame["type"] if "type" in frame else pd.Series("all", frame.index)
    for kind, lines in frame.groupby(kinds, sort=False):
        rows = {}
        for line in lines.to_dict("records"):
            v = Fraction(round(float(line["v"]) * 100), 100)
            end = Fraction(Decimal(repr(float(line["p_int_ub"]))))
            rows.setdefault(int(line["i"]), []).append((v, end))
        yield kind, rows


def test_every_reference_table_is_recognised_and_read_as_it_is_printed(shared):
    n_tables = 0
    for path in reference_files(shared):
        tables = read_tables(path)
        if path.name.startswith("abs_"):
            assert detect(path) == "superstar"
            n_tables += len(tables)
            continue
        assert detect(path) == (
            "sas"
            if "export_sas" in path.name
            else "tau-argus"
            if "export_tau" in path.name
            else "r-ptable"
        )
        wanted = dict(expected_rows(path))
        assert list(tables) == list(wanted)
        for kind, rows in wanted.items():
            table = tables[kind]
            assert table.counts.tolist() == sorted(rows)
            for place, count in enumerate(sorted(rows)):
                law, lower = {}, Fraction(0)
                for v, end in rows[count]:
                    law[v] = law.get(v, 0) + end - lower
                    lower = end
                ours = {
                    Fraction(v, table.step): Fraction(n, table.key_range)
                    for v, n in table.units(count).items()
                }
                assert ours == {v: p for v, p in law.items() if p}, (path.name, count)
                order = [Fraction(v, table.step) for v in table.noise[place]]
                joined = [
                    v
                    for n, (v, _) in enumerate(rows[count])
                    if n == 0 or v != rows[count][n - 1][0]
                ]
                assert order == joined
            n_tables += 1
    assert n_tables >= 45


@pytest.mark.parametrize(
    ("name", "step", "counts"),
    [
        ("ptable/num_ex_all.csv", 2, [0, 1, 5, 10]),
        ("ptable/num_ex_small.csv", 5, [0, 1, 3, 5]),
        ("ptable/num_D5_V200_s4_i135.csv", 4, [0, 1, 3, 5]),
        ("ptable/num_D2_V100_s2_i12.csv", 2, [0, 1, 2]),
        ("ptable/num_ex_all_export_tauargus.txt", 2, [0, 1, 5, 10]),
    ],
)
def test_steps_and_anchors_of_magnitude_tables_are_recovered(shared, name, step, counts):
    table = PTable.read(shared / "reference" / name)
    assert (table.step, table.counts.tolist()) == (step, counts)


def test_files_with_several_types_give_several_tables(shared):
    path = shared / "reference" / "cellkey" / "ptable_num_parsep.csv"
    tables = read_tables(path)
    assert {k: (t.step, t.counts.tolist()) for k, t in tables.items()} == {
        "even": (2, [0, 1, 5, 8]),
        "odd": (2, [0, 1, 10]),
        "small_cells": (5, [0, 1, 3, 5]),
    }
    with pytest.raises(PTableError, match=r"of types even, odd, small_cells.*\n.*read_tables"):
        PTable.read(path)


@pytest.mark.parametrize(
    ("source", "export", "dialect"),
    [
        ("cnt_D5_V300_js2.csv", "cnt_D5_V300_js2_export_tauargus.txt", "tau-argus"),
        ("cnt_D5_V300_js2.csv", "cnt_D5_V300_js2_export_sas.txt", "sas"),
        ("num_ex_all.csv", "num_ex_all_export_tauargus.txt", "tau-argus"),
    ],
)
def test_exports_are_written_byte_for_byte(shared, tmp_path, source, export, dialect):
    folder = shared / "reference" / "ptable"
    table = PTable.read(folder / source)
    losses = write_tables(table, tmp_path / "out.txt", dialect=dialect)
    assert (tmp_path / "out.txt").read_bytes() == (folder / export).read_bytes()
    assert losses == (f"the label, '{table.label}', is not kept",)
    assert PTable.read(folder / export) == table


@pytest.mark.slow
def test_every_reference_table_survives_every_layout_of_intervals(shared, tmp_path):
    n_files = 0
    for path in reference_files(shared):
        tables = read_tables(path)
        if "small_cells" in tables and len(tables) > 1:
            tables.pop("small_cells")
        if path.name.startswith("abs_"):  # 256 lines a row: a few rows are written like all
            tables = {
                kind: PTable(noise=t.noise[:9], upper=t.upper[:9], key_range=t.key_range)
                for kind, t in tables.items()
            }
        for dialect in ("r-ptable", "tau-argus", "sas", "frame"):
            out = tmp_path / f"{path.stem}.{dialect}"
            write_tables(tables, out, dialect=dialect, overwrite=True)
            again = read_tables(out, dialect=dialect)
            if path.name.startswith("abs_"):
                assert [t.noise for t in again.values()] == [t.noise for t in tables.values()]
            else:
                assert again == tables, out.name
            n_files += 1
    assert n_files > 150


@pytest.mark.slow
def test_matrices_of_the_old_r_package_have_their_last_columns_in_turn(shared, tmp_path):
    for name in ("abs_D2_V100_js0", "abs_D5_V300_js2"):
        path = shared / "reference" / "ptable" / f"{name}.csv"
        matrix = pd.read_csv(path).to_numpy()
        table = PTable.read(path)
        keys = np.arange(256)
        for count in [*range(1, 71), 71, 75, 79, 80, 81, 89, 90, 100, 1234]:
            column = count if count <= 70 else 70 - 10 + 1 + count % 10
            ours = table.lookup(np.full(256, count), keys, key_range=256)
            assert (ours == matrix[:, column - 1]).all(), count
        assert write_tables(table, tmp_path / f"{name}.pert", dialect="superstar") == ()
        lines = path.read_text().split("\n", 1)[1]
        assert (tmp_path / f"{name}.pert").read_text() == lines


def test_the_two_rules_at_the_bounds_are_those_of_other_tools(shared):
    """Both intervals that meet at a bound are listed by ckm; the others choose one of them."""
    folder = shared / "reference" / "lookup"
    pairs = pd.read_csv(folder / "lookup_pairs.csv", dtype=str)
    n_bounds = 0
    for name, group in pairs.groupby("ptable"):
        path = folder / f"ptable_{name}.csv"
        keys = [int(Decimal(repr(float(key))) * 10**8) for key in group["ckey"]]
        counts = group["i"].astype(int).tolist()
        above = PTable.read(path).lookup(counts, keys, key_range=10**8)
        closed = PTable.read(path, boundary="(]", key_range=10**8)
        below = closed.lookup(counts, keys, key_range=10**8)
        table = zip(group.to_dict("records"), above.tolist(), below.tolist(), strict=True)
        for pair, high, low in table:
            assert high == int(pair["cellkey_v"] if pair["i"] != "0" else 0)
            if pair["kind"] == "boundary_ub":
                both = [int(v) for v in pair["ckm_v"].split("/")]
                assert [low, high] == both
                # SSB does not round its thresholds, so either side can be its own
                assert int(pair["ssb_v"]) in both
                n_bounds += 1
            elif pair["ckey"] != "0":
                assert low == high == int(pair["ssb_v"])
            else:
                # SSB gives key 0 to intervals that hold no key: counts 6 to 8 with js = 2
                assert low == high
                is_empty = name == "D5V3js2" and pair["i"] in {"6", "7", "8"}
                assert (low == int(pair["ssb_v"])) != is_empty
    assert n_bounds == 64


def test_a_printed_overlay_matrix_is_read_and_written(tmp_path):
    path = tmp_path / "overlay.csv"
    path.write_text(OVERLAY)
    assert detect(path) == "destatis"
    table = PTable.read(path)
    assert table.key_range == 10**4
    assert table.units(1) == {-1: 6875, 2: 2500, 3: 625}
    for count in range(1, 8):
        assert abs(sum(v * n for v, n in table.units(count).items())) <= 20
    assert write_tables(table, tmp_path / "again.csv", dialect="destatis") == (
        "the label, 'overlay', is not kept",
    )
    assert PTable.read(tmp_path / "again.csv") == table
    shares = (tmp_path / "again.csv").read_text().splitlines()[3]
    assert re.split(",", shares)[1:] == [
        format(float(x), "g") for x in OVERLAY.splitlines()[3].split(",")
    ]
