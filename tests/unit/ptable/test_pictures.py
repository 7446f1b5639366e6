import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptable import Mechanism, NoiseSpec, PTable, solve
from ptable.pictures import distributions, heatmap, perturbation
from tests.drawings import SVG, cells, hold_apart, hold_in_card, texts
from tests.strategies import examples

VIEWS = (heatmap, distributions, perturbation)
HOSTILE = "<script>alert('x')</script> \"&amp;\" \0\x1b\ud800\uffff\u202e ]]> " + "W" * 300


@cache
def _solved(**options):
    return solve(NoiseSpec(**options))


def _rounding():
    rows = [
        {0: 5} if i % 5 == 0 else {-(i % 5): 5 - i % 5, 5 - i % 5: i % 5} for i in range(11)
    ]
    return PTable.from_units(rows, key_range=5, large_counts="cycle:5", label="rounding")


@cache
def _keys(n_rows=750, n_keys=64):
    chance = np.random.default_rng(1)
    count = np.repeat(np.arange(1, n_rows + 1), n_keys)
    noise = np.round(chance.normal(0, 1.6, len(count))).astype(int)
    noise = np.clip(noise, -np.minimum(count, 5), 5)
    lines = {"pcv": count, "ckey": np.tile(np.arange(n_keys), n_rows), "pvalue": noise}
    return PTable.from_key_table(pd.DataFrame(lines), large_counts="cycle:250")


def _magnitude():
    rows = [{0: 40}, {-2: 10, -1: 10, 0: 8, 1: 6, 4: 6}, {-7: 10, -1: 10, 0: 10, 3: 10}]
    return PTable.from_units(rows, key_range=40, step=4, anchors=[0, 1, 500])


@cache
def _many_rows():
    return PTable.from_units([{0: 8}] * 3000, key_range=8)


TABLES = {
    "D=1": lambda: _solved(max_noise=1, variance=0.5),
    "D=2": lambda: _solved(max_noise=2, variance=1.0),
    "D=5, small=2": lambda: _solved(max_noise=5, variance=3.0, small=2),
    "D=50": lambda: _solved(max_noise=50, variance=45.0),
    "D=300": lambda: Mechanism.discrete_laplace(0.02, max_noise=300).build(),
    "rounding": _rounding,
    "750 rows of 64 keys": _keys,
    "rows of 16384 keys": lambda: _shuffled(16384),
    "magnitudes": _magnitude,
    "halves": lambda: PTable.from_units([{0: 4}, {-1: 2, 1: 2}], key_range=4, step=2),
    "single row": lambda: PTable.from_units([{0: 8}], key_range=8, label=HOSTILE),
    "noise on zeros": lambda: PTable.from_units([{0: 7, 3: 1}, {-1: 3, 1: 5}], key_range=8),
    "huge noise": lambda: PTable.from_units([{0: 8}, {-1: 7, 10**6: 1}], key_range=8),
    "wide anchors": lambda: PTable.from_units(
        [{0: 8}, {-(10**9): 4, 10**9: 4}], key_range=8, anchors=[0, 10**12]
    ),
    "many rows": _many_rows,
}


@cache
def _shuffled(n_keys):
    noise = np.random.default_rng(2).integers(-3, 4, n_keys).tolist()
    uppers = tuple(range(1, n_keys + 1))
    rows = ((0,) * n_keys, (0,) * n_keys, (0,) * n_keys, tuple(noise))
    return PTable(noise=rows, upper=(uppers,) * 4, key_range=n_keys)


@cache
def _table(name):
    return TABLES[name]()


@cache
def _drawn(name, view):
    return view(_table(name))


