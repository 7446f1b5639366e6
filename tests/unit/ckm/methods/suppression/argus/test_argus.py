"""Tables as files of tau-ARGUS and back, and its engine on them where it is installed."""

import csv
import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import read_job
from ckm.errors import ConfigError
from ckm.methods.suppression.argus.metadata import hierarchy_text, read_hierarchy, read_metadata
from ckm.methods.suppression.argus.pattern import choice_of_pattern
from ckm.methods.suppression.argus.read import job_of_batch
from ckm.methods.suppression.argus.write import argus_files
from ckm.release.suppressed import release_true_numbers
from tests.unit.ckm.methods.suppression.test_businesses import firms

JOB = """
schema = 1
[data]
path = "firms.parquet"
id = "id"
[suppression]
threshold = 3
p_percent = 10.0
dominance = {{ n = 2, percent = 85.0 }}
{rules}
[hierarchies]
geo = ["region", "town"]
[[table]]
name = "t"
dimensions = ["geo", "branch"]
measures = ["{measure}"]
{more}
"""
STEM = "t-sum-turnover"
HELD = """
schema = 1
data = { path = "f.parquet", id = "id" }
suppression = { threshold = 3, margin = 20.0, p_percent = 5.0, holding = "group" }
[[table]]
name = "t"
dimensions = ["branch"]
measures = ["sum:turnover"]
"""


@pytest.fixture
def folder(tmp_path):
    pq.write_table(pa.table(firms(90)), tmp_path / "firms.parquet")
    return tmp_path


def job(folder, rules="", measure="sum:turnover", more=""):
    text = JOB.format(rules=rules, measure=measure, more=more)
    if measure == "count":
        text = text.replace("p_percent = 10.0\ndominance = { n = 2, percent = 85.0 }\n", "")
    (folder / "job.toml").write_text(text)
    return read_job(folder / "job.toml")


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def statuses(plan, out):
    """Release, and return the status of every hidden cell by its codes."""
    release_true_numbers(plan, out)
    (path,) = (out / "internal").glob("audit-*.csv")
    with path.open(newline="") as file:
        found = {}
        for row in csv.DictReader(file):
            places = [row[c] for c in ("region", "town", "geo") if c in row]
            codes = [place for place in places if place != "Total"] or ["Total"]
            found[codes[-1], row["branch"]] = row["status"]
    return found


def test_the_files_are_those_of_a_small_table():
    assert (
        hierarchy_text({"all": ["R", "S"], "R": ["r1"]}, root="all", lead="@") == "R\n@r1\nS\n"
    )


def test_a_table_is_written_with_its_totals_and_largest_contributions(folder):
    files = argus_files(job(folder, 'costs = "one"\nkeep = [{ branch = "a" }]'))
    assert set(files) == {
        f"{STEM}{end}" for end in (".tab", ".rda", ".hst", ".arb", "-geo.hrc")
    }
    rows = [line.split(";") for line in files[f"{STEM}.tab"].splitlines()]
    truth, seen = firms(90), 0
    for geo, branch, *numbers in rows:
        inside = [
            truth["turnover"][i]
            for i in range(90)
            if geo in {"Total", truth["region"][i], truth["town"][i]}
            and branch in {"Total", truth["branch"][i]}
        ]
        largest = sorted(inside, reverse=True)[:2]
        given = [sum(inside), sum(x > 0 for x in inside), *largest, 1]
        assert [float(n) for n in numbers] == given
        seen += 1
    assert seen == 36
    assert files[f"{STEM}.hst"] == "Total;a;p\n"
    assert "<SAFETYRULE> FREQ(3,10)|NK(2,85)|P(10,1)|MAN(10)" in files[f"{STEM}.arb"]
    assert files[f"{STEM}-geo.hrc"].splitlines()[:2] == ["R1", "@R1T1"]


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["sum:turnover", "count"])
@pytest.mark.parametrize("more", ["", 'margins = [["branch"], []]'])
def test_a_table_that_went_to_tau_argus_and_back_is_suppressed_alike(folder, measure, more):
    keep = 'keep = [{ town = "R1T1", branch = "b" }]\nprefer = [{ town = "R2T3" }]'
    plan = job(folder, keep, measure, more)
    files = argus_files(plan)
    stem = f"t-{measure.replace(':', '-')}"
    write(folder / "argus", files)
    converted = job_of_batch(folder / "argus" / f"{stem}.arb")
    write(folder / "back", converted.files)
    back = statuses(read_job(folder / "back" / "job.toml"), folder / "o2")
    if not more:  # the files have all margins
        assert back == statuses(plan, folder / "o1")
    assert "primary" in back.values()
    assert converted.left_out == ("<SUPPRESS> MOD(1, 5, 1, 1, 1): the method is chosen anew",)


