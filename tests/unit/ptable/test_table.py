import hashlib
import warnings

import numpy as np
import pandas as pd
import pytest

from ptable import NoiseSpec, PTable, PTableError, PTableWarning, solve


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
        ({"key_range": 2**64 + 1}, "key_range must be an integer from 2 to"),
        ({"large_counts": "first"}, "large_counts must be"),
        ({"large_counts": "cycle:9"}, "large_counts must be"),
        ({"noise": [[0], []], "upper": [[8], []]}, "the row of count 1 needs one threshold"),
        ({"noise": [[0], [True]], "upper": [[8], [8]]}, "count 1 must hold integers only"),
        ({"noise": [[0], [0]], "upper": [[8], [8.0]]}, "count 1 must hold integers only"),
        ({"noise": [[0], [0, 1]], "upper": [[8], [-1, 8]]}, "count 1 must not fall"),
        ({"noise": [[0], [-2, 1]]}, "count 1 would be published as -1"),
        ({"step": 2, "noise": [[0], [-3, 1]]}, "count 1 would be published as -0.5"),
        ({"step": 0}, "step must be an integer of at least 1, not 0"),
        ({"step": 1.0}, "step must be an integer"),
        ({"anchors": (1, 2)}, "anchors must be one rising count per row, from 0 on"),
        ({"anchors": (0, 0)}, "anchors must be one rising count"),
        ({"anchors": (0, 2.5)}, "anchors must be one rising count"),
        ({"anchors": (0, 2, 3)}, "anchors must be one rising count"),
        ({"anchors": ()}, "anchors must be one rising count"),
        ({"anchors": (0, 2), "large_counts": "cycle:2"}, "must be 'last' where there are anch"),
    ],
)
def test_what_is_no_table_is_refused(fields, words):
    good = {"noise": [[0], [-1, 1]], "upper": [[8], [4, 8]], "key_range": 8}
    with pytest.raises(PTableError, match=words):
        PTable(**{**good, **fields})


def test_the_least_tables_there_are_can_be_held():
    assert PTable(noise=[[0]], upper=[[2]], key_range=2).n_rows == 1
    assert PTable(noise=[[0]], upper=[[2**64]], key_range=2**64).key_range == 2**64
    assert PTable(noise=[[0], [-1]], upper=[[8], [8]], key_range=8).units(1) == {-1: 8}
    halves = PTable(noise=[[0], [-2, 1]], upper=[[8], [4, 8]], key_range=8, step=2)
    assert halves.units(1) == {-2: 4, 1: 4}
    whole = np.array([[0, 1], [4, 8]])
    assert PTable(noise=whole[:1], upper=whole[1:], key_range=np.int64(8)).upper == ((4, 8),)


def test_up_to_five_problems_are_told_and_the_others_counted():
    def problems(n):
        with pytest.raises(PTableError) as caught:
            PTable(noise=[[0]] * n, upper=[[7]] * n, key_range=8)
        return str(caught.value)

    assert problems(5).endswith("the thresholds of count 4 must end at 8, not 7.")
    assert problems(7).endswith("count 4 must end at 8, not 7 (and 2 more).")
    assert problems(7).count("must end") == 5


@pytest.mark.parametrize(("step", "anchors"), [(1, (0, 7)), (4, (0, 7)), (4, None)])
def test_published_values_stay_below_what_floats_hold(step, anchors):
    count = 1 if anchors is None else 7
    settings = {"upper": [[8], [8]], "key_range": 8, "step": step, "anchors": anchors}
    largest = 2**53 - 1 - count * step
    assert PTable(noise=[[0], [largest]], **settings).max_noise == largest
    with pytest.raises(PTableError, match=rf"count {count} would be published beyond 2\*\*53"):
        PTable(noise=[[0], [largest + 1]], **settings)


def test_anchors_that_name_every_count_are_left_out():
    rows = {"noise": [[0], [-1, 1]], "upper": [[8], [4, 8]], "key_range": 8}
    plain = PTable(**rows, anchors=[0, 1], large_counts="cycle:2")
    assert plain.anchors is None
    assert plain == PTable(**rows, large_counts="cycle:2")
    assert plain.step == PTable(**rows, step=np.int64(1)).step == 1


