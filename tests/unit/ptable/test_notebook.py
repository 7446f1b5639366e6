"""What notebooks show of specifications, feasibility and certificates."""

import io
from dataclasses import replace

import pandas as pd
import pytest

from ptable import NoiseSpec, StackedSpec, feasible, solve

SPEC = NoiseSpec(max_noise=2, variance=2.5)


def shown(thing):
    (table,) = pd.read_html(
        io.StringIO(thing._repr_html_()), index_col=0, keep_default_na=False
    )
    return table


def test_specifications_show_each_option_of_each_part():
    larger = NoiseSpec(max_noise=5, variance=6.0, p_stay=0.25)
    stacked = StackedSpec(parts=((0, SPEC), (20, larger)))
    first, second = pd.read_html(
        io.StringIO(stacked._repr_html_()), index_col=0, keep_default_na=False
    )
    for spec, table in ((SPEC, first), (larger, second), (larger, shown(larger))):
        options = {name: str(getattr(spec, name)) for name in NoiseSpec.__dataclass_fields__}
        assert table[1].astype(str).to_dict() == options
    assert "From count 20 on" in stacked._repr_html_()


def test_feasibility_shows_what_rows_reach_and_what_to_do():
    found = feasible(SPEC)
    table = shown(found)
    assert table["to"].tolist() == [row.variance_max for row in found.rows]
    assert [text == "yes" for text in table["feasible"]] == [False, True]
    assert found.advice in found._repr_html_()


def test_a_certificate_shows_its_figures_and_no_markup_of_a_note():
    certificate = solve(NoiseSpec(max_noise=2, variance=1.0)).certificate
    first, *others = certificate.rows
    found = replace(certificate, rows=(replace(first, note="<b>"), *others))
    table = shown(found)
    for column, name in (("requested variance", "requested_variance"), ("gap", "gap")):
        figures = [getattr(row, name) for row in found.rows]
        assert table[column].tolist() == pytest.approx(figures, rel=1e-5)
    assert "<b>" not in found._repr_html_()
    assert f"count {first.count}: &lt;b&gt;" in found._repr_html_()
