"""The ledger: what it refuses, what it lets pass, and what its file tells to nobody."""

from __future__ import annotations

import os
import sqlite3
import stat

import numpy as np
import pyarrow as pa
import pytest

import ckm
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from ckm.ledger import (
    Definition,
    Ledger,
    LedgerError,
    ThinDifferenceError,
    Watch,
    list_published,
)
from ckm.ledger.appearances import n_counts_with_a_record
from ckm.ledger.record_sets.complement import nested_differences
from ckm.ledger.storage.record import _narrow
from tables import Hierarchy, Request, RequestError, Secret, StoredKeys, cube, open_source
from tests.strategies import HIERARCHIES, TREE, worked_ptable

SECRET = Secret(bytes(range(32)))
KEYS = StoredKeys(column="key")
PEOPLE = 240


def people(**more):
    rng = np.random.default_rng(7)
    columns = {
        "number": list(range(PEOPLE)),
        "age": [n % 80 for n in range(PEOPLE)],
        "region": [f"r{n % 4}" for n in range(PEOPLE)],
        "zone": [f"z{n % 4 if n != 8 else 1}" for n in range(PEOPLE)],
        "sex": ["FM"[n % 2] for n in range(PEOPLE)],
        "key": rng.integers(0, 2**64, PEOPLE, dtype=np.uint64),
    }
    return pa.table({**columns, **more})


@pytest.fixture
def source():
    with open_source(people(), threads=1) as opened:
        yield opened


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def make(ledger, source, dimensions, where=None, *, name="t", data="", **options):
    request = Request(dimensions=dimensions, where=where, **options)
    (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
    return ledger.entry(cells, Definition.of(request, name=name, where=where, data=data))


def words(pairs):
    return {(str(pair.cell), str(pair.published)) for pair in pairs}


def test_a_filter_that_leaves_few_people_out_is_refused_and_named(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"], name="all")])
        assert not ledger.publish([make(ledger, source, [], "number > 2", name="3")])
        with pytest.raises(ThinDifferenceError) as caught:
            ledger.publish([make(ledger, source, ["region"], "number > 1", name="2")])
        assert words(caught.value.pairs) >= {
            (f"region=r{n} where number > 1 in '2'", f"region=r{n} in 'all' (entry 1)")
            for n in (0, 1)
        }
        assert "region=r3 where" not in str(caught.value)  # nobody is missing there
        assert caught.value.hint


def test_two_vintages_of_zones_are_refused(source, path):
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        ledger.publish([make(ledger, source, ["region"], name="old")])
        with pytest.raises(ThinDifferenceError) as caught:
            ledger.publish([make(ledger, source, ["zone"], name="new")])
        found = words(caught.value.pairs)
        assert ("zone=z0 in 'new'", "region=r0 in 'old' (entry 1)") in found
        assert ("zone=z1 in 'new'", "region=r1 in 'old' (entry 1)") in found
        assert (
            "zone=z0",
            "new",
            "",
            "",
            "region=r0",
            "old",
            "",
            "1",
        ) in caught.value.places.rows
        assert "z0" not in str(caught.value)
        assert [entry.definition.name for entry in list_published(path)] == ["old"]


def test_a_complement_is_refused(source, path):
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        ledger.publish([make(ledger, source, ["region"], name="old")])
        elsewhere = make(ledger, source, [], "zone <> 'z0'", name="rest")
        (pair,) = ledger.check([elsewhere])
        assert str(pair.cell) == "all records where zone <> 'z0' in 'rest'"
        assert str(pair.published) == "region=Total without region=r0 in 'old' (entry 1)"
    bare = path.with_name("bare.db")
    with Ledger.open(bare, secret=SECRET, threshold=1, with_complements=False) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
        assert not ledger.check([make(ledger, source, [], "zone <> 'z0'", name="rest")])


@pytest.mark.parametrize(
    ("left_out", "named"),
    [("C", "all"), ("A2x", "A2"), ("A2x", "A"), ("A2", "A"), ("B", "all")],
)
def test_every_node_of_an_unbalanced_tree_is_left_out_of_those_above_it(left_out, named):
    """C is a leaf beside branches, and A2 has one child alone."""
    zones = ["A1", "A1", "A2x", "B1", "B2", "C"]
    data = pa.table({"zone": zones, "key": pa.array(range(len(zones)), pa.uint64())})
    request = Request(dimensions=["zone"], hierarchies=HIERARCHIES)
    with open_source(data) as source:
        (cells,) = cube(source, StoredKeys(column="key"), [request])
    names = [str(cells.axes[0].labels[0][rank]) for rank in cells.ranks[0]]
    pairs = nested_differences(cells, np.ones(len(cells), bool))
    found = {(names[w], names[p]) for w, p in zip(pairs.whole, pairs.part, strict=True)}
    assert (named, left_out) in found
    above = {(parent, node) for node, parent in TREE.parents.items() if parent is not None}
    assert above <= found
    assert all(whole != part for whole, part in found)


def test_a_small_complement_is_found_by_its_members(path):
    """Both sets leave a partition empty, so that nothing but their members can meet."""
    keys = [2**63 + 10, 2**63 + 11, 5, 6, 7, 2**63 + 12]
    data = pa.table(
        {
            "area": ["x", "x", "y", "z", "y", "x"],
            "late": [False, False, True, True, False, False],
            "key": pa.array(keys, pa.uint64()),
        }
    )
    with open_source(data) as source, Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        ledger.publish([make(ledger, source, ["area"], name="old")])
        pairs = ledger.check([make(ledger, source, [], "late = true", name="late")])
        assert "area=Total without area=x in 'old' (entry 1)" in {
            str(pair.published) for pair in pairs
        }


def test_what_a_table_shows_by_itself_is_no_thin_difference(path):
    data = people(rare=[str(n == 0) for n in range(PEOPLE)])
    with open_source(data) as source, Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, [], name="total")])
        assert not ledger.publish([make(ledger, source, ["rare"], name="rare")])