def test_a_table_for_magnitudes_has_rows_for_its_anchors_and_noise_in_steps():
    table = PTable(
        noise=[[0], [-4, 0, 2], [-5, 5]],
        upper=[[8], [2, 6, 8], [4, 8]],
        key_range=8,
        step=4,
        anchors=[0, 1, np.int64(3)],
    )
    assert table.anchors == (0, 1, 3)
    assert table.counts.tolist() == [0, 1, 3]
    assert (table.n_rows, table.max_noise) == (3, 5)
    assert table.targets.tolist() == [n / 4 for n in range(3 * 4 + 5 + 1)]
    assert table.transition[1, [0, 4, 6]].tolist() == [0.25, 0.5, 0.25]
    assert table.transition[2, [7, 17]].tolist() == [0.5, 0.5]
    assert table.transition.sum() == 3
    assert table.units(3) == {-5: 4, 5: 4}
    frame = table.to_frame()
    assert frame["i"].tolist() == [0, 1, 1, 1, 3, 3]
    assert frame["v"].tolist() == [0, -1, 0, 0.5, -1.25, 1.25]
    assert frame["j"].tolist() == [0, 0, 1, 1.5, 1.75, 4.25]
    assert frame["p"].tolist() == [1, 0.25, 0.5, 0.25, 0.5, 0.5]
    assert frame["lower"].tolist() == [0, 0, 2, 6, 0, 4]
    for count in (2, 4, True):
        with pytest.raises(PTableError, match=f"Count {count} has no row of its own"):
            table.units(count)
    assert "<td>0, 1, 3</td>" in table._repr_html_()
    assert "<td>1.25</td>" in table._repr_html_()


def test_noise_that_a_row_has_twice_adds_up():
    table = PTable(noise=[[1, 0, 1]], upper=[[2, 5, 8]], key_range=8)
    assert table.units(0) == {1: 5, 0: 3}
    assert table.transition.tolist() == [[3 / 8, 5 / 8]]
    assert table.targets.tolist() == [0, 1]
    assert table.targets.dtype == np.int64


def test_a_table_of_units_has_their_order():
    table = PTable.from_units(
        [{0: 4}, {1: 1, -1: 3}, {0: 2, 2: 2}],
        key_range=4,
        step=2,
        anchors=[0, 1, 4],
        label="mine",
    )
    assert (table.noise, table.upper) == (((0,), (1, -1), (0, 2)), ((4,), (1, 4), (2, 4)))
    assert (table.step, table.anchors, table.label) == (2, (0, 1, 4), "mine")
    rows = [{0: 2**32}, {1: 2**32}]
    assert PTable.from_units(rows, large_counts="cycle:2").large_counts == "cycle:2"
    assert PTable.from_units(rows).large_counts == "last"
    assert PTable.from_units(rows).anchors is None


def test_lookups_serve_any_key_range_from_one_table():
    table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    for _ in range(2):
        assert table.lookup([1, 1], [2, 3], key_range=6).tolist() == [-1, 1]
        assert table.lookup([1, 1], [2, 3], key_range=4).tolist() == [1, 1]
        assert table.lookup([1, 1], [2**31 - 1, 2**31]).tolist() == [-1, 1]


def test_equal_behaviour_is_equal_content():
    plain = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
    split = PTable(noise=[[0, 0], [5, -1, 1]], upper=[[3, 8], [0, 4, 8]], key_range=8)
    assert plain == split
    assert plain.id == split.id
    assert plain != PTable(noise=[[0], [1, -1]], upper=[[8], [4, 8]], key_range=8)
    assert plain != "table"
    assert len({plain, split}) == 1
    assert split.noise == ((0,), (-1, 1))
    assert split.upper == ((8,), (4, 8))


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


