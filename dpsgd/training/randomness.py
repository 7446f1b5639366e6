"""Where chance comes from: the operating system, or a number for demonstrations."""

import hashlib
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WORDS = 4  # of Philox' buffer


class Randomness:
    """Coins of the sampler and noise of the gradients, from generators that count.

    Parameters
    ----------
    seed
        None takes keys from the operating system; they are never written anywhere. A number
        gives the same draws to anybody.
    shared_key
        A key that several processes share, for the sampler of a release.
    """

    def __init__(self, seed: int | None, *, shared_key: int | None = None) -> None:
        self.seed = seed
        #: The generator of the sampler, and the one of the noise.
        self.draws, self._noise = (
            np.random.Generator(np.random.Philox(key=key))
            for key in (shared_key or _key(seed, "coins"), _key(seed, "noise"))
        )

    def __repr__(self) -> str:
        return "Randomness(…)"

    def noise(self, size: int) -> NDArray[np.float32]:
        """Return standard normal numbers."""
        return self._noise.standard_normal(size, dtype=np.float32)

    def state(self) -> dict[str, Any] | None:
        """Return where a demonstration stands; None for a release, which starts anew."""
        if self.seed is None:
            return None
        return {"coins": _plain(self.draws), "noise": _plain(self._noise)}

    def restore(self, state: dict[str, Any] | None) -> None:
        """Go on where a demonstration stood."""
        if self.seed is None or state is None:
            return
        for name, generator in (("coins", self.draws), ("noise", self._noise)):
            if not 0 <= state[name]["buffer_pos"] <= _WORDS:  # it would be read as it is
                raise ValueError
            generator.bit_generator.state = state[name]


def _key(seed: int | None, purpose: str) -> int:
    if seed is None:
        return secrets.randbits(128)
    digest = hashlib.sha256(f"dpsgd {purpose} {seed}".encode()).digest()
    return int.from_bytes(digest[:16], "big")


def _plain(generator: np.random.Generator) -> dict[str, Any]:
    state: Any = generator.bit_generator.state
    inner = {name: values.tolist() for name, values in state["state"].items()}
    return {**state, "state": inner, "buffer": state["buffer"].tolist()}