def test_equal_sets_are_harmless_in_whatever_words(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"], name="a")])
        entry = make(ledger, source, ["region"], "age >= 0", name="b")
        assert not ledger.publish([entry])


def test_the_threshold_is_exact(path):
    for size in range(1, 7):
        marked = [n < size for n in range(PEOPLE)]
        with (
            open_source(people(marked=marked)) as source,
            Ledger.open(path.with_name(f"{size}.db"), secret=SECRET, threshold=4) as ledger,
        ):
            ledger.publish([make(ledger, source, [], name="all")])
            pairs = ledger.check([make(ledger, source, [], "marked = false", name="rest")])
            assert len(pairs) == (size <= 4)


def test_tables_of_one_release_are_compared_with_each_other(source, path):
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        both = [make(ledger, source, [c], name=c) for c in ("region", "zone")]
        with pytest.raises(ThinDifferenceError, match="in 1 table"):
            ledger.publish(both)
        assert not list(list_published(path))
        assert ledger.publish(both, policy="flag")
        assert words(ledger.audit()) >= {
            ("zone=z0 in 'zone' (entry 2)", "region=r0 in 'region' (entry 1)")
        }


def test_a_refusal_leaves_the_ledger_as_it_was(source, path):
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
        for _ in range(2):
            with pytest.raises(ThinDifferenceError):
                ledger.publish([make(ledger, source, ["zone"])])
        assert len(list(list_published(path))) == 1
        assert not list(ledger.audit())


def test_the_same_request_again_adds_nothing(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        first = make(ledger, source, ["region"], "age  >=  1", name="one")
        ledger.publish([first, first])
        assert ledger.is_known(make(ledger, source, ["region"], "age>=1", name="b").definition)
        ledger.publish([make(ledger, source, ["region"], "age >= 1", name="two")])
        assert len(list(list_published(path))) == 1
        other = make(ledger, source, ["region"], "age >= 1", data="2028")
        assert not ledger.is_known(other.definition)
        assert not ledger.is_known(first.definition, history="researchers")


def test_the_same_words_over_other_records_are_another_table(source, path):
    with (
        open_source(people().slice(1)) as later,
        Ledger.open(path, secret=SECRET, threshold=1) as ledger,
    ):
        ledger.publish([make(ledger, source, ["region"], name="t")])
        assert not ledger.publish([make(ledger, source, ["region"], name="t")])
        with pytest.raises(ThinDifferenceError):
            ledger.publish([make(ledger, later, ["region"], name="t")])
        assert Watch(ledger).width({"t": Request(dimensions=["region"])}) == 1
        assert len(list(list_published(path))) == 1


def test_histories_stand_apart_unless_their_readers_know_both(source, path):
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        ledger.publish([make(ledger, source, ["region"], name="old")])
        new = make(ledger, source, ["zone"], name="new")
        assert not ledger.check([new], history="researchers")
        assert ledger.check([new], history="researchers", also=["public"])
        ledger.publish([new], history="researchers")
        assert not list(ledger.audit())
        assert not list(ledger.audit(history="researchers"))


def test_cells_below_the_smallest_size_are_not_compared(path):
    data = pa.table(
        {
            "a": ["x"] * 3 + ["y"] * 9,
            "late": [True] + [False] * 11,
            "key": pa.array(range(2**60, 2**60 + 12), pa.uint64()),
        }
    )
    with open_source(data) as source:
        found = []
        for smallest in (1, 5):
            with Ledger.open(
                path.with_name(f"{smallest}.db"), secret=SECRET, threshold=1, smallest=smallest
            ) as ledger:
                ledger.publish([make(ledger, source, ["a"])])
                found.append(ledger.check([make(ledger, source, ["a"], "late = false")]))
        assert {str(pair.cell) for pair in found[0]} - {str(p.cell) for p in found[1]} == {
            "a=x where late = false in 't'"
        }
        assert found[1]


def test_an_engine_with_a_watch_publishes_through_the_ledger(path):
    requests = {
        "old": TableRequest(dimensions=["region"]),
        "older": TableRequest(dimensions=["region"], where="age > 40"),
    }
    with (
        ckm.Engine(people(), record_key="key", secret=SECRET, ptable=worked_ptable()) as engine,
        Ledger.open(path, secret=SECRET) as ledger,
    ):
        watch = Watch(ledger, data="2027")
        tables = engine.tabulate_all(requests, watch=watch)
        plain = engine.tabulate_all(requests)
        for name, table in tables.items():
            assert table.to_arrow().equals(plain[name].to_arrow())
        assert not watch.publish()
        assert [e.definition.name for e in list_published(path)] == ["old", "older"]

        again = Watch(ledger, data="2027")
        built = engine._fitter.fit(requests)
        assert again.width(built) == 0
        engine.tabulate_all(requests, watch=again)
        again.publish()
        assert len(list(list_published(path))) == 2

        thin = Watch(ledger, data="2027")
        engine.tabulate_all({"new": TableRequest(dimensions=["zone"])}, watch=thin)
        with pytest.raises(ThinDifferenceError, match="in 1 table"):
            thin.publish()


def test_an_engine_whose_keys_do_not_tell_records_apart_cannot_be_watched(path):
    data = pa.table({"sex": ["F"], "key": pa.array([3], pa.uint8())})
    with (
        ckm.Engine(
            data, record_key="key", secret=SECRET, ptable=worked_ptable(), checks="skip"
        ) as engine,
        Ledger.open(path, secret=SECRET) as ledger,
        pytest.raises(RequestError, match="tell records apart"),
    ):
        engine.tabulate_all({"t": TableRequest(dimensions=["sex"])}, watch=Watch(ledger))


def test_hostile_names_and_labels_come_back_as_they_are(path):
    evil = ["'; DROP TABLE ckm_ledger_entry; --", "\x00\n\x1b[31m", "é\u202e", "{}%s?"]
    keys = np.random.default_rng(9).integers(0, 2**64, 40, dtype=np.uint64)
    data = pa.table(
        {
            "a\"'`": [evil[n % 4] for n in range(40)],
            "b": [evil[n % 4 if n != 4 else 1] for n in range(40)],
            "key": keys,
        }
    )
    with open_source(data) as source, Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        ledger.publish(
            [make(ledger, source, ["a\"'`"], name=evil[0], data=evil[1])], history=evil[2]
        )
        pairs = ledger.check([make(ledger, source, ["b"], name=evil[3])], history=evil[2])
        named = {pair.published.categories[0] for pair in pairs}
        assert ("a\"'`", evil[0]) in named
        assert ("a\"'`", evil[1]) in named
        (entry,) = list_published(path)
        assert (entry.definition.name, entry.definition.data) == (evil[0], evil[1])
        assert entry.history == evil[2]


def test_the_file_shows_no_count_no_key_and_no_category(tmp_path):
    """Marked keys, categories and counts of a register, looked for in every form."""
    marker = "MARKED-CATEGORY"
    keys = [0x4D41524B45440000 + n for n in range(PEOPLE)]
    data = people(
        key=pa.array(keys, pa.uint64()),
        area=[marker + str(n % 3) for n in range(PEOPLE)],
    )
    path = tmp_path / "ledger.db"
    with open_source(data) as source, Ledger.open(path, secret=SECRET) as ledger:
        request = Request(dimensions=["area", "sex"])
        (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
        ledger.publish([ledger.entry(cells, Definition.of(request, name="t"))])
        content = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    sketch = cells.sketch
    numbers = {*keys, *cells.cell_key.tolist(), *sketch.partitions.ravel().tolist()}
    numbers = {number for number in numbers if number > 2**32}
    assert len(numbers) > PEOPLE
    for number in numbers:
        for form in (number.to_bytes(8, "big"), number.to_bytes(8, "little"), b"%d" % number):
            assert form not in content
    for column in (
        cells.count,
        sketch.power_sums[:, 0],
        sketch.partitions[:, 0],
        sketch.member_key,
    ):
        for kind in ("<u8", "<u4", ">u8", "<u2"):
            assert column.astype(kind).tobytes() not in content
    assert marker.encode() not in content
    assert SECRET._value not in content
    assert b"area" in content  # the dimensions are public, and listed without the secret


def test_the_length_of_an_entry_tells_little_of_the_number_of_its_cells(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        for where in (None, "age > 4", "region <> 'r1'"):
            ledger.publish([make(ledger, source, ["region", "sex"], where)], policy="flag")
    with sqlite3.connect(path) as connection:
        sizes = {
            n for (n,) in connection.execute("SELECT length(sealed) FROM ckm_ledger_entry")
        }
    connection.close()
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("most", "kind"), [(127, "i1"), (128, "i2"), (-129, "i2"), (2**15, "i4"), (2**31, "i8")]
)
def test_numbers_of_an_entry_are_stored_small_and_whole(most, kind):
    found = _narrow(np.array([0, most]))
    assert (found.dtype, found.tolist()) == (np.dtype(kind), [0, most])


def test_the_file_is_private_and_marked_as_a_ledger(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA application_id").fetchone() == (0x636B6D4C,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_ledger_that_others_can_read_or_write_is_not_opened(path):
    Ledger.open(path, secret=SECRET).close()
    for mode in (0o640, 0o606):
        path.chmod(mode)
        with pytest.raises(LedgerError, match=r"can be read by others.*\n.*chmod 600"):
            Ledger.open(path, secret=SECRET)
    path.chmod(0o600)
    Ledger.open(path, secret=SECRET).close()


@pytest.mark.parametrize(
    "column", ["sealed", "definition", "history", "digest", "published_at"]
)
def test_an_altered_entry_is_noticed(source, path, column):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
    connection = sqlite3.connect(path, isolation_level=None)
    (value,) = connection.execute(f"SELECT {column} FROM ckm_ledger_entry").fetchone()
    changed = (
        value[:-3] + bytes([value[-3] ^ 1]) + value[-2:]
        if isinstance(value, bytes)
        else value.replace("2", "3").replace("public", "other").replace("t", "u")
    )
    assert changed != value
    connection.execute(f"UPDATE ckm_ledger_entry SET {column} = ?", (changed,))
    connection.close()
    with Ledger.open(path, secret=SECRET) as ledger:
        with pytest.raises(LedgerError, match="Entry 1 of the ledger was altered"):
            ledger.check([make(ledger, source, ["sex"])])
        with pytest.raises(LedgerError, match="altered"):
            list(ledger.audit())


def publish_four(source, path):
    with Ledger.open(path, secret=SECRET, noise="n") as ledger:
        for dimensions in (["region"], ["sex"], [], ["region", "sex"]):
            ledger.publish([make(ledger, source, dimensions)], policy="flag")
        return ledger.head


DELETE = "DELETE FROM ckm_ledger_entry WHERE number"
NUMBER = "UPDATE ckm_ledger_entry SET number ="
FIRST_LINK = "(SELECT link FROM ckm_ledger_entry WHERE number = 1)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ([f"{DELETE} = 2"], "entry 2 is missing"),
        ([f"{DELETE} < 3"], "entries 1 to 2 are missing"),
        ([f"{DELETE} = 4"], "entry 4 is missing"),
        ([f"{DELETE} > 1"], "entries 2 to 4 are missing"),
        (["DELETE FROM ckm_ledger_entry"], "entries 1 to 4 are missing"),
        (
            [f"{NUMBER} {new} WHERE number = {old}" for new, old in ((9, 1), (1, 2), (2, 9))],
            "entry 1 does not follow",
        ),
        (
            [f"{DELETE} = 2", f"{NUMBER} number - 1 WHERE number > 2"],
            "entry 2 does not follow on the one before it; .*entry 4 is missing",
        ),
        (
            [f"UPDATE ckm_ledger_entry SET link = {FIRST_LINK}"],
            "entry 2 does not follow",
        ),
        (["DELETE FROM ckm_ledger WHERE name = 'noise'"], "settings .* were altered"),
        (["DELETE FROM ckm_ledger WHERE name = 'head'"], "settings .* were altered"),
        (["DELETE FROM ckm_ledger"], "settings of the ledger are gone"),
    ],
)
def test_what_was_removed_or_put_elsewhere_is_named(source, path, damage, said):
    publish_four(source, path)
    with sqlite3.connect(path, isolation_level=None) as connection:
        for statement in damage:
            connection.execute(statement)
    connection.close()
    with pytest.raises(LedgerError, match=said), Ledger.open(path, secret=SECRET) as ledger:
        ledger.require_whole()
    with pytest.raises(LedgerError, match=said), Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"], "sex = 'F'")], policy="flag")


def test_a_ledger_that_was_put_back_is_told_by_a_head_that_was_noted(source, path, tmp_path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
        first = ledger.require_whole()
        earlier = {"ckm_ledger": [], "ckm_ledger_entry": []}
        with sqlite3.connect(path) as connection:
            for table in earlier:
                earlier[table] = connection.execute(f"SELECT * FROM {table}").fetchall()
        connection.close()
        ledger.publish([make(ledger, source, ["sex"])])
        second = ledger.require_whole(head=first)
        assert ledger.require_whole(head=second) == second == ledger.head
        with sqlite3.connect(path) as connection:
            for table, rows in earlier.items():
                connection.execute(f"DELETE FROM {table}")
                marks = ", ".join("?" * len(rows[0]))
                connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        connection.close()
        with pytest.raises(LedgerError, match="put back to an earlier state"):
            ledger.check([make(ledger, source, [])])
    with Ledger.open(path, secret=SECRET) as ledger:
        assert ledger.require_whole() == first  # nothing in the file tells of it
        with pytest.raises(LedgerError, match="entry 2 is not the one whose head was noted"):
            ledger.require_whole(head=second)
        with pytest.raises(ConfigError, match="head of a ledger reads"):
            ledger.require_whole(head="second")


def test_another_secret_opens_nothing(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
    with pytest.raises(LedgerError, match="another secret"):
        Ledger.open(path, secret=Secret(bytes(32)))


def test_a_ledger_serves_smaller_thresholds_and_no_larger_ones(source, path):
    Ledger.open(path, secret=SECRET, threshold=3).close()
    with Ledger.open(path, secret=SECRET) as ledger:
        assert ledger.threshold == 3
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        assert ledger.width == 3
        ledger.publish([make(ledger, source, ["region"])])
        with pytest.raises(ConfigError, match="1 to 3 records, not 4"):
            list(ledger.audit(threshold=4))
    with pytest.raises(LedgerError, match="thresholds up to 3, not 4"):
        Ledger.open(path, secret=SECRET, threshold=4)


@pytest.mark.parametrize("threshold", [0, 5, -1, 1.0, True, "2"])
def test_a_threshold_out_of_range_is_refused(path, threshold):
    with pytest.raises(ConfigError, match="from 1 to 4"):
        Ledger.open(path, secret=SECRET, threshold=threshold)
    assert not path.exists()


def test_other_parameters_out_of_range_are_refused(source, path):
    with pytest.raises(ConfigError, match="positive integer"):
        Ledger.open(path, secret=SECRET, smallest=0)
    with Ledger.open(path, secret=SECRET) as ledger, pytest.raises(ConfigError, match="policy"):
        ledger.publish([make(ledger, source, [])], policy="hope")


def test_foreign_files_are_refused_and_left_alone(path):
    path.write_bytes(b"region,count\n1,2\n" * 100)
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger.open(path, secret=SECRET)
    assert path.read_bytes() == b"region,count\n1,2\n" * 100
    other = path.with_name("other.db")
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()
    before = other.read_bytes()
    with pytest.raises(LedgerError, match="is a database, but no ledger"):
        Ledger.open(other, secret=SECRET)
    assert other.read_bytes() == before


def test_places_where_no_ledger_can_be_are_refused(tmp_path):
    with pytest.raises(LedgerError, match="its folder does not exist"):
        Ledger.open(tmp_path / "nowhere" / "l.db", secret=SECRET)
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(tmp_path, secret=SECRET)
    with pytest.raises(LedgerError, match="nothing else"):
        Ledger.open("mysql://host/db", secret=SECRET)
    with pytest.raises(LedgerError, match="There is no ledger"):
        Ledger.open(tmp_path / "l.db", secret=SECRET, create=False)
    assert not list(tmp_path.iterdir())


def test_a_form_of_a_later_version_is_refused(path):
    Ledger.open(path, secret=SECRET).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE ckm_ledger SET content = '99' WHERE name = 'schema'")
    connection.close()
    with pytest.raises(LedgerError, match="a form that this version does not know"):
        Ledger.open(path, secret=SECRET)


def test_a_busy_ledger_says_so_and_publishes_nothing(source, path):
    with Ledger.open(path, secret=SECRET, timeout_s=0.1) as ledger:
        entry = make(ledger, source, ["region"])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="is busy"):
            ledger.publish([entry])
        other.execute("ROLLBACK")
        other.close()
        assert not list(list_published(path))
        ledger.publish([entry])
        assert len(list(list_published(path))) == 1


def test_a_full_disk_leaves_nothing_behind(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([make(ledger, source, ["region"])])
        (pages,) = ledger._store.fetch("PRAGMA page_count")[0]
        ledger._store.run(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerError, match="disk is full"):
            ledger.publish([make(ledger, source, ["sex"])])
        ledger._store.run("PRAGMA max_page_count = 1000000")
        assert len(list(list_published(path))) == 1
        ledger.publish([make(ledger, source, ["sex"])])
    with Ledger.open(path, secret=SECRET) as ledger:
        assert not list(ledger.audit())


def test_reprs_and_errors_show_no_count_and_no_key(source, path):
    with Ledger.open(path, secret=SECRET, threshold=1) as ledger:
        entry = make(ledger, source, ["region"], name="old")
        ledger.publish([entry])
        assert repr(entry) == "Entry('old')"
        assert repr(ledger) == "Ledger(threshold 1)"
        with pytest.raises(ThinDifferenceError) as caught:
            ledger.publish([make(ledger, source, ["zone"], name="new")])
        text = str(caught.value)
        numbers = {*entry.identity.tolist(), *entry.partitions.ravel().tolist()}
        assert not any(str(number) in text for number in numbers if number)
        assert "60" not in text


def test_cells_without_sketches_are_our_own_mistake(source, path):
    (cells,) = cube(source, KEYS, [Request(dimensions=["region"])])
    with Ledger.open(path, secret=SECRET) as ledger, pytest.raises(ckm.InternalError):
        ledger.entry(cells, Definition(name="t"))


def test_a_table_without_cells_can_be_published(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        for dimensions in ([], ["region", "sex"]):
            assert not ledger.publish([make(ledger, source, dimensions, "age > 1000")])
        assert not list(ledger.audit())
        assert len(list(list_published(path))) == 2


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may do everything")
def test_a_read_only_ledger_is_refused(path):
    Ledger.open(path, secret=SECRET).close()
    path.chmod(0o400)
    with pytest.raises(LedgerError, match=r"cannot be (opened|written)"):
        Ledger.open(path, secret=SECRET)


NESTED = {"geo": Hierarchy(columns=("region", "zone"))}


def persons(keys=7):
    """Give persons whose sex tells nothing of their region; other keys are other persons."""
    rng = np.random.default_rng(7)
    sex, first = rng.choice(["F", "M"], PEOPLE), people()["key"].to_numpy()
    others = np.random.default_rng(keys).integers(0, 2**64, PEOPLE, dtype=np.uint64)
    return people(sex=sex, key=np.where(np.arange(PEOPLE) % 3 == 0, others, first))


def counts_of(ledger, entries, **histories):
    return n_counts_with_a_record(ledger.appearances(entries, **histories))


@pytest.mark.parametrize(
    ("dimensions", "options", "n"),
    [
        (["sex", "region"], {}, 4),
        (["sex"], {"where": "age is not missing"}, 2),
        (["geo", "sex"], {"hierarchies": NESTED}, 6),
        ([], {}, 1),
    ],
)
def test_the_same_tables_count_once_and_those_of_another_year_again(
    path, dimensions, options, n
):
    with (
        open_source(persons(), threads=1) as source,
        Ledger.open(path, secret=SECRET) as ledger,
    ):
        first = make(ledger, source, dimensions, **options)
        assert counts_of(ledger, [first]) == n
        ledger.publish([first])
        again = make(ledger, source, dimensions, **options)
        assert counts_of(ledger, [again]) == n, "the noise is the same"
        # Some persons left, and others came.
        with open_source(persons(8), threads=1) as next_year:
            other = make(ledger, next_year, dimensions, **options)
            assert counts_of(ledger, [other]) == 2 * n
            ledger.publish([other])
            assert counts_of(ledger, [other, first]) == 2 * n
        assert counts_of(ledger, [], history="researchers", also=["public"]) == 2 * n


def test_a_table_of_another_year_shares_its_margins_with_those_of_its_year(path):
    with (
        open_source(persons(), threads=1) as source,
        Ledger.open(path, secret=SECRET) as ledger,
    ):
        ledger.publish([make(ledger, source, ["sex", "region"])])
        with open_source(persons(8), threads=1) as next_year:
            tables = [["sex", "region"], ["sex", "zone"]]
            entries = [make(ledger, next_year, some) for some in tables]
        # Last year: total, sex, region, both. This year: these again, zone, and sex by zone.
        assert counts_of(ledger, entries) == 4 + 4 + 2