def test_the_identity_is_a_hash_of_what_the_table_does():
    rows = {"noise": [[0], [-1, 1]], "upper": [[8], [4, 8]], "key_range": 8}
    texts = {
        '["ptable/1",8,"last",[[0],[-1,1]],[[8],[4,8]]]': {},
        '["ptable/1",8,"last",[[0],[-1,1]],[[8],[4,8]],2,null]': {"step": 2},
        '["ptable/1",8,"last",[[0],[-1,1]],[[8],[4,8]],1,[0,3]]': {"anchors": (0, 3)},
    }
    for text, settings in texts.items():
        assert PTable(**rows, **settings).id == hashlib.sha256(text.encode()).hexdigest()


def test_repr_and_html_show_no_threshold_and_no_id(small_table):
    labelled = PTable.from_units([{0: 8}, {-1: 3, 1: 5}], key_range=8, label="<b>")
    assert repr(labelled) == "PTable(n_rows=2, max_noise=1, key_range=8, label='<b>')"
    assert "&lt;b&gt;" in labelled._repr_html_()
    threshold = str(small_table.upper[1][0])
    for text in (repr(small_table), small_table._repr_html_()):
        assert threshold not in text
        assert small_table.id[:8] not in text


def test_what_a_table_is_shown_as_says_what_it_is():
    def table(key_range, **settings):
        return PTable(
            noise=[[0], [1]], upper=[[key_range]] * 2, key_range=key_range, **settings
        )

    assert repr(table(1024)) == "PTable(n_rows=2, max_noise=1, key_range=1024)"
    assert repr(table(2048)) == "PTable(n_rows=2, max_noise=1, key_range=2**11)"
    assert repr(table(3000)) == "PTable(n_rows=2, max_noise=1, key_range=3000)"
    assert repr(table(8, step=2)) == "PTable(n_rows=2, max_noise=1, key_range=8, step=2)"
    page = table(2**32, step=2)._repr_html_()
    for name, fact in (
        ("label", "none"),
        ("counts with a row of their own", "0 to 1"),
        ("largest noise", "0.5"),
        ("keys", "2**32"),
        ("certified", "no"),
    ):
        assert f'<th scope="row">{name}</th><td>{fact}</td>' in page
    assert "<svg" in page


def test_a_certified_table_says_so(small_table):
    assert '<th scope="row">certified</th><td>yes</td>' in small_table._repr_html_()
    assert small_table.with_proof(None, None).certificate is None
    assert small_table.with_proof(small_table.spec, None).spec == small_table.spec


def test_few_keys_are_shared_out_with_a_warning_of_what_they_cannot_hold():
    thirds = PTable(noise=[[0], [-1, 2]], upper=[[3], [2, 3]], key_range=3)
    with pytest.warns(PTableWarning) as caught:
        few = thirds.quantise(2)
    assert few.key_range == 2
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert thirds.quantise(6).units(1) == {-1: 4, 2: 2}


def test_pieces_are_put_in_random_order_and_hold_as_many_keys(small_table):
    def new(**options):
        return small_table.shuffle(np.random.default_rng(3), **options)

    assert new() == new(piece=0.2)
    assert new() != new(piece=0.5)
    assert new().units(1) == small_table.units(1)
    assert new() != small_table


