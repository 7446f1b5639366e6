"""Swapping of real records: the American Community Survey, a household to each record."""

import pandas as pd
import pytest

from tables import open_source
from tables.swapping import swap_records

GEOGRAPHY = ["STATE", "PUMA"]
RISK = ["SEX", "RAC1P", "MSP"]


@pytest.fixture(scope="module")
def survey(shared):
    """Read the survey, with a number for each record and the state of its area."""
    frame = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    return frame.assign(STATE=frame["PUMA"].str[:2], NUMBER=range(len(frame)))


@pytest.fixture(scope="module")
def swapped(survey, tmp_path_factory):
    """Swap the records of the survey."""
    file = tmp_path_factory.mktemp("swapped") / "acs.parquet"
    with open_source(survey) as source:
        report = swap_records(
            source,
            household="NUMBER",
            geography=GEOGRAPHY,
            risk=RISK,
            similar=[["HOUSING_TYPE", "OWN_RENT"], ["HOUSING_TYPE"], []],
            k=5,
            rate=0.1,
            seed=2019,
            path=file,
        )
    return pd.read_parquet(file).sort_values("NUMBER").reset_index(drop=True), report


def test_tables_without_geography_and_sizes_of_areas_are_kept(survey, swapped):
    after, report = swapped
    rest = [column for column in survey if column not in GEOGRAPHY]
    pd.testing.assert_frame_equal(after[rest], survey[rest])
    for column in GEOGRAPHY:
        assert after[column].value_counts().to_dict() == survey[column].value_counts().to_dict()
    assert report.records == len(survey)
    assert 0.099 < report.share < 0.2


def test_rare_records_move_or_are_reported(survey, swapped):
    after, report = swapped
    is_left = pd.Series(data=True, index=survey.index)
    for level, column in enumerate(GEOGRAPHY):
        sizes = survey.groupby([column, *RISK], dropna=False)["NUMBER"].transform("size")
        rare = (sizes < 5) & is_left
        is_left &= ~rare
        assert report.needed[level] == rare.sum() > 50
        moved = int((survey[column] != after[column])[rare].sum())
        assert report.moved_as_needed[level] == moved
        assert moved + report.moved_less_far[level] + report.not_moved[level] == rare.sum()
    assert sum(report.not_moved) == 0


def test_states_of_one_area_are_served_from_other_states(survey, swapped):
    after, _ = swapped
    areas = survey.groupby("STATE")["PUMA"].nunique()
    is_alone = survey["STATE"].isin(areas.index[areas == 1])
    rare = survey.groupby(["PUMA", *RISK], dropna=False)["NUMBER"].transform("size") < 5
    assert (is_alone & rare).sum() > 100
    assert (survey["STATE"] != after["STATE"])[is_alone & rare].all()
    others = ~is_alone & ~rare
    assert (survey["STATE"] == after["STATE"])[others].mean() > 0.95
