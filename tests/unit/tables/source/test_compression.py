"""Compressed files are read, or named as compressed with the cure."""

import bz2
import gzip
import lzma
import zipfile

import pytest

from tables import SourceError, open_source

TEXT = b"v\nasked\n"
ZSTD = bytes.fromhex("28b52ffd0408410000760a61736b65640a")
CURE = "decompress it, or compress it by gzip and name it .csv.gz"


@pytest.mark.parametrize("name", ["p.csv.gz", "P.CSV.GZ", "p[1].txt.gz"])
def test_gzip_is_read(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(TEXT))
    with open_source(tmp_path / name) as source:
        assert source.fetch(f"SELECT v FROM {source.relation}") == [("asked",)]


@pytest.mark.parametrize("name", ["p.csv", "p.csv.{}", "p.{}"])
@pytest.mark.parametrize("kind", ["bz2", "zst", "xz", "zip"])
def test_others_are_named_as_compressed(tmp_path, kind, name):
    file = tmp_path / name.format(kind)
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        archive.writestr("p.csv", TEXT)
    content = {
        "bz2": bz2.compress(TEXT),
        "xz": lzma.compress(TEXT),
        "zst": ZSTD,
        "zip": (tmp_path / "archive").read_bytes(),
    }
    file.write_bytes(content[kind])
    with pytest.raises(SourceError, match="is compressed, and not by gzip") as caught:
        open_source(file)
    assert caught.value.hint == CURE


def test_gzip_by_another_name_is_named(tmp_path):
    (tmp_path / "p.csv").write_bytes(gzip.compress(TEXT))
    with pytest.raises(SourceError, match=r"its name does not end in \.gz"):
        open_source(tmp_path / "p.csv")
