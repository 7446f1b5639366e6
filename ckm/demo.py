"""The demonstration: a made-up register, a job file and six released tables in one folder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ckm.config import read_job
from ckm.errors import ConfigError, ReleaseError
from ckm.folder import check_target, new_folder, resolve_target
from ckm.register import OUTSIDE, job_seekers
from ckm.release import release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from ckm.release import Release

__all__ = ["Demo", "ZonePair", "compare_zones", "make_demo", "sample_table"]

_FEWEST_PERSONS = 1000
_MARK = "This folder was made by `ckm demo`."
_FILES = {"README.md", "job.toml", "register.parquet", "secret.key"}
_RELEASED = {("out", "public"), ("out", "internal")}

_README = f"""# Demonstration

{_MARK}

| file | what it is |
|---|---|
| `register.parquet` | a made-up register of job seekers; nobody in it exists |
| `job.toml` | which tables to release, and how they are protected |
| `secret.key` | a secret made for this demonstration, **never to be used for real data**: \
anybody can make it again |
| `out/public/` | the released tables and their manifest: all that may be published |
| `out/internal/` | what an office keeps: the job, the p-table, the full manifest |

Try next:

    ckm check job.toml
    ckm ptable show out/internal/pt.parquet
    ckm release job.toml -o again/

The last one writes the same bytes to `again/public/` as lie in `out/public/`.
"""

_JOB = """\
# A release job. Paths start at the folder of this file.
schema = 1
title = "Job seekers (made up)"

[data]
path = "register.parquet"
id = "person_id"               # a stable identifier: the same person, the same key

[keys]
secret = "secret.key"          # FOR THIS DEMONSTRATION ONLY. For real data: ckm keys secret

[ptable]
max_noise = 5                  # no published count is further than 5 from the truth
variance = 3.0                 # how much noise there is
small = 2                      # no published count is 1 or 2

[hierarchies]
geo = ["region", "department", "commune"]      # from broad to fine
territory = ["region", "department"]

[categories]                   # which categories may occur at all
sex = ["F", "M"]
category = ["A", "B", "C", "D", "E"]
age_group = ["15-24", "25-34", "35-44", "45-54", "55-64", "65-70"]

[[table]]
name = "jobseekers"
title = "Job seekers by place, sex and category"
dimensions = ["geo", "sex", "category"]

[[table]]
name = "ages"
title = "Job seekers by place, age and sex"
dimensions = ["geo", "age_group", "sex"]

# Two vintages of the boundaries of priority zones. Exact counts would tell, by subtraction,
# what the few people are who live between an old and a new boundary.
[[table]]
name = "zones_2015"
title = "Job seekers by priority zone, boundaries of 2015"
dimensions = ["zone_2015", "sex", "category", "age_group"]

[[table]]
name = "zones_2024"
title = "Job seekers by priority zone, boundaries of 2024"
dimensions = ["zone_2024", "sex", "category", "age_group"]

[[table]]
name = "departments_zones"
title = "Job seekers by department, priority zone and category"
dimensions = ["territory", "zone_2024", "category"]

