"""Hierarchies: code trees and nested columns, with everything that real ones hold."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tables import CodeTree, Hierarchy, Request, RequestError, StoredKeys, cube
from tables.source.source import open_source
from tests.results import require_fixed
from tests.strategies import MISSING, TOTAL, coded, decode, nested, plain, tabulate_directly

KEYS = StoredKeys(column="key", key_range=256)


def records(**columns):
    rows = zip(*columns.values(), strict=True)
    return [
        dict(zip(columns, row, strict=True)) | {"key": (37 * n + 5) % 256, "weight": 0}
        for n, row in enumerate(rows)
    ]


def cells(rows, dimensions, hierarchies, **options):
    names = [n for n in rows[0] if n not in {"key", "weight"}]
    table = {n: [r[n] for r in rows] for n in names}
    table["key"] = pa.array([r["key"] for r in rows], pa.uint8())
    with open_source(pa.table(table)) as source:
        wish = Request(dimensions=dimensions, hierarchies=hierarchies, **options)
        return {n: c[:2] for n, c in decode(cube(source, KEYS, [wish])[0]).items()}


def directly(rows, *paths):
    found = tabulate_directly(rows, paths, key_range=256)
    return {name: numbers[:2] for name, numbers in found.items()}


def tree_of(**parents):
    return CodeTree({code: parent or None for code, parent in parents.items()})


# --- code trees ---------------------------------------------------------------------------

RAGGED = tree_of(all="", A="all", A1="A", A1x="A1", A1y="A1", B="all", C="all", C1="C")


def test_codes_are_walked_depth_first_below_a_root_that_is_the_total():
    assert RAGGED.root == "all"
    assert RAGGED.walk() == [
        ("A", 1), ("A1", 2), ("A1x", 3), ("A1y", 3), ("B", 1), ("C", 1), ("C1", 2),
    ]  # fmt: skip
    assert RAGGED.leaves == ("A1x", "A1y", "B", "C1")
    assert RAGGED.children == {
        None: ["all"], "all": ["A", "B", "C"], "A": ["A1"], "A1": ["A1x", "A1y"], "C": ["C1"],
    }  # fmt: skip


def test_a_top_is_the_total_only_if_it_is_the_single_one_and_has_children():
    two = tree_of(a="", a1="a", b="")
    assert two.root is None
    assert two.walk() == [("a", 1), ("a1", 2), ("b", 1)]
    assert two.leaves == ("a1", "b")
    alone = tree_of(a="")
    assert alone.root is None
    assert alone.walk() == [("a", 1)]


def test_lines_may_come_in_any_order_and_siblings_keep_theirs():
    tree = tree_of(a1="a", b="all", a="all", all="", a0="a")
    assert tree.walk() == [("b", 1), ("a", 1), ("a1", 2), ("a0", 2)]


def test_a_tree_may_have_tens_of_thousands_of_codes_and_be_as_deep():
    """As many codes as there are communes; an hour, if each asked for all others."""
    parents = {"0": None} | {str(n): str(n - 1) for n in range(1, 30_000)}
    assert CodeTree(parents).walk()[-1] == ("29999", 29_999)
    assert CodeTree(dict(reversed(parents.items()))).leaves == ("29999",)


def test_trees_are_equal_by_what_they_hold_and_cannot_be_changed():
    parents = {"a": None, "b": "a"}
    tree = CodeTree(parents)
    assert tree == CodeTree({"a": None, "b": "a"})
    assert hash(tree) == hash(CodeTree({"a": None, "b": "a"}))
    assert tree != CodeTree({"a": None, "c": "a"})
    assert hash(tree) != hash(CodeTree({"a": None, "c": "a"}))
    parents["c"] = "b"
    assert "c" not in tree.parents
    require_fixed(tree, is_positional=True)
    require_fixed(Hierarchy(columns=("a",), tree=tree))
    assert Hierarchy(columns=["a", "b"]).columns == ("a", "b")


def test_ragged_trees_publish_every_code_once():
    rows = records(
        zone=["A1x", "A1y", "A1y", "B", "B", "C1", None],
        sex=["F", "M", "F", "F", None, "M", "M"],
    )
    found = cells(rows, ["zone", "sex"], {"zone": Hierarchy(columns=("zone",), tree=RAGGED)})
    assert found == directly(rows, coded("zone", RAGGED), plain("sex"))
    assert found["all", "Total"][0] == 7
    assert found[MISSING, "Total"] == (1, rows[-1]["key"])


def test_a_code_with_a_single_child_has_the_cell_of_its_child():
    rows = records(zone=["C1", "C1", "B", "A1x"])
    found = cells(rows, ["zone"], {"zone": Hierarchy(columns=("zone",), tree=RAGGED)})
    assert found["C",] == found["C1",] == (2, sum(r["key"] for r in rows[:2]) % 256)
    assert found["A",] == found["A1",] == found["A1x",]


def test_a_tree_of_one_level_is_a_plain_dimension():
    tree = tree_of(F="", M="", X="")
    rows = records(sex=["F", "M", "F", None])
    found = cells(rows, ["sex"], {"sex": Hierarchy(columns=("sex",), tree=tree)})
    assert found == directly(rows, plain("sex"))


def test_numbers_find_their_codes_in_a_tree():
    tree = tree_of(all="", young="all", old="all", **{"1": "young", "2": "young", "30": "old"})
    rows = records(age=[1, 2, 30, 30])
    found = cells(rows, ["age"], {"age": Hierarchy(columns=("age",), tree=tree)})
    assert found["young",][0] == 2
    assert found["old",] == found["30",]


def test_several_dimensions_may_group_one_column():
    tree = tree_of(all="", young="all", old="all", **{"1": "young", "30": "old", "40": "old"})
    rows = records(age=[1, 30, 40, 40])
    hierarchies = {"band": Hierarchy(columns=("age",), tree=tree)}
    found = cells(rows, ["band", "age"], hierarchies, margins=[["band"], ["age"], []])
    assert found["all", "40"] == found["40", "40"]
    assert found["all", "Total"][0] == 4
    shown = cells(rows, ["band"], hierarchies)
    assert shown["old",][0] == 3


@pytest.mark.parametrize(
    ("parents", "problem"),
    [
        ({}, "at least one code"),
        ({"a": "b"}, "1 parents are not codes: 'b'"),
        (
            dict(zip("abcdefg", "tuvwxyz", strict=True)),
            "7 parents .*: 't', 'u', 'v', 'w', 'x'\\.",
        ),
        ({"a": "b", "b": "a"}, "is its own ancestor"),
        ({"a": "a"}, "'a' is its own ancestor"),
        ({"r": None, "a": "b", "b": "c", "c": "a"}, "is its own ancestor"),
    ],
)
def test_a_tree_that_is_none_is_refused(parents, problem):
    with pytest.raises(RequestError, match=problem):
        CodeTree(parents)


def read(tmp_path, text):
    file = tmp_path / "zones.csv"
    file.write_text(text, encoding="utf-8")
    return dict(CodeTree.read(file).parents)


def test_trees_are_read_in_both_layouts(tmp_path):
    wanted = {"all": None, "A": "all", "A1": "A", "B": "all"}
    assert read(tmp_path, "code,parent\nall,\nA,all\nA1,A\nB,all\n") == wanted
    assert read(tmp_path, "parent;label;code\n;x;all\nall;y;A\nA;z;A1\nall;w;B\n") == wanted
    assert read(tmp_path, "\ufeffcode\tparent\nall\t\nA\tall\nA1\tA\nB\tall\n") == wanted
    assert read(tmp_path, "code, parent\nall,\nA, all\nA1, A\nB, all\n") == wanted
    levels = "level,name\n@,all\n@@,A\n@@@,A1\n@@,B\n"
    assert read(tmp_path, levels) == wanted
    assert read(tmp_path, 'level,name\n@,"a, b"\n@@,c\n') == {"a, b": None, "c": "a, b"}


def test_trees_of_tau_argus_are_read_as_hierarchies(tmp_path):
    path = tmp_path / "nace.hrc"
    path.write_text("A\n@A01\n@@ A01.1\n@@A01.2\n\nB\r\n", encoding="utf-8")
    parents = {"A": None, "A01": "A", "A01.1": "A01", "A01.2": "A01", "B": None}
    assert dict(CodeTree.read(path).parents) == parents
    path.write_bytes("É\n@É1\nB\n".encode("cp1252"))
    assert dict(CodeTree.read(path).parents) == {"É": None, "É1": "É", "B": None}
    for text, problem in (
        ("A\n@@A1\n", "line 2 skips a level"),
        ("A\n@B\nB\n", "line 3 appears twice"),
        ("\n", "needs at least one code"),
    ):
        path.write_text(text)
        with pytest.raises(RequestError, match=problem):
            CodeTree.read(path)


def test_codes_of_a_tree_are_the_texts_of_its_file(tmp_path):
    wanted = {"all": None, "A": "all", " A": "all", "A ": " A", "\u00a0A": " A"}
    by_parent = "code,parent\nall,\nA,all\n A,all\nA , A\n\u00a0A, A\n"
    assert read(tmp_path, by_parent) == wanted
    by_level = "level,name\n@,all\n@@,A\n@@, A\n@@@,A \n@@@,\u00a0A\n"
    assert read(tmp_path, by_level) == wanted
    with pytest.raises(RequestError, match=r"'11 '.*\n.*blanks are part of codes"):
        read(tmp_path, "code,parent\n11,\n75,11 \n")


def test_blanks_behind_all_separators_are_no_part_of_codes_where_the_header_has_them(tmp_path):
    wanted = {"all": None, "A": "all", " B": "all"}
    assert read(tmp_path, 'code, parent\nall,\nA, all\n" B", all\n') == wanted
    assert read(tmp_path, 'level, name\n@, all\n@@, A\n@@, " B"\n') == wanted


def test_categories_that_differ_by_a_blank_have_cells_of_their_own_in_a_tree(tmp_path):
    file = tmp_path / "zones.csv"
    file.write_text("code,parent\nall,\nA,all\n A,all\n")
    rows = records(zone=["A", " A", " A"])
    tree = CodeTree.read(file)
    found = cells(rows, ["zone"], {"zone": Hierarchy(columns=("zone",), tree=tree)})
    assert {name: count for (name,), (count, _) in found.items()} == {"all": 3, "A": 1, " A": 2}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("code,parent\na,\n \n", "code of line 3 is empty"),
        ("code,parent\na,\na,\n", "code of line 3 appears twice"),
        ("code,parent\na,\n,a\n", "code of line 3 is empty"),
        ("level,name\n@,a\n@@@,b\n", "level of line 3 must be @, @@"),
        ("level,name\n1,a\n", "level of line 2"),
        ("level,name\n@@,a\n", "level of line 2"),
        ("level,name\n@,a\n@@,b\n@@,b\n", "line 4 appears twice"),
        ("a,b\n1,2\n", "needs the columns code,parent or level,name"),
        ("", "needs the columns"),
        ("code,parent\n", "at least one code"),
        ("code,parent\na,nobody\n", "1 parents are not codes"),
    ],
)
def test_a_file_that_is_no_tree_says_where(tmp_path, text, problem):
    with pytest.raises(RequestError, match=problem):
        read(tmp_path, text)


def test_a_tree_file_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(RequestError, match=r"'absent.csv' cannot be read"):
        CodeTree.read(tmp_path / "absent.csv")
    (tmp_path / "bad.csv").write_bytes(b"code,parent\nMARKER\xff,\n")
    with pytest.raises(RequestError, match="not a CSV text in UTF-8"):
        CodeTree.read(tmp_path / "bad.csv")


# --- nested columns -----------------------------------------------------------------------

GEO = {"geo": Hierarchy(columns=("region", "area", "town"))}


def test_a_region_with_a_single_area_has_the_cell_of_its_area():
    rows = records(region=["1", "1"], area=["x", "x"], town=["a", "b"])
    found = cells(rows, ["geo"], GEO)
    assert found["1", TOTAL, TOTAL] == found["1", "x", TOTAL] == found[TOTAL, TOTAL, TOTAL]


def test_hierarchies_that_make_no_sense_are_refused():
    for make, problem in (
        (lambda: Hierarchy(columns=()), "lists its columns"),
        (lambda: Hierarchy(columns="region"), "lists its columns"),
        (lambda: Hierarchy(columns=("a", "a")), "names each column once"),
        (lambda: Hierarchy(columns=("a", "b"), tree=RAGGED), "a single column"),
    ):
        with pytest.raises(RequestError, match=problem):
            make()


# --- margins ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("margins", "kept"),
    [
        ("none", lambda c: TOTAL not in c),
        ([], lambda c: TOTAL not in c),
        ([[]], lambda c: TOTAL not in c or set(c) == {TOTAL}),
        ([["sex"]], lambda c: TOTAL not in c or (c[0] == TOTAL and c[3] != TOTAL)),
        ([["region"]], lambda c: TOTAL not in c or (c[0] != TOTAL and c[1:] == (TOTAL,) * 3)),
        (
            [["area", "sex"]],
            lambda c: TOTAL not in c or (c[1] != TOTAL and c[2] == TOTAL != c[3]),
        ),
        ([["geo"]], lambda c: TOTAL not in c or (c[3] == TOTAL and c[0] != TOTAL)),
        ([["geo", "sex"]], lambda c: TOTAL not in (c[0], c[3])),
        ("all", lambda _: True),
        ([["geo", "sex"], ["geo"], ["sex"], []], lambda _: True),
    ],
)
def test_margins_are_those_asked_for_and_agree_with_all(margins, kept):
    rows = records(
        region=["1", "1", "2", "2", None],
        area=["x", "y", "x", "y", "x"],
        town=["a", "b", "a", None, "a"],
        sex=["F", "M", "F", None, "F"],
    )
    everything = directly(rows, nested("region", "area", "town"), plain("sex"))
    found = cells(rows, ["geo", "sex"], GEO, margins=margins)
    assert found == {cell: numbers for cell, numbers in everything.items() if kept(cell)}


@pytest.mark.parametrize(
    ("margins", "problem"),
    [
        ("some", "margins are 'all', 'none' or a list"),
        ([["sexe"]], "Margin 'sexe' is not a dimension of the table(?s:.*)did you mean 'sex'"),
        ([["town"], ["zone"]], "Margin 'zone'"),
    ],
)
def test_margins_that_do_not_exist_are_refused(margins, problem):
    with pytest.raises(RequestError, match=problem):
        Request(dimensions=["geo", "sex"], hierarchies=GEO, margins=margins)
