"""Predictions of a private model beside columns of the records, in a file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from dpsgd.errors import DPSGDError
from footing.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa


def predicted(model: Any, records: pa.Table, *, keep: Sequence[str] = ()) -> pa.Table:
    """Return kept columns, the prediction, and for codes the probability of each."""
    import pyarrow as pa

    columns: dict[str, Any] = {name: records[name] for name in dict.fromkeys(keep)}
    found: dict[str, Any] = {}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(records)
        found["prediction"] = model.classes_[chances.argmax(1)]
        for place, name in enumerate(model.classes_):
            found[f"probability_{name}"] = chances[:, place]
    else:
        found["prediction"] = model.predict(records)
    if both := set(columns) & set(found):
        raise DPSGDError(
            f"The column {min(both)!r} to keep has the name of a prediction.",
            hint="rename it, or leave it out",
        )
    arrays = {
        name: pa.array(values if values.dtype.kind == "f" else values.tolist())
        for name, values in found.items()
    }
    return pa.table({**columns, **arrays})


def write_table(table: pa.Table, path: Path) -> None:
    r"""Write a table as CSV or Parquet; whole or not at all, for its owner alone.

    Parameters
    ----------
    table
        The table.
    path
        A .csv or .parquet file.

    Examples
    --------
    >>> import pathlib, tempfile, pyarrow as pa
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "some.csv"
    >>> write_table(pa.table({"id": ["a"], "prediction": [0.25]}), file)
    >>> file.read_text()
    '"id","prediction"\n"a",0.25\n'
    """
    sink = io.BytesIO()
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, sink)
    else:
        from pyarrow import csv

        csv.write_csv(table, sink)
    write_whole(path, sink.getvalue(), is_private=True)