GROUPS = """
schema = 1
data = {{ path = "f.parquet", id = "id" }}
[suppression]
threshold = 3
p_percent = 10.0
{rules}
[hierarchies]
nace = "nace.csv"
[[table]]
name = "t"
dimensions = ["nace", "zone"]
measures = ["sum:turnover"]
"""


def firms_of_groups(folder, rules='holding = "group"', *, nace="A0.{}"):
    """Firms of which some belong to holdings in several cells; codes have dots."""
    n, random = 71, np.random.default_rng(5)
    leaves = [*(nace.format(k) for k in (1, 2, 3)), "B0.1"]
    records = {
        "id": range(n),
        "nace": random.choice(leaves, n, p=(0.3, 0.3, 0.1, 0.3)).tolist(),
        "zone": [f"Z{k}" for k in random.integers(0, 5, n)],
        "turnover": np.ceil(random.lognormal(4, 1.5, n)).tolist(),
        "group": [f"H{k}" if k < 4 else None for k in random.integers(0, 9, n)],
    }
    pq.write_table(pa.table({k: list(v) for k, v in records.items()}), folder / "f.parquet")
    (folder / "nace.csv").write_text(
        "code,parent\nA,\nA0.1,A\nA0.2,A\nA0.3,A\nB,\nB0.1,B\n".replace("A0.", nace[:-2])
    )
    (folder / "groups.toml").write_text(GROUPS.format(rules=rules))
    return read_job(folder / "groups.toml")


def primary(path):
    with path.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "primary"]
    return {(row["nace"], row["zone"]) for row in rows}


@pytest.mark.slow
@pytest.mark.parametrize("rules", ['holding = "group"', ""])
def test_a_batch_with_holdings_or_without_is_read_back_with_its_unsafe_cells(tmp_path, rules):
    plan = firms_of_groups(tmp_path, rules)
    write(tmp_path / "argus", argus_files(plan))
    conversion = job_of_batch(tmp_path / "argus" / f"{STEM}.arb")
    assert ("holdings = true" in conversion.files["job.toml"]) == bool(rules)
    assert any("numbers of holdings" in text for text in conversion.left_out) == bool(rules)
    write(tmp_path / "back", conversion.files)
    release_true_numbers(plan, tmp_path / "o1")
    release_true_numbers(read_job(tmp_path / "back" / "job.toml"), tmp_path / "o2")
    own = primary(tmp_path / "o1/internal/audit-t.csv")
    assert own
    assert own == primary(tmp_path / "o2/internal/audit-table.csv")


def test_dots_of_codes_go_where_the_modular_method_reads_them_and_come_back(tmp_path):
    plan = firms_of_groups(tmp_path)
    files = argus_files(plan)
    arb, tab = files[f"{STEM}.arb"], files[f"{STEM}.tab"]
    assert '// "_" stands for "." in the codes of "nace"\n' in arb
    assert "<SUPPRESS> MOD(1, 5, 1, 1, 1)" in arb
    assert "A0_1;Z" in tab
    assert "A0_1" in files[f"{STEM}-nace.hrc"]
    write(tmp_path / "argus", files)
    back = job_of_batch(tmp_path / "argus" / f"{STEM}.arb").files
    assert "A0.1,A\n" in back["tree-nace.csv"]
    assert "\nA0.1,Z" in back["cells.csv"]
    assert "<SUPPRESS> OPT(1, 5)" in argus_files(plan, is_optimal=True)[f"{STEM}.arb"]
    full = argus_files(firms_of_groups(tmp_path, nace="A_-~.{}"))
    assert "<SUPPRESS> OPT(1, 5)" in full[f"{STEM}.arb"]
    assert "A_-~.1;Z" in full[f"{STEM}.tab"]


