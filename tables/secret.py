"""The secret from which record keys and the mix of cell keys are derived."""

import base64
import codecs
import hashlib
import hmac
import os
import re
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from footing.disclosive import Disclosive
from footing.files import require_private
from footing.messages import Message, Name, Text, said
from tables.errors import SourceError

SECRET_VARIABLE = "CKM_SECRET"  # noqa: S105  (the name of a variable)

_MIN_BYTES = 16
_COMMAND_S = 60  # a vault that nobody has opened waits for ever
# What `write` puts behind the digits. One digit that changed would be another secret, and all
# noise would be drawn anew beside what was published with the first.
_CHECK = re.compile(rb"\s+check:([0-9a-f]{16})", re.IGNORECASE)
_CHECK_PURPOSE = "ckm check of a secret file"


class SecretCommand(Disclosive):
    """A program that prints the secret, as programs of vaults do; it is run once.

    Parameters
    ----------
    words
        The program and its arguments; no shell reads them.

    Examples
    --------
    >>> SecretCommand(("vault", "kv", "get", "-field=secret", "secret/census"))
    SecretCommand(…)
    """

    __slots__ = ("_secret", "words")

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._secret: Secret | None = None

    def secret(self) -> "Secret":
        """Run the program, if it has not been run, and return what it printed.

        Examples
        --------
        >>> SecretCommand(["printf", "sixteen bytes or more"]).secret()
        Secret(…)
        """
        if self._secret is None:
            self._secret = Secret.from_command(self.words)
        return self._secret


class Secret(Disclosive):
    """A secret that never shows itself.

    Its ``repr`` is ``Secret(…)``; it cannot be pickled, and compares in constant time.

    Parameters
    ----------
    value
        At least 16 bytes from a cryptographic source of randomness.

    Raises
    ------
    SourceError
        If the value is shorter than 16 bytes.

    Examples
    --------
    >>> Secret(b"sixteen bytes or more")
    Secret(…)
    """

    __slots__ = ("_value", "label")

    def __init__(self, value: bytes, *, label: str = "given in memory") -> None:
        if len(value) < _MIN_BYTES:
            raise SourceError(
                Message(
                    "A secret needs at least {min_bytes} bytes; this one is shorter.",
                    min_bytes=_MIN_BYTES,
                ),
                hint=Message("make one with: ckm keys secret secret.key"),
            )
        self._value = bytes(value)
        self.label = label

    def is_in(self, text: str) -> bool:
        """Tell whether a text holds the secret or its beginning, as it is or in digits.

        Upper and lower case count as the same: whoever reads one guesses the other.

        Parameters
        ----------
        text
            What may be published.

        Examples
        --------
        >>> Secret(b"sixteen bytes or more").is_in("my key: SIXTEEN BYTES OR more!")
        True
        >>> Secret(bytes(range(32))).is_in("000102030405060708090a0b0c0d0e0f")
        True
        """
        sought = (self._value, self._value.hex().encode(), base64.b64encode(self._value))
        words = text.encode("utf-8", "surrogatepass").lower()
        return any(form[:_MIN_BYTES].lower() in words for form in sought)

    @classmethod
    def generate(cls) -> Self:
        """Draw a new secret of 32 bytes from the operating system.

        Examples
        --------
        >>> Secret.generate() == Secret.generate()
        False
        """
        return cls(secrets.token_bytes(32))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a secret from a file; white space at its ends does not count.

        Parameters
        ----------
        path
            A file made by `write`, or any file of at least 16 bytes.

        Raises
        ------
        SourceError
            If others than its owner may read it, it cannot be read, or it is too short.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "secret.key"
        >>> secret = Secret.generate()
        >>> secret.write(file)
        >>> Secret.from_file(file) == secret
        True
        """
        require_private(path, Message("secret file"), error=SourceError)
        try:
            text = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8).strip()
        except (OSError, ValueError) as error:
            raise _unreadable(path, error) from None
        return cls(_decode(text), label=f"file {Path(path).name}")

    @classmethod
    def from_env(cls, name: str = SECRET_VARIABLE) -> Self:
        """Read a secret from an environment variable.

        Parameters
        ----------
        name
            The variable.

        Raises
        ------
        SourceError
            If the variable is not set or too short.

        Examples
        --------
        >>> import os
        >>> os.environ["MY_SECRET"] = "sixteen bytes or more"
        >>> Secret.from_env("MY_SECRET")
        Secret(…)
        """
        text = os.environ.get(name)
        if not text:
            raise SourceError(
                Message("The environment variable {name} holds no secret.", name=Name(name)),
                hint=Message("set it, or name a secret file"),
            )
        return cls(_decode(text.strip().encode()), label=f"environment variable {name}")

    @classmethod
    def from_command(cls, words: Sequence[str]) -> Self:
        """Read a secret that a program prints; nothing that it prints is shown or kept.

        Parameters
        ----------
        words
            The program and its arguments; no shell reads them.

        Raises
        ------
        SourceError
            If the program is not there, fails, takes more than a minute or prints no secret.

        Examples
        --------
        >>> Secret.from_command(["printf", "sixteen bytes or more"])
        Secret(…)
        """
        name, reason = Path(words[0]).name, Message("it is not there, or may not be run")
        hint = Message("run it yourself: it must print the secret alone, and end with 0")
        output = b""
        try:
            answer = subprocess.run(  # noqa: S603  (no shell, and the words are the office's)
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_COMMAND_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            reason = Message("it took more than {seconds} seconds", seconds=_COMMAND_S)
        except (OSError, ValueError):
            pass
        else:
            output = answer.stdout.strip()
            reason = Message("it printed nothing")
            if answer.returncode:
                reason = Message("it ended with {code}", code=answer.returncode)
                output = b""
        if not output:  # raised here, so that what the program printed is not chained
            raise SourceError(
                Message(
                    "The command {name!r} gave no secret: {reason}.",
                    name=Name(name),
                    reason=reason,
                ),
                hint=hint,
            )
        return cls(_decode(output), label=f"command {name}")

    @classmethod
    def from_place(cls, place: Path | SecretCommand | None) -> "Secret":
        """Read a secret from its file, from a command, or without one from ``CKM_SECRET``."""
        if isinstance(place, SecretCommand):
            return place.secret()
        return cls.from_env() if place is None else cls.from_file(place)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the secret in hexadecimal to a new file that only its owner can read.

        A check of it stands below, so that a file that is damaged is not another secret.

        Parameters
        ----------
        path
            A file that does not exist yet.

        Raises
        ------
        SourceError
            If the file exists or cannot be written.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "secret.key"
        >>> Secret.generate().write(file)
        >>> oct(file.stat().st_mode & 0o777)
        '0o600'
        """
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "w") as file:
                    file.write(f"hex:{self._value.hex()}\ncheck:{_check(self._value)}\n")
            except OSError:
                Path(path).unlink(missing_ok=True)
                raise
        except FileExistsError:
            raise SourceError(
                Message(
                    "The secret file {fspath!r} exists and is never overwritten.",
                    fspath=Name(os.fspath(path)),
                ),
                hint=Message("a lost secret cannot be made again: move the file away yourself"),
            ) from None
        except OSError as error:
            is_file = Path(path).parent.is_dir()  # else it may be a secret, which has "/" in it
            place = Message(" {path!r}", path=Name(os.fspath(path))) if is_file else Message()
            raise SourceError(
                Message(
                    "The secret file{named} cannot be written: {strerror}.",
                    named=place,
                    strerror=Text(str(error.strerror)),
                )
            ) from None

    def derive(self, purpose: str) -> bytes:
        """Derive the 32-byte key of one purpose, HMAC-SHA256(secret, purpose).

        Parameters
        ----------
        purpose
            A fixed text; different purposes give independent keys.

        Returns
        -------
        bytes
            The derived key.

        Examples
        --------
        >>> len(Secret(bytes(32)).derive("record key"))
        32
        """
        return hmac.digest(self._value, purpose.encode(), hashlib.sha256)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value, other._value)

    def __hash__(self) -> int:
        return hash(self.derive("hash"))


