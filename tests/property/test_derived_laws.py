"""Laws of derived variables: the same records have the same noise, however put together."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckm import DerivedVariable, Engine
from ckm.engine.request import TableRequest
from ptable import NoiseSpec, solve
from tables import Secret
from tests.strategies import examples

SECRET = Secret(bytes(16))
QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.fixture(scope="module")
def noise():
    return solve(NoiseSpec(max_noise=3, variance=2.0))


people = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(0, 30)), st.sampled_from(["a", "b", "c", None])),
    min_size=1,
    max_size=60,
)
cuts = st.lists(st.integers(1, 30), min_size=1, max_size=6, unique=True).map(sorted)


def as_table(rows):
    ages, codes = zip(*rows, strict=True)
    return pa.table(
        {
            "id": range(len(rows)),
            "age": pa.array(ages, pa.int64()),
            "code": pa.array(codes, pa.string()),
        }
    )


def variables(bounds):
    return [
        DerivedVariable(name="band", of="age", bands=[0, *bounds]),
        DerivedVariable(
            name="two", of="code", recode={"a": "x", "b": "x", "c": "y"}, absent="allow"
        ),
        DerivedVariable(name="again", of="band", recode=_halves(bounds), absent="allow"),
    ]


def _halves(bounds):
    labels = DerivedVariable(name="b", of="a", bands=[0, *bounds]).labels(is_whole=True)
    return {label: "low" if place == 0 else "high" for place, label in enumerate(labels)}


def numbers(table):
    columns = table.to_pandas()
    (name, *_) = table.dimensions
    return dict(zip(columns[name], columns["count"], strict=True))


def filters(bounds):
    """Give each band and each union as a filter over columns of the data."""
    ends = [0, *bounds, None]
    labels = list(_halves(bounds))
    for label, low, high in zip(labels, ends[:-1], ends[1:], strict=True):
        upper = "" if high is None else f" and age < {high}"
        yield "band", label, f"age >= {low}{upper}"
    yield "again", "low", f"age < {bounds[0]}"
    yield "again", "high", f"age >= {bounds[0]}"
    yield "two", "x", "code in ('a', 'b')"
    yield "two", "y", "code = 'c'"
    yield "two", "(missing)", "code is missing"


@pytest.mark.slow
@given(rows=people, bounds=cuts)
@settings(max_examples=examples(20), suppress_health_check=QUIET)
def test_a_band_or_union_has_the_noise_of_the_cell_with_its_records(noise, rows, bounds):
    made = variables(bounds)
    with Engine(as_table(rows), id="id", secret=SECRET, ptable=noise, variables=made) as engine:
        whole = {
            name: numbers(engine.tabulate([name], empty_cells="drop"))
            for name in ("band", "two", "again")
        }
        wanted = list(filters(bounds))
        asked = {
            str(n): TableRequest(dimensions=[], where=w) for n, (*_, w) in enumerate(wanted)
        }
        cells = engine.tabulate_all(asked)
        ready = engine.prepare(["band", "two", "again"])
        for number, (name, label, _) in enumerate(wanted):
            (published,) = cells[str(number)].measures["count"]
            assert whole[name].get(label, 0) == published, (name, label)
            conditions = (
                ready.conditions(f"{name} = '{label}'")
                if label != "(missing)"
                else (ready.conditions(f"{name} is missing"))
            )
            found = ready.cells(ready.scan({}, where=conditions), [], level_sets=[()])
            prepared = engine.protect(found)["count"].tolist() or [0]
            assert prepared == [published], (name, label)


@given(rows=people, bounds=cuts)
@settings(max_examples=examples(20), suppress_health_check=QUIET)
def test_bands_partition_the_values_and_come_in_order(noise, rows, bounds):
    with Engine(
        as_table(rows), id="id", secret=SECRET, ptable=noise, variables=variables(bounds)
    ) as engine:
        cells = engine.cells({"": TableRequest(dimensions=["band", "age"])}).to_pylist()
        table = engine.tabulate(["band"], empty_cells="grid")
    labels = list(_halves(bounds))
    held = [cell["band"] for cell in cells]
    assert len(set(labels)) == len(labels)
    shown = [label for label in table.dimensions["band"][1] if label in labels]
    assert shown == sorted(shown, key=labels.index)
    assert set(shown) <= set(held)  # of bands without records, and of published zeros, no word
    for cell in cells:
        if cell["age"] is None:
            assert cell["band"] is None
        else:
            place = sum(bound <= cell["age"] for bound in bounds)
            assert cell["band"] == labels[place]
    assert sum(cell["count"] for cell in cells) == len(rows)


@given(
    values=st.lists(st.integers(-50, 50), min_size=1, max_size=40),
    width=st.sampled_from([Decimal("0.1"), Decimal("0.25"), Decimal("0.3"), Decimal(3)]),
)
@settings(max_examples=examples(20), suppress_health_check=QUIET)
def test_decimals_and_floats_fall_into_the_same_bands(noise, values, width):
    exact = [Decimal(v).scaleb(-1) for v in values]
    found = []
    for column in (pa.array(exact, pa.decimal128(9, 1)), pa.array(list(map(float, exact)))):
        records = pa.table({"id": range(len(values)), "x": column})
        made = {"band": {"of": "x", "width": width}}
        with Engine(records, id="id", secret=SECRET, ptable=noise, variables=made) as engine:
            found.append(engine.cells({"": TableRequest(dimensions=["band"])}).to_pylist())
    assert found[0] == found[1]


@given(rows=people, bounds=cuts)
@settings(max_examples=examples(3), suppress_health_check=QUIET)
def test_spark_makes_the_same_variables(master, noise, rows, bounds):
    request = {
        name: TableRequest(dimensions=["band", name], where=where)
        for name, where in (("two", None), ("again", "two = 'x'"))
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        pq.write_table(as_table(rows), path)
        found = []
        for engine in ("duckdb", "spark"):
            with Engine(
                str(path),
                id="id",
                secret=SECRET,
                ptable=noise,
                variables=variables(bounds),
                engine=engine,
                master=master if engine == "spark" else None,
            ) as opened:
                tables = opened.tabulate_all(request)
                found.append([t.to_pandas().to_csv() for t in tables.values()])
    assert found[0] == found[1]
