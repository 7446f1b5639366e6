"""What an engine is given, checked and opened: a p-table, records, a secret, lists."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from ptable import PTableWarning
from tables import CodeTree, Hierarchy, Secret, open_source, read_categories
from tables.secret import SECRET_VARIABLE

if TYPE_CHECKING:
    from ptable import PTable
    from tables import Source


def require_counts(ptable: PTable) -> None:
    """Refuse tables for magnitudes, and say when noise on zeros is left out.

    Parameters
    ----------
    ptable
        The p-table of counts.

    Raises
    ------
    ConfigError
        If it is no p-table, or one for magnitudes.

    Examples
    --------
    >>> from ptable import NoiseSpec, solve
    >>> require_counts(solve(NoiseSpec(max_noise=2, variance=1.0)))
    """
    if not hasattr(ptable, "lookup"):
        raise ConfigError(
            f"ptable must be a PTable, not {type(ptable).__name__!r}.",
            hint="solve(NoiseSpec(…)) makes one, PTable.read(path) reads one",
        )
    if ptable.step != 1 or ptable.anchors is not None:
        raise ConfigError(
            "The p-table is one for magnitudes, with steps or anchors; counts need whole noise "
            "and a row per count.",
            hint="build one without step and anchors",
        )
    if set(ptable.units(0)) != {0}:
        warnings.warn(
            "The p-table has noise for counts of 0, but empty cells are published as 0: their "
            "keys would be those of no records at all. What the p-table guarantees for zeros "
            "does not hold here.",
            PTableWarning,
            stacklevel=3,
        )


def open_records(
    data: object,
    *,
    engine: str = "duckdb",
    master: str | None = None,
    table: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Source:
    """Open the records for what shall tabulate them.

    Parameters
    ----------
    data, engine, master, table, memory_limit, threads
        See `ckm.Engine`.

    Returns
    -------
    tables.Source
        The records; whoever opened them closes them.

    Raises
    ------
    ConfigError, tables.TablesError
        If nothing of that name tabulates, or the data cannot be read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with open_records(pa.table({"id": range(3)})) as source:
    ...     source.columns
    {'id': 'BIGINT'}
    """
    if engine == "duckdb":
        return open_source(data, table=table, memory_limit=memory_limit, threads=threads)
    if engine != "spark":
        raise ConfigError(f"engine must be 'duckdb' or 'spark', not {engine!r}.")
    if not isinstance(data, (str, os.PathLike)):
        raise ConfigError(
            "Spark tabulates Parquet files, not data in memory.",
            hint="write them to Parquet, or leave engine out",
        )
    from tables.spark.session import LOCAL
    from tables.spark.spark import open_spark

    return open_spark(data, master=master or LOCAL)


def find_secret(
    secret: Secret | str | os.PathLike[str] | None, *, is_needed: bool
) -> Secret | None:
    """Return the secret itself, that of a file, or that of the environment.

    Parameters
    ----------
    secret
        The secret, the file that holds it, or None.
    is_needed
        Look into the environment when None is given.

    Returns
    -------
    tables.Secret or None
        The secret; None when none is given and none is needed.

    Raises
    ------
    ConfigError, tables.TablesError
        If one is needed and there is none, or it cannot be read.

    Examples
    --------
    >>> find_secret(None, is_needed=False) is None
    True
    """
    if isinstance(secret, Secret):
        return secret
    if secret is not None:
        return Secret.from_file(secret)
    if not is_needed:
        return None
    if not os.environ.get(SECRET_VARIABLE):
        raise ConfigError(
            "A secret is needed to hash identifiers and to mix cell keys.",
            hint=f"make one with 'ckm keys secret secret.key', or set {SECRET_VARIABLE}",
        )
    return Secret.from_env(SECRET_VARIABLE)


def as_hierarchy(name: str, given: object) -> Hierarchy:
    """Return a hierarchy from columns, the file of a code tree, or a column and a file.

    Parameters
    ----------
    name
        The dimension.
    given
        What the user wrote.

    Raises
    ------
    ConfigError, tables.TablesError
        If it is nothing of that kind, or the file cannot be read.

    Examples
    --------
    >>> as_hierarchy("place", ["region", "commune"]).columns
    ('region', 'commune')
    """
    if isinstance(given, Hierarchy):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Hierarchy(columns=(name,), tree=CodeTree.read(given))
    if isinstance(given, Mapping):
        if set(given) != {"column", "tree"}:
            raise ConfigError(
                f"The hierarchy {name!r} needs 'column' and 'tree'.",
                hint='{column = "age", tree = "age.csv"}',
            )
        return Hierarchy(columns=(str(given["column"]),), tree=CodeTree.read(given["tree"]))
    if isinstance(given, Sequence):
        return Hierarchy(columns=tuple(str(column) for column in given))
    raise ConfigError(
        f"The hierarchy {name!r} is a list of columns or the file of a code tree."
    )


def find_categories(
    name: str, given: object, *, nested: Hierarchy | None = None
) -> Sequence[object]:
    """Return declared categories: a list, or those that a file lists.

    Parameters
    ----------
    name
        The dimension.
    given
        What the user wrote.
    nested
        The hierarchy of that dimension, if it has one.

    Raises
    ------
    ConfigError, tables.TablesError
        If it is nothing of that kind, or the file cannot be read.

    Examples
    --------
    >>> find_categories("sex", ["F", "M"])
    ['F', 'M']
    """
    if not isinstance(given, (str, os.PathLike)):
        if not isinstance(given, Sequence):
            raise ConfigError(f"The categories of {name!r} are a list or a file.")
        return given
    columns = (name,) if nested is None or nested.tree is not None else nested.columns
    return read_categories(given, columns)
