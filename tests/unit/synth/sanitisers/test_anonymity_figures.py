"""The tables of the survey on which k-anonymity and its relatives are checked."""

import numpy as np
import pandas as pd
import pytest

from risk.anonymity.audit import audit_anonymity
from risk.anonymity.diversity import ordered_distances

PROBLEMS = [
    "short of breath", "chest pain", "painful eye", "wheezing", "obesity", "chest pain",
    "short of breath", "hypertension", "obesity", "fever", "vomiting", "back pain",
]  # fmt: skip
GT1 = pd.DataFrame(
    [
        *[("black", 1965, "male", "02141")] * 2,
        *[("person", 1965, "female", "0213*")] * 2,
        *[("black", 1964, "female", "02138")] * 2,
        ("white", 1964, "male", "0213*"),
        ("person", 1965, "female", "0213*"),
        *[("white", 1964, "male", "0213*")] * 2,
        *[("white", 1967, "male", "02138")] * 2,
    ],
    columns=["race", "born", "sex", "zip"],
).assign(problem=PROBLEMS)
GT3 = pd.DataFrame(
    [
        *[("black", "1965", "male", "02141")] * 2,
        *[("black", "1965", "female", "02138")] * 2,
        *[("black", "1964", "female", "02138")] * 2,
        ("white", "1960-69", "male", "02139"),
        ("white", "1960-69", "human", "02139"),
        *[("white", "1960-69", "human", "02139")] * 2,
        *[("white", "1960-69", "male", "02138")] * 2,
    ],
    columns=["race", "born", "sex", "zip"],
).assign(problem=PROBLEMS)
QUASI = ["race", "born", "sex", "zip"]


def test_the_first_release_is_2_anonymous_and_the_other_has_a_record_alone():
    assert audit_anonymity(GT1, quasi_identifiers=QUASI).k == 2
    assert audit_anonymity(GT3, quasi_identifiers=QUASI).k == 1


def test_two_releases_of_the_same_people_complete_each_other():
    women = GT3[(GT3["born"] == "1965") & (GT3["sex"] == "female")]
    assert (women.index + 1).tolist() == [3, 4]
    assert len(women.drop_duplicates(QUASI)) == 1
    vague = GT1.loc[women.index]
    assert set(vague["race"]) == {"person"}
    both = GT1.merge(GT3, on="problem", suffixes=("", "_other"))
    match = both[
        (both["zip"] == "0213*") & (both["race"] == "person") & (both["born_other"] == "1965")
    ]
    assert set(match["race_other"]) == {"black"}
    assert set(match["zip_other"]) == {"02138"}


def test_the_figure_is_4_anonymous_and_3_diverse():
    groups = {
        ("1305*", "<=40"): {1: "heart", 4: "virus", 9: "cancer", 10: "cancer"},
        ("1485*", ">40"): {5: "cancer", 6: "heart", 7: "virus", 8: "virus"},
        ("1306*", "<=40"): {2: "heart", 3: "virus", 11: "cancer", 12: "cancer"},
    }
    frame = pd.DataFrame(
        [
            (who, *key, "*", ill)
            for key, people in groups.items()
            for who, ill in people.items()
        ],
        columns=["id", "zip", "age", "nationality", "condition"],
    ).sort_values("id")
    found = audit_anonymity(
        frame, quasi_identifiers=["zip", "age", "nationality"], sensitive="condition"
    )
    assert found.k == 4
    assert found.diversity.l_distinct == 3


def test_two_moves_take_one_distribution_to_the_other():
    """1, 1, 4, 2 to 2, 1, 3, 2: two unit moves of eight balls."""
    one, other = np.array([1, 1, 4, 2]), np.array([2, 1, 3, 2])
    assert np.abs(np.cumsum(other - one)).sum() == 2
    distance = ordered_distances(
        np.zeros(4, dtype=np.int64), np.arange(4), counts=one, whole=other / 8
    )
    assert distance[0] == pytest.approx(2 / 8 / 3)


def test_diversity_of_a_rare_condition_forces_a_high_share_in_its_groups():
    """Two conditions in a group of four: one in four has the one that one in a hundred has."""
    frame = {"group": [1] * 4, "ill": ["no", "no", "no", "yes"]}
    found = audit_anonymity(frame, quasi_identifiers=["group"], sensitive="ill")
    assert found.diversity.l_distinct == 2
    assert 1 - found.diversity.largest[0] / 4 == 0.25
