"""P-tables in files: Parquet and JSON, checked whenever they are read."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from footing.files import new_file
from footing.messages import Argument, Message, Name
from footing.serialisation import digest_of, document, json_line
from footing.text_files import read_text
from ptable.design.design import design_from_dict
from ptable.design.mechanisms import Mechanism, verify
from ptable.errors import PTableError
from ptable.lookup import intervals
from ptable.proof.certificate import Certificate, is_of_this_form, prove_again
from ptable.table import PTable

_FORMAT = "ptable"
_VERSION = 1
_METADATA = b"ptable"


def write_table(table: PTable, path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a table to a new file, all or nothing; see `PTable.write`.

    Parameters
    ----------
    table
        The p-table.
    path
        A name ending in ``.parquet`` or ``.json``.
    overwrite
        Whether a file of that name may be replaced.

    Examples
    --------
    >>> table = PTable(noise=[[0]], upper=[[256]], key_range=256)
    >>> try:
    ...     write_table(table, "table.xlsx", overwrite=False)
    ... except PTableError as error:
    ...     print(error)
    A p-table is written to .parquet or .json, not '.xlsx'.
    """
    target = Path(path)
    writers: dict[str, Callable[[Path], object]] = {
        ".parquet": partial(_write_parquet, table),
        ".json": partial(_write_json, table),
    }
    writer = writers.get(target.suffix.lower())
    if writer is None:
        raise PTableError(
            Message(
                "A p-table is written to .parquet or .json, not {suffix!r}.",
                suffix=Name(target.suffix),
            )
        )
    with new_file(target, error=PTableError, overwrite=overwrite) as draft:
        writer(draft)


def read_table(path: str | os.PathLike[str]) -> PTable:
    """Read a table and check that nothing in it was changed; see `PTable.read`.

    Parameters
    ----------
    path
        A name ending in ``.parquet`` or ``.json``.

    Examples
    --------
    >>> try:
    ...     read_table("table.rds")
    ... except PTableError as error:
    ...     print(error)
    There is no file 'table.rds'.
    """
    source = Path(path)
    if not source.is_file():
        raise PTableError(Message("There is no file '{source}'.", source=source))
    suffix = source.suffix.lower()
    readers = {".parquet": _read_parquet, ".json": _read_json}
    if suffix not in readers:
        raise PTableError(
            Message(
                "A p-table of ours is read from .parquet or .json, not {suffix!r}.",
                suffix=Name(suffix),
            )
        )
    head, noise, upper = readers[suffix](source)
    return _check(head, noise, upper, source.name)


def is_table(path: str | os.PathLike[str]) -> bool:
    """Tell whether a file says of itself that it is a p-table of ours, sound or not.

    Parameters
    ----------
    path
        The file; one that cannot be read, or has another suffix, is none.
    """
    source = Path(path)
    if source.suffix == ".json":
        try:
            return bool(json.loads(source.read_text(encoding="utf-8"))["format"] == _FORMAT)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False
    if source.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return _METADATA in (pq.read_schema(source).metadata or {})
        except (OSError, pa.ArrowException):
            return False
    return False


def _head(table: PTable) -> dict[str, Any]:
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "id": table.id,
        "key_range": table.key_range,
        "large_counts": table.large_counts,
        "label": table.label,
        "spec": table.spec.to_dict() if table.spec else None,
        "certificate": table.certificate.to_dict() if table.certificate else None,
    }
    if table.step != 1 or table.anchors is not None:
        head |= {"step": table.step, "anchors": table.anchors and list(table.anchors)}
    return {**head, "checksum": _checksum(head)}


def _checksum(head: Mapping[str, Any]) -> str:
    return digest_of({**head, "checksum": None}, is_compact=True)


def _write_json(table: PTable, path: Path) -> None:
    rows = [
        {"count": count, "noise": noise, "upper": upper}
        for count, noise, upper in zip(
            table.counts.tolist(), table.noise, table.upper, strict=True
        )
    ]
    path.write_text(document({**_head(table), "rows": rows}, is_ascii=True), encoding="utf-8")


