"""A made-up register of job seekers, for demonstrations, tests and benchmarks.

Every value comes from whole numbers and the raw output of one generator, so that a seed gives
the same register on every machine. No person, place or zone exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

SEXES = ("F", "M")
CATEGORIES = ("A", "B", "C", "D", "E")
AGE_GROUPS = ("15-24", "25-34", "35-44", "45-54", "55-64", "65-70")
OUTSIDE = "outside"

_REGIONS = 13
_DEPARTMENTS = 96
_FEWEST_COMMUNES, _MAX_COMMUNES = 22, 52
_ZONES = 1290
_FULL_SIZE = 100_000  # smaller registers have fewer communes and zones
_FIRST_AGE, _LAST_AGE = 15, 70
_GROUP_STARTS = (25, 35, 45, 55, 65)
_FEWEST_MOVED, _MAX_MOVED = 1, 4
# Out of 1000, by age group: categories A to E.
_CATEGORY_WEIGHTS = (
    (520, 120, 150, 130, 80),
    (530, 130, 190, 80, 70),
    (540, 140, 200, 60, 60),
    (560, 140, 190, 50, 60),
    (630, 120, 150, 40, 60),
    (700, 110, 110, 30, 50),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """A register, and what a map of its zones would tell everybody.

    Parameters
    ----------
    people
        One row per person.
    places
        Region, department and commune of every commune, whether anybody lives there or not.
    zones
        Every zone, and what is outside of all.
    moved_zones
        The zones whose boundary is another in 2024 than in 2015.
    """

    people: pa.Table
    places: pa.Table
    zones: tuple[str, ...]
    moved_zones: tuple[str, ...]


def job_seekers(rng: np.random.Generator, *, persons: int = 400_000) -> Register:
    """Make up a register of job seekers.

    Parameters
    ----------
    rng
        Source of chance; the register is a function of its state.
    persons
        Number of rows.

    Returns
    -------
    Register
        People have the columns ``person_id``, ``region``, ``department``, ``commune``,
        ``zone_2015``, ``zone_2024``, ``sex``, ``age``, ``age_group`` and ``category``.

    Notes
    -----
    The two vintages of zones differ by one to four people for two zones in five, so that the
    difference of two exact counts would single them out.

    Examples
    --------
    >>> register = job_seekers(np.random.default_rng(1), persons=1000)
    >>> register.people.num_rows, register.people.column_names[:3]
    (1000, ['person_id', 'region', 'department'])
    """
    import pyarrow as pa

    share = min(persons, _FULL_SIZE)
    departments, communes, sizes = _places(rng, share)
    commune = np.sort(_draw(rng, persons, sizes))
    zone_2015, hosts = _zones(rng, commune, sizes, share)
    zone_2024, moved = _moved(rng, commune, zone_2015, hosts)
    sex = _draw(rng, persons, (49, 51))
    age = _FIRST_AGE + _draw(rng, persons, _age_weights())
    group = np.searchsorted(np.array(_GROUP_STARTS), age, side="right")
    category = np.zeros(persons, np.int64)
    for index, weights in enumerate(_CATEGORY_WEIGHTS):
        members = np.flatnonzero(group == index)
        category[members] = _draw(rng, len(members), weights)
    region = departments * _REGIONS // _DEPARTMENTS
    names = [_zone_name(communes[host], rank) for host, rank in hosts]
    zone_names = (*names, OUTSIDE)
    # Read from the data in a scrambled order, as a real register would be.
    order = np.argsort(_raw(rng, persons), kind="stable")
    regions = [f"{r + 1:02d}" for r in range(_REGIONS)]
    all_departments = [f"{d + 1:02d}" for d in range(_DEPARTMENTS)]
    columns = {
        "region": (regions, region[commune]),
        "department": (all_departments, departments[commune]),
        "commune": (communes, commune),
        "zone_2015": (zone_names, zone_2015),
        "zone_2024": (zone_names, zone_2024),
        "sex": (SEXES, sex),
        "age": (None, age),
        "age_group": (AGE_GROUPS, group),
        "category": (CATEGORIES, category),
    }
    people = {"person_id": _identifiers(persons)}
    for name, (labels, codes) in columns.items():
        people[name] = _column(labels, codes[order])
    places = {
        "region": _column(regions, region),
        "department": _column(all_departments, departments),
        "commune": pa.array(communes),
    }
    return Register(
        people=pa.table(people),
        places=pa.table(places),
        zones=zone_names,
        moved_zones=tuple(names[z] for z in moved),
    )


def _places(rng: np.random.Generator, share: int) -> tuple[Codes, list[str], Codes]:
    """Return the department, the code and the size of every commune."""
    spread = _MAX_COMMUNES - _FEWEST_COMMUNES + 1
    n_communes = _FEWEST_COMMUNES + _draw(rng, _DEPARTMENTS, np.ones(spread, np.int64))
    n_communes = np.maximum(1, n_communes * share // _FULL_SIZE)
    department_sizes = 40 + _draw(rng, _DEPARTMENTS, np.ones(200, np.int64))
    departments, codes, sizes = [], [], []
    for department, (n, size) in enumerate(zip(n_communes, department_sizes, strict=True)):
        for rank in range(int(n)):
            departments.append(department)
            codes.append(f"{department + 1:02d}{rank + 1:03d}")
            # A town of rank r has about one r-th of the people of the largest.
            sizes.append(int(size) * 10_000 // (rank + 2))
    return np.array(departments), codes, np.array(sizes)


def _zones(
    rng: np.random.Generator, commune: Codes, sizes: Codes, share: int
) -> tuple[Codes, list[tuple[int, int]]]:
    """Put a quarter of the people of larger communes into zones.

    Returns the zone of every person, and the commune and rank of every zone.
    """
    n_hosts = max(1, _ZONES * share // _FULL_SIZE // 2)
    largest = np.argsort(-sizes, kind="stable")[:n_hosts]
    hosts = sorted((int(c), rank) for c in largest for rank in (1, 2))
    zone = np.full(len(commune), len(hosts))
    starts = np.searchsorted(commune, [c for c, _ in hosts], side="left")
    ends = np.searchsorted(commune, [c for c, _ in hosts], side="right")
    draw = _raw(rng, len(commune)) % np.uint64(100)
    for index, (_, rank) in enumerate(hosts):
        part = slice(int(starts[index]), int(ends[index]))
        low, high = ((0, 24), (24, 38))[rank - 1]
        inside = (draw[part] >= low) & (draw[part] < high)
        zone[part][inside] = index
    return zone, hosts


def _moved(
    rng: np.random.Generator, commune: Codes, zone: Codes, hosts: Sequence[tuple[int, int]]
) -> tuple[Codes, list[int]]:
    """Move the boundary of two zones in five by a few people, outwards or inwards."""
    later = zone.copy()
    outside = len(hosts)
    n_zones = len(hosts)
    is_moved = _raw(rng, n_zones) % np.uint64(5) < 2
    spread = _MAX_MOVED - _FEWEST_MOVED + 1
    n_people = _FEWEST_MOVED + _draw(rng, n_zones, np.ones(spread, np.int64))
    shrinks = _draw(rng, n_zones, (1, 1)) == 0
    moved = []
    for index in np.flatnonzero(is_moved).tolist():
        home, _ = hosts[index]
        start, end = np.searchsorted(commune, [home, home + 1])
        before, after = (index, outside) if shrinks[index] else (outside, index)
        part = later[start:end]
        candidates = np.flatnonzero(part == before)[: int(n_people[index])]
        if len(candidates):
            part[candidates] = after
            moved.append(index)
    return later, moved


def _zone_name(commune: str, rank: int) -> str:
    return f"Z{commune}-{rank}"


def _age_weights() -> Codes:
    """Return how common each age is: a peak at 27, a slow decline, few after 62."""
    ages = np.arange(_FIRST_AGE, _LAST_AGE + 1)
    weights = np.where(ages < 27, 8 * (ages - 12), 120 - 2 * (ages - 27))
    return np.where(ages > 62, weights // 6, weights)


def _raw(rng: np.random.Generator, n: int) -> NDArray[np.uint64]:
    """Return raw 64-bit numbers, which no release of NumPy may change."""
    return np.asarray(rng.bit_generator.random_raw(n), np.uint64).reshape(n)


def _draw(rng: np.random.Generator, n: int, weights: Sequence[int] | Codes) -> Codes:
    """Draw n codes 0, 1, … with whole-number weights."""
    ends = np.cumsum(np.asarray(weights, np.int64))
    return np.searchsorted(ends, (_raw(rng, n) % np.uint64(ends[-1])).astype(np.int64), "right")


def _identifiers(persons: int) -> pa.Array:
    """Return J00000001, J00000002, … by Arrow, which takes a tenth of the time of texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.cast(pa.array(np.arange(1, persons + 1)), pa.string())
    return pc.binary_join_element_wise("J", pc.utf8_lpad(numbers, 8, padding="0"), "")


def _column(labels: Sequence[str] | None, codes: Codes) -> pa.Array:
    import pyarrow as pa

    if labels is None:
        return pa.array(codes.astype(np.int16))
    values = pa.array(list(labels))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), values).cast(
        pa.string()
    )
