"""The demonstration: a register, a job, six released tables and other ways to protect them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ckm.comparison.compare_designs import compare, write_comparison
from ckm.config import read_designs, read_job
from ckm.demo.place_map import place_map
from ckm.demo.place_names import place_names
from ckm.demo.register import OUTSIDE, job_seekers
from ckm.errors import ConfigError, ReleaseError
from ckm.release.files.output_folder import check_target, new_folder, resolve_target
from ckm.release.perturbed import release
from footing.messages import Argument, Message, Name
from footing.progress import Progress, no_progress
from reports.i18n.languages import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ckm.comparison.compare_designs import Comparison
    from ckm.demo.place_map import PlaceMap
    from ckm.demo.register import Register
    from ckm.release.run import Release

_TEXTS = files("ckm.demo") / "files"

#: By this a folder is known to be a demonstration; the first words of `README`.
MARK = "This folder was made by `ckm demo`."
#: What the folder holds.
README = (_TEXTS / "README.md").read_text(encoding="utf-8")
#: The service.
SERVICE = (_TEXTS / "service.toml").read_text(encoding="utf-8")
#: The release job.
JOB = (_TEXTS / "job.toml").read_text(encoding="utf-8")
#: What the job's noise is compared with.
DESIGNS = (_TEXTS / "designs.toml").read_text(encoding="utf-8")

_FEWEST_PERSONS = 1000
_PERSONS = 400_000
_COMPARED = "comparison"
_OURS = {
    "README.md",
    "communes.geojson",
    "communes.topojson",
    "designs.toml",
    "job.toml",
    "place-names.csv",
    "places.csv",
    "register.parquet",
    "secret.key",
    "service.toml",
    "zones.csv",
    f"{_COMPARED}/comparison.json",
    *(f"{_COMPARED}/comparison.{language}.html" for language in LANGUAGES),
}
_RELEASED = {("out", "public"), ("out", "internal")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demonstration made."""

    folder: Path
    release: Release
    comparison: Comparison
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
    persons: int = _PERSONS,
    seed: int = 2024,
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Demo | None:
    """Make up a register, release six tables from it and compare ways to protect them.

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
            Message(
                "The demonstration needs at least {fewest_persons} persons, not {persons}.",
                fewest_persons=_FEWEST_PERSONS,
                persons=Argument(persons),
            ),
            hint=Message("the default is {persons}", persons=_PERSONS),
        )
    target = resolve_target(out)
    may_replace = refuse_other_than_demo if force else None
    check_target(target, may_replace)
    if dry_run:
        return None
    report_progress = progress or no_progress
    report_progress(Message("making up the register"), 0, 1)
    with new_folder(target, may_replace=may_replace) as folder:
        register = write_register(folder, persons=persons, seed=seed)
        (folder / "job.toml").write_text(JOB, encoding="utf-8")
        (folder / "designs.toml").write_text(DESIGNS, encoding="utf-8")
        (folder / "service.toml").write_text(SERVICE, encoding="utf-8")
        (folder / "README.md").write_text(README, encoding="utf-8")
    job = read_job(target / "job.toml")
    done = release(job, target / "out", progress=report_progress)
    compared = compare(job, read_designs(target / "designs.toml"), progress=report_progress)
    write_comparison(compared, target / _COMPARED)
    own_release = dataclasses.replace(done, folder=Path(out) / "out")
    return Demo(
        folder=Path(out),
        release=own_release,
        comparison=compared,
        moved_zones=register.moved_zones,
    )


def write_register(
    folder: Path | str, *, persons: int = _PERSONS, seed: int = 2024
) -> Register:
    """Make up a register and write it with its lists of places and zones, and a secret."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    folder = Path(folder)
    register = job_seekers(np.random.Generator(np.random.PCG64(seed)), persons=persons)
    pq.write_table(register.people, folder / "register.parquet", compression="zstd")
    plain = csv.WriteOptions(quoting_style="needed")
    csv.write_csv(register.places, folder / "places.csv", plain)
    zones = pa.table({name: list(register.zones) for name in ("zone_2015", "zone_2024")})
    csv.write_csv(zones, folder / "zones.csv", plain)
    places = list(zip(*register.places.to_pydict().values(), strict=True))
    land = place_map(places)
    _write_map(folder, land)
    names = zip(*place_names(places, land.centres), strict=True)
    columns = dict(zip(("code", "en", "fr", "former", "x", "y"), map(list, names), strict=True))
    csv.write_csv(pa.table(columns), folder / "place-names.csv", plain)
    secret = folder / "secret.key"
    secret.touch(mode=0o600)
    secret.write_text(f"ckm demo secret, seed {seed}: never use it for real data\n")
    return register


def _write_map(folder: Path, land: PlaceMap) -> None:
    """Write the boundaries of the municipalities, and the map that `ckm service map` makes."""
    from ckm.service.maps.simplification import MAX_BYTES, build_map

    boundaries = folder / "communes.geojson"
    boundaries.write_text(land.to_geojson(), encoding="utf-8")
    topology = build_map(boundaries, code="code", max_bytes=MAX_BYTES).topology
    (folder / "communes.topojson").write_text(topology.to_text(), encoding="utf-8")


def refuse_other_than_demo(folder: Path) -> None:
    """Refuse to replace a folder that holds anything but a demonstration."""
    try:
        is_demo = MARK in (folder / "README.md").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        is_demo = False
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    others = [
        path.as_posix()
        for path in files
        if path.as_posix() not in _OURS and path.parts[:2] not in _RELEASED
    ]
    if not is_demo or others:
        also = (
            Message(" (it holds {others!r})", others=Argument(min(others)))
            if others
            else Message()
        )
        raise ReleaseError(
            Message(
                "The folder {folder!r} is no untouched demonstration{also}; --force does "
                "not replace it.",
                folder=Name(folder.name),
                also=also,
            ),
            hint=Message("choose another folder: ckm demo --out demo2"),
        )


def sample_table(folder: Path, name: str, *, where: Mapping[str, str]) -> pd.DataFrame:
    """Read the rows of some categories of a released table."""
    import pandas as pd

    frame = pd.read_parquet(folder / "public" / f"{name}.parquet")
    for column, category in where.items():
        frame = frame[frame[column] == category]
    return frame


def compare_zones(folder: Path, moved_zones: tuple[str, ...]) -> tuple[ZonePair, ...]:
    """Pair the published totals of the zones under both vintages, from public files alone."""
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