[[table]]
name = "must_search"
title = "Job seekers who must look for work, by place, sex, category and age"
dimensions = ["geo", "sex", "category", "age_group"]
where = "category in ('A', 'B', 'C')"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demonstration made."""

    folder: Path
    release: Release
    moved_zones: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePair:
    """The published counts of a zone under two vintages of its boundary."""

    zone: str
    before: int
    after: int
    is_moved: bool

    @property
    def difference(self) -> int:
        """What a reader gets by subtraction."""
        return self.after - self.before


def make_demo(
    out: Path | str,
    *,
    persons: int = 200_000,
    seed: int = 2024,
    force: bool = False,
    dry_run: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Demo | None:
    """Make up a register and release six tables from it.

    Parameters
    ----------
    out
        The folder to make.
    persons
        Size of the register.
    seed
        Where chance starts; the same seed gives the same register, secret and tables.
    force
        Replace an earlier demonstration.
    dry_run
        Only say whether it could be made.
    progress
        As for `ckm.release.release`.

    Returns
    -------
    Demo or None
        What was made; None with a dry run.

    Raises
    ------
    ReleaseError
        If the folder may not be written.

    Examples
    --------
    >>> make_demo("demo/")  # doctest: +SKIP
    """
    if persons < _FEWEST_PERSONS:
        raise ConfigError(
            f"The demonstration needs at least {_FEWEST_PERSONS} persons, not {persons}.",
            hint="the default is 200000",
        )
    target = resolve_target(out)
    may_replace = refuse_other_than_demo if force else None
    check_target(target, may_replace)
    if dry_run:
        return None
    tell = progress or (lambda _stage, _done, _total: None)
    tell("making up the register", 0, 1)
    register = job_seekers(np.random.Generator(np.random.PCG64(seed)), persons=persons)
    with new_folder(target, may_replace=may_replace) as folder:
        import pyarrow.parquet as pq

        pq.write_table(register.people, folder / "register.parquet", compression="zstd")
        secret = folder / "secret.key"
        secret.touch(mode=0o600)
        secret.write_text(f"ckm demo secret, seed {seed}: never use it for real data\n")
        (folder / "job.toml").write_text(_JOB, encoding="utf-8")
        (folder / "README.md").write_text(_README, encoding="utf-8")
    done = release(read_job(target / "job.toml"), target / "out", progress=tell)
    shown = dataclasses.replace(done, folder=Path(out) / "out")
    return Demo(folder=Path(out), release=shown, moved_zones=register.moved_zones)


def refuse_other_than_demo(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but a demonstration.

    Raises
    ------
    ReleaseError
        With the reason.

    Examples
    --------
    >>> import tempfile
    >>> refuse_other_than_demo(Path(tempfile.mkdtemp()))
    Traceback (most recent call last):
    ckm.errors.ReleaseError: ...
    """
    try:
        is_demo = _MARK in (folder / "README.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        is_demo = False
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    others = [
        path.as_posix()
        for path in found
        if path.as_posix() not in _FILES and path.parts[:2] not in _RELEASED
    ]
    if not is_demo or others:
        also = f" (it holds {min(others)!r})" if others else ""
        raise ReleaseError(
            f"The folder {folder.name!r} is no untouched demonstration{also}; "
            "--force does not replace it.",
            hint="choose another folder: ckm demo --out demo2",
        )


def sample_table(
    folder: Path, name: str, *, where: Mapping[str, str], rows: int | None = None
) -> pd.DataFrame:
    """Read the first rows of a released table.

    Parameters
    ----------
    folder
        The release.
    name
        The table.
    where
        Column → the category wanted.
    rows
        How many rows; all by default.

    Examples
    --------
    >>> sample_table(Path("demo/out"), "ages", rows=3, where={})  # doctest: +SKIP
    """
    import pandas as pd

    frame = pd.read_parquet(folder / "public" / f"{name}.parquet")
    for column, category in where.items():
        frame = frame[frame[column] == category]
    return frame if rows is None else frame.head(rows)


def compare_zones(folder: Path, moved_zones: tuple[str, ...]) -> tuple[ZonePair, ...]:
    """Pair the published totals of the zones under both vintages, from public files alone.

    Parameters
    ----------
    folder
        The release of a demonstration.
    moved_zones
        The zones whose boundary moved, which a map shows to everybody.

    Returns
    -------
    tuple of ZonePair
        One for each zone that both tables show.

    Examples
    --------
    >>> compare_zones(Path("demo/out"), ("Z01001-1",))  # doctest: +SKIP
    """
    totals = {"sex": "Total", "category": "Total", "age_group": "Total"}
    counts = []
    for vintage in ("zone_2015", "zone_2024"):
        name = vintage.replace("zone", "zones")
        frame = sample_table(folder, name, where=totals)
        counts.append(
            dict(zip(frame[vintage].astype(str), frame["count"].tolist(), strict=True))
        )
    before, after = counts
    return tuple(
        ZonePair(
            zone=zone, before=before[zone], after=after[zone], is_moved=zone in moved_zones
        )
        for zone in sorted(set(before) & set(after) - {"Total", OUTSIDE})
    )
