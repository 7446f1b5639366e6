"""How many true counts a caller of a service finds: one who may filter, and one who may not.

The caller asks for place by sex with filters that take a random half of the categories of race
by age, and solves, place by place and sex by sex, for the counts of race by age. Without
filters there are the tables of the four variables, with all margins, and bounded least squares
over these; and the same for a researcher, who also has the filtered tables that the account of
filters lets pass. Everything goes through HTTP, within this process; the data are those of the
ACS.

    python -m bench.reconstruction --requests 500
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx
import numpy as np
import pandas as pd

from bench.measure import arguments
from ckm.config.service.sections import RECONSTRUCTION
from ckm.config.service.service import read_service
from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.process.server import open_table_service
from tables import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

SHARED = Path(os.environ.get("CKM_SHARED", Path(__file__).parents[2] / "shared"))
VARIABLES = ("place", "sex", "race", "age10")
STEPS = (100, 200, 300, 500, 999)

MAX_NOISE, SMALL = 5, 2

#: With the defaults of the service file; the sections that differ come behind.
SERVICE = f"""
schema = 1
[service]
title = "Reconstruction"
[data]
path = "people.parquet"
id = "person_id"
[keys]
secret = "secret.key"
[ptable]
max_noise = {MAX_NOISE}
variance = 3.0
small = {SMALL}
[[variable]]
name = "place"
is_area = true
[[variable]]
name = "sex"
[[variable]]
name = "race"
[[variable]]
name = "age10"
"""
OPEN = f'[access]\nfilters = "public"\naccepts_reconstruction = "{RECONSTRUCTION}"\n'
ACCOUNTED = """[access]
filters = "researcher"
tokens = "tokens.json"
projects = "projects.sqlite"
"""
LEDGER = '[ledger]\npath = "ledger.db"\nofficial = ["job.toml"]\n'
JOB = f"""
schema = 1
{SERVICE[SERVICE.index("[data]") : SERVICE.index("[[variable]]")]}
[ledger]
path = "ledger.db"
[[table]]
name = "ages"
dimensions = ["place", "age10"]
"""


#: Which cells a filter takes, and the numbers told of them.
Sums: TypeAlias = "tuple[NDArray[np.bool_], NDArray[np.float64]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The true counts of an array of cells, and the names of its axes' categories."""

    counts: NDArray[np.int64]
    categories: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, people: pd.DataFrame, names: Sequence[str]) -> Truth:
        """Count people by some columns of text."""
        categories = tuple(tuple(sorted(people[name].unique())) for name in names)
        codes = [
            pd.Categorical(people[name], categories=known).codes
            for name, known in zip(names, categories, strict=True)
        ]
        counts = np.zeros([len(known) for known in categories], np.int64)
        np.add.at(counts, tuple(codes), 1)
        return cls(counts=counts, categories=categories)

    def found(self, guess: NDArray[np.float64]) -> dict[str, float]:
        """Return the share of cells that a guess, rounded, has right."""
        right = np.rint(guess) == self.counts
        few = (self.counts == 1) | (self.counts == 2)
        return {"ones and twos": right[few].mean(), "not empty": right[self.counts > 0].mean()}


class Caller:
    """Somebody, with a token or without, who asks for tables one after another."""

    def __init__(self, app: Any, *, token: str | None = None) -> None:
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app, client=("203.0.113.9", 1))
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._web = httpx.AsyncClient(
            transport=transport, base_url="http://it", headers=headers
        )

    def ask(self, dimensions: Sequence[str], **more: Any) -> httpx.Response:
        """Ask for a table in the words of a job."""
        body = {"dimensions": list(dimensions), **more}
        return self._runner.run(self._web.post("/requests", json=body))

    def close(self) -> None:
        """Let the connection go."""
        self._runner.run(self._web.aclose())
        self._runner.close()