def _write_parquet(table: PTable, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = [
        (count, v, first, stop - 1)
        for count, *row in zip(table.counts.tolist(), table.noise, table.upper, strict=True)
        for v, first, stop in intervals(*row)
    ]
    schema = pa.schema(
        [
            ("i", pa.int64()),
            ("v", pa.int64()),
            ("first_key", pa.uint64()),
            ("last_key", pa.uint64()),
        ],
        metadata={_METADATA: json_line(_head(table)).encode()},
    )
    pq.write_table(pa.table(list(zip(*lines, strict=True)), schema=schema), path)


def _read_json(path: Path) -> tuple[dict[str, Any], list[list[int]], list[list[int]]]:
    try:
        content = json.loads(read_text(path))
        rows = content.pop("rows")
        counts = content.get("anchors") or list(range(len(rows)))
        in_order = [row["count"] for row in rows] == counts
        noise, upper = [row["noise"] for row in rows], [row["upper"] for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _no_table(path.name) from error
    if not in_order:
        raise _no_table(path.name)
    return content, noise, upper


def _read_parquet(path: Path) -> tuple[dict[str, Any], list[list[int]], list[list[int]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # `read_table` imports pandas
            content = file.read()
        head = json.loads((content.schema.metadata or {})[_METADATA])
        columns = [content[name].to_pylist() for name in ("i", "v", "first_key", "last_key")]
        counts = head.get("anchors") or range(len(set(columns[0])))
        rows = {count: row for row, count in enumerate(counts)}
        noise: list[list[int]] = [[] for _ in rows]
        upper: list[list[int]] = [[] for _ in rows]
        for count, v, first, last in zip(*columns, strict=True):
            row = rows[count]
            is_next = first == (upper[row][-1] if upper[row] else 0)
            if not is_next:
                raise _no_table(path.name)
            noise[row].append(v)
            upper[row].append(last + 1)
    except (
        *(pa.ArrowException, OSError, ValueError, KeyError, TypeError),
        *(AttributeError, RecursionError),
    ) as error:
        raise _no_table(path.name) from error
    return head, noise, upper


def _check(
    head: dict[str, Any], noise: list[list[int]], upper: list[list[int]], name: str
) -> PTable:
    if head.get("format") != _FORMAT:
        raise _no_table(name)
    version = head.get("version")
    if version != _VERSION:
        raise PTableError(
            Message(
                "The file '{name}' has format version {version}; this program reads "
                "{version_2}.",
                name=Name(name),
                version=Argument(version),
                version_2=_VERSION,
            ),
            hint=Message("read it with a newer version of this program"),
        )
    if head.get("checksum") != _checksum(head):
        raise PTableError(
            Message(
                "The specification, certificate or another setting in '{name}' was changed.",
                name=Name(name),
            ),
            hint=Message("build the p-table again"),
        )
    try:
        proof = head["certificate"]
        is_ours = not proof or is_of_this_form(proof)
        table = PTable(
            noise=tuple(map(tuple, noise)),
            upper=tuple(map(tuple, upper)),
            key_range=head["key_range"],
            large_counts=head["large_counts"],
            step=head.get("step", 1),
            anchors=head.get("anchors"),
            label=head["label"],
            spec=design_from_dict(head["spec"]) if head["spec"] else None,
            certificate=Certificate.from_dict(proof) if proof and is_ours else None,
        )
    except PTableError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _no_table(name) from error
    if table.id != head.get("id"):
        raise PTableError(
            Message(
                "The thresholds in '{name}' were changed: the table's id is not the stored "
                "one.",
                name=Name(name),
            ),
            hint=Message("build the p-table again"),
        )
    if isinstance(table.spec, Mechanism):
        verify(table)
        return table
    with _recomputed(name):
        if table.certificate is not None:
            table.certificate.check(table)
        elif not is_ours:  # another version of this program wrote it
            return table.with_proof(table.spec, prove_again(table, proof))
    return table


@contextlib.contextmanager
def _recomputed(name: str) -> Iterator[None]:
    """Name the file where figures that are computed anew make no sense."""
    try:
        yield
    except PTableError:
        raise
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise PTableError(
            Message(
                "The certificate in '{name}' cannot be recomputed: its figures or its "
                "specification make no sense for any p-table.",
                name=Name(name),
            ),
            hint=Message("the file was changed after it was built; build the p-table again"),
        ) from error


def _no_table(name: str) -> PTableError:
    return PTableError(
        Message("The file '{name}' is no p-table, or it is damaged.", name=Name(name)),
        hint=Message(
            "make it again with: ckm ptable build, or look at it with: ckm ptable check"
        ),
    )
