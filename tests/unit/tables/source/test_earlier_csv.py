"""Which columns of a CSV 0.1.0 took for numbers, by the rules of that version."""

import pytest

from tables.source.earlier_csv import renamed_columns


@pytest.mark.parametrize(
    ("values", "is_renamed"),
    [
        (["1E2", "100"], True),
        (["0_4", "5_9"], True),
        (["1.50", "2.25", "3.10"], True),
        (["1.50", "2"], False),
        (["01", "1E2"], False),
        (["+1", "2.5"], False),
        (["10", "11"], False),
        (["2.5", "3.5"], False),
        (["a", "1E2"], False),
        (["", "1E2"], True),
    ],
)
def test_columns_are_named_by_the_rule_of_that_version(values, is_renamed, tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("\n".join(["id,code", *(f"{i},{v}" for i, v in enumerate(values))]))
    assert renamed_columns(str(file), ["code", "absent"]) == (["code"] if is_renamed else [])


def test_what_is_no_csv_has_none(tmp_path):
    assert renamed_columns(str(tmp_path / "absent.csv"), ["a"]) == []
