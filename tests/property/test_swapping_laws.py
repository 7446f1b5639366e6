"""Laws of target record swapping."""

import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import DataError, open_source
from tables.swapping import swap_records
from tests.strategies import examples

homes = st.lists(
    st.tuples(
        st.integers(0, 2),  # region
        st.integers(0, 2),  # town
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3),  # what members are
    ),
    min_size=2,
    max_size=40,
)


@settings(max_examples=examples(20))
@given(homes, st.integers(0, 4), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 9))
def test_swapping_keeps_sizes_and_leaves_nobody_who_could_move(register, k, rate, seed):
    before = pd.DataFrame(
        [
            {"home": n, "region": r, "town": f"{r}.{t}", "kind": kind}
            for n, (r, t, kinds) in enumerate(register)
            for kind in kinds
        ]
    )
    with tempfile.TemporaryDirectory() as folder, open_source(before) as source:

        def swap():
            return swap_records(
                source,
                household="home",
                geography=["region", "town"],
                risk=["kind"],
                k=k,
                rate=rate,
                seed=seed,
                path=Path(folder) / "s.parquet",
            )

        if len(set(before["town"])) == 1:
            with pytest.raises(DataError, match="in one area"):
                swap()
            return
        report = swap()
        after = pd.read_parquet(Path(folder) / "s.parquet")
    was, now = (
        f.groupby("home").agg(town=("town", "first"), size=("kind", "size"))
        for f in (before, after)
    )
    assert Counter(map(tuple, was.to_numpy())) == Counter(map(tuple, now.to_numpy()))
    assert Counter(map(tuple, after[["home", "kind"]].to_numpy())) == Counter(
        map(tuple, before[["home", "kind"]].to_numpy())
    )
    moved = was["town"] != now["town"]
    assert report.moved_households == moved.sum()
    sizes = before.groupby(["town", "kind"])["home"].transform("size")
    is_risky = sizes.groupby(before["home"]).min() < k
    assert sum(report.not_moved) == (is_risky & ~moved).sum()
    stays = was[~moved]
    for home in stays.index:
        if is_risky[home] or rate == 1:
            others = stays[stays["size"] == was["size"][home]]
            assert (others["town"] == was["town"][home]).all()
