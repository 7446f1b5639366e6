"""An hour of attacks on an open service, without a token, beside what the audit says of it.

The caller asks for the table of all variables with its margins, percentages with their margins
of error, and sums of areas of his own, over HTTP within this process, and knows how the noise
works. He tries

* bounded least squares over the finest table and all its margins,
* equal noise of equal records: where a total has the very number of one of its parts, and all
  others are published as 0, he says that these are empty,
* zones that differ by one area: their difference, beside what is published of the area,
* percentages times their whole, beside the published counts,
* margins of error of equal published numbers, which would tell more if they differed.

The last three must tell nothing; the first two no more than ``ckm audit`` says of the service.

    python -m bench.red_team --persons 27253
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.measure import Line, arguments, report
from bench.reconstruction import (
    SERVICE,
    VARIABLES,
    Caller,
    Truth,
    acs,
    numbers_of,
    without_filters,
)
from ckm.audit.audit import open_space
from ckm.config.service.service import read_service
from ckm.service.http.app import make_app
from ckm.service.process.server import open_table_service
from tables import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

WITH_MARGINS = SERVICE.replace("[data]", "figure_margins = 95\n[data]", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the attacks tell, and what the audit says of the same service.

    Parameters
    ----------
    audit
        The share of counts of one and two that the audit's attack guesses rightly.
    least_squares
        The share that bounded least squares guesses rightly.
    statements, right
        How often equal noise says of cells that nobody is in them, and how often rightly.
    empty
        The share of cells published as 0 that are empty: what anybody may say of each.
    zones, percentages, margins
        How many numbers of zones, percentages and margins of error tell something beyond the
        published counts.
    questions
        How many requests the attacks took.
    """

    audit: float
    least_squares: float
    statements: int
    right: int
    empty: float
    zones: int
    percentages: int
    margins: int
    questions: int


def attack(folder: Path, people: pd.DataFrame, *, seed: int, pairs: int = 50) -> Outcome:
    """Open a service over people, and attack it.

    Parameters
    ----------
    folder
        Where the files of the service are written.
    people
        The records, columns `VARIABLES` of texts among theirs.
    seed
        Of the secret, and of the zones drawn.
    pairs
        The number of pairs of zones.
    """
    rng = np.random.default_rng(seed)
    people.to_parquet(folder / "people.parquet", index=False)
    Secret(rng.bytes(32)).write(folder / "secret.key")
    (folder / "service.toml").write_text(WITH_MARGINS)
    service = read_service(folder / "service.toml")
    truth = Truth.of(people, VARIABLES)
    codes = {n: ("Total", *c) for n, c in zip(VARIABLES, truth.categories, strict=True)}
    with open_table_service(service) as table_service:
        caller = Caller(make_app(table_service))
        full = np.nan_to_num(numbers_of(caller.ask(VARIABLES, margins="all"), codes))
        squares = without_filters(caller, truth, VARIABLES)["all margins and sums"]
        margins, percentages = _figures(caller, codes)
        zones = sum(_zone_surprises(caller, codes, pairs=pairs, rng=rng))
        caller.close()
    statements, right = _equal_noise(full, truth)
    space, auditor = open_space(service)
    published = full[(slice(1, None),) * full.ndim]
    return Outcome(
        audit=auditor.audit(space).whole.together.share,
        least_squares=squares["ones and twos"],
        statements=statements,
        right=right,
        empty=float((truth.counts[published == 0] == 0).mean()),
        zones=zones,
        percentages=percentages,
        margins=margins,
        questions=4 + pairs,
    )


def _equal_noise(full: NDArray[np.float64], truth: Truth) -> tuple[int, int]:
    """Say that the rest of a line is empty where its total has the number of its only part.

    Returns
    -------
    tuple
        The number of cells of which it is said, and how often it is right.
    """
    true = np.pad(truth.counts, [(1, 0)] * truth.counts.ndim)
    for axis in range(true.ndim):
        total = [slice(None)] * true.ndim
        total[axis] = slice(0, 1)
        true[tuple(total)] = true.sum(axis=axis, keepdims=True)
    statements = right = 0
    for axis in range(full.ndim):
        lines = np.moveaxis(full, axis, -1).reshape(-1, full.shape[axis])
        true_lines = np.moveaxis(true, axis, -1).reshape(lines.shape)
        parts = lines[:, 1:]
        is_alone = ((parts > 0).sum(axis=1) == 1) & (parts.max(axis=1) == lines[:, 0])
        empty = true_lines[is_alone, 1:][parts[is_alone] == 0] == 0
        statements, right = statements + empty.size, right + int(empty.sum())
    return statements, right


