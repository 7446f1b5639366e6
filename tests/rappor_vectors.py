"""Vectors of RAPPOR's wire format: `python -m tests.rappor_vectors` writes them anew.

The client in JavaScript is held against them; it was written from the page of the format alone.
"""

import base64
import hashlib
import json
from pathlib import Path

import numpy as np

from rappor import Client, Parameters, Reports
from rappor.client.bernoulli import threshold
from rappor.client.bloom import bits
from rappor.client.permanent import permanent_key
from rappor.receiver.sending import tokens_of
from rappor.report_files import write_reports
from tables import Secret

FILE = Path(__file__).parents[1] / "clients" / "js" / "vectors.json"
PERIOD = "2027-W09"
SECRET = bytes(range(32))
PARAMETERS = {
    "paper": Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75),
    "two bytes": Parameters(n_bits=128, n_hashes=2, n_cohorts=64, f=0.45, p=0.39, q=0.61),
    "seven hashes": Parameters(n_bits=61, n_hashes=7, n_cohorts=3, f=0.1, p=0.25, q=0.9),
    "long": Parameters(n_bits=2000, n_hashes=5, n_cohorts=1, f=0.3, p=0.01, q=0.99),
    "google": Parameters(
        n_bits=32, n_hashes=2, n_cohorts=64, f=0.25, p=0.35, q=0.65, hash="md5"
    ),
    "google, long": Parameters(
        n_bits=512, n_hashes=8, n_cohorts=8, f=0.0, p=0.2, q=0.7, hash="md5"
    ),
    "once": Parameters(n_bits=16, n_hashes=1, n_cohorts=4, f=0.0, p=0.0, q=1.0),
    "turned": Parameters(n_bits=16, n_hashes=1, n_cohorts=4, f=0.2, p=0.7, q=0.3),
    "basic": Parameters.basic(12, f=0.5, p=0.25, q=0.75),
    "Boolean": Parameters.basic(1, f=0.35, p=0.3, q=0.8),
    "Hadamard": Parameters(
        n_bits=2, n_hashes=1, n_cohorts=16, f=0.0, p=0.25, q=0.75,
        hash="hadamard", response="symbol",
    ),
    "symbol": Parameters(
        n_bits=9, n_hashes=1, n_cohorts=1, f=0.0, p=0.05, q=0.6, hash="index", response="symbol"
    ),
}  # fmt: skip
TEXTS = ("", "example.org", "é漢😀", "x" * 15, "y" * 16, "z" * 100)


class Stream:
    """Random bytes that are known: what a client draws, in order."""

    def __init__(self, seed: str) -> None:
        self._bytes, self.taken = hashlib.shake_128(seed.encode()).digest(2**16), 0

    def bytes(self, size: int) -> bytes:
        """Give the next bytes."""
        self.taken += size
        return self._bytes[self.taken - size : self.taken]

    def text(self) -> str:
        """Write what was taken in Base64."""
        return base64.b64encode(self._bytes[: self.taken]).decode()


def values_of(parameters: Parameters) -> list[object]:
    """Give values of a question, the first and the last among them."""
    if parameters.is_boolean:
        return [True, False]
    if parameters.is_numbered:
        return [0, 1, parameters.n_values // 2, parameters.n_values - 1]
    return list(TEXTS)


def has_tie(parameters: Parameters, client: Client, value: object, name: str) -> bool:
    """Tell whether two bytes of a permanent response decide nothing."""
    half = threshold(parameters.f / 2)
    if not half or half % 2**56 == 0:
        return False
    key = permanent_key(Secret(SECRET), metric=client.metric, parameters=parameters)
    row = np.zeros(parameters.n_bits, bool)
    row[bits([value], np.array([client.cohort]), parameters=parameters)[0]] = True
    text = key + name.encode() + np.packbits(row, bitorder="little").tobytes()
    stream = hashlib.shake_128(text).digest(2 * parameters.n_bits)
    words = [
        a << 8 | b
        for a, b in zip(stream[: parameters.n_bits], stream[parameters.n_bits :], strict=True)
    ]
    return any(limit >> 48 in words for limit in (half, 2 * half))


def vector(parameters: Parameters, value: object, name: str, metric: str) -> dict[str, object]:
    """Give all that one report is made of."""
    client = Client(parameters, secret=Secret(SECRET), metric=metric, client=name)
    stream = Stream(f"{parameters.fingerprint} {value!r} {name}")
    report = client.encode(value, rng=stream)
    places = bits([value], np.array([client.cohort]), parameters=parameters)[0]
    response = client.permanent(value)
    return {
        "parameters": parameters.fingerprint,
        "metric": metric,
        "client": name,
        "value": value,
        "cohort": client.cohort,
        "bits": [int(place) for place in places if place >= 0],
        "permanent": np.packbits(response, bitorder="little").tobytes().hex(),
        "random": stream.text(),
        "report": report.packed[0].tobytes().hex(),
        "text": report.texts()[0],
        "token": tokens_of(
            [name],
            secret=Secret(SECRET),
            parameters=parameters,
            metric=metric,
            period=PERIOD,
        )[0].hex(),
    }


def vectors() -> dict[str, object]:
    """Make all vectors, and a file of reports for each set of parameters."""
    rows: list[dict[str, object]] = []
    for parameters in PARAMETERS.values():
        for place, value in enumerate(values_of(parameters)):
            rows.append(vector(parameters, value, f"client {place}", "home page"))
        rows.append(vector(parameters, values_of(parameters)[0], "", "é"))
    ties = PARAMETERS["two bytes"]
    for number in range(100_000):
        name = f"tie {number}"
        client = Client(ties, secret=Secret(SECRET), metric="home page", client=name)
        if has_tie(ties, client, "example.org", name):
            rows.append(vector(ties, "example.org", name, "home page"))
            break
    return {
        "secret": SECRET.hex(),
        "period": PERIOD,
        "parameters": {one.fingerprint: one.to_dict() for one in PARAMETERS.values()},
        "reports": rows,
    }


def write_batch(path: Path, name: str) -> None:
    """Write a file of the reports of some vectors, as `ckm rappor encode` would."""
    parameters = PARAMETERS[name]
    rows = [row for row in vectors()["reports"] if row["parameters"] == parameters.fingerprint]
    texts, cohorts = [row["text"] for row in rows], [row["cohort"] for row in rows]
    reports = Reports.from_texts(texts, cohorts, parameters=parameters)
    write_reports([reports], path, parameters=parameters)


def text() -> str:
    """Give the text of the file."""
    return json.dumps(vectors(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
