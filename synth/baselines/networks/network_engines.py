"""PrivBayes as an engine of `Synthesizer`: within a budget, or with the noise of a defect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dp import Exponential
from footing.arrays import AnyIntegers, Floats, Integers
from footing.checks import require_integer
from synth.baselines.networks.network import (
    Family,
    NetworkTable,
    candidates_of,
    draw_network,
    information_of,
    measured_places,
    sizes_of,
    spread_bins,
    tables_of,
)
from synth.baselines.networks.priv_bayes import priv_bayes
from synth.baselines.published import (
    JointModel,
    account_record,
    as_frame,
    refuse_add_remove,
    refuse_others,
    seeded_by,
)
from synth.claims import Claim
from synth.errors import SynthError
from synth.marginals.measuring import Measurer, Neighbours, NoiseSource
from synth.marginals.spending import PrivacyAccountant, Spend, range_of

_MAX_BINS = 20
_EXACT = 1 - 1e-9
_SLACK = 1 + 1e-6  # logarithms are rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """What may be chosen of PrivBayes.

    Parameters
    ----------
    degree
        The most parents of a column.
    """

    degree: int = 3

    def __post_init__(self) -> None:
        require_integer(self.degree, "degree", error=SynthError, minimum=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkModel(JointModel):
    """A network of columns, each with the law given its parents.

    Parameters
    ----------
    bins
        The bin of each code, one array a column.
    tables
        The laws, parents before children.
    spends
        Every look at the confidential records, where they keep to a budget.
    account
        What it really cost, where it does not; see `synth.Model.account`.
    """

    kind: ClassVar[str] = "network"

    bins: tuple[Integers, ...]
    tables: tuple[NetworkTable, ...]
    spends: tuple[Spend, ...] = ()
    account: dict[str, Any] | None = None

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [len(one) for one in self.bins]

    def _drawn(self, number: int, rng: np.random.Generator) -> list[Integers]:
        return spread_bins(draw_network(number, self.tables, rng=rng), self.bins, rng)

    def _parts(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "tables": [
                {"child": one.child, "parents": one.parents, "cumulative": one.cumulative}
                for one in self.tables
            ],
            "spends": [spend.record() for spend in self.spends],
            "account": self.account,
        }

    @classmethod
    def _of_parts(cls, found: Mapping[str, Any]) -> Self:
        bins = tuple(np.array(one, np.int64) for one in found["bins"])
        sizes = sizes_of(bins)
        tables = tuple(
            NetworkTable(
                child=int(one["child"]),
                parents=tuple(int(parent) for parent in one["parents"]),
                sizes=tuple(sizes[parent] for parent in one["parents"]),
                cumulative=np.array(one["cumulative"], np.float64),
            )
            for one in found["tables"]
        )
        _check_tables(tables, sizes)
        spends = tuple(Spend.from_record(spend) for spend in found["spends"])
        return cls(bins=bins, tables=tables, spends=spends, account=found["account"])


def fit_priv_bayes(
    codes: AnyIntegers,
    *,
    sizes: Sequence[int],
    rho: float,
    ordered: Sequence[bool],
    present: Sequence[int],
    noise: NoiseSource,
    neighbours: Neighbours,
    settings: NetworkSettings | None = None,
    **others: Any,
) -> NetworkModel:
    """Fit PrivBayes: half of rho chooses a network, half measures its tables.

    Notes
    -----
    The published method adds Laplace noise; here it is discrete Gaussian, so that it costs rho
    as the default does and both can be compared at one price. Each choice has scores over their
    own sensitivity: a replaced record moves them by 1 at most, a unit by as many as it has.

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017.
    """
    refuse_others(others)
    refuse_add_remove(neighbours, "The choice of a network")
    degree = min((settings or NetworkSettings()).degree, len(sizes) - 1)
    bins = _bins(sizes, ordered, present)
    accountant = PrivacyAccountant(float(rho))
    measurer = _NetworkMeasurer(codes, sizes, neighbours, accountant, noise)
    measurer.regroup(bins)
    share = 0.5 if len(sizes) > 1 else 0.0
    rng = seeded_by(noise) or np.random.default_rng()
    network: list[Family] = [(int(rng.integers(len(sizes))), ())]
    for _ in sizes[1:]:
        price = accountant.rho * share * _EXACT / (len(sizes) - 1)
        network.append(measurer.parents([one for one, _ in network], degree=degree, rho=price))
    measured = measured_places(network, degree=degree)
    price = accountant.rho * (1 - share) * _EXACT / len(measured)
    held = {place: measurer.family(network[place], rho=price) for place in measured}
    measurer.forget()
    tables = tuple(tables_of(network, held))
    return NetworkModel(bins=bins, tables=tables, spends=tuple(accountant.spends))


def fit_priv_bayes_legacy(
    codes: AnyIntegers,
    *,
    sizes: Sequence[int],
    claim: Claim,
    ordered: Sequence[bool],
    noise: NoiseSource,
    neighbours: Neighbours,
    settings: NetworkSettings | None = None,
    **others: Any,
) -> NetworkModel:
    """Fit PrivBayes with the noise of an implementation that earlier comparisons used.

    **Not differentially private as claimed**: the noise is too small by as many times as there
    are records. The account says what that costs.
    """
    refuse_others(others)
    if not claim.epsilon:
        raise SynthError("The method claims an epsilon above 0.", hint="--epsilon 1")
    frame, domains = as_frame(codes, sizes=sizes, ordered=ordered)
    model = priv_bayes(
        frame,
        epsilon=claim.epsilon,
        domains=domains,
        degree=(settings or NetworkSettings()).degree,
        is_legacy=True,
        rng=seeded_by(noise),
    )
    account = account_record(
        model.account,
        label="PrivBayes with noise too small",
        claimed=claim.epsilon,
        rows=neighbours.rows,
    )
    return NetworkModel(
        bins=model.details["members"], tables=tuple(model.details["tables"]), account=account
    )


class _NetworkMeasurer(Measurer):
    """A measurer that also chooses parents by mutual information."""

    def parents(self, chosen: Sequence[int], *, degree: int, rho: float) -> Family:
        """Choose the next column and its parents, with noise."""
        how = Exponential(
            epsilon=range_of(rho),
            sensitivity=self._neighbours.rows * _SLACK,
            adjacency=self._neighbours.adjacency,
            unit=self._neighbours.unit,
        )
        self._accountant.pay(Spend.of("choice", how))
        families = candidates_of(self._sizes, chosen, degree=degree)
        codes = np.column_stack(self._columns)
        scores = [information_of(codes, one, sizes=self._sizes) for one in families]
        return families[self._noise.choose(np.array(scores, np.float64), how)]

    def family(self, family: Family, *, rho: float) -> tuple[tuple[int, ...], Floats]:
        """Return columns and the noisy table of a column and its parents, none below 0."""
        child, parents = family
        columns = tuple(sorted((*parents, child)))
        counts, _ = self.table(columns, rho=rho)
        order = (*parents, child)
        turned = np.transpose(counts, [columns.index(one) for one in order])
        return order, turned.clip(min=0).astype(np.float64)


def _bins(
    sizes: Sequence[int], ordered: Sequence[bool], present: Sequence[int]
) -> tuple[Integers, ...]:
    """Put ordered codes into bins of equal width; kinds of missing keep their own."""
    bins = []
    for size, is_ordered, known in zip(sizes, ordered, present, strict=True):
        found = np.arange(size, dtype=np.int64)
        if is_ordered and known > _MAX_BINS:
            found[:known] = found[:known] * _MAX_BINS // known
            found[known:] += _MAX_BINS - known
        bins.append(found)
    return tuple(bins)


def _check_tables(tables: Sequence[NetworkTable], sizes: Sequence[int]) -> None:
    """Refuse laws that do not fit each other."""
    known: set[int] = set()
    for table in tables:
        rows, is_new = int(np.prod(table.sizes)), table.child not in known
        inside = 0 <= table.child < len(sizes) and {*table.parents} <= known
        if not (inside and is_new and table.cumulative.shape == (rows, sizes[table.child])):
            raise SynthError("The tables of the network do not fit each other.")
        heights = table.cumulative
        rises = np.isfinite(heights).all() and (np.diff(heights, axis=1) >= 0).all()
        if not (rises and (heights >= 0).all() and np.allclose(heights[:, -1], 1)):
            raise SynthError("A law of the network does not rise to 1.")
        known.add(table.child)
    if known != set(range(len(sizes))):
        raise SynthError("A column has no law in the network.")
