"""Random tables through every layout, and random damage to their files."""

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ptable import PTable, PTableError
from ptable.dialects import detect, read_tables, write_tables
from tests.strategies import examples

BYTES = ("cantabular", "ons", "superstar")
LISTS = ("frame", "r-ptable", "sas", "tau-argus")
EXACT_RANGES = (10**8, 256, 2**32, 10**12, 4096, 10)


@st.composite
def tables(draw, *, key_ranges=(*EXACT_RANGES, 3, 1_000_003, 2**64), steps=(1, 2, 3, 5)):
    """Draw a table; every row but that of count 0 has two noise values."""
    key_range = draw(st.sampled_from(key_ranges))
    step = draw(st.sampled_from(steps))
    n_rows = draw(st.integers(2, 5))
    counts = list(range(n_rows))
    if step > 1 and draw(st.booleans()):
        counts = [0, *sorted(draw(st.sets(st.integers(1, 30), min_size=1, max_size=4)))]
    noise, upper = [(0,)], [(key_range,)]
    for count in counts[1:]:
        values = draw(
            st.lists(st.integers(-count * step, 6), min_size=2, max_size=5, unique=True)
        )
        ends = draw(
            st.sets(
                st.integers(1, key_range - 1),
                min_size=min(len(values), key_range) - 1,
                max_size=len(values) - 1,
            )
        )
        noise.append(tuple(values[: len(ends) + 1]))
        upper.append((*sorted(ends), key_range))
    if step > 1:
        noise[-1] = (1, *(v for v in noise[-1][1:] if v != 1))
        upper[-1] = upper[-1][-len(noise[-1]) :]
    return PTable(
        noise=noise,
        upper=upper,
        key_range=key_range,
        step=step,
        anchors=counts if step > 1 else None,
        large_counts="last",
    )


