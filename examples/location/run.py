"""Ways to share where people are, compared on people who do not exist.

Run it:  python examples/location/run.py --seed 1
         python examples/location/run.py --seed 1 --cap 8 --population 20000 -o places.json
"""

import argparse
import json
from pathlib import Path

import numpy as np
from ckm_engine.rappor.location.areas import Grid
from ckm_engine.rappor.location.collect import Collection
from ckm_engine.tables import Secret
from experiment import Experiment, experiment

_SHOWN = 10


def main(arguments: list[str] | None = None) -> Experiment:
    """Simulate moving people, compare the ways, and draw the map."""
    asked = vars(_parser().parse_args(arguments))
    rng = np.random.default_rng(asked.pop("seed"))
    size, output = asked.pop("size"), asked.pop("output")
    levels = tuple(int(part) for part in asked.pop("levels").split(","))
    grid = Grid(west=0, south=0, east=size, north=size, levels=levels)
    design = {name: asked.pop(name) for name in ("f", "p", "q", "cap")}
    found = experiment(
        grid,
        collection=Collection(areas=grid.areas(), **design),
        secret=Secret(rng.bytes(32)),
        rng=rng,
        **asked,
    )
    _show(found)
    if output is not None:
        output.write_text(json.dumps(found.to_dict(), indent=1) + "\n")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--seed", type=int, required=True, help="same seed, same figures")
    add("--people", dest="n_people", type=int, default=400, help="how many move")
    add("--population", type=int, default=10_000, help="people whose reports are summed")
    add("--days", dest="n_days", type=int, default=14, help="how long they move")
    add("--size", type=float, default=16.0, help="width of the box in km")
    add("--levels", default="2,4", help="grids reported, by how often the box is halved")
    add("--f", type=float, default=0.5, help="permanent noise of RAPPOR")
    add("--p", type=float, default=0.25, help="chance that a bit not set is sent")
    add("--q", type=float, default=0.75, help="chance that a set bit is sent")
    add("--cap", type=float, help="largest loss of a person; more is not sent")
    add("--epsilon", type=float, default=0.5, help="of noise, per km")
    add("--crowd", dest="k", type=int, default=10, help="people in a cloaking area, at least")
    add("--zones", dest="n_zones", type=int, default=10, help="mix zones")
    add("--dummies", dest="n_dummies", type=int, default=5, help="invented places a request")
    add("--alpha", type=float, default=0.05, help="empty cells shown")
    add("--confidence", type=float, default=0.95, help="of each interval")
    add("-o", "--output", type=Path, help="a .json file")
    return parser


def _show(found: Experiment) -> None:
    print("way, promise, largest loss, homes found, linked, map error")
    for way in found.outcomes:
        loss = "none" if way.loss is None else f"{way.loss:.3g}"
        shares = f"{way.homes_found:.2f}  {way.linked:.2f}  {way.map_error:.2f}"
        print(f"  {way.name:28}{way.guarantee:42}{loss:>8}  {shares}")
    print("reports averaged: cells guessed, and were the noise drawn anew")
    for reports, (kept, anew) in found.averaging.items():
        print(f"  {reports:5}  {kept:.2f}  {anew:.2f}")
    for number, level in enumerate(found.figures, start=1):
        held = "none" if level.held is None else f"{level.held:.1%}"
        withheld = level.cells - level.shown
        print(f"map, level {number}: {level.shown:,} of {level.cells:,} cells shown,"
              f" {withheld:,} withheld, intervals that hold: {held}")  # fmt: skip
    finest = found.levels[-1]
    largest = [i for i in finest.shares.argsort()[::-1].tolist() if finest.is_shown[i]]
    for cell in largest[:_SHOWN]:
        share, low, high = (part[cell] for part in (finest.shares, finest.low, finest.high))
        print(f"  finest cell {cell}: {share:.2%} ({low:.2%} to {high:.2%})")
    print(f"map error {found.map_error:.2f}")
    if found.silenced:
        print(f"{found.silenced:.1%} of the reports were not sent: the cap was reached")


if __name__ == "__main__":
    main()
