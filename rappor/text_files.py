"""Small files of text, read whole."""

from pathlib import Path

from footing import text_files
from footing.messages import Message, Name, Text, said
from rappor.errors import ReportFileError


def read_text(path: Path) -> str:
    """Read a whole text in UTF-8, with or without a byte order mark."""
    try:
        return text_files.read_text(path)
    except UnicodeDecodeError:
        reason: Text | Message = Message("it is not text")
    except OSError as error:
        reason = said(error.strerror or "unknown")
    raise ReportFileError(
        Message(
            "The file {path!r} cannot be read: {reason}.", path=Name(path.name), reason=reason
        )
    ) from None


def whole_number(text: str) -> int:
    """Read a whole number of digits; Python's own reading takes ``1_0`` for 10.

    Raises
    ------
    ValueError
        If the text is none.

    Examples
    --------
    >>> whole_number(" 12 ")
    12
    """
    if "_" in text or not text.isascii():
        raise ValueError
    return int(text)
