"""Compressed files: of texts, gzip is read; others are named with the cure."""

from pathlib import Path

from footing.messages import Message, Name
from tables.errors import SourceError

_GZIP = b"\x1f\x8b"
#: How files begin that are compressed otherwise: bzip2, Zstandard, xz, 7-Zip, LZ4, compress.
_OTHERS = (
    b"BZh",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"\x04\x22\x4d\x18",
    b"\x1f\x9d",
)
_ZIP = b"PK\x03\x04"
#: Names of archives, and of texts that may be one; those of office programs are ZIP files too.
_NAMES = {".csv", ".tsv", ".txt", ".zip"}


def require_readable(file: str, start: bytes) -> None:
    """Refuse a compressed file that is not read, by what it begins with."""
    name = Path(file).name
    is_zip = start.startswith(_ZIP) and {s.lower() for s in Path(file).suffixes} & _NAMES
    if start.startswith(_OTHERS) or is_zip:
        raise SourceError(
            Message("The file {name!r} is compressed, and not by gzip.", name=Name(name)),
            hint=Message("decompress it, or compress it by gzip and name it .csv.gz"),
        )
    if start.startswith(_GZIP) and not name.lower().endswith(".gz"):
        raise SourceError(
            Message(
                "The file {name!r} is compressed by gzip, and its name does not end in .gz.",
                name=Name(name),
            ),
            hint=Message("name it .csv.gz, or decompress it"),
        )