def test_levels_are_never_the_first_line_which_tells_how_many_codes_there_are(tmp_path):
    (tmp_path / "levels.csv").write_text("nace,zone,lower,upper\nA,,5,7\n")
    rules = 'cells = [{ path = "levels.csv", table = "t" }]'
    files = argus_files(firms_of_groups(tmp_path, rules))
    first, second = files[f"{STEM}.hst"].splitlines()
    assert second == "A;Total;pl;5;7"
    value = files[f"{STEM}.tab"].splitlines()[0].split(";")[2]
    assert first.split(";")[2:] == ["c", value]


TAB = """T;x;9;5;4
T;y;20;7;9
T;;29;12;9
A;x;2;2;1
A;y;12;4;9
A;;14;6;9
B;x;7;3;4
B;y;8;3;4
B;;15;6;4
"""
RDA = """   <SEPARATOR> ";"
   <SAFE> "s"
   <UNSAFE> "u"
   <PROTECT> "p"
place
  <RECODEABLE>
  <TOTCODE> "T"
kind
  <RECODEABLE>
  <TOTCODE> "all"
turn
  <NUMERIC>
  <DECIMALS> 0
n
  <FREQUENCY>
top
  <MAXSCORE>
"""
ARB = """// by hand
<OPENTABLEDATA> "C:\\\\data\\\\x.tab"
<OPENMETADATA> "x.rda"
<SPECIFYTABLE> "place""kind"|"turn"|""|""
<SAFETYRULE> {rules}
<READTABLE> 1
{more}
<WRITETABLE> (1,3,AS+,"out.csv")
"""


def batch(folder, rules="FREQ(3,20)", more="", *, tab=TAB, rda=RDA, arb=ARB):
    files = {"x.tab": tab, "x.rda": rda, "x.arb": arb.format(rules=rules, more=more)}
    return write(folder / "given", files) / "x.arb"


def back(folder, *args, **options):
    converted = job_of_batch(batch(folder, *args, **options))
    write(folder / "back", converted.files)
    release_true_numbers(read_job(folder / "back" / "job.toml"), folder / "out")
    with (folder / "out/internal/audit-table.csv").open(newline="") as file:
        return converted, {r["place"] + r["kind"]: r for r in csv.DictReader(file)}


def test_a_batch_by_hand_is_read_with_its_totals_rules_and_hints(tmp_path):
    rules = "P(10,1)|NK(1,90)|NK(2,95)|P(10,2)|FREQ(3,20)|ZERO(5)|MAN(30)"
    more = '<APRIORI> "x.hst",1,",",0,0\n<COVER>\n<SUPPRESS> OPT(1,5)'
    path = batch(tmp_path, rules, more)
    (path.parent / "x.hst").write_text("B,x,u\nB,x,pl,2,3\nA,all,c,50\nT,y,p\n")
    found = job_of_batch(path)
    assert found.left_out[:2] == ("<SAFETYRULE> NK(2,95)", "<SAFETYRULE> P(10,2)")
    assert len(found.left_out) == 4
    text = found.files["job.toml"]
    assert text.startswith("# not taken over: <SAFETYRULE> NK(2,95)\n")
    for line in ("threshold = 3", "margin = 20.0", "p_percent = 10.0", "zero_margin = 5.0"):
        assert f"\n{line}\n" in text
    assert "dominance = { n = 1, percent = 90.0 }" in text
    assert found.files["cells-said.hst"] == "B,x,u\nB,x,pl,2,3\nA,,c,50\n,y,p\n"
    assert found.files["cells.csv"].splitlines()[:2] == [
        "place,kind,turn,top,ckm_n",
        "Total,x,9,4,5",
    ]