def written(table, dialect, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pt.txt"
        losses = write_tables(table, path, dialect=dialect, **options)
        return path.read_bytes(), losses


def read(content, dialect=None, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pt.txt"
        path.write_bytes(content)
        return read_tables(path, dialect=dialect, **options)


def law(table):
    """Give the noise of every row with its ends, as exact fractions."""
    return [
        [
            (Fraction(v, table.step), Fraction(end, table.key_range))
            for v, end in zip(*row, strict=True)
        ]
        for row in zip(table.noise, table.upper, strict=True)
    ]


def widths(row):
    """Give the share of keys per noise, in key order."""
    starts = [Fraction(0), *(end for _, end in row)]
    return {v: end - start for (v, end), start in zip(row, starts, strict=False)}


def is_lossless(losses):
    return not [x for x in losses if "rounded" in x or "large counts" in x]


@given(tables(), st.sampled_from(LISTS))
def test_lists_of_intervals_keep_noise_or_say_that_they_do_not(table, dialect):
    content, losses = written(table, dialect)
    (again,) = read(content, dialect, anchors=table.anchors is not None).values()
    assert again.counts.tolist() == table.counts.tolist()
    assert (law(again) == law(table)) == is_lossless(losses)
    if dialect == "frame":
        assert is_lossless(losses)
        assert again.key_range == table.key_range
    if dialect == "r-ptable" and table.key_range in EXACT_RANGES:
        assert is_lossless(losses)
        if again.step == table.step:
            exact = read(content, key_range=table.key_range, anchors=table.anchors is not None)
            assert exact == {"all": table}


@given(tables(key_ranges=EXACT_RANGES, steps=(1,)))
def test_overlays_keep_ordered_noise(table):
    in_order = PTable(
        noise=[sorted(row) for row in table.noise], upper=table.upper, key_range=table.key_range
    )
    content, losses = written(in_order, "destatis")
    assert is_lossless(losses)
    assert law(read(content)["all"]) == law(in_order)
    if in_order != table:
        with pytest.raises(PTableError, match="another order"):
            written(table, "destatis")


@pytest.mark.slow
@settings(max_examples=examples(15))
@given(tables(key_ranges=(256, 2, 64), steps=(1,)), st.sampled_from(BYTES))
def test_tables_of_bytes_keep_the_noise_of_every_count(table, dialect):
    content, losses = written(table, dialect)
    assert is_lossless(losses)
    (again,) = read(content).values()
    rows, others = law(table), law(again)
    for count in [*range(12), 29, 30, 31, 40, 749, 750, 751, 1000, 1001]:
        ours = rows[min(count, table.n_rows - 1)]
        place = count
        if count >= again.n_rows and again.large_counts != "last":
            cycle = int(again.large_counts.partition(":")[2])
            place = (count - again.n_rows) % cycle + again.n_rows - cycle
        assert others[min(place, again.n_rows - 1)] == ours, count


@pytest.mark.slow
@given(tables(steps=(1, 2)), st.integers(1, 12), st.sampled_from(["r-ptable", "sas"]))
def test_rounding_moves_no_threshold_by_more_than_half_a_digit(table, digits, dialect):
    content, losses = written(table, dialect, digits=digits)
    (again,) = read(content, anchors=table.anchors is not None).values()
    assert (law(again) == law(table)) == is_lossless(losses)
    half = Fraction(1, 2 * 10**digits)
    for row, other in zip(law(table), law(again), strict=True):
        ends = {Fraction(0), *(end for _, end in other)}
        for _, end in row:
            assert min(abs(end - x) for x in ends) <= half


# --- damage ------------------------------------------------------------------------------

HEADERS = ("i,j,p,v,lb,ub,type", "i;v;p_int_ub", "pcv,ckey,pvalue", "i,-1,0,1", "V1,V2")
CELLS = ("", "nan", "-1", "1e999", "x", "0,5", "1.0", "2", "0.5", "1e-400", '"', "inf", "--1")
DAMAGE = st.one_of(
    st.tuples(st.just("byte"), st.integers(0, 10**6), st.integers(0, 255)),
    st.tuples(st.just("drop"), st.integers(0, 10**6), st.integers(1, 9)),
    st.tuples(st.just("cell"), st.integers(0, 10**6), st.sampled_from(CELLS)),
    st.tuples(
        st.just("line"), st.integers(0, 10**6), st.sampled_from(["drop", "twice", "swap"])
    ),
    st.tuples(st.just("cut"), st.integers(0, 10**6), st.just(0)),
)


def damage(content, kind, place, what):
    if kind == "byte":
        at = place % len(content)
        return content[:at] + bytes([what]) + content[at + 1 :]
    if kind == "drop":
        at = place % len(content)
        return content[:at] + content[at + what :]
    if kind == "cut":
        return content[: place % len(content)]
    separator = b";" if b";" in content else b","
    lines = content.split(b"\n")[:-1]
    at = place % len(lines)
    if kind == "line":
        if what == "drop":
            del lines[at]
        elif what == "twice":
            lines.insert(at, lines[at])
        else:
            lines[at], lines[at - 1] = lines[at - 1], lines[at]
    else:
        cells = lines[at].split(separator)
        cells[place // len(lines) % len(cells)] = what.encode()
        lines[at] = separator.join(cells)
    return b"\n".join(lines) + b"\n"


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(
    tables(key_ranges=(10**8, 256, 2**32), steps=(1, 2)),
    st.sampled_from(("r-ptable", "sas", "tau-argus")),
    DAMAGE,
)
@example(
    PTable(noise=[[0], [-1, 1]], upper=[[10], [5, 10]], key_range=10), "sas", ("cut", 0, 0)
)
def test_a_damaged_list_with_checks_is_refused_or_the_same(table, dialect, how):
    """Counts, noise, probabilities and thresholds check each other."""
    content, _ = written(table, dialect)
    has_anchors = table.anchors is not None
    before = law(read(content, dialect, anchors=has_anchors)["all"])
    try:
        found = read(damage(content, *how), anchors=has_anchors)
    except PTableError:
        return
    (after,) = (law(t) for t in found.values())
    if how[0] in {"cut", "line", "drop"} and len(after) < len(before):
        # a file may end early, or lose a whole count: what is there must be unharmed
        assert all(row in before for row in after)
        return
    assert len(after) == len(before)
    for row, other in zip(before, after, strict=True):
        # 8 digits are printed: what is narrower may go, what is wider may not
        ours, theirs = widths(row), widths(other)
        assert sum(abs(ours.get(v, 0) - theirs.get(v, 0)) for v in {*ours, *theirs}) <= 1e-7
        assert [v for v in ours if ours[v] > 1e-7] == [v for v in theirs if theirs[v] > 1e-7]


@pytest.mark.slow
@settings(max_examples=examples(400))
@given(
    tables(key_ranges=(256,), steps=(1,)),
    st.sampled_from(("cantabular", "destatis", "frame", "superstar")),
    DAMAGE,
)
def test_a_damaged_file_of_any_layout_is_refused_or_a_table(table, dialect, how):
    ordered = PTable(
        noise=[sorted(row) for row in table.noise], upper=table.upper, key_range=256
    )
    content, _ = written(ordered, dialect)
    try:
        found = read(damage(content, *how))
    except PTableError:
        return
    assert all(isinstance(t, PTable) for t in found.values())


@settings(max_examples=examples(400))
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_a_table(content):
    try:
        found = read(content)
    except PTableError:
        return
    assert all(isinstance(t, PTable) for t in found.values())


@settings(max_examples=examples(400))
@given(
    st.sampled_from(
        ["i,j,p,v,lb,ub,type", "i;v;p_int_ub", "pcv,ckey,pvalue", "i,-1,0,1", "V1,V2"]
    ),
    st.text(alphabet='0123456789.,;-+eE\n"i ', max_size=120),
)
def test_any_numbers_below_a_header_are_refused_or_a_table(header, body):
    content = f"{header}\n{body}".encode()
    try:
        found = read(content)
    except PTableError:
        return
    assert all(isinstance(t, PTable) for t in found.values())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pt.txt"
        path.write_bytes(content)
        assert detect(path)