def test_a_file_warns_whoever_writes_it_of_what_it_does_not_hold(tmp_path):
    table = PTable(noise=[[0], [-1, 1]], upper=[[3], [1, 3]], key_range=3)
    path = tmp_path / "pt.txt"
    with pytest.warns(
        PTableWarning, match=r"'pt\.txt' does not hold the whole p-table: p"
    ) as w:
        table.write(path, dialect="tau-argus")
    assert w[0].filename == __file__
    with pytest.raises(PTableError, match="exists already"):
        table.write(path, dialect="tau-argus")
    with pytest.warns(PTableWarning):
        table.write(path, dialect="tau-argus", overwrite=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.write(tmp_path / "pt.csv", dialect="frame")
    assert PTable.read(tmp_path / "pt.csv") == table


def test_a_file_of_another_tool_is_read_as_its_reader_is_told(tmp_path):
    path = tmp_path / "pt.csv"
    path.write_text("i,v,p_int_ub\n0,0,1\n1,-1,.5\n1,1,1\n")
    closed = PTable.read(path, dialect="r-ptable", boundary="(]", key_range=8)
    assert closed.units(1) == {-1: 5, 1: 3}
    assert PTable.read(path, digits=4, large_counts="cycle:2").key_range == 10**4
    assert PTable.read(path, large_counts="cycle:2").large_counts == "cycle:2"
    assert PTable.read(path).large_counts == "last"
    path.write_text("i,v,p_int_ub,type\n1,0,1,even\n1,-1,.5,odd\n1,1,1,odd\n")
    with pytest.raises(
        PTableError, match=r"'pt\.csv' holds several p-tables, of types even, odd"
    ):
        PTable.read(path)


def test_the_frame_is_in_integers(small_table):
    frame = small_table.to_frame()
    assert list(frame.columns) == ["i", "j", "v", "p", "lower", "upper"]
    assert (frame["j"] == frame["i"] + frame["v"]).all()
    assert frame.groupby("i")["upper"].max().eq(2**32).all()
    assert PTable.from_frame(frame, key_range=2**32) == small_table
    assert PTable.from_frame(frame, key_range=2**32, label="mine").label == "mine"


def test_a_frame_of_single_keys_is_a_table():
    lines = pd.DataFrame({"pcv": [1, 1, 2, 2], "ckey": [0, 1, 0, 1], "pvalue": [1, -1, 0, 2]})
    table = PTable.from_key_table(lines, large_counts="cycle:2", label="keys")
    assert (table.label, table.large_counts) == ("keys", "cycle:2")
    assert table.lookup([1, 1, 2, 2], [0, 1, 0, 1], key_range=2).tolist() == [1, -1, 0, 2]
    assert PTable.from_key_table(lines).large_counts == "last"


def _frame(**columns):
    good = {"i": [1, 1], "j": [0, 2], "v": [-1, 1], "p_int_ub": [0.5, 1.0]}
    return pd.DataFrame({**good, **columns})


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (_frame().drop(columns="i"), "no column 'i'"),
        (_frame(p_int_ub=[0.5, 0.9]), "last threshold is 0.9, not 1"),
        (_frame(p_int_ub=[1 / 3, 1.0]), "pass digits=8"),
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


@pytest.mark.parametrize("off", [2e-9, -2e-9, 5e-4])
def test_rows_that_do_not_sum_to_one_are_refused(off):
    near = [[1.0, 0.0], [0.5, 0.5 + 5e-10]]
    assert PTable.from_probabilities(near).n_rows == 2
    with pytest.raises(PTableError, match="that of count 1 sums to"):
        PTable.from_probabilities([[1.0, 0.0], [0.5, 0.5 + off]])


def test_probabilities_from_elsewhere_become_integers():
    matrix = [[1, 0, 0, 0], [1 / 3, 1 / 3, 1 / 3, 0]]
    table = PTable.from_probabilities(matrix, key_range=300)
    assert table.units(1) == {-1: 100, 0: 100, 1: 100}
    for wrong in ([[0.5, 0.4]], [[1.5, -0.5]], [[np.nan, 1]], [1.0], [], "none", [[1], [0, 1]]):
        with pytest.raises(PTableError, match="transition"):
            PTable.from_probabilities(wrong)
    with pytest.raises(PTableError, match="digits"):
        PTable.from_probabilities(matrix, digits=0)


def test_a_matrix_of_slides_is_taken_with_its_two_digits():
    """D = 2, V = 1: the slides of the method print these."""
    rows = [[1, 0, 0, 0, 0], [0.37, 0.36, 0.17, 0.10, 0], [0.06, 0.25, 0.38, 0.25, 0.06]]
    table = PTable.from_probabilities(rows, digits=2, key_range=100)
    assert table.units(1) == {-1: 37, 0: 36, 1: 17, 2: 10}
    assert table.transition == pytest.approx(np.array(rows))
    with pytest.raises(PTableError, match=r"count 1 sums to 0\.97"):
        PTable.from_probabilities([rows[0], [0.37, 0.33, 0.17, 0.10, 0]], digits=2)
