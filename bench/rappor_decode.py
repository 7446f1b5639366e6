"""The decoder on fresh populations: discoveries, coverage, unknown mass, seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.measure import arguments, best_cpu, in_process, show
from rappor.client.simulate import simulate_counts
from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode
from rappor.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A population, what is asked of it, and what is missing from the candidates."""

    name: str
    law: str
    clients: int
    shape: tuple[int, int, int]
    noise: tuple[float, float, float]
    values: int = 100
    extra: int = 20
    missing: str = "tenth"


_TYPICAL, _LOOSE, _DEMO, _PAPER = (
    (0.45, 0.39, 0.61),
    (0.0, 0.225, 0.775),
    (0.5, 0.25, 0.75),
    (0.5, 0.5, 0.75),
)


def _small(law: str, noise: tuple[float, float, float], **more: Any) -> Design:
    kind = "loose" if noise is _LOOSE else "typical"
    more = {"name": f"{law} {kind}", "extra": 20, **more}
    return Design(law=law, clients=10**6, shape=(8, 2, 128), noise=noise, **more)


FITTED = (
    *(_small(law, _TYPICAL) for law in ("exp", "gauss", "unif", "zipf1", "zipf1.5")),
    *(_small(law, _LOOSE) for law in ("exp", "gauss", "zipf1.5")),
    _small("exp", _TYPICAL, name="exp over_x2", extra=200),
    *(
        Design(
            name=f"{law} demo",
            law=law,
            clients=10**6,
            shape=(32, 1, 64),
            noise=_DEMO,
            extra=100,
        )
        for law in ("exp", "zipf1")
    ),
    *(
        Design(
            name=f"paper {clients:,}",
            law="paper",
            clients=clients,
            shape=(128, 2, 16),
            noise=_PAPER,
            extra=100,
            missing="none",
        )
        for clients in (10**6, 10**5)
    ),
    Design(
        name="chrome8 badcand",
        law="exp",
        clients=10**5,
        shape=(8, 2, 128),
        noise=_DEMO,
        missing="top",
    ),
)
SCREENED = (
    *(
        _small(law, _TYPICAL, name=f"{law} over_x10", extra=1000)
        for law in ("exp", "unif", "zipf1")
    ),
    _small("exp", _LOOSE, name="exp over_x10 loose", extra=1000),
)


def weights(law: str, n: int) -> np.ndarray[Any, Any]:
    """Give the shares of the values."""
    i = np.arange(n)
    found = {
        "unif": np.ones(n),
        "exp": np.exp(-5 * i / n),
        "gauss": np.exp(-0.5 * ((i + 1 - n / 2) / (n / 6)) ** 2),
        "zipf1": 1 / (i + 1),
        "zipf1.5": (i + 1) ** -1.5,
        "paper": np.exp(-10 * np.linspace(0, 0.5, n)),
    }[law]
    return found / found.sum()


def population(design: Design, seed: int) -> tuple[Candidates, Any, Any, Any]:
    """Draw counts; give the candidates a decoder is given and how often each was held."""
    generator = np.random.default_rng([seed, *design.name.encode()])
    k, h, m = design.shape
    f, p, q = design.noise
    shape = Parameters(n_bits=k, n_hashes=h, n_cohorts=m, f=f, p=p, q=q)
    n = design.values + design.extra
    names = np.array([f"{seed}/{i}" for i in range(n)])
    held = np.zeros(n, np.int64)
    held[: design.values] = generator.multinomial(
        design.clients, weights(design.law, design.values)
    )
    counts = simulate_counts(names.tolist(), held, parameters=shape, rng=generator)
    is_known = np.ones(n, bool)
    if design.missing == "tenth":
        is_known[8 : design.values : 10] = False
    elif design.missing == "top":
        is_known[:2] = False
    known = Candidates.of(names[is_known].tolist(), parameters=shape)
    return known, counts, held[is_known], design.clients


def figures(designs: tuple[Design, ...], populations: int, first_seed: int) -> list[list[Any]]:
    """Decode fresh populations of each design."""
    rows = []
    for design in designs:
        found = [_judged(*population(design, first_seed + seed)) for seed in range(populations)]
        rows.append([design.name, *_means(found)])
    return rows


def _means(rows: list[list[float]]) -> list[float]:
    """Give the mean of each column over what is known; 0 where nothing is."""
    table = np.array(rows, float)
    known = ~np.isnan(table)
    return (np.where(known, table, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)).tolist()


def _judged(known: Candidates, counts: Any, held: Any, clients: int) -> list[float]:
    result = decode(counts, known)
    is_strict = result.p_values * len(held) <= result.alpha
    ends = result.intervals
    is_covered = (ends[:, 0] <= held) & (held <= ends[:, 1])
    is_true = result.is_detected & (held > 0)
    unknown = np.nan
    if result.unknown is not None:
        missing = clients - held.sum()
        unknown = ((result.unknown.estimate - missing) / result.unknown.sd) ** 2
    return [
        is_strict.sum(),
        (is_strict & (held == 0)).sum(),
        result.is_detected.sum(),
        (result.is_detected & (held == 0)).sum(),
        is_covered.mean(),
        is_covered[is_true].mean() if is_true.any() else np.nan,
        unknown,
    ]


def pooled(designs: str, populations: int) -> dict[str, Any]:
    """Decode all designs of a family, in a process of its own."""
    chosen = {"fitted": FITTED, "screened": SCREENED}[designs]
    return {"rows": figures(chosen, populations, 2027)}


def speed(candidates: int, bits: int, cohorts: int, clients: int) -> dict[str, Any]:
    """Time one decoding."""
    shape = Parameters(n_bits=bits, n_hashes=2, n_cohorts=cohorts, f=0.5, p=0.5, q=0.75)
    known = Candidates.of([f"v{i}" for i in range(candidates)], parameters=shape)
    generator = np.random.default_rng(7)
    held = generator.multinomial(clients, weights("exp", min(candidates, 1000)))
    held = np.pad(held, (0, candidates - len(held)))
    counts = simulate_counts(known.names, held, parameters=shape, rng=generator)
    decode(counts, known)
    seconds, found = best_cpu(lambda: decode(counts, known), 3)
    return {"cpu": seconds, "found": int(found.is_detected.sum())}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__ or "", populations=15)
    heads = [
        "design",
        "Bonferroni",
        "false",
        "BH",
        "false",
        "cover",
        "of detected",
        "unknown z²",
    ]
    for family in ("fitted", "screened"):
        rows = in_process(pooled, family, given.populations)["rows"]
        means = _means([row[1:] for row in rows])
        show(
            f"{family}: {given.populations} fresh populations each",
            heads,
            [*rows, ["mean", *means]],
        )
        print(f"false among the BH discoveries: {means[3] / means[2]:.2%}\n")
    sizes = [
        (200, 128, 16, 10**6),
        (1_000, 128, 128, 10**6),
        (10_900, 8, 128, 10**7),
        (8_616, 128, 32, 14 * 10**6),
    ]
    rows = [[s, k * m, *in_process(speed, s, k, m, n).values()] for s, k, m, n in sizes]
    show("one decoding", ["candidates", "rows", "CPU s", "detected"], rows)


if __name__ == "__main__":
    main()
