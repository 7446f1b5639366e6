"""Whatever the register and the p-table: facts are numbers, and JSON gives them back."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm.assessment.facts import release_facts
from ckm.release.files.manifest import TableRecord
from ckm.release.pages.numbers import read_facts
from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from reports import make_report
from reports.facts.release import FileFact, ReproductionFacts
from tests.strategies import examples
from tests.unit.ckm.assessment.support import cells_of, found_in, job_of, observed

TABLES = (
    solve(NoiseSpec(max_noise=2, variance=1.0)),
    solve(NoiseSpec(max_noise=4, variance=2.0, small=2)),
    solve(NoiseSpec(max_noise=4, variance=2.0)).quantise(256),
    Mechanism.random_rounding(3).build(),
    Mechanism.rounding(5).build(),
    PTable.from_units([{0: 4}], key_range=4),
)
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)

registers = st.lists(
    st.tuples(st.sampled_from("abcde"), st.sampled_from("xyz")), min_size=1, max_size=60
)
REPRODUCTION = ReproductionFacts(
    command="ckm release job.toml -o out",
    job=FileFact(file="job.toml", bytes=1, sha256="00"),
    inputs=(),
    secret="",
    versions={},
    started="2027-03-15T00:00:00+00:00",
    finished="2027-03-15T00:00:01+00:00",
    seconds={"tables": 0.1},
)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(8))
@given(
    register=registers,
    ptable=st.sampled_from(TABLES),
    is_mixed=st.booleans(),
    empty_cells=st.sampled_from(["drop", "grid"]),
    measures=st.sampled_from([("count",), ("weighted",), ("count", "weighted")]),
    sensitive=st.integers(1, 12),
    title=NAMES,
)
def test_facts_hold_numbers_alone_and_json_gives_them_back(  # noqa: PLR0917
    register, ptable, is_mixed, empty_cells, measures, sensitive, title
):
    first, second = zip(*register, strict=True)
    records = pa.table(
        {
            "id": list(range(len(register))),
            "first": list(first),
            "second": list(second),
            "w": [0.5] * len(register),
        }
    )
    weight = "w" if "weighted" in measures else None
    tables = {
        "both": cells_of(records, ["first", "second"], weight=weight),
        "one": cells_of(records, ["first"], weight=weight, margins="none"),
    }
    assessor = observed(
        tables,
        ptable,
        is_mixed=is_mixed,
        empty_cells=empty_cells,
        measures=measures,
        sensitive=range(1, sensitive + 1),
    )
    found = found_in(assessor)
    assert [check.name for check in found.checks if check.outcome == "failed"] == []
    rows = [
        TableRecord(name=name, title=title, rows=1, columns=(), files=(), seconds=0.0)
        for name in tables
    ]
    facts = release_facts(
        found,
        assessor,
        job_of(tables),
        tables=rows,
        warnings=[title],
        reproduction=REPRODUCTION,
    )
    report = make_report(facts, edition="internal", language="en")
    text = report.to_json()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        path.write_bytes(text.encode())
        again = read_facts(path)
    assert replace(report, facts=again).to_json() == text
    assert again.public() == facts.public()
