"""Addresses of files, stores and databases, and what of them may be shown.

One parser for every way in. What it understands is shown without password, options and
fragment; what it does not understand, and what may hold a password, is masked whole.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import unquote

_MASK = "…"
#: Schemes whose path is that of a file, in which most signs may stand.
_STORES = frozenset(
    {"s3", "s3a", "s3n", "hdfs", "abfs", "abfss", "gs", "dbfs", "file", "sqlite"}
)
_OTHERS = frozenset(
    {"postgresql", "postgres", "jdbc", "odbc", "mysql", "mariadb", "mssql", "oracle"}
    | {"redshift", "snowflake", "trino", "http", "https", "ftp", "sftp", "ssh"}
    | {"spark", "sc", "k8s", "delta"}
)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):(//)?", re.IGNORECASE)
_ONE_SLASH = re.compile(r"\Adbfs:/(?!/)", re.IGNORECASE)
_HOST = r"(?:\[[0-9a-f:.%]+\]|[\w.*-]*)(?::\d{1,5})?"
_HOSTS = re.compile(rf"{_HOST}(?:,{_HOST})*", re.IGNORECASE)
_USER = re.compile(r"[\w.+%~-]*")
_PATH = re.compile(r"(?:/[\w.%~ -]*)*")
_SECRET_KEY = re.compile(
    r"(?:pass(?!file)|pwd|\bpw\b|secret|token|credential|signature|\bsig\b"
    r"|(?:access|account|api|shared|auth)[-_ ]?key)\w*[\"']?\s*[=:]",
    re.IGNORECASE,
)
_PASSWORD_KEY = re.compile(r"(?:passw(?:or)?d|pwd|passphrase)\w*\s*=", re.IGNORECASE)
_FIELD = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s'\\]*)(?=\s|$)")
_FIELDS = {"host", "hostaddr", "port", "dbname", "user"}
_CONNINFO = re.compile(
    r"\s*(?:host(?:addr)?|port|dbname|user|pass\w*|service\w*|ssl\w*|options|client_encoding"
    r"|application_name|connect_timeout|target_session_attrs)\s*=",
    re.IGNORECASE,
)
_SHOWABLE = re.compile(r"[\w.,:/+@-]*")
_SHAPE: TypeAlias = tuple[str, bool]
_QUOTED = re.compile(r"(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\")(?!\w)")
_KEY = re.compile(r"\bhex:[0-9a-f]{16,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class Address:
    """Where records or a ledger lie, as whoever names it writes it.

    Parameters
    ----------
    text
        A path, a URI, or a list of settings as PostgreSQL has it. No repr shows it.

    Examples
    --------
    >>> Address("postgresql://me:hunter2@host:5432/db?sslmode=require")
    Address('postgresql://me@host:5432/db')
    >>> Address("postgresql:/me:hunter2@host").masked
    'postgresql:…'
    """

    text: str

    @property
    def scheme(self) -> str:
        """The scheme of a URI in lower case; empty for a path."""
        match = _SCHEME.match(self._whole)
        return match[1].lower() if match and match[2] else ""

    @property
    def masked(self) -> str:
        """What may be shown."""
        return self._parsed()[0]

    @property
    def has_password(self) -> bool:
        """Whether it holds a password, or may hold one where it is not understood."""
        return self._parsed()[1]

    def __str__(self) -> str:
        return self.masked

    def __repr__(self) -> str:
        return f"Address({self.masked!r})"

    @property
    def _whole(self) -> str:
        """The text, with the slashes that addresses of DBFS leave out."""
        return _ONE_SLASH.sub("dbfs:///", self.text)

    def _parsed(self) -> _SHAPE:
        text = self._whole
        match = _SCHEME.match(text)
        if match and match[2]:
            return _uri(match[1], text[match.end() :])
        if match and match[1].lower() in _STORES | _OTHERS:
            return f"{match[1]}:{_MASK}", True
        if _CONNINFO.match(self.text):
            return _conninfo(self.text)
        return (_MASK, True) if _may_hold_password(self.text) else (self.text, False)


def _uri(scheme: str, rest: str) -> _SHAPE:
    if scheme.lower() == "k8s" and _SCHEME.match(rest):  # of Spark's masters
        display, has_secret = Address(rest)._parsed()  # noqa: SLF001
        return f"{scheme}://{display}", has_secret
    whole, is_store = f"{scheme}://{_MASK}", scheme.lower() in _STORES
    userinfo, at, place = rest.rpartition("@")
    user, colon, _ = userinfo.partition(":")
    if at and not colon and re.search("[/?#]", userinfo):  # it stands in a path
        userinfo, user, at, place = "", "", "", rest
    hosts, end, path = _split(place)
    has_secret = bool(colon) or _SECRET_KEY.search(unquote(rest)) is not None
    display = re.split("[?#]", end + path)[0]
    is_known = (
        _HOSTS.fullmatch(hosts) is not None
        and _USER.fullmatch(user) is not None
        and ":" not in unquote(user)
        and (is_store or _PATH.fullmatch(display) is not None)
        and ";" not in unquote(display)
        and _SECRET_KEY.search(unquote(display)) is None
        and not (scheme.lower() not in _STORES and _looks_like_login(unquote(display)))
    )
    if not is_known:
        return whole, has_secret or bool(at) or not is_store
    return f"{scheme}://{user}{at}{hosts}{display}", has_secret


def _split(place: str) -> tuple[str, str, str]:
    """Divide what follows a user into hosts, the sign that ends them, and the rest."""
    match = re.search("[/?#]", place)
    return (
        (place, "", "")
        if match is None
        else (place[: match.start()], match[0], place[match.end() :])
    )


def _conninfo(text: str) -> _SHAPE:
    """Show the fields of a list of settings that are no secret; nothing if it is none."""
    fields, start, has_secret = [], 0, _SECRET_KEY.search(text) is not None
    while start < len(text.rstrip()):
        field = _FIELD.match(text, start)
        if field is None:
            return _MASK, True
        name, value = field[1].lower(), field[2]
        is_login = _looks_like_login(value)
        has_secret |= is_login
        if name in _FIELDS and _SHOWABLE.fullmatch(value) and not is_login:
            fields.append(f"{field[1]}={value}")
        start = field.end()
    return " ".join(fields) or _MASK, has_secret


def _may_hold_password(text: str) -> bool:
    plain = unquote(text)
    return _looks_like_login(plain) or _SECRET_KEY.search(plain) is not None


def _looks_like_login(text: str) -> bool:
    """Tell whether a text may be ``user:password@host``, ``user@host:password`` or the like."""
    return ("@" in text and ":" in text) or text.count(":") > 3


def without_passwords(text: str) -> str:
    """Return a message in which nothing quoted gives a password or a key away.

    Examples
    --------
    >>> print(without_passwords("There is no 'host=h password=hunter2'."))
    There is no 'host=h'.
    """

    def show(match: re.Match[str]) -> str:
        quoted = match[0][1:-1]
        is_address = _SCHEME.match(quoted) or _CONNINFO.match(quoted) or "@" in quoted
        is_address = is_address or not re.search(r"\s", quoted)
        if _PASSWORD_KEY.search(quoted) or (is_address and Address(quoted).has_password):
            return f"{match[0][0]}{Address(quoted).masked}{match[0][0]}"
        return match[0]

    return _KEY.sub("hex:…", _QUOTED.sub(show, text))
