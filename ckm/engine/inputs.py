"""What an engine is given, checked and opened: a p-table, records, a secret, lists."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ckm.errors import ConfigError
from footing.messages import Message, Name, Shape, said
from footing.places import place_of
from ptable import PTable, PTableWarning
from tables import (
    CodeTree,
    DerivedVariable,
    Hierarchy,
    ReadOptions,
    Request,
    Secret,
    open_source,
    read_categories,
)
from tables.cells.given import GivenCells
from tables.recoding.derive import derive_variables
from tables.secret import SECRET_VARIABLE
from tables.source.source import Source


def require_counts(ptable: PTable) -> None:
    """Refuse tables for magnitudes, and say when noise on zeros is left out."""
    if not hasattr(ptable, "lookup"):
        raise ConfigError(
            Message("ptable must be a PTable, not {name!r}.", name=Shape(type(ptable))),
            hint=Message("solve(NoiseSpec(…)) makes one, PTable.read(path) reads one"),
        )
    if ptable.step != 1 or ptable.anchors is not None:
        raise ConfigError(
            Message(
                "The p-table is one for magnitudes, with steps or anchors; counts need "
                "whole noise and a row per count."
            ),
            hint=Message("build one without step and anchors"),
        )
    if set(ptable.units(0)) != {0}:
        warnings.warn(
            Message(
                "The p-table has noise for counts of 0, but empty cells are published as "
                "0: their keys would be those of no records at all. What the p-table "
                "guarantees for zeros does not hold here."
            ),
            PTableWarning,
            stacklevel=3,
        )


def given_cells(
    cells: Sequence[str],
    *,
    count: str,
    cell_key: str | None,
    key_range: int | None,
    hierarchies: Mapping[str, object],
    labels: tuple[str, str],
    shared: Sequence[str] = (),
) -> GivenCells:
    """Say what the columns of a table of cells are, and whose contributors are holdings."""
    nested = [as_hierarchy(name, value) for name, value in hierarchies.items()]
    return GivenCells(
        dimensions=tuple(cells),
        count=count,
        cell_key=cell_key,
        key_range=key_range,
        trees={h.columns[0]: h.tree for h in nested if h.tree is not None},
        total_label=labels[0],
        missing_label=labels[1],
        shared=tuple(shared),
    )


def require_enough(
    cells: GivenCells | None, requests: Mapping[str, Request], *, ptable: PTable, sketch: int
) -> None:
    """Refuse what a table of cells does not hold, whatever its numbers are."""
    if cells is None:
        return
    if sketch:
        refuse_ledger_of_cells(cells)
    if any(request.sums for request in requests.values()):
        raise ConfigError(
            Message(
                "The noise of sums and means is made from records, and a table of cells "
                "has none."
            ),
            hint=Message("publish its sums by suppression, or release from the records"),
        )
    if cells.cell_key is None and any(len(ptable.units(int(n))) > 1 for n in ptable.counts):
        raise ConfigError(
            Message(
                "Noise needs the sum of the record keys of each cell: cell_key names its "
                "column."
            ),
            hint=Message(
                "a p-table of rounding needs no key; ckm suppress takes tables without keys"
            ),
        )


def refuse_ledger_of_cells(cells: GivenCells | None) -> None:
    """Refuse to compare the records of cells that are given without them."""
    if cells is not None:
        raise ConfigError(
            Message("A ledger compares the records of cells, and a table of cells has none."),
            hint=Message("remove [ledger], or release from the records"),
        )


def open_records(
    data: object,
    *,
    engine: str = "duckdb",
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    spark: Any = None,
    table: str | None = None,
    cells: GivenCells | None = None,
    columns: Callable[[Source], Mapping[str, str]] | None = None,
    variables: Sequence[DerivedVariable] = (),
    options: ReadOptions | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Source:
    """Open the records, with further columns, for what shall tabulate them, or cells.

    Parameters
    ----------
    columns
        Further columns, by the SQL that makes them.
    variables
        Variables that are derived from columns.
    """
    if engine == "duckdb":
        source = open_source(
            data, table=table, options=options, memory_limit=memory_limit, threads=threads
        )
        try:
            if columns is not None and (further := columns(source)):
                source.add_columns(further)
            if cells is not None:
                cells.take(source)
            derive_variables(source, variables)
        except BaseException:
            source.close()
            raise
        return source
    if engine != "spark":
        raise ConfigError(
            Message("engine must be 'duckdb' or 'spark', not {engine!r}.", engine=Name(engine))
        )
    place = place_of(data)
    if cells is not None or place is None or isinstance(data, list):
        raise ConfigError(
            Message("Spark tabulates Parquet files of records, not cells or data in memory."),
            hint=Message("write records to Parquet, or leave engine out"),
        )
    (options or ReadOptions()).require_csv(str(place))
    from tables.spark.session import LOCAL
    from tables.spark.spark import open_spark

    source = open_spark(place, master=master or LOCAL, settings=settings, session=spark)
    try:
        derive_variables(source, variables)
    except BaseException:
        source.close()
        raise
    return source


def find_secret(
    secret: Secret | str | os.PathLike[str] | None, *, is_needed: bool
) -> Secret | None:
    """Return the secret itself, that of a file, or that of the environment."""
    if isinstance(secret, Secret):
        return secret
    if secret is not None:
        return Secret.from_file(secret)
    if not is_needed:
        return None
    if not os.environ.get(SECRET_VARIABLE):
        raise ConfigError(
            Message("A secret is needed to hash identifiers and to mix cell keys."),
            hint=Message(
                "make one with 'ckm keys secret secret.key', or set {secret_variable}",
                secret_variable=said(SECRET_VARIABLE),
            ),
        )
    return Secret.from_env(SECRET_VARIABLE)


def as_hierarchy(name: str, value: object) -> Hierarchy:
    """Return a hierarchy from columns, the file of a code tree, or a column and a file."""
    if isinstance(value, Hierarchy):
        return value
    if isinstance(value, (str, os.PathLike)):
        return Hierarchy(columns=(name,), tree=CodeTree.read(value))
    if isinstance(value, Mapping):
        if set(value) != {"column", "tree"}:
            raise ConfigError(
                Message("The hierarchy {name!r} needs 'column' and 'tree'.", name=Name(name)),
                hint=Message('{column = "age", tree = "age.csv"}'),
            )
        return Hierarchy(columns=(str(value["column"]),), tree=CodeTree.read(value["tree"]))
    if isinstance(value, Sequence):
        return Hierarchy(columns=tuple(str(column) for column in value))
    raise ConfigError(
        Message(
            "The hierarchy {name!r} is a list of columns or the file of a code tree.",
            name=Name(name),
        )
    )


def find_categories(
    name: str, value: object, *, nested: Hierarchy | None = None
) -> Sequence[object]:
    """Return declared categories: a list, or those that a file lists."""
    if not isinstance(value, (str, os.PathLike)):
        if not isinstance(value, Sequence):
            raise ConfigError(
                Message("The categories of {name!r} are a list or a file.", name=Name(name))
            )
        return value
    columns = (name,) if nested is None or nested.tree is not None else nested.columns
    return read_categories(value, columns)