@pytest.fixture(params=TABLES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def small():
    return _solved(max_noise=5, variance=3.0, small=2)


# --- what every picture keeps ----------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_is_small_complete_and_says_what_it_shows(name, view):
    picture = _drawn(name, view)
    assert len(picture.svg.encode()) < 300_000
    assert len(picture.table.encode()) < 400_000
    root = ET.fromstring(picture.svg)  # noqa: S314
    allowed = {"svg", "title", "desc", "defs", "pattern", "rect", "path", "text"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= allowed
    assert root.get("role") == "img"
    ids = {element.get("id"): element for element in root.iter() if element.get("id")}
    labels = [ids[name].text for name in root.get("aria-labelledby").split()]
    assert labels[0]
    assert labels[1] == picture.description
    links = re.findall(r"url\(#([^)]*)\)", picture.svg)
    assert set(links) <= set(ids)
    assert not re.search(r"href|style=|https?://(?!www\.w3\.org/2000/svg)", picture.svg)
    assert len(cells(picture.table)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_no_text_and_no_shape_leaves_the_card(name, view):
    hold_in_card(_drawn(name, view).svg)


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_no_text_covers_another(name, view):
    hold_apart(_drawn(name, view).svg)


@pytest.mark.parametrize("view", VIEWS)
def test_the_same_table_gives_the_same_bytes(small, view):
    again = PTable(noise=small.noise, upper=small.upper, certificate=small.certificate)
    assert view(small) == view(again)
    other = view(replace(small, label="Another")).svg
    prefix = re.compile(r'<title id="(p[0-9a-f]{10})-t">')
    assert prefix.search(other)[1] != prefix.search(view(small).svg)[1]


@pytest.mark.parametrize("view", VIEWS)
def test_no_picture_holds_the_identity_of_the_table(small, view):
    html = view(small)._repr_html_()
    assert not any(small.id[at : at + 8] in html for at in range(57))


@pytest.mark.parametrize("view", VIEWS)
def test_a_hostile_label_is_only_text(view):
    picture = view(PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8, label=HOSTILE))
    root = ET.fromstring(picture.svg)  # noqa: S314
    assert "<script>alert('x')</script>" in root.find(SVG + "title").text
    assert "<script" not in picture._repr_html_()
    assert not re.search(r"[\0\x1b\ud800\uffff\u202e]", picture._repr_html_())
    assert any(text.endswith("…") for text in texts(picture.svg))


_ROWS = st.lists(
    st.dictionaries(st.integers(-6, 9), st.integers(1, 9), min_size=1), min_size=1, max_size=6
)


@settings(max_examples=examples(40))
@given(_ROWS, st.sampled_from([1, 2, 3]), st.booleans(), st.data())
def test_any_table_can_be_drawn(rows, step, cycles, data):
    rows = [
        {max(v, -count * step): n for v, n in row.items()} for count, row in enumerate(rows)
    ]
    total = max(2, *(sum(row.values()) for row in rows))
    for row in rows:
        row[0] = row.get(0, 0) + total - sum(row.values())
    length = data.draw(st.integers(2, len(rows))) if cycles and len(rows) > 1 else 0
    rule = f"cycle:{length}" if length else "last"
    table = PTable.from_units(rows, key_range=total, step=step, large_counts=rule)
    for view in VIEWS:
        ET.fromstring(view(table).svg)  # noqa: S314


# --- files and notebooks ---------------------------------------------------------------


def test_notebooks_show_a_table_with_its_picture_and_data(name):
    html = _table(name)._repr_html_()
    assert "<caption>p-table</caption>" in html
    assert "<svg" in html
    assert "Probability in percent" in html
    assert len(html) < 300_000


@pytest.mark.slow
def test_every_reference_table_can_be_drawn(shared):
    paths = sorted((shared / "reference" / "ptable").glob("cnt_*.csv"))
    assert len(paths) > 20
    for path in paths:
        table = PTable.from_frame(pd.read_csv(path), digits=12, label=path.stem)
        for view in VIEWS:
            ET.fromstring(view(table).svg)  # noqa: S314
    modified = next(path for path in paths if "modified" in path.name)
    picture = perturbation(PTable.from_frame(pd.read_csv(modified)))
    assert "The keys of counts 1 to 8 are shuffled." in picture.description