def test_a_batch_that_ignores_errors_of_its_a_priori_file_does_so_here(tmp_path):
    for mark, is_lenient in (("0", False), ("1", True)):
        path = batch(tmp_path, more=f'<APRIORI> "x.hst",1,",",{mark},0')
        (path.parent / "x.hst").write_text("Q,x,u\n")
        text = job_of_batch(path).files["job.toml"]
        assert ('unknown = "ignore"' in text) == is_lenient


def test_rules_of_a_batch_decide_what_is_hidden(tmp_path):
    _, rows = back(tmp_path)
    assert {k: r["status"] for k, r in rows.items()} == {
        "Ax": "primary",
        "Ay": "secondary",
        "Bx": "secondary",
        "By": "secondary",
    }
    assert float(rows["Ax"]["most"]) >= 2.4


def test_without_rules_the_statuses_of_the_table_are_those_that_hold(tmp_path):
    rda = RDA + "st\n  <STATUS>\nlow\n  <NUMERIC> <LOWERPL>\nup\n  <NUMERIC> <UPPERPL>\n"
    marks = {"B;y": "u;3;4", "A;y": "p;0;0"}
    lines = [line + ";" + marks.get(line[:3], "s;0;0") for line in TAB.splitlines()]
    converted, rows = back(tmp_path, "", tab="\n".join(lines), rda=rda)
    assert "[[suppression.cells]]" in converted.files["job.toml"]
    assert rows["By"]["status"] == "primary"
    assert float(rows["By"]["least"]) <= 5
    assert float(rows["By"]["most"]) >= 12
    assert "Ay" not in rows


def test_beside_rules_a_safe_status_of_the_table_says_nothing(tmp_path):
    tab = "".join(f"{line};s\n" for line in TAB.splitlines())
    converted, rows = back(tmp_path, tab=tab, rda=RDA + "st\n  <STATUS>\n")
    assert "cells-said.csv" not in converted.files
    assert rows["Ax"]["status"] == "primary"


def test_codes_that_repeat_below_two_others_are_whole_paths(folder):
    records = firms(90) | {"town": [town[-2:] for town in firms(90)["town"]]}
    pq.write_table(pa.table(records), folder / "firms.parquet")
    files = argus_files(job(folder))
    assert files[f"{STEM}-geo.hrc"].splitlines()[:2] == ["R1", "@R1/T1"]
    assert any(line.startswith("R2/T3;c;") for line in files[f"{STEM}.tab"].splitlines())


def test_a_table_of_counts_is_one_of_counts(tmp_path):
    rda = RDA.replace("top\n  <MAXSCORE>\n", "")
    lines = [line.split(";") for line in TAB.splitlines()]
    tab = "\n".join(";".join([*own[:2], own[3], own[3]]) for own in lines)
    converted, rows = back(tmp_path, tab=tab, rda=rda)
    assert 'measures = ["count"]' in converted.files["job.toml"]
    assert rows["Ax"]["status"] == "primary"


