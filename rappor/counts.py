"""How many reports each cohort sent, and how many had each bit: all a decoder needs."""

from __future__ import annotations

import csv
import io
import logging
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from footing.files import write_whole
from footing.messages import Argument, Message, Name, Shape, said
from footing.serialisation import content_of, digest_of, json_line
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.parameters import Parameters
from rappor.text_files import read_text, whole_number

if TYPE_CHECKING:
    from _typeshed import StrPath

    from footing.arrays import Integers

logger = logging.getLogger(__name__)

_FORMAT = "rappor-counts"


class EqualByContent:
    """Equal where parameters and arrays are, whatever object they are."""

    __slots__ = ()

    def _content(self) -> tuple[Any, ...]:
        values = (getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]
        return tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counts(EqualByContent):
    """Sums of reports, by cohort and bit. Sums of parts add up to the sums of the whole.

    Parameters
    ----------
    n
        Reports of each cohort.
    ones
        Cohorts by bits: how many of them had a 1 there; bit 0 first.
    parameters
        What the reports were made with.

    Raises
    ------
    RapporError
        If the sums do not fit the parameters or each other.

    Examples
    --------
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> day = Counts(n=[5], ones=[[3, 2]], parameters=coin)
    >>> (day + day).ones.tolist()
    [[6, 4]]
    """

    n: Integers
    ones: Integers
    parameters: Parameters

    def __post_init__(self) -> None:
        shapes = {
            "n": (self.parameters.n_cohorts,),
            "ones": (self.parameters.n_cohorts, self.parameters.n_bits),
        }
        for name, shape in shapes.items():
            object.__setattr__(self, name, _whole(getattr(self, name), name, shape))
        if np.any(self.ones > self.n[:, None]):
            raise RapporError(
                Message("A bit cannot be set in more reports than its cohort sent.")
            )
        if self.parameters.response == "symbol" and (self.ones.sum(axis=1) != self.n).any():
            raise RapporError(Message("Symbols must add up to the reports of their cohort."))

    @classmethod
    def zeros(cls, parameters: Parameters) -> Counts:
        """Start with no report.

        Parameters
        ----------
        parameters
            What the reports will be made with.

        Examples
        --------
        >>> Counts.zeros(Parameters.basic(2, f=0.5, p=0.25, q=0.75)).total
        0
        """
        shape = (parameters.n_cohorts, parameters.n_bits)
        return cls(
            n=np.zeros(shape[0], np.int64),
            ones=np.zeros(shape, np.int64),
            parameters=parameters,
        )

    @property
    def total(self) -> int:
        """All reports together."""
        return int(self.n.sum())

    def __add__(self, other: Self) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        if other.parameters != self.parameters:
            raise MismatchError(
                Message(
                    "Counts made with the parameters {fingerprint} do not add to those of "
                    "{parameters_fingerprint}.",
                    fingerprint=Name(other.parameters.fingerprint),
                    parameters_fingerprint=Name(self.parameters.fingerprint),
                ),
                hint=Message("decode each collection by itself"),
            )
        return Counts(
            n=self.n + other.n, ones=self.ones + other.ones, parameters=self.parameters
        )

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        r"""Write the sums: google/rappor's CSV, or JSON that names the parameters.

        Parameters
        ----------
        path
            A name ending in ``.csv`` or ``.json``.
        overwrite
            Whether a file of that name may be replaced.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "counts.csv"
        >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
        >>> Counts(n=[5], ones=[[3, 2]], parameters=coin).write(file)
        >>> file.read_text()
        '5,3,2\n'
        """
        target = Path(path)
        rows = np.column_stack([self.n, self.ones]).tolist()
        if target.suffix.lower() == ".csv":
            text = "".join(",".join(map(str, row)) + "\n" for row in rows)
        elif target.suffix.lower() == ".json":
            content = {"format": _FORMAT, "parameters": self.parameters, "counts": rows}
            text = json_line(content | {"digest": digest_of(content)}) + "\n"
        else:
            raise ReportFileError(
                Message(
                    "Counts are written to .csv or .json, not {suffix!r}.",
                    suffix=Name(target.suffix),
                ),
                hint=Message("take .json to keep the parameters beside them"),
            )
        write_whole(target, text, error=ReportFileError, overwrite=overwrite)

    @classmethod
    def read(cls, path: StrPath, *, parameters: Parameters | None = None) -> Counts:
        """Read sums from a CSV of google/rappor or a JSON file of `write`.

        Parameters
        ----------
        path
            The file.
        parameters
            What the reports were made with. A CSV file does not say; a JSON file made with
            others is refused.

        Raises
        ------
        ReportFileError
            If the file does not hold counts of that shape.
        MismatchError
            If the file names other parameters.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "counts.csv"
        >>> _ = file.write_text("5,3,2")
        >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
        >>> Counts.read(file, parameters=coin).total
        5
        """
        name = Path(path).name
        text = read_text(Path(path))
        if text.lstrip().startswith("{"):
            rows, parameters = _from_json(text, name, parameters)
        elif parameters is None:
            raise ReportFileError(
                Message(
                    "The file {name!r} does not say which parameters its reports were made "
                    "with.",
                    name=Name(name),
                ),
                hint=Message("give the parameters"),
            )
        else:
            rows = [row for row in csv.reader(io.StringIO(text)) if any(map(str.strip, row))]
        table = _numbers(rows, name, parameters)
        try:
            return cls(n=table[:, 0], ones=table[:, 1:], parameters=parameters)
        except RapporError as error:
            raise ReportFileError(
                Message(
                    "The file {name!r}: {problem}", name=Name(name), problem=said(error.problem)
                )
            ) from None


