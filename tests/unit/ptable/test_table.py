import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, solve


def test_probabilities_are_the_integers(small_table):
    matrix = small_table.transition
    assert (matrix * small_table.key_range == np.round(matrix * small_table.key_range)).all()
    assert not matrix.flags.writeable
    assert matrix.shape == (len(small_table.counts), len(small_table.targets))


@pytest.fixture(scope="module")
def small_table():
    return solve(NoiseSpec(max_noise=2, variance=1.0))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"noise": [], "upper": []}, "one row per count"),
        ({"noise": [[0], [1]], "upper": [[8]]}, "one row per count"),
        ({"noise": [[0, 1]], "upper": [[8]]}, "one threshold per noise value"),
        ({"noise": [[0.5]], "upper": [[8]]}, "integers only"),
        ({"noise": [[0]], "upper": [[7]]}, "must end at 8, not 7"),
        ({"noise": [[0, 1, 0]], "upper": [[5, 4, 8]]}, "must not fall"),
        ({"noise": [[-1]], "upper": [[8]]}, "count 0 would be published as -1"),
        ({"key_range": 1}, "key_range must be an integer from 2"),
        ({"key_range": 2.0}, "key_range must be an integer from 2"),
        ({"large_counts": "first"}, "large_counts must be"),
        ({"large_counts": "cycle:9"}, "large_counts must be"),
    ],
)
def test_what_is_no_table_is_refused(fields, words):
    good = {"noise": [[0], [-1, 1]], "upper": [[8], [4, 8]], "key_range": 8}
    with pytest.raises(PTableError, match=words):
        PTable(**{**good, **fields})


def test_equal_behaviour_is_equal_content():
    plain = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    split = PTable(noise=[[0, 0], [5, -1, 1]], upper=[[3, 8], [0, 4, 8]], key_range=8)
    assert plain == split
    assert plain.id == split.id
    assert plain != PTable(noise=[[0], [1, -1]], upper=[[8], [4, 8]], key_range=8)
    assert plain != "table"


def test_the_rule_for_large_counts_is_part_of_the_identity():
    rows = {"noise": [[0], [-1, 1]], "upper": [[8], [4, 8]], "key_range": 8}
    assert PTable(**rows).id != PTable(**rows, large_counts="cycle:2").id


def test_the_step_and_the_anchors_are_part_of_the_identity():
    rows = {"noise": [[0], [-1, 1], [-2, 2]], "upper": [[8], [4, 8], [4, 8]], "key_range": 8}
    tables = [
        PTable(**rows, **magnitudes)
        for magnitudes in (
            {},
            {"step": 2},
            {"step": 4},
            {"anchors": (0, 2, 5)},
            {"anchors": (0, 2, 6)},
            {"step": 2, "anchors": (0, 2, 5)},
        )
    ]
    assert len({table.id for table in tables}) == len(tables)


def test_the_identity_of_a_solved_table_never_changes(small_table):
    expected = "114ff670219efc7531882f1172d297adb17f20044f6f64565253a46bfcee15ca"
    assert small_table.id == expected


def test_repr_and_html_show_no_threshold_and_no_id(small_table):
    labelled = PTable.from_units([{0: 8}, {-1: 3, 1: 5}], key_range=8, label="<b>")
    assert repr(labelled) == "PTable(n_rows=2, max_noise=1, key_range=8, label='<b>')"
    assert "&lt;b&gt;" in labelled._repr_html_()
    threshold = str(small_table.upper[1][0])
    for text in (repr(small_table), small_table._repr_html_()):
        assert threshold not in text
        assert small_table.id[:8] not in text


def test_the_frame_is_in_integers(small_table):
    frame = small_table.to_frame()
    assert list(frame.columns) == ["i", "j", "v", "p", "lower", "upper"]
    assert (frame["j"] == frame["i"] + frame["v"]).all()
    assert frame.groupby("i")["upper"].max().eq(2**32).all()
    assert PTable.from_frame(frame, key_range=2**32) == small_table


def _frame(**columns):
    good = {"i": [1, 1], "j": [0, 2], "v": [-1, 1], "p_int_ub": [0.5, 1.0]}
    return pd.DataFrame({**good, **columns})


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (_frame().drop(columns="i"), "no column 'i'"),
        (_frame().drop(columns="p_int_ub"), "no column 'p_int_ub'"),
        (_frame().drop(columns=["j", "v"]), "no column 'v' or 'j'"),
        (_frame(v=[-1, 2]), "'v' must be 'j' minus 'i'"),
        (_frame(v=[-0.5, 1]), "'v' must be 'j' minus 'i'"),
        (_frame(v=["a", 1]), "'v' must hold numbers, not 'a'"),
        (_frame(i=[1, None]), "'i' must hold counts"),
        (_frame(p_int_ub=[0.5, 0.9]), "last threshold is 0.9, not 1"),
        (_frame(p_int_ub=[0.5, np.nan]), "decimals from 0 to 1"),
        (_frame(p_int_lb=[0.0, 0.6]), "leave a gap"),
        (_frame(p_int_lb=[0.0, 0.4]), "overlap"),
        (_frame(i=[3, 3], j=[2, 4]), "counts 1 to 2 have no lines"),
        (_frame(i=[0, 0], j=[-1, 1]), "count 0 would be published as -1"),
        (_frame(j=[0, 0], v=[-1, -1]), "a noise value twice"),
        (_frame(type=["even", "odd"]), "several p-tables, of types even, odd"),
        (_frame(p_int_ub=[1 / 3, 1.0]), "pass digits=8"),
        (_frame(i=[-1, -1], j=[-2, 0]), "counts from 0 to"),
        (_frame().rename(columns={"p_int_ub": "upper"}), "need a key_range"),
    ],
)
def test_a_frame_that_is_no_table_is_refused(frame, words):
    with pytest.raises(PTableError, match=words):
        PTable.from_frame(frame)