def test_a_table_without_frequencies_is_read_from_its_finest_cells(tmp_path):
    rda = RDA.replace("n\n  <FREQUENCY>\n", "")
    tab = "\n".join(
        ";".join(w for i, w in enumerate(line.split(";")) if i != 3) for line in TAB.split()
    )
    found = job_of_batch(batch(tmp_path, "P(10,1)", tab=tab, rda=rda))
    assert found.files["cells.csv"].splitlines()[1:] == [
        "A,x,2,1,1", "A,y,12,9,1", "B,x,7,4,1", "B,y,8,4,1"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arb": ARB.replace("OPENTABLEDATA", "OPENMICRODATA")}, "opens records, line 2"),
        ({"arb": "<READTABLE>\n"}, "opens no table"),
        ({"arb": ""}, "opens no table"),
        ({"arb": ARB + "<OPENTABLEDATA> x\n"}, "opens no table, or one without its metadata"),
        ({"arb": "hello\n"}, "Line 1 of 'x.arb' has no command"),
        ({"arb": ARB.replace('"kind"', '"kid"')}, "has no 'kid' so"),
        ({"arb": ARB.replace('|"turn"', '|"torn"')}, "has no 'torn' so"),
        ({"tab": TAB + "A;x;1\n"}, "Line 10 of 'x.tab' has 3 fields"),
        ({"rda": RDA.replace("place\n", "place 1 2\n")}, "records of fixed width, line 5"),
        ({"rda": RDA.replace("<MAXSCORE>", "<MAXSCOR>")}, "the word <MAXSCOR>, which is not"),
        ({"rda": RDA.replace('<TOTCODE> "T"', "<HIERLEVELS> 1 1")}, "levels by digits"),
        ({"rda": "<TOTCODE> x\n"}, "stands before any variable"),
        (
            {"rda": RDA.replace('"T"', '"T"\n  <HIERCODELIST> "no.hrc"')},
            "'no.hrc' cannot be read",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, change, said):
    with pytest.raises(ConfigError, match=said):
        job_of_batch(batch(tmp_path, **change))


def test_a_batch_of_several_tables_gives_each_a_job_with_its_own_rules(tmp_path):
    one = ARB.format(rules="FREQ(3,20)", more="<CLEAR>")
    path = batch(tmp_path, arb=one + ARB.format(rules="P(10,1)", more=""))
    found = job_of_batch(path)
    alone = [job_of_batch(batch(tmp_path, rules)) for rules in ("FREQ(3,20)", "P(10,1)")]
    for number, own in enumerate(alone, start=1):
        mine = {n: t for n, t in found.files.items() if n.startswith(f"{number}-x/")}
        assert {n.partition("/")[2]: t for n, t in mine.items()} == own.files
    assert len(found.files) == sum(len(own.files) for own in alone)
    assert found.left_out[-1] == "how the tables are linked"
    path = batch(tmp_path, arb=one + ARB.format(rules="P(10,1)", more=""))
    done = CliRunner().invoke(app, ["job", "from-argus", str(path), "-o", str(tmp_path / "b")])
    assert done.exit_code == 0, done.output
    jobs = [str(tmp_path / "b" / f"{n}-x" / "job.toml") for n in (1, 2)]
    assert done.stdout.split() == jobs
    assert all(read_job(path).suppression for path in jobs)


HOW = {
    "intermediate": lambda codes, mark: ";".join([*codes, "1", "1", "1", mark, "1", "1"]),
    "sbs": lambda codes, mark: ",".join([*codes, "1", "2", "VFD"["SUM".index(mark)], "83.4"]),
    "numbers": lambda codes, mark: ",".join([*codes, "1", str([1, 3, 11]["SUM".index(mark)])]),
}


@pytest.fixture
def pattern(folder):
    """What writes our own pattern, but for some cells, as another program does."""
    own, files = statuses(job(folder), folder / "out"), argus_files(job(folder))
    marks = {"primary": "U", "secondary": "M"}
    cells = [tuple(line.split(";")[:2]) for line in files[f"{STEM}.tab"].splitlines()]

    def write_it(how="intermediate", head="", **changed):
        said = {cell: marks.get(own.get(cell), "S") for cell in cells}
        said |= {tuple(name.split("_")): mark for name, mark in changed.items()}
        lines = [HOW[how](cell, mark) for cell, mark in said.items() if mark]
        path = folder / "theirs.csv"
        path.write_text("\n".join([head] * bool(head) + lines) + "\n")
        return path

    return own, write_it


def seen(path):
    env = {"CKM_LOG_FORMAT": "text"}
    words = ["job", "audit-pattern", str(path.parent / "job.toml"), str(path)]
    return CliRunner(env=env).invoke(app, words)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
def test_a_pattern_of_another_program_is_audited_in_each_of_its_formats(pattern, how):
    own, write_it = pattern
    done = seen(write_it(how, head="geo,branch,turnover,Status"))
    assert done.exit_code == 0, done.output
    assert "every unsafe cell is protected" in done.stderr
    secondary = next(cell for cell, status in own.items() if status == "secondary")
    weak = seen(write_it(how, **{"_".join(secondary): "S"}))
    assert weak.exit_code == 1
    assert "cells as the rules demand." in weak.stderr
    primary = next(cell for cell, status in own.items() if status == "primary")
    choice = choice_of_pattern(
        read_job(write_it().parent / "job.toml"), write_it(how, **{"_".join(primary): "S"})
    )
    (system,) = choice.systems
    (cell,) = system.disclosed
    ((_, words, _),) = choice.places(system.cells[[cell]]).rows
    assert f"branch={primary[1]}" in words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"R1T1_a": ""}, "nothing of 1 that are"),
        ({"R9_a": "U"}, "hides 1 cells that are not there: line 37"),
        ({"R1T2_b": "?"}, "has no status that is known"),
    ],
)
def test_a_pattern_of_other_cells_or_statuses_is_refused(pattern, changed, said):
    done = seen(pattern[1](**changed))
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.slow
def test_a_pattern_that_says_two_things_of_a_cell_is_refused(pattern):
    path = pattern[1]()
    line = next(line for line in path.read_text().splitlines() if ";S;" in line)
    path.write_text(path.read_text() + line.replace(";S;", ";M;") + "\n")
    assert "Line 37 of 'theirs.csv' says another thing of a cell" in seen(path).stderr