def numbers_of(
    answer: httpx.Response, categories: Mapping[str, Sequence[str]]
) -> NDArray[np.float64]:
    """Return the counts of an answer in the order wanted; nan where they are withheld."""
    told = answer.json()
    names = [name for name in told["id"] if name in categories]
    index = [told["dimension"][name]["category"]["index"] for name in names]
    full = np.array(told["value"], float).reshape([len(codes) for codes in index])
    for axis, (name, codes) in enumerate(zip(names, index, strict=True)):
        place = {code: at for at, code in enumerate(codes)}
        at = [place.get(code, -1) for code in categories[name]]
        full = np.take(full, at, axis=axis)
        gone = [n for n, found in enumerate(at) if found < 0]
        full[(slice(None),) * axis + (gone,)] = np.nan
    return full


def random_filter(
    rng: np.random.Generator, names: Sequence[str], categories: Sequence[Sequence[str]]
) -> tuple[str, NDArray[np.bool_]]:
    """Draw half of the combinations of two variables: as a filter, and as an array."""
    taken = rng.random([len(known) for known in categories]) < 0.5
    parts = []
    for row, one in zip(taken, categories[0], strict=True):
        others = ", ".join(f"'{c}'" for c in np.array(categories[1])[row])
        if others:
            parts.append(f"({names[0]} = '{one}' and {names[1]} in ({others}))")
    return " or ".join(parts), taken


def attack(
    caller: Caller,
    truth: Truth,
    *,
    names: Sequence[str],
    requests: int,
    rng: np.random.Generator,
    steps: Iterable[int] = STEPS,
    kept: list[Sums] | None = None,
) -> dict[int, dict[str, float]]:
    """Ask for the first two variables with filters on the last two; solve for the cells.

    Returns
    -------
    dict
        Number of requests → the shares found, the requests answered and those refused. What
        was answered is added to `kept`.
    """
    rows = dict(zip(names[:2], truth.categories[:2], strict=True))
    kept = [] if kept is None else kept
    refused = 0
    told = {}
    for number in range(1, requests + 1):
        where, taken = random_filter(rng, names[2:], truth.categories[2:])
        answer = caller.ask(names[:2], margins="none", where=where)
        if answer.status_code == 200:
            kept.append((taken.ravel(), numbers_of(answer, rows)))
        else:
            refused += 1
        if number in steps and kept:
            wanted, given = (np.array(part, float) for part in zip(*kept, strict=True))
            guess = _solved(wanted, given, truth.counts.shape)
            told[number] = {**truth.found(guess), "refused": refused}
        elif number in steps:
            told[number] = {"refused": refused}
    return told


