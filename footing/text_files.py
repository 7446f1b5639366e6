"""Texts that people write: one way to read them, whatever editor wrote them."""

from pathlib import Path


def read_text(path: Path) -> str:
    r"""Return the text of a file in UTF-8; a byte order mark is no part of it.

    Raises
    ------
    OSError, UnicodeDecodeError
        If the file cannot be read, or is no such text.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "job.toml"
    >>> _ = file.write_bytes(b"\xef\xbb\xbfschema = 1")
    >>> read_text(file)
    'schema = 1'
    """
    return path.read_text(encoding="utf-8-sig")
