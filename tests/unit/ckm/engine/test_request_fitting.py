"""Requests of cells, built from those of tables for one source of records."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ckm.engine.magnitudes import Dominance, MagnitudeNoise
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.engine.request import TableRequest
from ckm.engine.request_fitting import RequestFitter, nested_columns
from ckm.errors import ConfigError
from tables import CodeTree, DerivedVariable, Hierarchy, RequestError, StoredKeys, open_source
from tables.recoding.derive import derive_variables

TREE = CodeTree({"a1": "a", "a2": "a", "a": None})
PEOPLE = pa.table(
    {
        "key": pa.array(range(4), pa.uint8()),
        "sex": ["F", "M", "F", "M"],
        "region": ["N", "N", "S", "S"],
        "town": ["n1", "n2", "s1", "s2"],
        "zone": ["a1", "a2", "a1", "a2"],
        "income": [10.0, 20.0, 30.0, 40.0],
        "tax": [1.0, 2.0, 3.0, 4.0],
        "w": [1.5] * 4,
    }
)


@pytest.fixture(scope="module")
def source():
    with open_source(PEOPLE) as opened:
        yield opened


@pytest.fixture
def fitter(source):
    def make(noises=None, **options):
        given = {
            "noises": VariableNoises(noises),
            "weight": None,
            "hierarchies": {},
            "categories": {},
            "labels": ("Total", "(missing)"),
        }
        return RequestFitter(source, StoredKeys(column="key"), **(given | options))

    return make


def wish(*dimensions, **options):
    return TableRequest(dimensions=dimensions or ["sex"], **options)


def built(fitter, request):
    (one,) = fitter.fit({"t": request}).values()
    return one


def test_a_request_of_counts_alone_asks_for_no_weight_sum_or_order(fitter):
    made = built(fitter(weight="w"), wish("sex", "region", margins=[["sex"]], where="tax > 1"))
    assert made.dimensions == ("sex", "region")
    assert made.margins == (("sex",),)
    assert set(made.where.columns) == {"tax"}
    assert (made.weight, made.sums, made.top, made.ordered) == (None, (), 0, ())
    assert made.missing_values == "stop"
    assert (made.total_label, made.missing_label) == ("Total", "(missing)")


def test_labels_and_what_is_done_with_missing_values_reach_the_cells(fitter):
    made = built(
        fitter(labels=("Ensemble", "?")), wish(measures=["sum:tax"], missing_values="skip")
    )
    assert (made.total_label, made.missing_label) == ("Ensemble", "?")
    assert made.missing_values == "skip"


@pytest.mark.parametrize("measure", ["weighted", "sum:income", "mean:income"])
def test_weights_are_read_for_weighted_counts_sums_and_means(fitter, measure):
    assert built(fitter(weight="w"), wish(measures=[measure])).weight == "w"
    if measure != "weighted":
        assert built(fitter(), wish(measures=[measure])).weight is None


def test_sums_find_as_many_of_the_largest_contributors_as_noise_or_reports_look_at(fitter):
    asked = wish(measures=["sum:income", "mean:tax"])
    four = MagnitudeNoise.start(sensitive=(Dominance(n=4, percent=90),))
    assert built(fitter(), asked).top == 2
    assert built(fitter(MagnitudeNoise.start(sensitive=())), asked).top == 2
    assert built(fitter({"tax": four}), asked).top == 4
    assert built(fitter(), asked).sums == ("income", "tax")


def test_no_noise_of_sums_asks_for_the_two_largest(source):
    fitter = RequestFitter(
        source,
        StoredKeys(column="key"),
        noises=None,
        weight=None,
        hierarchies={},
        categories={},
        labels=("Total", "(missing)"),
    )
    assert built(fitter, wish(measures=["sum:income"])).top == 2


def test_columns_of_quantiles_are_put_in_order_once(fitter):
    measures = ["median:income", "quantile:income:0.9", "median:tax", "count"]
    made = built(fitter(), wish(measures=measures))
    assert made.ordered == ("income", "tax")
    assert (made.sums, made.top, made.weight) == ((), 0, None)


def test_hierarchies_and_their_columns_are_no_continuous_dimensions(fitter):
    made = fitter(hierarchies={"place": ["region", "town"]})
    one = built(made, wish("place"))
    assert one.hierarchies["place"] == Hierarchy(columns=("region", "town"))
    assert tuple(one.discrete) == ("region", "town")
    made.allow_continuous(["tax"])
    made.allow_continuous(["income"])
    assert tuple(built(made, wish("place")).discrete) == ("region", "town", "tax", "income")


def test_amounts_below_their_bands_are_not_taken_for_codes(fitter):
    made = fitter(hierarchies={"amount": ["region", "income"]})
    assert tuple(built(made, wish("amount")).discrete) == ("region",)


def test_columns_of_trees_and_of_several_levels_are_nested_and_one_alone_is_not():
    nested = [
        Hierarchy(columns=("region", "town")),
        Hierarchy(columns=("sex",)),
        Hierarchy(columns=("zone",), tree=TREE),
    ]
    assert list(nested_columns(nested)) == ["region", "town", "zone"]


def test_declared_categories_are_those_of_a_list_or_of_the_columns_of_a_hierarchy(
    fitter, tmp_path
):
    (tmp_path / "sex.csv").write_text("sex\nF\nM\nX\n")
    (tmp_path / "place.csv").write_text("region,town\nN,n1\nN,n2\nS,s1\nS,s2\nS,s3\n")
    made = fitter(
        hierarchies={"place": ["region", "town"]},
        categories={
            "sex": tmp_path / "sex.csv",
            "place": tmp_path / "place.csv",
            "zone": ["a1", "a2"],
        },
    )
    one = built(made, wish("place", "sex"))
    assert list(one.categories["sex"]) == ["F", "M", "X"]
    assert [tuple(row) for row in one.categories["place"]][-1] == ("S", "s3")
    assert list(built(made, wish("zone")).categories["zone"]) == ["a1", "a2"]


def test_a_hierarchy_can_be_given_as_one(fitter):
    zone = Hierarchy(columns=("zone",), tree=TREE)
    one = built(fitter(hierarchies={"zone": zone}), wish("zone"))
    assert one.hierarchies["zone"] is zone
    assert tuple(one.discrete) == ("zone",)


# --- what is refused ----------------------------------------------------------------------


def test_weighted_counts_need_a_weight_and_quantiles_none(fitter):
    with pytest.raises(ConfigError, match="'weighted' needs a weight"):
        built(fitter(), wish(measures=["weighted"]))
    with pytest.raises(ConfigError, match="'median:tax' would be one of records"):
        built(fitter(weight="w"), wish(measures=["count", "median:tax"]))


@pytest.mark.parametrize(
    "request_",
    [
        wish("key"),
        wish("sex", "key"),
        wish(where="key > 3"),
        wish(measures=["sum:key"]),
        wish(measures=["median:key"]),
    ],
    ids=["dimension", "second", "filter", "sum", "quantile"],
)
def test_the_column_of_keys_is_no_dimension_filter_or_variable(fitter, request_):
    with pytest.raises(RequestError, match="'key' tells persons apart"):
        built(fitter(), request_)


def test_a_variable_that_is_derived_from_the_column_of_keys_tells_persons_apart_too():
    band = DerivedVariable(name="band", of="key", bands=(0, 2, 4))
    with open_source(PEOPLE) as source:
        derive_variables(source, [band])
        fitter = RequestFitter(
            source,
            StoredKeys(column="key"),
            noises=None,
            weight=None,
            hierarchies={},
            categories={},
            labels=("Total", "(missing)"),
        )
        with pytest.raises(RequestError, match="'key' tells persons apart"):
            built(fitter, wish("band"))


def test_a_dimension_has_no_sum_in_its_own_table(fitter):
    told = "'tax' is a dimension of the table"
    with pytest.raises(RequestError, match=told):
        built(fitter(), wish("sex", "tax", measures=["sum:income", "mean:tax"]))
    nested = {"place": ["region", "tax"]}
    with pytest.raises(RequestError, match=told):
        built(fitter(hierarchies=nested), wish("place", measures=["sum:tax"]))


@pytest.mark.parametrize(
    ("measure", "problem"),
    [("sum:incme", "did you mean 'income'"), ("mean:sex", "'sex' holds texts")],
)
def test_a_variable_that_has_no_sum_is_refused_by_name(fitter, measure, problem):
    with pytest.raises(RequestError, match=problem):
        built(fitter(), wish("region", measures=[measure]))


def test_one_problem_keeps_its_kind_and_hint_and_names_its_table(fitter):
    asked = {"fine": wish(), "odd": wish(measures=["weighted"])}
    with pytest.raises(ConfigError, match=r"^table 'odd': The measure 'weighted'") as caught:
        fitter().fit(asked)
    assert caught.value.hint == 'name its column: weight = "w"'
    with pytest.raises(ConfigError, match=r"^The measure 'weighted'"):
        fitter().fit({"": wish(measures=["weighted"])})
    assert fitter().fit({}) == {}


def test_several_problems_are_shown_together(fitter):
    asked = {"one": wish("sx"), "two": wish(measures=["weighted"]), "fine": wish()}
    with pytest.raises(RequestError, match="2 tables have problems") as caught:
        fitter().fit(asked)
    text = str(caught.value)
    assert "\n  - table 'one': Column 'sx'" in text
    assert "\n  - table 'two': The measure 'weighted'" in text
    assert "\n    hint: name its column" in text, "hints are indented below their problem"
    assert "fine" not in text