def test_a_pattern_is_audited_against_holdings_in_several_cells(tmp_path):
    """Who gave 50 of 55 to both of the cells beside an unsafe 100 bounds it at 110."""
    gave = {"a": [100], "b": [50, 2, 2, 1], "c": [50, 2, 2, 1], "d": [9] * 9}
    of_cell = [(branch, amount) for branch, own in gave.items() for amount in own]
    records = {
        "id": range(len(of_cell)),
        "branch": [branch for branch, _ in of_cell],
        "turnover": [float(amount) for _, amount in of_cell],
        "group": ["H" if amount == 50 else None for _, amount in of_cell],
    }
    pq.write_table(pa.table({k: list(v) for k, v in records.items()}), tmp_path / "f.parquet")
    (tmp_path / "job.toml").write_text(HELD)
    (tmp_path / "theirs.csv").write_text(",S\na,U\nb,M\nc,M\nd,S\n")
    choice = choice_of_pattern(read_job(tmp_path / "job.toml"), tmp_path / "theirs.csv")
    seen = choice.audits()["sum:turnover"]
    assert len(seen.under_protected) == 0
    places = choice.places(choice.systems[0].cells[seen.exposed])
    assert places.rows == (("t", "branch=a", "unsafe"),)


def test_a_hierarchy_that_skips_a_level_or_repeats_a_code_is_named(tmp_path):
    path = tmp_path / "x.hrc"
    path.write_text("A\n@A1\n@@A11\nB\n")
    assert read_hierarchy(path, lead="@") == {"A": "", "A1": "A", "A11": "A1", "B": ""}
    for text, said in (("A\n@@A1\n", "line 2 skips"), ("A\n@B\nB\n", "line 3 appears twice")):
        path.write_text(text)
        with pytest.raises(ConfigError, match=said):
            read_hierarchy(path, lead="@")


def test_margins_that_do_not_add_up_are_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(Exception, match="not the sums of their cells in 'turn'"):
        back(tmp_path, tab=TAB.replace("T;x;9;5", "T;x;8;5"))
    assert not (tmp_path / "out").exists()


