"""Tests draw from seeds, not from the operating system: what one sees once, it always sees.

Each test, and each fixture that several tests share, has a seed of its own, so that neither the
order of tests nor the number of workers changes a draw. Commands in processes of their own draw
from the operating system, and so do tests marked ``system_randomness``: those say at which rate
they fail by themselves.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sys
from types import SimpleNamespace

import numpy as np

from dp.mechanisms import choice, noise, planar, response
from dp.mechanisms.opendp import add_noise, choose_largest, numbers_of

_SYSTEM = SimpleNamespace(
    add_noise=add_noise,
    choose_largest=choose_largest,
    randbits=secrets.randbits,
    token_bytes=secrets.token_bytes,
    urandom=os.urandom,
)
#: Modules that are imported when they are first needed, and what they draw with.
_LAZY = {
    "rappor.client.bernoulli": "secrets",
    "tables.secret": "secrets",
    "tables.keys": "os",
}


class Generator:
    """Random numbers from the seed of a test; without one, from the operating system."""

    def __init__(self) -> None:
        self._numbers: np.random.Generator | None = None

    def start(self, name: str | None) -> np.random.Generator | None:
        """Draw from the seed of a name from now on; return what was drawn from before."""
        before = self._numbers
        digest = hashlib.sha256((name or "").encode()).digest()
        seed = int.from_bytes(digest[:8], "big")
        self._numbers = None if name is None else np.random.default_rng(seed)
        return before

    def go_on(self, before: np.random.Generator | None) -> None:
        """Draw again from what was drawn from before."""
        self._numbers = before

    def urandom(self, size: int) -> bytes:
        """Give as many bytes."""
        return _SYSTEM.urandom(size) if self._numbers is None else self._numbers.bytes(size)

    def token_bytes(self, nbytes: int = 32) -> bytes:
        """Give as many bytes."""
        return self.urandom(nbytes)

    def randbits(self, k: int) -> int:
        """Give an integer below 2**k."""
        return int.from_bytes(self.urandom((k + 7) // 8), "big") >> (-k % 8)

    def add_noise(self, distribution, values, *, scale):
        """Add noise of the same law as OpenDP's."""
        kind, numbers = numbers_of(values)
        if self._numbers is None or not numbers:
            return _SYSTEM.add_noise(distribution, values, scale=scale)
        draws = _LAWS[kind, distribution](self._numbers, scale, len(numbers))
        dtype = np.int64 if kind == "int" else np.float64
        return values.astype(dtype) + draws.astype(dtype).reshape(values.shape)

    def choose_largest(self, scores, *, scale, distribution="gumbel"):
        """Return the index of a score that is largest after noise."""
        if self._numbers is None:
            return _SYSTEM.choose_largest(scores, scale=scale, distribution=distribution)
        choice.check_scores(scores)
        size = len(scores)
        draws = (
            self._numbers.gumbel(size=size)
            if distribution == "gumbel"
            else self._numbers.exponential(size=size)
        )
        return int(np.argmax(np.asarray(scores, np.float64) + scale * draws))


def discrete_laplace(numbers, scale, size):
    """Draw integers with chances exp(-|k| / scale): a difference of two geometric ones."""
    chance = -np.expm1(-1 / scale)
    return numbers.geometric(chance, size) - numbers.geometric(chance, size)


def discrete_gaussian(numbers, scale, size):
    """Draw integers with chances exp(-k² / 2 scale²), by rejection.

    Canonne, Kamath, Steinke 2020, algorithm 3.
    """
    wide = int(scale) + 1
    draws = np.empty(size, np.int64)
    empty = np.arange(size)
    while empty.size:
        tried = discrete_laplace(numbers, wide, empty.size)
        distance = np.abs(tried) - scale**2 / wide
        is_taken = numbers.random(empty.size) < np.exp(-(distance**2) / (2 * scale**2))
        draws[empty[is_taken]] = tried[is_taken]
        empty = empty[~is_taken]
    return draws


_LAWS = {
    ("int", "laplace"): discrete_laplace,
    ("int", "gaussian"): discrete_gaussian,
    ("float", "laplace"): lambda numbers, scale, size: numbers.laplace(0, scale, size),
    ("float", "gaussian"): lambda numbers, scale, size: numbers.normal(0, scale, size),
}
GENERATOR = Generator()


class _Source:
    """A module of the standard library, but for what it draws."""

    def __init__(self, module, **draws) -> None:
        self._module = module
        self.__dict__.update(draws)

    def __getattr__(self, name: str):
        return getattr(self._module, name)


def put_in_place() -> None:
    """Let the product draw from the generator, as far as its modules are imported."""
    secrets.randbits = GENERATOR.randbits
    noise.add_noise = GENERATOR.add_noise
    choice.choose_largest = GENERATOR.choose_largest
    sources = {
        "os": _Source(os, urandom=GENERATOR.urandom),
        "secrets": _Source(secrets, token_bytes=GENERATOR.token_bytes),
    }
    response.os = planar.os = sources["os"]
    for name, source in _LAZY.items():
        module = sys.modules.get(name)
        if module is not None and not isinstance(getattr(module, source), _Source):
            setattr(module, source, sources[source])


def is_drawn_from_seeds(item) -> bool:
    """Tell whether a test draws from its seed."""
    return item.get_closest_marker("system_randomness") is None
