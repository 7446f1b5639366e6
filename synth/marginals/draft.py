"""What the engine knows so far, all of it public or paid for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Columns, Floats, Integers
from synth.marginals.belief import Network
from synth.marginals.model import Measured
from synth.marginals.spending import TableSettings

_BOUND = 20.0
_RIDGE = 1e-5
_FLAT = 1e-3


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Target(Measured):
    """A noisy table that the model should come near.

    Its counts are shifted so that they sum to the number of records. At no cost the model may
    stay away from each of them by `slack` times their scale.
    """

    slack: float
    was_chosen: bool = False


@dataclass(slots=True)
class ModelDraft:
    """Groups, noisy tables and the potentials fitted to them.

    Parameters
    ----------
    total
        The number of records.
    groups, shares, masks
        As in `TableModel`.
    """

    total: float
    groups: list[Integers]
    shares: list[Floats]
    masks: list[tuple[Columns, Floats]]
    targets: list[Target] = field(default_factory=list)

    @property
    def sizes(self) -> list[int]:
        """How many groups each column has."""
        return [int(group.max()) + 1 for group in self.groups]

    @property
    def sets(self) -> list[Columns]:
        """The column sets that lie in cliques."""
        return [
            *(target.columns for target in self.targets),
            *(columns for columns, _ in self.masks),
        ]

    def shifted(self, counts: NDArray[Any]) -> Floats:
        """Return counts that sum to the number of records."""
        return np.asarray(counts + (self.total - counts.sum()) / counts.size)

    def add(
        self,
        columns: Columns,
        counts: NDArray[Any],
        *,
        scale: float,
        slack: float,
        was_chosen: bool = False,
    ) -> None:
        """Take in a noisy table."""
        self.targets.append(
            Target(
                columns=columns,
                counts=self.shifted(counts),
                scale=scale,
                potential=np.zeros(counts.shape),
                slack=slack,
                was_chosen=was_chosen,
            )
        )

    def combine(self, place: int, counts: Integers, *, scale: float) -> None:
        """Average a table with a second measurement of it, each by its precision."""
        old = self.targets[place]
        share = old.scale**2 / (old.scale**2 + scale**2)
        both = share * self.shifted(counts) + (1 - share) * old.counts
        precise = old.scale * scale / float(np.hypot(old.scale, scale))
        self.targets[place] = replace(old, counts=both, scale=precise)

    def network(self) -> Network:
        """Return the graph of all tables so far."""
        return Network(self.sizes, [target.columns for target in self.targets], self.masks)

    @property
    def potentials(self) -> list[Floats]:
        """The logarithms of the factors so far."""
        return [target.potential for target in self.targets]

    def fit(
        self,
        settings: TableSettings,
        *,
        steps: int,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        """Fit the potentials to all tables so far; `progress` takes the share that is done."""
        potentials = fit_potentials(
            self.network(),
            self.targets,
            total=self.total,
            softness=settings.softness,
            steps=steps,
            progress=progress,
        )
        together = zip(self.targets, potentials, strict=True)
        self.targets = [replace(target, potential=one) for target, one in together]

    def measured(self) -> tuple[Measured, ...]:
        """Return the tables with their potentials."""
        return tuple(
            Measured(**{one.name: getattr(target, one.name) for one in fields(Measured)})
            for target in self.targets
        )


def fit_potentials(
    network: Network,
    targets: Sequence[Target],
    *,
    total: float,
    softness: float,
    steps: int,
    progress: Callable[[float], None] | None = None,
) -> list[Floats]:
    """Return the logarithms of the factors of the model.

    Notes
    -----
    Minimises ``total log Z(v) - <v, y> + sum slack * sqrt(v**2 + softness**2)`` over the
    potentials ``v``. Without the last term it is maximum likelihood, which is the dual of
    largest entropy under ``model = y``; the last term relaxes that to ``|model - y| <= slack``.

    References
    ----------
    Dudík, Phillips, Schapire 2004, theorem 1 (entropy with relaxed constraints);
    McKenna, Sheldon, Miklau 2019 (graphical models for noisy tables).
    """
    from scipy.optimize import minimize

    shapes = [target.counts.shape for target in targets]
    cuts = np.cumsum([target.counts.size for target in targets])[:-1]
    shares = np.concatenate([target.counts.ravel() for target in targets]) / total
    slack = np.concatenate([np.full(t.counts.size, t.slack * t.scale) for t in targets]) / total
    # The curvature along each potential, about: in its units steps are alike in all directions.
    curvature = np.sqrt(np.clip(shares, 0, 1) + slack / softness + _FLAT)

    def split(flat: Floats) -> list[Floats]:
        parts = np.split(flat, cuts)
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def loss(scaled: Floats) -> tuple[float, Floats]:
        flat = scaled / curvature
        log_total, beliefs = network.calibrate(split(flat))
        model = np.concatenate([table.ravel() for table in network.marginals(beliefs)])
        sizes = np.sqrt(flat**2 + softness**2)
        value = log_total - flat @ shares + slack @ sizes + 0.5 * _RIDGE * (flat @ flat)
        slope = model - shares + slack * flat / sizes + _RIDGE * flat
        return float(value), slope / curvature

    done = 0

    def tell(_: Any) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / steps)

    callback: Any = tell  # the stubs of SciPy know its parameter by another name

    first = np.concatenate([target.potential.ravel() for target in targets])
    # The tables are small: threads would only wait for each other, at twice the cost and more.
    with _linear_algebra().limit(limits=1, user_api="blas"):
        optimum = minimize(
            loss,
            np.clip(first, -_BOUND, _BOUND) * curvature,
            jac=True,
            method="L-BFGS-B",
            callback=callback,
            bounds=list(zip(-_BOUND * curvature, _BOUND * curvature, strict=True)),
            options={"maxiter": steps, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-7},
        )
    return split(np.asarray(optimum.x / curvature))


@lru_cache(maxsize=1)
def _linear_algebra() -> Any:
    """Return the threads of the libraries that are loaded by now; finding them takes time."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
