"""The parameters that clients and server must share, and what they promise."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from footing.checks import is_number, require_integer
from footing.files import write_whole
from footing.messages import Argument, Enumeration, Message, Name
from footing.serialisation import document
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.text_files import read_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import StrPath

Hash = Literal["mmh3", "md5", "index", "hadamard"]
Response = Literal["bits", "symbol"]

_COLUMNS = ("k", "h", "m", "p", "q", "f")
_MAX_BITS = 2**16
_MAX_COHORTS = 2**20
_MAX_COUNTS = 2**26  # bits by cohorts: what a server keeps in memory
_MD5_BYTES = 16
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What every client of one collection and its server agree on.

    A value sets `n_hashes` of `n_bits` bits (which ones depends on the client's cohort). The
    permanent response replaces each bit by a coin with probability `f`, once for ever; every
    report then shows a 1 with probability `q` where the permanent response has one, and with
    probability `p` where it has none.

    Parameters
    ----------
    n_bits
        Bits of a report, k.
    n_hashes
        Bits a value sets, h; two of them may coincide.
    n_cohorts
        Groups of clients with hash functions of their own, m.
    f
        Noise of the permanent response, in [0, 1); 0 is one-time RAPPOR.
    p, q
        Probabilities of a reported 1 where the permanent response is 0 and where it is 1.
    hash
        ``"mmh3"``; ``"md5"`` for the files of google/rappor; ``"index"`` for basic RAPPOR,
        where the value is a number below `n_bits` and sets the bit of that number (a Boolean
        question with one bit: no bit, or bit 0); ``"hadamard"`` for the response of
        `rappor.oracle`, where the value is a number below ``n_cohorts - 1``.
    response
        ``"bits"``: each bit is answered by coins of its own. ``"symbol"``: exactly one bit of
        a report is 1, the value's with probability `q` and each other one with `p`; for
        values reported once (``f=0``) that set one bit.

    Raises
    ------
    RapporError
        If a parameter is out of range or the reports would carry no information.

    Examples
    --------
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> round(paper.epsilon_one, 4), round(paper.epsilon_permanent, 4)
    (1.0743, 4.3944)
    """

    n_bits: int
    n_hashes: int
    n_cohorts: int
    f: float
    p: float
    q: float
    hash: Hash = "mmh3"
    response: Response = "bits"

    def __post_init__(self) -> None:
        _check_whole(self)
        _check_probabilities(self)
        _check_hash(self)
        _check_response(self)
        for name in ("f", "p", "q"):  # 0, 0.0 and -0.0 are one parameter and one fingerprint
            object.__setattr__(self, name, float(getattr(self, name)) + 0.0)

    @classmethod
    def basic(cls, n_values: int, *, f: float, p: float, q: float) -> Parameters:
        """Give basic RAPPOR its parameters: one bit a value, no cohorts.

        Parameters
        ----------
        n_values
            Number of values; 1 for a Boolean question, whose yes is the bit.
        f, p, q
            As for `Parameters`.

        Examples
        --------
        >>> answers = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
        >>> round(answers.epsilon_permanent, 4)  # one bit differs: ln 3
        1.0986
        """
        return cls(n_bits=n_values, n_hashes=1, n_cohorts=1, f=f, p=p, q=q, hash="index")

    @property
    def p_star(self) -> float:
        """Probability of a reported 1 where the value sets no bit.

        The thesis that this package follows prints it, in its section 6.5.2, as the
        probability given a bit that is set, as for `q_star`; it is given one that is not.
        """
        return self.p + self.f / 2 * (self.q - self.p)

    @property
    def q_star(self) -> float:
        """Probability of a reported 1 where the value sets the bit."""
        return self.q - self.f / 2 * (self.q - self.p)

    @property
    def is_boolean(self) -> bool:
        """Whether one bit is all there is: two values then differ in one bit, not in two."""
        return self.n_bits == 1

    @property
    def is_numbered(self) -> bool:
        """Whether values are whole numbers from 0, not texts."""
        return self.hash in {"index", "hadamard"}

    @property
    def n_values(self) -> int:
        """How many values there are where they are numbered."""
        return self.n_bits if self.hash == "index" else self.n_cohorts - 1

    @property
    def epsilon_one(self) -> float:
        """Privacy loss of one report; infinite when a bit can give the value away."""
        from rappor.accounting import epsilon_after

        return epsilon_after(self, reports=1)

    @property
    def epsilon_permanent(self) -> float:
        """Privacy loss of all reports of one value together; infinite for ``f=0``."""
        if self.f == 0:
            return math.inf
        bit = math.log((2 - self.f) / self.f)
        return bit if self.is_boolean else 2 * self.n_hashes * bit

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that stand for exactly these parameters."""
        reals = ",".join(value.hex() for value in (self.f, self.p, self.q))
        text = f"rappor:{self.n_bits},{self.n_hashes},{self.n_cohorts},{reals},{self.hash}"
        text += ",symbol" if self.response == "symbol" else ""
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def to_dict(self) -> dict[str, int | float | str]:
        """Give what a JSON file keeps of the parameters, with their fingerprint.

        Examples
        --------
        >>> Parameters.basic(8, f=0.5, p=0.25, q=0.75).to_dict()["fingerprint"]
        '99e97572adac9a54'
        """
        fields = ("n_bits", "n_hashes", "n_cohorts", "f", "p", "q", "hash", "fingerprint")
        more = ("response",) if self.response == "symbol" else ()  # files from before are read
        return {name: getattr(self, name) for name in (*fields, *more)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Parameters:
        """Make the parameters of what `to_dict` gave, and compare the fingerprint.

        Parameters
        ----------
        fields
            The fields by name, and their fingerprint.

        Raises
        ------
        RapporError
            If a field is missing, unknown or out of range, or the fingerprint is another.

        Examples
        --------
        >>> coin = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
        >>> Parameters.from_dict(coin.to_dict()) == coin
        True
        """
        rest = dict(fields)
        fingerprint = rest.pop("fingerprint", None)
        try:
            parameters = cls(**rest)
        except TypeError:
            raise ReportFileError(
                Message("A field of the parameters is missing or unknown.")
            ) from None
        if fingerprint != parameters.fingerprint:
            raise MismatchError(
                Message("The parameters do not have the fingerprint beside them.")
            )
        return parameters

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        """Write the parameters: google/rappor's CSV, or JSON that names the hash too.

        Parameters
        ----------
        path
            A name ending in ``.csv`` or ``.json``.
        overwrite
            Whether a file of that name may be replaced.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "params.csv"
        >>> Parameters.basic(8, f=0.5, p=0.25, q=0.75).write(file)
        >>> print(file.read_text(), end="")
        k,h,m,p,q,f
        8,1,1,0.25,0.75,0.5
        """
        target = Path(path)
        if target.suffix.lower() == ".json":
            text = document(self)
        elif target.suffix.lower() == ".csv" and self.response == "bits":
            values = (self.n_bits, self.n_hashes, self.n_cohorts, self.p, self.q, self.f)
            text = f"{','.join(_COLUMNS)}\n{','.join(repr(value) for value in values)}\n"
        else:
            raise ReportFileError(
                Message(
                    "These parameters cannot be written to {suffix!r}.",
                    suffix=Name(target.suffix),
                ),
                hint=Message("take .json, which names the hash and the response"),
            )
        write_whole(
            target, text, error=ReportFileError, overwrite=overwrite, is_private=False
        )  # for clients

    @classmethod
    def read(
        cls,
        path: StrPath,
        *,
        hash: Hash | None = None,  # noqa: A002 (its name everywhere)
    ) -> Parameters:
        r"""Read google/rappor's CSV, or JSON of `write`.

        Parameters
        ----------
        path
            The file; in a CSV, white space and the order of its columns do not count.
        hash
            The hash of the collection, which a CSV does not name; by default ``"md5"``,
            that of google/rappor.

        Raises
        ------
        ReportFileError
            If the file does not hold one set of parameters.
        MismatchError
            If a JSON file names another hash, or was changed.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "params.csv"
        >>> _ = file.write_text("k, h, m, p, q, f\n32, 1, 64, .25, .75, .5\n")
        >>> Parameters.read(file).n_cohorts
        64
        """
        name = Path(path).name
        text = read_text(Path(path))
        if not text.lstrip().startswith("{"):
            return _from_csv(text, name, hash or "md5")
        try:
            parameters = cls.from_dict(json.loads(text))
        except (json.JSONDecodeError, RecursionError):
            raise ReportFileError(
                Message("The file {name!r} is no parameter file.", name=Name(name))
            ) from None
        if hash is not None and hash != parameters.hash:
            raise MismatchError(
                Message(
                    "The parameters of {name!r} name the hash {hash!r}.",
                    name=Name(name),
                    hash=Name(parameters.hash),
                )
            )
        return parameters


def _from_csv(text: str, name: str, hash_name: Hash) -> Parameters:
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
    except csv.Error:
        rows = []
    if len(rows) != 2 or sorted(rows[0]) != sorted(_COLUMNS) or len(rows[1]) != 6:
        raise ReportFileError(
            Message("The file {name!r} is no parameter file.", name=Name(name)),
            hint=Message(
                "it must hold the header {columns} and one row",
                columns=Enumeration(",", Name.each(_COLUMNS)),
            ),
        )
    row = dict(zip(rows[0], rows[1], strict=True))
    try:
        whole = {key: whole_number(row[key]) for key in "khm"}
        real = {key: float(row[key]) for key in "pqf"}
    except ValueError:
        raise ReportFileError(
            Message("The row of the file {name!r} is not six numbers.", name=Name(name))
        ) from None
    return Parameters(
        n_bits=whole["k"],
        n_hashes=whole["h"],
        n_cohorts=whole["m"],
        f=real["f"],
        p=real["p"],
        q=real["q"],
        hash=hash_name,
    )


def _check_whole(parameters: Parameters) -> None:
    limits = {"n_bits": _MAX_BITS, "n_hashes": 64, "n_cohorts": _MAX_COHORTS}
    for name, limit in limits.items():
        value = getattr(parameters, name)
        require_integer(value, name, error=RapporError, minimum=1, maximum=limit)
    if parameters.n_bits * parameters.n_cohorts > _MAX_COUNTS:
        raise RapporError(
            Message(
                "{n_bits} bits in {n_cohorts} cohorts are more than {max_counts} counts.",
                n_bits=parameters.n_bits,
                n_cohorts=parameters.n_cohorts,
                max_counts=_MAX_COUNTS,
            ),
            hint=Message("take fewer cohorts"),
        )
    if parameters.n_hashes > parameters.n_bits:
        raise RapporError(
            Message(
                "A value cannot set {n_hashes} of {n_bits} bits.",
                n_hashes=parameters.n_hashes,
                n_bits=parameters.n_bits,
            ),
            hint=Message("take n_hashes=1, or more bits"),
        )


def _check_probabilities(parameters: Parameters) -> None:
    for name in ("f", "p", "q"):
        value = getattr(parameters, name)
        if not is_number(value, minimum=0, maximum=1):
            raise RapporError(
                Message(
                    "{name} must be a probability, not {value!r}.",
                    name=Name(name),
                    value=Argument(value),
                )
            )
    if parameters.f == 1:
        raise RapporError(
            Message("With f=1 the permanent response does not depend on the value."),
            hint=Message("take f below 1"),
        )
    if parameters.p_star == parameters.q_star:
        raise RapporError(
            Message(
                "With p and q both {p:g} the reports do not depend on the value.",
                p=parameters.p,
            ),
            hint=Message("take a q larger than p"),
        )


def _check_hash(parameters: Parameters) -> None:
    hashes = get_args(Hash)
    if parameters.hash not in hashes:
        names = Name.each(hashes)
        raise RapporError(
            Message(
                "hash must be one of {names!r}, not {hash!r}.",
                names=names,
                hash=Argument(parameters.hash),
            )
        )
    if parameters.hash == "index":
        if (parameters.n_hashes, parameters.n_cohorts) != (1, 1):
            raise RapporError(
                Message("Basic RAPPOR has one hash and one cohort."),
                hint=Message("leave n_hashes and n_cohorts at 1, or take hash='mmh3'"),
            )
    elif parameters.n_bits == 1:
        raise RapporError(
            Message("With one bit every value sets it, and reports say nothing."),
            hint=Message("take Parameters.basic(1, …) for a Boolean question"),
        )
    width = 1 if parameters.n_bits <= 256 else 2
    if parameters.hash == "md5" and parameters.n_hashes * width > _MD5_BYTES:
        raise RapporError(
            Message(
                "An MD5 digest yields {md5_bytes} bits of {n_bits}, not {n_hashes}.",
                md5_bytes=_MD5_BYTES // width,
                n_bits=parameters.n_bits,
                n_hashes=Argument(parameters.n_hashes),
            ),
            hint=Message("take hash='mmh3', or fewer hashes"),
        )


def _check_response(parameters: Parameters) -> None:
    """Require of a report of one symbol that chances sum to 1, and nothing is permanent."""
    shape, is_hadamard = parameters, parameters.hash == "hadamard"
    if shape.response not in get_args(Response):
        raise RapporError(
            Message(
                "response must be 'bits' or 'symbol', not {response!r}.",
                response=Name(shape.response),
            )
        )
    if shape.response == "symbol":
        total = shape.q + (shape.n_bits - 1) * shape.p
        if shape.f or shape.n_hashes > 1 or shape.n_bits < 2 or shape.q < shape.p:
            raise RapporError(
                Message(
                    "A response of one symbol has f=0, n_hashes=1, two bits or more and p "
                    "below q."
                ),
                hint=Message("take rappor.oracle, or response='bits'"),
            )
        if abs(total - 1) > _ROUNDING:
            raise RapporError(
                Message(
                    "The probabilities of the {n_bits} symbols sum to {total:g}, not to 1.",
                    n_bits=shape.n_bits,
                    total=total,
                ),
                hint=Message("take q = 1 - (n_bits - 1) p"),
            )
    size = shape.n_cohorts
    if is_hadamard and ((shape.response, shape.n_bits) != ("symbol", 2) or size & (size - 1)):
        raise RapporError(
            Message(
                "The Hadamard response has two symbols, and a power of 2 as number of cohorts."
            ),
            hint=Message("take rappor.oracle('hadamard', …)"),
        )
