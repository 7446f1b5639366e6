"""A folder is claimed before anything is started for it."""

import pathlib

import pytest

from ckm.errors import ReleaseError
from ckm.release.files.claim import claimed_folder


def test_a_second_run_is_refused_as_long_as_the_first_holds_the_folder(tmp_path):
    place = f"file://{tmp_path}/store"
    with (
        claimed_folder(place, "2027"),
        pytest.raises(ReleaseError, match="Another run writes into"),
        claimed_folder(place, "2027"),
    ):
        pass
    assert not (tmp_path / "store" / "2027").exists()
    with claimed_folder(place, "2027"), claimed_folder(place, "2028"):
        pass


def test_a_folder_with_a_table_is_refused_and_left_as_it_is(tmp_path):
    place, table = f"file://{tmp_path}", tmp_path / "2027" / "people"
    with claimed_folder(place, "2027"):
        table.mkdir()
        (table / "part-0.parquet").touch()
    assert [path.name for path in (tmp_path / "2027").iterdir()] == ["people"]
    with pytest.raises(ReleaseError, match="There are files in"), claimed_folder(place, "2027"):
        pass
    assert [path.name for path in (tmp_path / "2027").iterdir()] == ["people"]


@pytest.mark.parametrize("place", [None, "s3://bucket/tables"])
def test_what_lies_on_no_disk_is_left_to_spark(place):
    with claimed_folder(place, "2027"):
        pass


def test_a_run_that_fails_leaves_no_claim(tmp_path):
    with pytest.raises(KeyError), claimed_folder(f"file://{tmp_path}/store", "2027"):
        raise KeyError
    assert list(tmp_path.rglob("*")) == [tmp_path / "store"]


def test_a_folder_that_cannot_be_looked_into_is_claimed_no_longer(tmp_path, monkeypatch):
    def refuse(_folder):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "iterdir", refuse)
        with (
            pytest.raises(ReleaseError, match="Permission denied"),
            claimed_folder(f"file://{tmp_path}", "2027"),
        ):
            pass
    assert list(tmp_path.rglob("_ckm_claim")) == []
