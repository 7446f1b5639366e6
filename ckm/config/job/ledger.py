"""From the section ``[ledger]`` of a job or a service to the ledger it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ckm.config.job.job import JobLedger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckm.config.job.schema import LedgerModel

__all__ = ["build_ledger"]

_POSTGRES = re.compile(r"postgres(ql)?://")


def build_ledger(
    model: LedgerModel | None, folder: Path, *, add: Callable[[str, str, str | None], None]
) -> JobLedger | None:
    """Build the ledger of a job; what is wrong is added to its problems.

    Parameters
    ----------
    model
        The section, if there is one.
    folder
        Where relative paths start.
    add
        Called with the section, a problem and a hint.

    Returns
    -------
    JobLedger or None
        The ledger; it must not be used where a problem was added.

    Examples
    --------
    >>> from pathlib import Path
    >>> from ckm.config.job.schema import LedgerModel
    >>> build_ledger(LedgerModel(path="ledger.db"), Path(), add=print)
    JobLedger(target=PosixPath('ledger.db'), threshold=2, policy='refuse', smallest=1, \
history='public', also=())
    """
    if model is None:
        return None
    target: Path | str = folder
    if (model.path is None) == (model.url is None):
        add(_WHERE, "needs path or url, one of the two.", 'path = "ledger.db"')
    elif model.url is not None:
        _look_at_url(model.url, add)
        target = model.url
    elif "://" in str(model.path) or "\0" in str(model.path):
        add(_WHERE, "path must be a file of this machine.", "a database is named with url")
    else:
        target = folder / str(model.path)
        _look_at_file(target, add)
    given = model.model_dump(exclude={"path", "url", "also", "official"})
    return JobLedger(target=target, **given, also=tuple(model.also))


def _look_at_file(path: Path, add: Callable[[str, str, str | None], None]) -> None:
    if path.is_dir():
        add(_WHERE, f"path {path.name!r} is a folder, not a file.", None)
    elif not path.parent.is_dir():
        hint = "make it; relative paths start at the file that names the ledger"
        add(_WHERE, f"the folder of path {path.name!r} does not exist.", hint)


def _look_at_url(url: str, add: Callable[[str, str, str | None], None]) -> None:
    """Look at a URL, which is never echoed: somebody may have put a password there."""
    if not _POSTGRES.match(url):
        add(_WHERE, "url must begin with postgresql://", "a file is named with path")
        return
    try:
        has_password = urlsplit(url).password is not None or "password=" in url.lower()
    except ValueError:
        has_password = False
    if has_password:
        hint = "PostgreSQL finds it in ~/.pgpass or in PGPASSWORD"
        add(_WHERE, "url must not hold a password.", hint)


_WHERE = "[ledger]"
