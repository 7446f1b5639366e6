"""Shares and changes of the counts of releases, from the files of their folders."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from ckm.engine.derived import changes, shares
from ckm.errors import FormatError, ReleaseError
from ckm.formats import read_table
from ckm.release.pages.rerender import require_released
from footing.messages import Argument, Message, Name
from footing.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.engine.published_table import PublishedTable
    from ptable import PTable


def figures(
    folder: Path,
    table: str,
    *,
    share_of: str | None = None,
    since: Path | None = None,
    level: float = 0.95,
) -> PublishedTable:
    """Compute shares of a released table, or its changes since another release.

    Parameters
    ----------
    folder, since
        Folders of releases; of `since`, the table of the same name.
    table
        The table.
    share_of
        The column whose categories are shared out; see `ckm.shares`.
    level
        How often, at least, the intervals hold the figure of the original counts.

    Raises
    ------
    ReleaseError
        If a folder does not hold what is needed, or not exactly one figure is asked for.

    Examples
    --------
    >>> figures(Path("out/2027"), "jobs", since=Path("out/2026"))  # doctest: +SKIP
    PublishedTable(region, change, change_low, change_high; 12 cells)
    """
    if (share_of is None) == (since is None):
        raise ReleaseError(
            Message("Shares or changes: one of the two."),
            hint=Message("--share-of COLUMN, or --since FOLDER"),
        )
    own, ptable, is_mixed, label = _released(folder, table, share_of)
    if since is None:
        options: dict[str, Any] = {
            "level": level,
            "total_label": label,
            "independent": is_mixed,
        }
        return shares(own, str(share_of), ptable=ptable, **options)
    other, earlier, was_mixed, _ = _released(since, table)
    is_one = is_mixed and was_mixed and ptable.id == earlier.id
    tables = {"ptable": ptable, "earlier_ptable": earlier}
    return changes(own, other, **tables, level=level, independent=is_one)


def _released(
    folder: Path, name: str, share_of: str | None = None
) -> tuple[PublishedTable, PTable, bool, str]:
    """Read a table, the p-table and what the job says of keys and totals."""
    from ptable import PTable

    require_released(folder, ["job.toml", "pt.parquet"], [f"{name}.parquet"])
    try:
        job: dict[str, Any] = tomllib.loads(read_text(folder / "internal" / "job.toml"))
        ptable = PTable.read(folder / "internal" / "pt.parquet")
        table = read_table(folder / "public" / f"{name}.parquet")
    except (OSError, ValueError, FormatError) as error:
        raise ReleaseError(
            Message(
                "The folder {folder!r} holds no release of {name!r} in Parquet, with its "
                "p-table inside.",
                folder=Name(folder.name),
                name=Name(name),
            ),
            hint=Message('release it with formats = ["parquet"] and keep its internal/'),
        ) from error
    output = job.get("output", {})
    if output.get("additive"):
        raise ReleaseError(
            Message(
                "The counts were made additive after the noise: their intervals are not known."
            ),
            hint=Message("compare releases without additive"),
        )
    levels = job.get("hierarchies", {}).get(share_of)
    if share_of not in table.dimensions and isinstance(levels, list):
        text = Message(
            "The hierarchy {share_of!r} is of several columns: {levels}.",
            share_of=Argument(share_of),
            levels=Name.each(levels),
        )
        raise ReleaseError(text, hint=Message("--share-of {levels}", levels=Name(levels[0])))
    is_mixed = job.get("keys", {}).get("mix", True)
    return table, ptable, is_mixed, output.get("total_label", "Total")
