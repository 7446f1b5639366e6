"""The experiment of a statistical office, on people who do not exist.

Run it:  python examples/qpv/run.py                          (about ten seconds)
         python examples/qpv/run.py qpv-r --rule r-ptable    (the rule of R ptable)
"""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
from ckm_engine.ckm.comparison.compare_designs import compare, write_comparison
from ckm_engine.ckm.config import read_designs, read_job
from ckm_engine.ckm.demo.demo import write_register
from ckm_engine.ptable.design.presets import RULES

HERE = Path(__file__).parent
SETS = (1, 2, 4, 5)


def main() -> None:
    """Make up the register, compare the designs, and show what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("qpv"))
    parser.add_argument("--persons", type=int, default=400_000)
    parser.add_argument("--rule", choices=list(RULES), default="maximum-entropy")
    given = parser.parse_args()
    given.folder.mkdir()
    for name in ("job.toml", "designs.toml"):
        shutil.copy(HERE / name, given.folder / name)
    write_register(given.folder, persons=given.persons)
    job = read_job(given.folder / "job.toml")
    rule = RULES[given.rule]
    designs = {
        name: {**design, **rule} if isinstance(design, dict) else design
        for name, design in read_designs(given.folder / "designs.toml").items()
    }
    found = compare(job.changed(ptable=replace(job.ptable, **rule)), designs)
    write_comparison(found, given.folder / "comparison")
    facts = found.facts()

    for design, reason in facts.scenarios.refused.items():
        print(f"No p-table for {design}: {reason}\n")

    show(
        "What a count may be published as, and what a published count may come from",
        {
            design: {
                f"{word} {count}": shown(getattr(one, word))
                for word in ("deviation", "possible")
                for one in facts.sets
                for count in SETS
                if (one.design, one.count) == (design, count)
            }
            for design in facts.posteriors
        },
    )
    show(
        "P(original | published), the worst published count for each sensitive original",
        {
            design: {
                **{
                    f"X = {i}": max(one.originals.get(i, 0.0) for one in seen)
                    for i in facts.sensitive
                },
                "X in 1..4": max(one.sensitive for one in seen),
            }
            for design, seen in facts.posteriors.items()
        },
    )
    show(
        "Mean |noise| of the non-empty cells, overall and by variable",
        {
            design: {
                one.value if one.group == "all" else f"{one.group} {one.value}": one.number
                for one in measures
                if one.name == "aad" and one.group in ("all", "sex", "category")
            }
            for design, measures in facts.utility.items()
        },
    )
    print("Findings")
    for finding, numbers in facts.conclusion.items():
        print(f"  {finding:28}", *(f"{k}={short(v)}" for k, v in numbers.items()))


def show(title: str, lines: dict[str, dict[str, object]]) -> None:
    """Print one line per design."""
    print(title)
    table = pd.DataFrame.from_dict(lines, orient="index")
    print(table.to_string(float_format=lambda number: f"{number:.3f}"), end="\n\n")


def shown(counts: tuple[int, ...]) -> str:
    """Write a set of counts; a run of them by its ends."""
    if len(counts) > 3 and counts[-1] - counts[0] == len(counts) - 1:
        return f"{counts[0]}..{counts[-1]}"
    if len(counts) > 3:
        return ",".join(map(str, (*counts[:2], "..", counts[-1])))
    return ",".join(map(str, counts)) or "-"


def short(number: object) -> str:
    """Write a number with four digits."""
    return f"{number:.4g}" if isinstance(number, float) else str(number)


if __name__ == "__main__":
    main()