def _from_json(text: str, name: str, parameters: Parameters | None) -> tuple[Any, Parameters]:
    content = content_of(text, form=_FORMAT)
    try:
        rows, own_parameters = content["counts"], Parameters.from_dict(content["parameters"])
    except (ValueError, KeyError, TypeError, AttributeError):
        content = {}
    if not content:
        raise ReportFileError(
            Message("The file {name!r} is no file of counts.", name=Name(name))
        )
    digest = content.pop("digest", None)
    if digest is None and content.keys() <= {"format", "parameters", "counts"}:
        logger.warning(
            Message(
                "The counts {name!r} have no digest, as in older versions: damage cannot be "
                "told.",
                name=Name(name),
            ),
            extra={"event": "counts without digest"},
        )
    elif digest != digest_of(content):
        raise ReportFileError(
            Message(
                "The file {name!r} is damaged: it does not hold what was written.",
                name=Name(name),
            ),
            hint=Message("copy it again, or sum the reports again"),
        )
    if parameters is not None and own_parameters != parameters:
        raise MismatchError(
            Message(
                "The counts of {name!r} were made with the parameters {fingerprint}, not "
                "{parameters_fingerprint}.",
                name=Name(name),
                fingerprint=Name(own_parameters.fingerprint),
                parameters_fingerprint=Name(parameters.fingerprint),
            ),
            hint=Message("give the parameters of the collection, or none"),
        )
    return rows, own_parameters


def _numbers(rows: Any, name: str, parameters: Parameters) -> Integers:
    shape = (parameters.n_cohorts, parameters.n_bits + 1)
    lengths = {len(row) for row in rows} if all(isinstance(r, list) for r in rows) else set()
    if len(rows) != shape[0] or lengths != {shape[1]}:
        raise ReportFileError(
            Message(
                "The file {name!r} must hold {shape} rows of {shape_2} counts.",
                name=Name(name),
                shape=shape[0],
                shape_2=shape[1],
            ),
            hint=Message("compare the numbers of cohorts and bits with the parameters"),
        )
    try:
        return np.array([[whole_number(str(cell)) for cell in row] for row in rows], np.int64)
    except (TypeError, ValueError, OverflowError):
        raise ReportFileError(
            Message("The file {name!r} must hold whole numbers alone.", name=Name(name))
        ) from None


def _whole(values: Any, name: str, shape: tuple[int, ...]) -> Integers:
    array = np.asarray(values)
    if array.shape != shape:
        raise RapporError(
            Message(
                "{name} must have the shape {shape}, not {array_shape}.",
                name=Name(name),
                shape=Argument(shape),
                array_shape=Shape(array.shape),
            )
        )
    if array.dtype.kind not in "iu" or np.any(array < 0):
        raise RapporError(
            Message("{name} must hold whole numbers that are not negative.", name=Name(name))
        )
    array = array.astype(np.int64)  # a copy: nobody else can change it
    array.flags.writeable = False
    return array