def _solved(
    wanted: NDArray[np.float64], given: NDArray[np.float64], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Solve for the cells of each row by least squares; a withheld number is left out."""
    guess = np.zeros((*shape[:2], wanted.shape[1]))
    for row in np.ndindex(*shape[:2]):
        is_there = ~np.isnan(given[:, *row])
        if is_there.any():
            guess[row] = np.linalg.lstsq(wanted[is_there], given[is_there, *row], rcond=None)[0]
    return guess.reshape(shape)


def without_filters(
    caller: Caller, truth: Truth, names: Sequence[str], *, kept: Sequence[Sums] = ()
) -> dict[str, Any]:
    """Compare the finest table alone with least squares over it, all its margins, and sums.

    Both know the bounds of the noise: no empty cell is published with people, and no cell of
    more than `MAX_NOISE` people without.
    """
    codes = {n: ("Total", *known) for n, known in zip(names, truth.categories, strict=True)}
    answer = caller.ask(names, margins="all")
    if answer.status_code != 200 or "CKM-Withheld" in answer.headers:
        return {"refused": answer.status_code}
    full = np.nan_to_num(numbers_of(answer, codes))  # what is not listed is published as zero
    alone = full[(slice(1, None),) * full.ndim]
    low = np.where(alone == 0, 0, np.maximum(alone - MAX_NOISE, 1))
    high = alone + MAX_NOISE
    rows = [len(codes) for codes in truth.categories[:2]]
    wanted = np.array([taken for taken, _ in kept], float).reshape(
        len(kept), truth.counts[0, 0].size
    )
    given = np.array([told for _, told in kept], float).reshape(len(kept), *rows)
    is_there = ~np.isnan(given)
    # Accelerated projected gradients; the largest eigenvalue is the product of n + 1; the
    # sums add theirs at most.
    steepest = np.prod([len(known) + 1.0 for known in truth.categories])
    step = 1 / (steepest + np.linalg.norm(wanted.T @ wanted, 2))
    guess = ahead = np.clip(alone, low, high)
    speed = 1.0
    for _ in range(2000):
        before, faster = guess, (1 + np.sqrt(1 + 4 * speed**2)) / 2
        slope = _summed_back(_margins(ahead) - full)
        if kept:
            told = np.moveaxis(ahead.reshape(*rows, -1) @ wanted.T, -1, 0)
            off = np.where(is_there, told - np.nan_to_num(given), 0)
            slope += (np.moveaxis(off, 0, -1) @ wanted).reshape(slope.shape)
        guess = np.clip(ahead - step * slope, low, high)
        ahead, speed = guess + (speed - 1) / faster * (guess - before), faster
    return {
        "finest table alone": truth.found(alone),
        "all margins and sums": truth.found(guess),
    }


def _margins(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the total before the parts, axis by axis."""
    for axis in range(cells.ndim):
        cells = np.concatenate([cells.sum(axis=axis, keepdims=True), cells], axis=axis)
    return cells


def _summed_back(full: NDArray[np.float64]) -> NDArray[np.float64]:
    """Apply the transpose of `_margins`."""
    for axis in range(full.ndim):
        total, parts = np.split(full, [1], axis=axis)
        full = total + parts
    return full


def acs() -> pd.DataFrame:
    """Return the people of the ACS, all columns as text."""
    people = pd.read_parquet(SHARED / "data" / "acs_national_2019.parquet")
    return pd.DataFrame(
        {
            "person_id": [f"p{number}" for number in range(len(people))],
            "place": people["PUMA"].astype(str),
            "sex": people["SEX"].astype(str),
            "race": people["RAC1P"].astype(str),
            "age10": (people["AGEP"] // 10).astype(str),
        }
    )


def main() -> None:
    sizes = arguments(str(__doc__), requests=500, seed=1)
    logging.disable(logging.WARNING)  # a line for each refusal
    people = acs()
    truth = Truth.of(people, VARIABLES)
    few = ((truth.counts == 1) | (truth.counts == 2)).sum()
    print(f"{len(people):,} persons, {(truth.counts > 0).sum():,} cells not empty, {few:,} few")
    for kind, more in {
        "default": "",
        "a researcher, accounted": ACCOUNTED,
        # "everybody filters": OPEN,
        # "the same with a ledger": OPEN + LEDGER,
    }.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            people.to_parquet(folder / "people.parquet", index=False)
            Secret(np.random.default_rng(sizes.seed).bytes(32)).write(folder / "secret.key")
            (folder / "job.toml").write_text(JOB)
            (folder / "service.toml").write_text(SERVICE + more)
            service = read_service(folder / "service.toml")
            file = service.access.tokens
            token = None if file is None else TokenFile(file).add(role="researcher", label="A")
            with open_table_service(service) as table_service:
                caller = Caller(make_app(table_service), token=token)
                rng = np.random.default_rng(sizes.seed)
                print(f"\n{kind}")
                kept: list[Sums] = []
                told = attack(
                    caller, truth, names=VARIABLES, requests=sizes.requests, rng=rng, kept=kept
                )
                for number, shares in told.items():
                    print(f"  {number:5d} requests: {_in_words(shares)}")
                if "public" not in more:
                    ways = without_filters(caller, truth, VARIABLES, kept=kept)
                    for way, shares in ways.items():
                        print(f"  {way}: {_in_words(shares)}")
                caller.close()


def _in_words(shares: Any) -> str:
    if not isinstance(shares, dict):
        return str(shares)
    return ", ".join(
        f"{value:.2%} of {name}" if isinstance(value, float) else f"{value} {name}"
        for name, value in shares.items()
    )


if __name__ == "__main__":
    main()
