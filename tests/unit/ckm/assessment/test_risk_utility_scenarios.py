"""Reports and comparisons put the same designs on the same map."""

import pyarrow as pa
import pytest

from ckm import Engine, Secret, TableRequest
from ckm.assessment.assessor import Assessor
from ckm.assessment.risk_utility_scenarios import map_scenarios
from ptable import NoiseSpec, solve
from ptable.design.mechanisms import Mechanism
from risk.risk_map.catalogue import FIGURES
from tests.unit.ckm.assessment.support import found_in, people

OWN = solve(NoiseSpec(max_noise=3, variance=1.5))
DESIGNS = {
    "r3": Mechanism.rounding(3),
    "ours": NoiseSpec(max_noise=3, variance=1.5),
    "none": {"max_noise": 1, "variance": 3.0},
}
RISKS = [name for name, figure in FIGURES.items() if figure.side == "risk"]
USES = [n for n, figure in FIGURES.items() if figure.side == "utility" and not figure.is_drawn]


def engine_of(records, **options):
    return Engine(records, id="id", secret=Secret(bytes(16)), ptable=OWN, **options)


def mapped(count_histogram, **options):
    options = {"own": OWN, "name": "release", "sensitive": [1, 2, 3, 4]} | options
    return map_scenarios(DESIGNS, count_histogram, **options)


@pytest.mark.slow
@pytest.mark.parametrize("empty_cells", ["drop", "grid"])
def test_a_report_and_a_comparison_have_the_same_figures(empty_cells):
    requests = {
        "one": TableRequest(dimensions=["area", "sex"], empty_cells=empty_cells),
        "two": TableRequest(dimensions=["area"], empty_cells="drop"),
        "three": TableRequest(dimensions=["area", "sex"], where="sex = 'sex0'"),
    }
    assessor = Assessor(OWN, is_mixed=True)
    with engine_of(people(120, area=60, sex=2)) as engine:
        for protected in engine.protect_tables(requests):
            assessor.add(protected)
        count_histogram = engine.count_histogram(requests)
    assert (count_histogram.together.unlisted > 0) == (empty_cells == "drop")
    reported = found_in(assessor, designs=DESIGNS)
    compared = mapped(count_histogram).facts()
    assert reported.scenarios == compared
    assert set(compared.refused) == {"none"}
    (chosen,) = (design for design in compared.designs if design.chosen)
    assert chosen.name == "ours"  # one line, not two with the same probabilities
    # What is said of the release itself rests on the same cells.
    (worst,) = (fact for fact in reported.risk.worst if not fact.table)
    assert chosen.figures["q_worst"] == pytest.approx(worst.probability, rel=1e-12)
    (aad,) = (
        f
        for f in reported.utility
        if (f.table, f.group, f.cells, f.name) == ("", "all", "all", "aad")
    )
    assert aad.base == count_histogram.distinct


def test_a_cell_that_a_table_leaves_out_tells_no_more_than_a_zero():
    """Most areas have nobody of one sex: who misses them must reckon with empty cells."""
    records = people(120, area=60, sex=2)
    found = {}
    with engine_of(records) as engine:
        for empty_cells in ("drop", "grid"):
            request = TableRequest(dimensions=["area", "sex"], empty_cells=empty_cells)
            count_histogram = engine.count_histogram({"t": request})
            for design in (
                *mapped(count_histogram).designs(),
                *mapped(count_histogram).designs("t"),
            ):
                found.setdefault(design.name, []).append(design.figures)
    for several in found.values():
        assert len(several) == 4
        for name in RISKS:
            assert len({figures[name] for figures in several}) == 1, name
    dropped, _, shown, _ = found["ours"]
    assert dropped["aad"] > shown["aad"]
    assert dropped["hellinger_raw"] == shown["hellinger_raw"]


def test_figures_without_a_formula_are_left_out_where_nothing_is_drawn():
    with engine_of(people(60, area=9)) as engine:
        count_histogram = engine.count_histogram({"t": TableRequest(dimensions=["area"])})
    plain, drawn = mapped(count_histogram), mapped(count_histogram, n_draws=1)
    assert "spearman" not in plain.facts().designs[0].figures
    assert drawn.facts().designs[0].figures["spearman"] is not None


def test_a_name_that_a_design_has_gets_an_asterisk():
    with engine_of(people(60, area=9)) as engine:
        count_histogram = engine.count_histogram({"t": TableRequest(dimensions=["area"])})
    own = solve(NoiseSpec(max_noise=4, variance=2.0))
    assert mapped(count_histogram, own=own, name="r3").chosen == "r3*"


def test_a_table_of_nobody_has_no_figures_of_use():
    records = pa.table({"id": [1], "area": ["a"], "sex": ["F"]})
    with engine_of(records, categories={"area": ["a"], "sex": ["F"]}) as engine:
        wanted = TableRequest(dimensions=["area"], where="sex = 'F'", empty_cells="drop")
        somebody = engine.count_histogram({"t": wanted})
        nobody = engine.count_histogram(
            {"t": TableRequest(dimensions=["area"], where="sex = 'M'")}
        )
    assert mapped(somebody).designs("t")[0].figures["aad"] is not None
    design = mapped(nobody).designs("t")[0]
    assert [design.figures[name] for name in RISKS[:5]] == [None] * 5
    assert design.figures["aad"] == 0
