"""A table of tau-ARGUS as a job: cells, trees, what is known beforehand, and the rules."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from ckm.methods.suppression.argus.batch import Batch, near, read_batches
from ckm.methods.suppression.argus.metadata import (
    Metadata,
    read_hierarchy,
    read_metadata,
    read_text,
)
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

_TOTAL, _N, _EMPTY = "Total", "ckm_n", {"", "-"}
_STATUS = {"s": "safe", "u": "unsafe", "p": "protected"}
_SAID = ("status", "cost", "lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The files of a job, by their names, and what of the batch they do not say."""

    files: Mapping[str, str]
    left_out: tuple[str, ...]


def job_of_batch(path: Path) -> Converted:
    """Convert a batch, and all that it opens: several tables have a folder for each."""
    batches = read_batches(path)
    if len(batches) == 1:
        return _converted(batches[0])
    files, left_out = dict[str, str](), list[str]()
    for number, batch in enumerate(batches, start=1):
        conversion = _converted(batch)
        files |= {
            f"{number}-{batch.data.stem}/{name}": t for name, t in conversion.files.items()
        }
        left_out += [
            Message("table {number}: {text}", number=number, text=said(text))
            for text in conversion.left_out
        ]
    return Converted(files=files, left_out=(*left_out, Message("how the tables are linked")))


def _converted(batch: Batch) -> Converted:
    metadata = read_metadata(batch.metadata)
    unknown = [d for d in batch.dimensions if d not in metadata.of("dimension")]
    if unknown or batch.response not in metadata.of("response"):
        raise ConfigError(
            Message(
                "The table has no {names!r} so.", names=Name.each(unknown or [batch.response])
            ),
            hint=Message(
                "{file!r} has {variables}",
                file=Name(batch.metadata.name),
                variables=Name.each(v.name for v in metadata.variables),
            ),
        )
    others = set(metadata.of("dimension")) - set(batch.dimensions)
    rows = _rows(batch, metadata)
    if others:  # the table is that of the totals over these
        totals = {name: metadata.variable(name).total for name in others}
        rows = [r for r in rows if all(r[n] in {"", t} for n, t in totals.items())]
    trees = {}
    for name in batch.dimensions:
        variable = metadata.variable(name)
        if variable.hierarchy:
            file = near(batch.metadata, variable.hierarchy)
            trees[name] = read_hierarchy(file, lead=variable.lead)
    files = {f"tree-{name}.csv": _tree_text(tree) for name, tree in trees.items()}
    for row in rows:
        for name in batch.dimensions:
            if row[name] in {"", metadata.variable(name).total}:
                row[name] = _TOTAL
    files["cells.csv"] = _cells_text(batch, metadata, rows, trees)
    lines = _said(batch, metadata, rows)
    if lines:
        files["cells-said.csv"] = _csv([*batch.dimensions, *_SAID], lines)
    if batch.apriori is not None:
        files["cells-said.hst"] = _apriori(batch, metadata, read_text(batch.apriori))
    files["job.toml"] = _job_text(
        batch, metadata, files, is_count=_is_count(batch, metadata, rows)
    )
    return Converted(files=files, left_out=tuple(batch.left_out))


def _rows(batch: Batch, metadata: Metadata) -> list[dict[str, str]]:
    """Read the table, every field by the name of its variable."""
    names = [variable.name for variable in metadata.variables]
    reader = csv.reader(io.StringIO(read_text(batch.data)), delimiter=metadata.separator)
    rows = []
    for number, fields in enumerate(reader, start=1):
        own = [text.strip() for text in fields]
        if not any(own):
            continue
        if len(own) != len(names):
            raise ConfigError(
                Message(
                    "Line {number} of {data!r} has {number_2} fields, and the metadata have "
                    "{number_3} variables.",
                    number=number,
                    data=Name(batch.data.name),
                    number_2=len(own),
                    number_3=len(names),
                )
            )
        rows.append(dict(zip(names, own, strict=True)))
    return rows


