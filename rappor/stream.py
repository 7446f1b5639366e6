"""Sum any number of reports in little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rappor.counts import Counts
from rappor.errors import MismatchError, RapporError
from rappor.report_files import read_reports

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from rappor.encoded import Reports
    from rappor.parameters import Parameters


def sum_reports(pieces: Iterable[Reports], *, parameters: Parameters) -> Counts:
    """Sum pieces of reports as they come.

    Parameters
    ----------
    pieces
        The reports.
    parameters
        What all of them must have been made with.

    Raises
    ------
    MismatchError
        If a piece was made with others.

    Examples
    --------
    >>> from rappor import Parameters, Reports
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> piece = Reports.from_texts(["01", "11"], [0, 0], parameters=coin)
    >>> sum_reports([piece, piece], parameters=coin).ones.tolist()
    [[4, 2]]
    """
    total = Counts.zeros(parameters)
    for piece in pieces:
        if piece.parameters != parameters:
            raise MismatchError(
                f"A piece was made with the parameters {piece.parameters.fingerprint}, "
                f"not {parameters.fingerprint}.",
                hint="sum each collection by itself",
            )
        total = total + piece.sum()
    return total


def sum_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    parameters: Parameters | None = None,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Sum the reports of files, which must all be of one collection.

    Parameters
    ----------
    paths
        Files of `write_reports`, or CSV files.
    parameters
        What they were made with; by default what the first file says.
    progress
        Told the number of reports summed so far.

    Raises
    ------
    MismatchError
        If a file was made with other parameters.
    RapporError
        If there is no report from which to take the parameters.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rappor import Parameters, Reports, write_reports
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "reports.rappor"
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> piece = Reports.from_texts(["01", "11"], [0, 0], parameters=coin)
    >>> _ = write_reports([piece], file, parameters=coin)
    >>> sum_files([file, file]).total
    4
    """
    total = None if parameters is None else Counts.zeros(parameters)
    for path in paths:
        expected = None if total is None else total.parameters
        for piece in read_reports(path, parameters=expected):
            total = piece.sum() if total is None else total + piece.sum()
            if progress is not None:
                progress(total.total)
    if total is None:
        raise RapporError(
            "There is no report from which to learn the parameters.",
            hint="give the parameters",
        )
    return total