def test_decimals_are_taken_as_printed_whatever_the_order_of_lines():
    frame = _frame(p_int_ub=[0.51333333000000003, 1])
    table = PTable.from_frame(frame.iloc[::-1])
    assert table.key_range == 10**8
    assert table.units(1) == {-1: 51333333, 1: 48666667}
    assert table.units(0) == {0: 10**8}
    rounded = PTable.from_frame(_frame(p_int_ub=[1 / 3, 1]), digits=4)
    assert rounded.upper[1] == (3333, 10000)


def test_a_table_of_single_keys_keeps_their_order():
    lines = [(n, key, ((key * 7) % 3) - 1) for n in range(1, 5) for key in range(256)]
    frame = pd.DataFrame(lines, columns=["pcv", "ckey", "pvalue"])
    frame = frame.sample(frac=1, random_state=1)
    table = PTable.from_key_table(frame, large_counts="cycle:2")
    keys = np.arange(256)
    for count, row in [(1, 1), (4, 4), (5, 3), (6, 4), (101, 3)]:
        ours = table.lookup(np.full(256, count), keys, key_range=256)
        assert ours.tolist() == [v for n, _, v in lines if n == row]
    assert (table.lookup(np.zeros(256, int), keys, key_range=256) == 0).all()


def test_large_counts_recycle_rows_as_at_the_ons():
    lines = pd.DataFrame({"pcv": np.repeat(np.arange(1, 751), 2), "ckey": [0, 1] * 750})
    lines["pvalue"] = np.where(lines["ckey"] == 0, lines["pcv"] % 2, -(lines["pcv"] % 3 == 0))
    table = PTable.from_key_table(lines, large_counts="cycle:250")
    counts = np.array([750, 751, 1000, 1001, 100_001, 123_456])
    rows = np.where(counts <= 750, counts, (counts - 1) % 250 + 501)
    for key in (0, 1):
        keys = np.full(len(counts), key)
        expected = table.lookup(rows, keys, key_range=2)
        assert (table.lookup(counts, keys, key_range=2) == expected).all()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ({"pcv": [1, 1], "ckey": [0, 2], "pvalue": [0, 0]}, "every key from 0 to 2 once"),
        ({"pcv": [1, 1, 1], "ckey": [0, 1, 1], "pvalue": [0, 0, 0]}, "than once"),
        ({"pcv": [1, 1], "ckey": [0, 0], "pvalue": [0, 0]}, "number of keys"),
        ({"pcv": [2, 2], "ckey": [0, 1], "pvalue": [0, 0]}, "from 0 or 1"),
        ({"pcv": [1, 1], "ckey": [0, 1], "pvalue": [0.5, 0]}, "integers only"),
        ({"pcv": [1, 1], "ckey": [0, 1], "pvalue": [-2, 0]}, "published as -1"),
        ({"pcv": [1], "ckey": [0]}, "no column 'pvalue'"),
        ({"pcv": [], "ckey": [], "pvalue": []}, "no lines"),
    ],
)
def test_an_incomplete_table_of_keys_is_refused(lines, words):
    with pytest.raises(PTableError, match=words):
        PTable.from_key_table(pd.DataFrame(lines))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"label": None}, "label must be text, not a NoneType"),
        ({"large_counts": None}, "large_counts must be"),
        ({"noise": [[0], [2**60]]}, "beyond 2\\*\\*53 steps"),
        ({"anchors": (0, 2**60)}, "beyond 2\\*\\*53 steps"),
    ],
)
def test_settings_that_no_lookup_could_use_are_refused(fields, problem):
    with pytest.raises(PTableError, match=problem):
        PTable(**{"noise": [[0], [1]], "upper": [[8], [8]], "key_range": 8, **fields})


@pytest.mark.parametrize("count", ["1", 1.0, None, -1, True])
def test_only_integers_are_counts(count):
    table = PTable(noise=[[0], [1]], upper=[[8], [8]], key_range=8)
    with pytest.raises(PTableError, match="has no row of its own"):
        table.units(count)