def _unreadable(path: str | os.PathLike[str], error: OSError | ValueError) -> SourceError:
    """Say that a file cannot be read; what is no file may be the secret itself, not a name."""
    is_shown = os.path.lexists(path) or _is_short_name(path)
    place = Message(" {path!r}", path=Name(os.fspath(path))) if is_shown else Message()
    reason = getattr(error, "strerror", None) or Message("it is no name of a file")
    return SourceError(
        Message(
            "The secret file{named} cannot be read: {reason}.", named=place, reason=said(reason)
        ),
        hint=Message("make one with: ckm keys secret secret.key; never give the secret itself"),
    )


def _is_short_name(path: str | os.PathLike[str]) -> bool:
    """Tell whether a text is the name of a file: with an ending, and no secret is so short."""
    name = os.path.basename(os.fspath(path))  # noqa: PTH119 (as it was written)
    is_short = len(name.encode("utf-8", "surrogatepass")) < _MIN_BYTES
    return (
        is_short
        and re.fullmatch(r"[\w-]+\.[a-z]{3,4}", name) is not None
        and (Path(path).parent.is_dir())
    )


def _check(value: bytes) -> str:
    """Return what tells a damaged secret, and nothing of a secret that is not known."""
    return hmac.digest(value, _CHECK_PURPOSE.encode(), hashlib.sha256).hex()[:16]


def _decode(text: bytes) -> bytes:
    """Return the bytes a file or variable stands for: ``hex:…``, or the text itself."""
    check = _CHECK.search(text)
    if check is not None and check.end() == len(text):
        value = _decode(text[: check.start()])
        if not hmac.compare_digest(_check(value), check[1].decode().lower()):
            raise SourceError(
                Message(
                    "A secret is not the one that its check was made of: its file is damaged."
                ),
                hint=Message("put back a copy of the file; a lost secret cannot be made again"),
            )
        return value
    if text[:4].lower() == b"hex:":
        try:
            return bytes.fromhex(text[4:].decode("ascii"))
        except (UnicodeDecodeError, ValueError):
            raise SourceError(
                Message("A secret that starts with 'hex:' must go on in hexadecimal digits."),
                hint=Message("make one with: ckm keys secret secret.key"),
            ) from None
    return text
