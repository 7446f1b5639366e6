"""What a design costs in all: attacks on tables of greatest entropy and on tables by limits.

Each table by limits tells no more than that of greatest entropy of the same D, V and js, by any
limit: posterior of one and of all sensitive counts, best guesses, δ of neighbours, staying;
its floors of variance are shares of V. Attacks of `risk` by formula, and as tried on simulated
records where there is none; `ckm audit` on all tables of a job, with the same keys for each
design; of the thin differences that a ledger looks for, the sets of records that two tables
differ by, the share that is found.

    python -m bench.attacked_designs --data ACS --secrets 3 --small 2
    python -m bench.attacked_designs --data demo --secrets 1 --small 4

Data are the ACS of ../shared (27,253 persons, five tables of three of six variables, all
margins), and the six tables of the demonstration.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from bench.audit import ACS_COLUMNS
from bench.measure import arguments, in_process, print_table
from bench.reconstruction import SHARED
from ckm.config.job.report import ATTACKS

DESIGNS = ((5, 3.0, 0), (5, 3.0, 2), (8, 6.5, 4))
#: Floors of rows of small counts and of full rows, as shares of V.
FLOORS = ((0.8, 1.0), (0.6, 1.0), (0.4, 1.0), (0.6, 0.6))
_TABLES = (
    ("place", "sex", "race"),
    ("place", "age10", "married"),
    ("sex", "race", "education"),
    ("age10", "married", "education"),
    ("place", "race", "education"),
)


def acs_job(folder: Path) -> Path:
    """Write the job of the ACS."""
    import pandas as pd

    from tables import Secret

    people = pd.read_parquet(SHARED / "data" / "acs_national_2019.parquet")
    columns = {name: people[column] for name, column in ACS_COLUMNS.items()}
    columns["age10"] = columns["age10"] // 10
    texts = {name: column.astype(str) for name, column in columns.items()}
    pd.DataFrame({"id": range(len(people)), **texts}).to_parquet(folder / "people.parquet")
    Secret(np.random.default_rng(1).bytes(32)).write(folder / "secret.key")
    lines = [
        "schema = 1",
        'data = { path = "people.parquet", id = "id" }',
        'keys = { secret = "secret.key" }',
        "ptable = { max_noise = 5, variance = 3.0 }",
    ]
    for place, names in enumerate(_TABLES):
        lines += [
            "[[table]]",
            f'name = "table-{place}"',
            f"dimensions = {json.dumps(names)}",
            'margins = "all"',
        ]
    (folder / "job.toml").write_text("\n".join(lines) + "\n")
    return folder / "job.toml"


def demo_job(folder: Path, persons: int) -> Path:
    """Make the demonstration, and give its job."""
    from ckm.demo.demo import make_demo

    make_demo(folder / "demo", persons=persons, seed=2024, force=False, dry_run=False)
    return folder / "demo" / "job.toml"


def attack(data: str, persons: int, secrets: int, small: int) -> dict[str, Any]:
    """Attack all designs on the tables of one job."""
    from ckm.audit.job_tables import open_release
    from ckm.release.prior_of_tables import prior_of_tables

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = acs_job(folder) if data == "ACS" else demo_job(folder, persons)
        space, auditor, _ = open_release(path, small=small)
        prior = prior_of_tables(path)
    return {
        "rows": [
            row
            for design in DESIGNS
            for row in _of_design(design, prior, space, auditor, secrets)
        ]
    }


def _of_design(
    design: tuple[int, float, int], prior: Any, space: Any, auditor: Any, secrets: int
) -> list[dict[str, Any]]:
    from ckm.audit.attacked_designs import attack_trial, trial_of
    from ckm.config.job.limits import TEXTBOOK
    from ptable import NoiseSpec, solve
    from ptable.advice.frontier import frontier_spec, milder_spec

    max_noise, variance, small = design
    own = solve(NoiseSpec(max_noise=max_noise, variance=variance, small=small))
    spec = frontier_spec(own, priors=[prior, TEXTBOOK])
    tables = {(1.0, 1.0): own}
    for low, full in FLOORS:
        floors = {"floor": low * variance, "full_floor": full * variance}
        tables[low, full] = solve(milder_spec(own, spec, **floors))
    rows = []
    for (low, full), table in tables.items():
        started = time.process_time()
        trial = attack_trial(trial_of(table, spec), space, auditor, n_secrets=secrets, seed=1)
        rows.append(
            {
                "design": list(design),
                "floors": [low, full],
                "is_own": table is own,
                **_figures(trial),
                "CPU s": time.process_time() - started,
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return rows


def _figures(trial: Any) -> dict[str, Any]:
    from ckm.assessment.attacks import attack_facts
    from ckm.audit.audit import summed

    differences = [summed(audit.remainders) for audit in trial.audits]
    facts = {fact.name: fact for fact in attack_facts(trial.table, is_mixed=True, limits={})}
    return {
        "loss": trial.loss,
        "audit": trial.mean("audit"),
        "together": trial.mean("together"),
        "alone": trial.mean("alone"),
        "thin differences": fmean(one.together.share for one in differences),
        "thin sets": differences[0].together.n_small,
        "persons": fmean(_attribute(audit) for audit in trial.audits),
        **{name: _success(facts[name]) for name in ATTACKS},
    }


def _attribute(audit: Any) -> float:
    """Give the share of persons alone in a cell whose category all tables tell."""
    return float(audit.attributes.together / max(audit.attributes.n, 1))


def _success(fact: Any) -> float:
    if fact.closed_form is not None:
        return float(fact.closed_form)
    return float(fact.successes / fact.trials)


def main() -> None:
    """Attack all designs, and print one table for each kind of data."""
    sizes = arguments(str(__doc__), persons=400_000, secrets=3, small=2, data="ACS,demo")
    for data in sizes.data.split(","):
        answer = in_process(attack, data, sizes.persons, sizes.secrets, sizes.small)
        names = ["loss", "audit", "together", "alone", "thin differences", "persons", *ATTACKS]
        rows = [
            [
                "D {}, V {}, js {}".format(*row["design"]),
                "greatest entropy"
                if row["is_own"]
                else "limits, {}, {}".format(*row["floors"]),
                *(row[name] for name in names),
            ]
            for row in answer["rows"]
        ]
        print_table(f"Attacks on the tables of {data}", ["noise", "design", *names], rows)


if __name__ == "__main__":
    main()
