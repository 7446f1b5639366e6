"""The noise of every variable: its own, that of all, or one to begin with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ckm.engine.magnitudes.settings import MagnitudeNoise
from ckm.errors import ConfigError

_MOST = 6  # the aggregation finds so many of the largest contributors


class VariableNoises(Mapping[str, MagnitudeNoise]):
    """Variable → how its sums are perturbed; every name has an answer.

    Parameters
    ----------
    given
        One noise for all variables, or variable → noise. Variables that are not named have
        `MagnitudeNoise.start`, whose p-table is built when it is first asked for.
    """

    def __init__(self, given: MagnitudeNoise | Mapping[str, MagnitudeNoise] | None) -> None:
        self._common = given if isinstance(given, MagnitudeNoise) else None
        self._own = dict(given) if isinstance(given, Mapping) else {}
        is_sound = given is None or isinstance(given, MagnitudeNoise | Mapping)
        noises = [*self._own.values(), *filter(None, [self._common])]
        are_sound = all(isinstance(name, str) for name in self._own) and all(
            isinstance(noise, MagnitudeNoise) for noise in noises
        )
        if not (is_sound and are_sound):
            raise ConfigError(
                "magnitudes must be a MagnitudeNoise, or map variables to one.",
                hint='magnitudes = {"income": MagnitudeNoise.start(spread=0.15)}',
            )
        for noise in noises:
            if noise.n_top > _MOST:
                raise ConfigError(
                    f"The noise of amounts looks at the {noise.n_top} largest contributors of "
                    f"a cell; at most {_MOST} are found.",
                    hint="let dominance look at fewer",
                )

    @property
    def named(self) -> tuple[str, ...]:
        """The variables that have a noise of their own."""
        return tuple(self._own)

    def __getitem__(self, variable: str) -> MagnitudeNoise:
        if variable in self._own:
            return self._own[variable]
        if self._common is None:
            self._common = MagnitudeNoise.start()
        return self._common

    def __contains__(self, variable: object) -> bool:
        return isinstance(variable, str)

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    def __repr__(self) -> str:
        return f"VariableNoises({', '.join(map(repr, self._own))})"
