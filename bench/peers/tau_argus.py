"""Secondary suppression by tau-ARGUS: CPU seconds, and the status of every cell."""

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from pytauargus import protect

given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
axes = list(given["trees"])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)  # it leaves its logs there
    trees = {}
    for axis, text in given["trees"].items():
        if "@" in text:
            trees[axis] = f"{folder}/{axis}.hrc"
            Path(trees[axis]).write_text(text, encoding="utf-8")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = time.process_time() - spent.ru_utime - spent.ru_stime
    found = protect(
        given["records"],
        axes,
        response="amount",
        safety_rules=given["rule"],
        suppress=given["method"],
        hrc=trees,
        hierleadstring="@",
        totcode="Total",
        workdir=folder,
    )
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() + spent.ru_utime + spent.ru_stime - before
rows = [[*(row[axis] for axis in axes), row["status"]] for row in found.tables[0].rows]
print("\n" + json.dumps({"cpu": cpu, "rows": rows}))