def _cells_text(
    batch: Batch,
    metadata: Metadata,
    rows: Sequence[Mapping[str, str]],
    trees: Mapping[str, Mapping[str, str]],
) -> str:
    """Write the cells; without frequencies, those of the finest level, one record each."""
    frequency, largest = metadata.of("frequency")[:1], metadata.of("largest")
    numbers = [batch.response, *frequency, *largest]
    own_rows = [row for row in rows if row[batch.response] not in _EMPTY]
    if not frequency:
        above = {name: {_TOTAL, *trees.get(name, {}).values()} for name in batch.dimensions}
        own_rows = [
            row for row in own_rows if all(row[n] not in above[n] for n in batch.dimensions)
        ]
    lines = [
        {
            **{name: row[name] for name in batch.dimensions},
            **{
                name: row[name].replace(",", ".") for name in numbers if row[name] not in _EMPTY
            },
            _N: row[frequency[0]] if frequency else "1",
        }
        for row in own_rows
    ]
    header = [*batch.dimensions, batch.response, *largest, _N]
    return _csv(header, [{name: line.get(name, "0") for name in header} for line in lines])


def _said(
    batch: Batch, metadata: Metadata, rows: Sequence[Mapping[str, str]]
) -> list[dict[str, str]]:
    """Return what the table itself says of its cells."""
    columns = {role: metadata.of(role)[:1] for role in _SAID}
    words = {mark: _STATUS[kind] for kind, mark in metadata.status.items()}
    if batch.rules.keys() - {"margin"}:
        words.pop(metadata.status["s"], None)  # rules judge what is only not unsafe
    lines = []
    for row in rows:
        values = {role: row[name[0]] for role, name in columns.items() if name}
        values = {role: text.replace(",", ".") for role, text in values.items()}
        values = {role: text for role, text in values.items() if text not in _EMPTY}
        if "status" in values:
            values["status"] = words.get(values["status"].upper(), "")
        if any(values.values()) and row[batch.response] not in _EMPTY:
            place = {name: row[name] for name in batch.dimensions}
            lines.append({**dict.fromkeys(_SAID, ""), **place, **values})
    return lines


def _is_count(batch: Batch, metadata: Metadata, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether what is published is how many there are."""
    both = [batch.response, *metadata.of("frequency")[:1]]
    return len(both) == 2 and all(row[both[0]] == row[both[1]] for row in rows)


def _apriori(batch: Batch, metadata: Metadata, text: str) -> str:
    """Write what is known beforehand again, totals empty."""
    totals = [metadata.variable(name).total for name in batch.dimensions]
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=batch.separator, lineterminator="\n")
    for fields in csv.reader(io.StringIO(text), delimiter=batch.separator):
        own = [field.strip() for field in fields]
        pairs = zip(own, totals, strict=False)
        codes = ["" if code == total else code for code, total in pairs]
        writer.writerow([*codes, *own[len(totals) :]])
    return buffer.getvalue()


def _tree_text(tree: Mapping[str, str]) -> str:
    return _csv(["code", "parent"], [{"code": c, "parent": p} for c, p in tree.items()])


def _csv(header: Sequence[str], rows: Iterable[Mapping[str, str]]) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, header, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _job_text(
    batch: Batch, metadata: Metadata, files: Mapping[str, str], *, is_count: bool
) -> str:
    """Write the job that protects the table by the rules of the batch."""
    largest = metadata.of("largest")
    lines = [*(f"# not taken over: {text}" for text in batch.left_out), "schema = 1"]
    lines += ["[data]", 'path = "cells.csv"', f"cells = {_toml(batch.dimensions)}"]
    lines += [f'count = "{_N}"']
    if not is_count:
        lines += [f"[data.amounts.{_toml(batch.response)}]", f'n = "{_N}"']
        lines += [f"largest = {_toml(largest)}"] * bool(largest)
    lines.append("[suppression]")
    for key, value in batch.rules.items():
        match key, value:
            case "dominance", (n, k):
                lines.append(f"dominance = {{ n = {n}, percent = {k} }}")
            case "prior_posterior", (p, q):
                lines.append(f"prior_posterior = {{ posterior = {p}, prior = {q} }}")
            case _:
                lines.append(f"{key} = {value}")
    for name in ("cells-said.csv", "cells-said.hst"):
        if name in files:
            lines += ["[[suppression.cells]]", f'path = "{name}"', 'table = "table"']
    trees = [name for name in batch.dimensions if f"tree-{name}.csv" in files]
    lines += ["[hierarchies]"] * bool(trees)
    lines += [f"{_toml(name)} = {_toml(f'tree-{name}.csv')}" for name in trees]
    lines += ["[[table]]", 'name = "table"', f"dimensions = {_toml(batch.dimensions)}"]
    measure = "count" if is_count else f"sum:{batch.response}"
    return "\n".join([*lines, f"measures = {_toml([measure])}", ""])


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
