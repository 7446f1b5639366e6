"""A table of tau-ARGUS as a job: cells, trees, what is known beforehand, and the rules."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections import Counter
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
            tree = read_hierarchy(file, lead=variable.lead)
            trees[name] = {batch.code(name, c): batch.code(name, p) for c, p in tree.items()}
    files = {f"tree-{name}.csv": _tree_text(tree) for name, tree in trees.items()}
    for row in rows:
        for name in batch.dimensions:
            is_total = row[name] in {"", metadata.variable(name).total}
            row[name] = _TOTAL if is_total else batch.code(name, row[name])
    numbers = _frequencies(batch, metadata, rows, trees)
    files["cells.csv"] = _cells_text(batch, metadata, numbers)
    lines = _said(batch, metadata, rows)
    if lines:
        files["cells-said.csv"] = _csv([*batch.dimensions, *_SAID], lines)
    if batch.apriori is not None:
        files["cells-said.hst"] = _apriori(batch, metadata, read_text(batch.apriori))
    is_count = _is_count(batch, metadata, rows)
    if numbers.has_holdings and not is_count:
        batch.left_out.append(
            Message(
                "frequencies as those of records: totals have fewer than their cells, so they "
                "are read as numbers of holdings"
            )
        )
    files["job.toml"] = _job_text(
        batch,
        metadata,
        files,
        is_count=is_count,
        has_holdings=numbers.has_holdings,
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


@dataclass(frozen=True, slots=True)
class _Frequencies:
    """How many contribute to each row that is taken over.

    Parameters
    ----------
    rows
        The rows; without frequencies, those of the finest level, one record each.
    records
        For each row, how many records it stands for, which add up.
    has_holdings
        Whether frequencies are of contributors who give to several cells, and do not.
    """

    rows: Sequence[Mapping[str, str]]
    records: Sequence[str]
    has_holdings: bool = False


def _frequencies(
    batch: Batch,
    metadata: Metadata,
    rows: Sequence[Mapping[str, str]],
    trees: Mapping[str, Mapping[str, str]],
) -> _Frequencies:
    """Tell frequencies of records from those of holdings, of which totals have fewer."""
    own_rows = [row for row in rows if row[batch.response] not in _EMPTY]
    coarse = {name: {_TOTAL, *trees.get(name, {}).values()} for name in batch.dimensions}
    is_finest = [all(row[n] not in coarse[n] for n in batch.dimensions) for row in own_rows]
    if not metadata.of("frequency"):
        finest = [row for row, is_own in zip(own_rows, is_finest, strict=True) if is_own]
        return _Frequencies(finest, ["1"] * len(finest))
    (frequency,) = metadata.of("frequency")[:1]
    texts = [row[frequency] for row in own_rows]
    if not all(text.isdigit() for text in texts):
        return _Frequencies(own_rows, texts)
    sums: Counter[tuple[str, ...]] = Counter()
    for row, is_own in zip(own_rows, is_finest, strict=True):
        if is_own:
            above = [_with_parents(row[n], trees.get(n, {})) for n in batch.dimensions]
            for place in itertools.product(*above):
                sums[place] += int(row[frequency])
    added = [sums[tuple(row[n] for n in batch.dimensions)] for row in own_rows]
    pairs = [(int(text), n) for text, n in zip(texts, added, strict=True)]
    if all(own <= n for own, n in pairs) and any(own < n for own, n in pairs):
        return _Frequencies(own_rows, list(map(str, added)), has_holdings=True)
    return _Frequencies(own_rows, texts)


def _with_parents(code: str, tree: Mapping[str, str]) -> list[str]:
    """Return a code, those above it, and the total."""
    codes = [code]
    while tree.get(codes[-1]) and len(codes) <= len(tree):
        codes.append(tree[codes[-1]])
    return [*codes, _TOTAL]


def _cells_text(
    batch: Batch,
    metadata: Metadata,
    numbers: _Frequencies,
) -> str:
    """Write the cells, with how many records each stands for."""
    frequency, largest = metadata.of("frequency")[:1], metadata.of("largest")
    own = [batch.response, *largest, *(frequency if numbers.has_holdings else ())]
    lines = [
        {
            **{name: row[name] for name in batch.dimensions},
            **{name: row[name].replace(",", ".") for name in own if row[name] not in _EMPTY},
            _N: number,
        }
        for row, number in zip(numbers.rows, numbers.records, strict=True)
    ]
    header = [*batch.dimensions, *own, _N]
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
        named = zip(batch.dimensions, own, totals, strict=False)
        codes = ["" if code == total else batch.code(n, code) for n, code, total in named]
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
    batch: Batch,
    metadata: Metadata,
    files: Mapping[str, str],
    *,
    is_count: bool,
    has_holdings: bool,
) -> str:
    """Write the job that protects the table by the rules of the batch."""
    largest = metadata.of("largest")
    lines = [*(f"# not taken over: {text}" for text in batch.left_out), "schema = 1"]
    lines += ["[data]", 'path = "cells.csv"', f"cells = {_toml(batch.dimensions)}"]
    lines += [f'count = "{_N}"']
    if not is_count:
        number = metadata.of("frequency")[0] if has_holdings else _N
        lines += [f"[data.amounts.{_toml(batch.response)}]", f"n = {_toml(number)}"]
        lines += ["holdings = true"] * has_holdings
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
            lines += ['unknown = "ignore"'] * (batch.is_lenient and name.endswith(".hst"))
    trees = [name for name in batch.dimensions if f"tree-{name}.csv" in files]
    lines += ["[hierarchies]"] * bool(trees)
    lines += [f"{_toml(name)} = {_toml(f'tree-{name}.csv')}" for name in trees]
    lines += ["[[table]]", 'name = "table"', f"dimensions = {_toml(batch.dimensions)}"]
    measure = "count" if is_count else f"sum:{batch.response}"
    return "\n".join([*lines, f"measures = {_toml([measure])}", ""])


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
