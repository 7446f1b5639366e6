"""The records that a private model reads, no more than it declares, and its predictions."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsgd.errors import DPSGDError, TrainingDataError
from footing.files import write_whole
from footing.messages import Argument, Message, Name
from tables import ReadOptions, open_source
from tables.filtering.filters import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from ckm.config.training import TrainingJob
    from tables.source.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRecords:
    """The records of a table: columns, the target among them."""

    path: Path
    names: Sequence[str]
    table: str | None = None

    def check(self) -> None:
        """Refuse a file without these columns; no value is looked at."""
        check_columns(self.path, names=self.names, table=self.table)

    def read(self) -> tuple[Any, None]:
        """Return what a model is fitted to."""
        return read_columns(self.path, names=self.names, table=self.table), None


def records_of(job: TrainingJob, path: Path, *, labels: Path | None = None) -> Any:
    """Return the records of a training file: of a table, or images with their classes.

    Both have `check`, which looks at names and shapes alone, and `read`.
    """
    if job.images is None:
        return TableRecords(path=path, names=job.names, table=job.data.table)
    from dpsgd.files.image_files import ImageFile

    return ImageFile(
        path=path, labels=labels, classes=job.images.classes, shape=job.images.shape
    )


def read_columns(path: Path, *, names: Sequence[str], table: str | None = None) -> pa.Table:
    r"""Return columns of a file, in its order of records; texts without blanks around them.

    How a value is read depends on nothing but that value: one record must not be able to turn
    the column of all others from numbers into texts.
    """
    with open_source(path, table=table, threads=1, options=ReadOptions(text=True)) as source:
        _require(source, names)
        select_list = ", ".join(_selected(source, name) for name in names)
        # Names are quoted.
        return source.arrow(f"SELECT {select_list} FROM {source.relation}")  # noqa: S608


def check_columns(path: Path, *, names: Sequence[str], table: str | None = None) -> None:
    r"""Refuse a file without these columns; no value is looked at."""
    with open_source(path, table=table, threads=1, options=ReadOptions(text=True)) as source:
        _require(source, names)


def _require(source: Source, names: Sequence[str]) -> None:
    for name in names:
        if name in source.refusals:
            refusal = source.refusals[name]
            raise TrainingDataError(refusal.problem, hint=refusal.hint)
    if missing := [name for name in names if name not in source.columns]:
        raise TrainingDataError(
            Message(
                "{label!r} lacks {names!r}.",
                label=Name(source.label),
                names=Name.each(missing),
            ),
            hint=Message("it has {value!r}", value=Name.each([*source.columns][:20])),
        )


def _selected(source: Source, name: str) -> str:
    quoted = quote(name)
    if source.columns[name] == "VARCHAR":
        return f"nullif(trim({quoted}), '') AS {quoted}"
    return quoted


def predicted_images(model: Any, path: Path) -> pa.Table:
    """Return for each image its file or number, its class and the probability of each."""
    from dpsgd.features.images import ImageForm
    from dpsgd.files.image_files import read_unlabelled

    images, names = read_unlabelled(path, shape=ImageForm.of(model.images).shape)
    return _predictions(model, images, {"image": names})


def predicted(model: Any, records: pa.Table, *, keep: Sequence[str] = ()) -> pa.Table:
    """Return kept columns, the prediction, and for codes the probability of each."""
    return _predictions(model, records, {name: records[name] for name in dict.fromkeys(keep)})


def _predictions(model: Any, records: Any, columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    outputs: dict[str, Any] = {}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(records)
        outputs["prediction"] = model.classes_[chances.argmax(1)]
        for place, name in enumerate(model.classes_):
            outputs[f"probability_{name}"] = chances[:, place]
    else:
        outputs["prediction"] = model.predict(records)
    if both := set(columns) & set(outputs):
        raise DPSGDError(
            Message(
                "The column {both!r} to keep has the name of a prediction.",
                both=Argument(min(both)),
            ),
            hint=Message("rename it, or leave it out"),
        )
    arrays = {
        name: pa.array(values if values.dtype.kind == "f" else values.tolist())
        for name, values in outputs.items()
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
