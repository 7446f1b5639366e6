"""What a release says of its inputs: hashes, or sizes and times."""

from __future__ import annotations

import hashlib

import pytest

from ckm.errors import ReleaseError
from ckm.release.run import InputFiles
from reports.facts.release import StatedFile


def test_large_and_far_files_are_stated_and_not_hashed(tmp_path):
    (tmp_path / "small").write_bytes(b"abc")
    (tmp_path / "large").write_bytes(b"abcd")
    far = {"s3a://b/x.parquet": (7, "2027-01-01T00:00:00+00:00", "e1")}
    inputs = InputFiles({tmp_path / n: n for n in ("large", "small")}, most=3)
    inputs.include(lambda: dict(far))
    small, large, other = inputs.record(lambda *_: None)
    assert small.sha256 == hashlib.sha256(b"abc").hexdigest()
    assert isinstance(large, StatedFile)
    assert (large.file, large.bytes, large.sha256) == ("large", 4, "")
    assert (large.etag, large.modified[:2]) == ("", "20")
    assert other.file == "s3a://b/x.parquet"
    assert (other.bytes, other.modified, other.etag) == far[other.file]
    inputs.require_rest()
    for state in ((7, "2027-01-02T00:00:00+00:00", "e1"), (7, other.modified, "e2")):
        far["s3a://b/x.parquet"] = state
        with pytest.raises(ReleaseError, match="changed while it was being read"):
            inputs.require_rest()