def _figures(caller: Caller, codes: dict[str, Sequence[str]]) -> tuple[int, int]:
    """Count margins that equal numbers do not share, and percentages of other counts."""
    place, sex = (codes[name] for name in VARIABLES[:2])
    answer = caller.ask(VARIABLES[:2], margins="all", figure="share", of=[VARIABLES[1]]).json()
    numbers = _array(answer, {VARIABLES[0]: place, VARIABLES[1]: sex})
    count, share, low, high = np.moveaxis(numbers, -1, 0)
    whole = np.broadcast_to(count[:, :1], count.shape)
    is_there = whole > 0
    percentages = int((np.rint(share * whole / 100) != count)[is_there].sum())
    ends: dict[tuple[float, ...], set[tuple[float, ...]]] = {}
    for key, end in zip(
        zip(count[is_there], whole[is_there], strict=True),
        zip(low[is_there], high[is_there], strict=True),
        strict=True,
    ):
        ends.setdefault(key, set()).add(end)
    return sum(len(some) > 1 for some in ends.values()), percentages


def _zone_surprises(
    caller: Caller, codes: dict[str, Sequence[str]], *, pairs: int, rng: np.random.Generator
) -> Iterator[int]:
    """Count numbers by which two zones differ otherwise than by those of an area."""
    sex = {VARIABLES[1]: codes[VARIABLES[1]]}
    for _ in range(pairs):
        areas = rng.permutation(codes[VARIABLES[0]][1:])[: rng.integers(2, 9)].tolist()
        zones = {"With": areas, "Without": areas[1:]} if len(areas) > 2 else {"With": areas}
        rows = {VARIABLES[0]: ("With", "Without", areas[0])} | sex
        if len(areas) == 2:
            rows[VARIABLES[0]] = ("With", areas[1], areas[0])
        answer = caller.ask(VARIABLES[:2], margins="all", zones=zones)
        with_it, without_it, alone = _array(answer.json(), rows)[..., 0]
        yield int((with_it - without_it != alone).sum())


def _array(answer: dict[str, Any], codes: dict[str, Sequence[str]]) -> NDArray[np.float64]:
    """Return the numbers of an answer in the order of codes, its measures last."""
    full = np.array(answer["value"], float).reshape(answer["size"])
    for axis, (name, wanted) in enumerate(codes.items()):
        index = {c: n for n, c in enumerate(answer["dimension"][name]["category"]["index"])}
        full = np.take(full, [index[code] for code in wanted], axis=axis)
    return full


def main() -> None:
    sizes = arguments(str(__doc__), persons=27_253, seed=1, pairs=200)
    logging.disable(logging.WARNING)
    people = acs()
    if sizes.persons < len(people):
        people = people.sample(sizes.persons, random_state=sizes.seed)
    with tempfile.TemporaryDirectory() as name:
        outcome = attack(Path(name), people, seed=sizes.seed, pairs=sizes.pairs)
    share = outcome.right / max(outcome.statements, 1)
    report(
        f"an hour of attacks: {outcome.questions} requests of the public",
        [
            Line(
                "ones and twos by least squares",
                100 * outcome.least_squares,
                "%",
                "ckm audit",
                100 * outcome.audit,
                goal=1.0,
            ),
            Line("cells called empty by equal noise", outcome.statements, "cells"),
            Line("… rightly", 100 * share, "%", "any cell published as 0", 100 * outcome.empty),
            Line("zones that tell more than their areas", outcome.zones, "numbers", goal=0),
            Line("percentages of other counts", outcome.percentages, "numbers", goal=0),
            Line("margins that equal numbers do not share", outcome.margins, "pairs", goal=0),
        ],
    )


if __name__ == "__main__":
    main()
