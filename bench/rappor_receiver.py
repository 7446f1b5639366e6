"""A receiver of RAPPOR reports: processor seconds for a million, sent in batches over HTTP."""

from __future__ import annotations

import http.client
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import arguments, show

_BATCH = 1000


def receiving(reports: int, batch: int) -> dict[str, Any]:
    """Send reports to a receiver of its own process; give its processor seconds."""
    from rappor.encoded import Reports
    from rappor.parameters import Parameters
    from rappor.receiver.periods import period_of
    from rappor.receiver.sending import pack_sending
    from rappor.receiver.store import period_counts

    parameters = Parameters(n_bits=32, n_hashes=1, n_cohorts=256, f=0.2, p=0.224, q=0.531)
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parameters.write(folder / "params.json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            *(sys.executable, "-m", "ckm", "rappor", "serve", "params.json", "--metric", "m"),
            *("--data", "data", "--period", "year", "--port", "0"),
        ]
        process = subprocess.Popen(
            command,
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path.cwd()), "CKM_LOG_FORMAT": "text"},
        )
        line = ""
        while process.stderr is not None and "serving at http://" not in line:
            line = process.stderr.readline()
        host, _, port = line.strip().rpartition("http://")[2].partition(":")
        web = http.client.HTTPConnection(host, int(port), timeout=600)
        start = time.time()
        for _ in range(0, reports, batch):
            piece = Reports(
                cohorts=rng.integers(0, 256, batch),
                packed=rng.integers(0, 256, (batch, 4), dtype=np.uint8),
                parameters=parameters,
            )
            tokens = [rng.bytes(16) for _ in range(batch)]
            body = pack_sending(
                piece, tokens, metric="m", period=period_of(time.time(), "year")
            )
            web.request("POST", "/reports", body=body)
            answer = web.getresponse()
            answer.read()
            if answer.status != http.client.OK:
                msg = f"the receiver answered {answer.status}"
                raise RuntimeError(msg)
        seconds = time.time() - start
        web.close()
        process.send_signal(signal.SIGTERM)
        process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        (counts,) = period_counts(folder / "data", is_unfinished_too=True).values()
        if counts.total != reports:
            msg = "reports were lost"
            raise RuntimeError(msg)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"reports": reports, "batch": batch, "cpu": cpu, "seconds": seconds}


def main() -> None:
    """Print the figures."""
    sizes = arguments(__doc__ or "", reports=1_000_000, batch=_BATCH)
    measured = receiving(sizes.reports, sizes.batch)
    columns = ["reports", "a request", "CPU s", "seconds"]
    show("Reports received over HTTP", columns, [[*measured.values()]])


if __name__ == "__main__":
    main()