def test_rules_and_codes_that_tau_argus_cannot_have_are_refused(folder):
    with pytest.raises(ConfigError, match="have whole numbers"):
        argus_files(job(folder, "margin = 12.5"))
    records = firms(90) | {"branch": ["a;b", *firms(90)["branch"][1:]]}
    pq.write_table(pa.table(records), folder / "firms.parquet")
    with pytest.raises(ConfigError, match="Categories of 'branch' cannot be codes"):
        argus_files(job(folder))


def test_commands_write_folders_for_their_owner_and_name_what_is_left_out(folder, monkeypatch):
    monkeypatch.chdir(folder)
    job(folder)
    runner = CliRunner(env={"CKM_LOG_FORMAT": "text"})
    done = runner.invoke(app, ["job", "argus", "job.toml", "-o", "argus"])
    assert done.exit_code == 0, done.output
    assert (folder / "argus").stat().st_mode & 0o077 == 0
    assert (folder / "argus" / f"{STEM}.tab").stat().st_mode & 0o077 == 0
    again = runner.invoke(app, ["job", "argus", "job.toml", "-o", "argus"])
    assert again.exit_code == 2
    assert "exists" in again.stderr
    back = runner.invoke(app, ["job", "from-argus", f"argus/{STEM}.arb", "-o", "back"])
    assert back.exit_code == 0, back.output
    assert "not taken over: <SUPPRESS>" in back.stderr
    assert runner.invoke(app, ["check", "--quick", back.stdout.strip()]).exit_code == 0
    assert sorted(path.name for path in folder.iterdir() if path.name[0] == ".") == []


PROGRAM = """
import sys
from pytauargus.engine import run_batch
run_batch(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("pytauargus") is None, reason="pytauargus is not installed: nothing to read them"
)
def test_tau_argus_reads_the_files_and_finds_the_same_unsafe_cells(folder):
    plan = job(folder, 'keep = [{ branch = "a" }]\nprefer = [{ town = "R2T3" }]')
    write(folder / "argus", argus_files(plan))
    path = folder / "argus" / f"{STEM}.arb"
    done = [sys.executable, "-c", PROGRAM, str(path)]
    subprocess.run(done, check=True, capture_output=True, cwd=folder / "argus")
    lines = (folder / "argus" / f"{STEM}.out.csv").read_text().splitlines()
    theirs = {}
    for line in lines:
        geo, branch, _, status = json.loads(f"[{line}]")
        theirs[geo, branch] = status
    ours = statuses(plan, folder / "out")
    unsafe = {cell for cell, status in theirs.items() if 3 <= status <= 9}
    assert unsafe == {cell for cell, status in ours.items() if status == "primary"}
    assert unsafe
    assert theirs["Total", "a"] == 10  # protected
    assert 11 in theirs.values()


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("pytauargus") is None, reason="pytauargus is not installed: nothing to read them"
)
@pytest.mark.parametrize("is_optimal", [False, True])
@pytest.mark.parametrize("rules", ['holding = "group"', ""])
def test_batches_run_as_they_are_written(tmp_path, rules, is_optimal):
    (tmp_path / "levels.csv").write_text("nace,zone,lower,upper\nA,,5,7\n")
    rules += '\ncells = [{ path = "levels.csv", table = "t" }]'
    plan = firms_of_groups(tmp_path, rules)
    write(tmp_path / "argus", argus_files(plan, is_optimal=is_optimal))
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "argus" / f"{STEM}.arb")]
    subprocess.run(program, check=True, capture_output=True, cwd=tmp_path / "argus")
    choice = choice_of_pattern(plan, tmp_path / "argus" / f"{STEM}.out.csv")
    (system,) = choice.systems
    assert system.disclosed.size == 0


def test_metadata_are_read_as_they_are_written(folder):
    files = argus_files(job(folder, 'costs = "one"'))
    path = folder / "x.rda"
    path.write_text(files[f"{STEM}.rda"])
    found = read_metadata(path)
    assert found.text() == files[f"{STEM}.rda"]
    roles = [variable.role for variable in found.variables]
    assert roles == ["dimension"] * 2 + ["response", "frequency", "largest", "largest", "cost"]
