"""CPU time and memory of ``ckm audit``: the ACS with six variables, and many records by area.

The ACS has up to three of six variables in a table. The many records are those of the demo with
three variables, in some regions drawn at random.

    python -m bench.audit --persons 5000000 --areas 4
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.measure import arguments, in_process, peak_mb, show
from bench.reconstruction import SHARED
from bench.service import make
from ckm.audit.audit import open_space
from ckm.config.service.service import read_service
from ptable import NoiseSpec, solve
from tables import Secret

_HEAD = """
schema = 1
[service]
title = "Audit"
[data]
path = "people.parquet"
id = "{id}"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[rules]
maximum_variables = 3
"""
ACS_COLUMNS = {
    "place": "PUMA",
    "sex": "SEX",
    "race": "RAC1P",
    "age10": "AGEP",
    "married": "MSP",
    "education": "EDU",
}


def acs() -> dict[str, Any]:
    people = pd.read_parquet(SHARED / "data" / "acs_national_2019.parquet")
    columns = {name: people[column] for name, column in ACS_COLUMNS.items()}
    columns["age10"] = columns["age10"] // 10
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = {name: column.astype(str) for name, column in columns.items()}
        pd.DataFrame({"id": range(len(people)), **texts}).to_parquet(folder / "people.parquet")
        solve(NoiseSpec(max_noise=5, variance=3.0, small=2)).write(folder / "pt.parquet")
        Secret(np.random.default_rng(1).bytes(32)).write(folder / "secret.key")
        return audited(
            folder, _HEAD.format(id="id") + _variables(list(ACS_COLUMNS)), areas=None
        )


def many(persons: int, areas: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, persons)
        hierarchy = '[hierarchies]\ngeo = ["region", "department", "commune"]\n'
        text = _HEAD.format(id="person_id") + hierarchy
        return audited(folder, text + _variables(["geo", "age", "category"]), areas=areas)


def audited(folder: Path, text: str, *, areas: int | None) -> dict[str, Any]:
    (folder / "service.toml").write_text(text)
    started = time.process_time()
    space, auditor = open_space(read_service(folder / "service.toml"), areas=areas)
    found = auditor.audit(space)
    return {
        "areas": f"{found.n_areas_drawn} of {found.n_areas}",
        "tables": sum(one.n_tables for one in found.exposures),
        "cells": sum(one.n_cells for one in found.exposures),
        "small": found.whole.together.n_small,
        "alone": f"{found.whole.alone.share:.1%}",
        "together": f"{found.whole.together.share:.1%}",
        "CPU s": time.process_time() - started,
        "MB": peak_mb(),
    }


def _variables(names: list[str]) -> str:
    area = "is_area = true\n"
    return "".join(
        f'[[variable]]\nname = "{name}"\n{area if place == 0 else ""}'
        for place, name in enumerate(names)
    )


def main() -> None:
    sizes = arguments(str(__doc__), persons=5_000_000, areas=4)
    rows = {
        "ACS": in_process(acs),
        f"{sizes.persons:,} records": in_process(many, sizes.persons, sizes.areas),
    }
    columns = ["data", *next(iter(rows.values())), "goal"]
    goals = (60.0, 300.0)
    found = [
        [name, *row.values(), goal]
        for (name, row), goal in zip(rows.items(), goals, strict=True)
    ]
    show("ckm audit", columns, found, goal="goal")


if __name__ == "__main__":
    main()
