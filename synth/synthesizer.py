"""From confidential records to a model, by what is declared, within a budget."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dp import Adjacency
from footing.messages import Message, Name
from footing.progress import Progress, no_progress
from synth.claims import Claim
from synth.errors import DomainError, SchemaError, SynthError
from synth.fitted import Model
from synth.frames import to_records
from synth.marginals.belief import Network
from synth.marginals.measuring import Neighbours, NoiseSource, SecureNoise
from synth.marginals.spending import calls_of
from synth.methods import SINGLE, CodeModel, fitter_of, is_unprotected
from synth.schema.coding import check_names, encode
from synth.schema.discovery import Discovery, discover, find_bins, stood_in, wide_columns
from synth.schema.nesting import labels_under_rules
from synth.schema.nesting_count import SHARE as SHARE_OF_NESTS
from synth.schema.nesting_count import count_nests, undeclared_nests
from synth.schema.public import patterns_of
from synth.schema.rules.constraints import constraints_of, identities_of, modelled_sizes
from synth.schema.units import within_bound
from synth.totals import drawn_by_law, require_sound, totals_of, warning_of

if TYPE_CHECKING:
    import pandas as pd

    from footing.arrays import AnyIntegers, Floats, Integers
    from synth.marginals.spending import Budget, Call
    from synth.schema.nesting import Nest
    from synth.schema.public import Prior, Rule
    from synth.schema.schema import Schema
    from synth.totals import Total

_STEPS = 100
_TIMED = ("tables",)  # methods that estimate how long they take
_BY_AMOUNT = 3.0  # the weight of an amount with the column of categories that have its totals

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Synthesizer:
    """A way to make synthetic records. It holds nothing confidential.

    Parameters
    ----------
    schema
        What is declared of the records.
    method
        The engine: ``"tables"``, or ``"vine"``, which keeps the tails of amounts that hang
        together; to compare with, ``"copula"`` (one Gaussian copula), ``"histogram"``
        (independent columns), ``"priv-bayes"`` (a network), and some that are not
        differentially private as claimed: see `synth.methods.UNPROTECTED`.
    workload
        The tables that matter, as names of columns, with a weight each; a list for equal
        weights. All pairs alike by default; those with the survey weight of the schema twice,
        because whoever has weights sums them over the categories of other columns.
    label
        A column to predict: tables with it matter twice when there is no workload.
    settings
        How the engine spends its budget.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Budget, Category, Schema, SimulatedNoise
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"])])
    >>> records = pd.DataFrame({"sex": ["F", "M"] * 500})
    >>> model = Synthesizer(schema=schema).fit(
    ...     records, Budget(epsilon=1, delta=1e-6), noise=SimulatedNoise(seed=1)
    ... )
    >>> model.sample(2, rng=np.random.default_rng(2)).columns.tolist()
    ['sex']
    """

    schema: Schema
    method: str = "tables"
    workload: Mapping[tuple[str, ...], float] | Sequence[tuple[str, ...]] | None = None
    label: str | None = None
    settings: Any = None

    def __post_init__(self) -> None:
        fitter_of(self.method)
        tables = [*(self.workload or []), *([(self.label,)] if self.label is not None else [])]
        for columns in tables:
            if isinstance(columns, str):
                raise SchemaError(
                    Message("A table of the workload is a list of names of columns.")
                )
            for name in columns:
                self.schema.column(name)

    def fit(
        self,
        frame: Any,
        budget: Budget | Claim,
        *,
        noise: NoiseSource | None = None,
        discovery: Discovery | None = None,
        priors: Sequence[Prior] = (),
        progress: Progress | None = None,
    ) -> Model:
        """Fit a model to confidential records, for the budget at most.

        Parameters
        ----------
        frame
            The records: a pandas frame, or one that speaks Arrow.
        budget
            What may be spent; a `Claim` for a method that is not private as claimed.
        noise
            Where the noise comes from: the operating system, or a seed in simulations.
        discovery
            How much finding undeclared domains may cost; without it they are refused.
        priors
            Tables that are published already.
        progress
            Told the stage, how many steps are done, and of how many: of a fit of tables, tenths
            of seconds of one core, estimated before it starts; of others, the percents of the
            budget that are spent.

        Returns
        -------
        Model
            The model, with its bill.

        Raises
        ------
        UndeclaredError
            If a domain is not declared and nothing is set aside to find it.
        DomainError
            If the records do not fit the schema.

        Examples
        --------
        >>> import pandas as pd
        >>> from synth import Budget, Schema, Whole
        >>> schema = Schema(columns=[Whole(name="age")])
        >>> Synthesizer(schema=schema).fit(
        ...     pd.DataFrame({"age": [4]}), Budget(epsilon=1, delta=1e-6)
        ... )
        Traceback (most recent call last):
        ...
        synth.UndeclaredError: The domains of 'age' are not declared; ...
        """
        watched = _WatchedNoise(noise or SecureNoise(), budget, progress or no_progress)
        watched.is_timed = self.method in _TIMED
        return self._fitted(frame, budget, watched, discovery=discovery, priors=priors)

    def check(
        self,
        frame: Any,
        budget: Budget | Claim,
        *,
        discovery: Discovery | None = None,
        priors: Sequence[Prior] = (),
    ) -> None:
        """Refuse what `fit` refuses; spend nothing.

        Parameters
        ----------
        frame, budget, discovery, priors
            See `fit`.

        Examples
        --------
        >>> import pandas as pd
        >>> from synth import Budget, Schema, Whole
        >>> synthesizer = Synthesizer(schema=Schema(columns=[Whole(name="age", low=0, high=9)]))
        >>> synthesizer.check(pd.DataFrame({"age": [4]}), Budget(epsilon=1, delta=1e-6))
        """
        noise = _WatchedNoise(SecureNoise(), budget, None)
        with suppress(_FirstLookError):
            self._fitted(frame, budget, noise, discovery=discovery, priors=priors)

    def _fitted(
        self,
        frame: Any,
        budget: Budget | Claim,
        noise: _WatchedNoise,
        *,
        discovery: Discovery | None,
        priors: Sequence[Prior],
    ) -> Model:
        self._check_terms(budget, discovery=discovery, priors=priors)
        self.schema.require_distinct()
        if discovery is None:
            self.schema.require_declared()
        noise.tell("encode", 0, 1)
        adjacency = Adjacency.REPLACE if isinstance(budget, Claim) else budget.adjacency
        unit = self.schema.unit
        neighbours = Neighbours(adjacency=adjacency, rows=unit.most_records, unit=unit.name)
        records, container = self._taken(frame, rng=noise.rng)
        schema, discovery_calls, aside = self._declared(
            records, budget, discovery, neighbours, noise
        )
        schema = schema.with_single_cells() if self.method in SINGLE else schema.cut_at_rules()
        codes = encode(records, schema)
        noise.tell("fit", 0, _STEPS)
        terms = self._terms(schema, budget, discovery_calls, aside, priors)
        proposals = undeclared_nests(schema)
        if proposals and not isinstance(budget, Claim):
            self._try(codes, schema, budget, neighbours, terms)
            schema, nesting_calls = count_nests(
                codes,
                schema,
                proposals,
                rho=float(terms["rho"]) * SHARE_OF_NESTS,
                neighbours=neighbours,
                noise=noise,
            )
            discovery_calls = [*discovery_calls, *nesting_calls]
            terms = self._terms(schema, budget, discovery_calls, aside, priors)
        prices = self._prices_of_totals(schema, terms)
        engine = self._engine(codes, schema, noise, neighbours, terms)
        calls = [*discovery_calls, *calls_of(engine.spends, schema.names)]
        is_public = adjacency is Adjacency.REPLACE
        plan = None
        if self.method not in SINGLE and not isinstance(budget, Claim):
            plan = drawn_by_law(
                engine,
                records,
                schema,
                prices=prices,
                neighbours=neighbours,
                noise=noise,
                public_records=len(records) if is_public else None,
            )
            engine, calls = plan.engine, [*calls, *plan.calls]
            for text in filter(None, map(warning_of, plan.notes)):
                logger.warning(text, extra={"event": "uncertain total"})
        noise.tell("fit", _STEPS, _STEPS)
        logger.info("model fitted", extra={"columns": len(schema.columns), "calls": len(calls)})
        return Model(
            schema=schema,
            asked=self.schema.digest,
            engine=engine,
            laws={} if plan is None else plan.laws,
            amounts=() if plan is None else tuple(plan.notes),
            method=self.method,
            calls=tuple(calls),
            budget={} if isinstance(budget, Claim) else budget.to_dict(aside=aside),
            adjacency=str(adjacency),
            noise=noise.label,
            priors=tuple(prior.to_dict() for prior in priors),
            container=container,
        )

    def _try(
        self,
        codes: AnyIntegers,
        schema: Schema,
        budget: Budget | Claim,
        neighbours: Neighbours,
        terms: Mapping[str, Any],
    ) -> None:
        """Refuse what a fit refuses, up to its first look at the records."""
        with suppress(_FirstLookError):
            still = _WatchedNoise(SecureNoise(), budget, None)
            self._engine(codes, schema, still, neighbours, terms)

    def _engine(
        self,
        codes: AnyIntegers,
        schema: Schema,
        noise: _WatchedNoise,
        neighbours: Neighbours,
        terms: Mapping[str, Any],
    ) -> CodeModel:
        """Return what is fitted to the codes of the records."""
        sizes = modelled_sizes(schema)
        single = [place for place, size in enumerate(sizes) if size == 1]
        if codes[:, single].any():
            codes = codes.copy()
            codes[:, single] = 0
        engine: CodeModel = fitter_of(self.method)(
            codes,
            sizes=sizes,
            ordered=[column.is_ranked for column in schema.columns],
            noise=noise,
            neighbours=neighbours,
            workload=self._workload(),
            label=None if self.label is None else schema.names.index(self.label),
            settings=self.settings,
            **({"clock": noise.time} if self.method in _TIMED else {}),
            **terms,
        )
        return engine

    def _prices_of_totals(
        self, schema: Schema, terms: dict[str, Any]
    ) -> list[tuple[Total, float]]:
        """Take off what the totals of weights and amounts may cost."""
        if "rho" not in terms:
            return []
        whole = float(terms["rho"])
        prices = [
            (one, whole * one.share * (1 - 1e-12))
            for one in totals_of(schema, method=self.method)
        ]
        terms["rho"] -= sum(whole * one.share for one, _ in prices)
        return prices

    def _check_terms(
        self, budget: Budget | Claim, *, discovery: Discovery | None, priors: Sequence[Prior]
    ) -> None:
        """Refuse a claim where a budget is kept, a budget where none is, contradictions."""
        require_sound(self.schema)
        if not is_unprotected(self.method):
            if isinstance(budget, Claim):
                raise SynthError(
                    Message(
                        ("The method {method!r} keeps to a budget; a claim is no guarantee."),
                        method=Name(self.method),
                    ),
                    hint=Message("Budget(epsilon=1, delta=1e-6)"),
                )
            return
        if not isinstance(budget, Claim):
            raise SynthError(
                Message(
                    "The method {method!r} is NOT differentially private as claimed: it keeps "
                    "to no budget.",
                    method=Name(self.method),
                ),
                hint=Message("to compare with it, say what it claims: Claim(epsilon=1)"),
            )
        if discovery is not None or priors:
            what = Message("published tables") if priors else Message("finding domains")
            raise SynthError(
                Message(
                    "The method {method!r} knows nothing of {what}.",
                    method=Name(self.method),
                    what=what,
                )
            )

    def _terms(
        self,
        schema: Schema,
        budget: Budget | Claim,
        calls: Sequence[Call],
        aside: float,
        priors: Sequence[Prior],
    ) -> dict[str, Any]:
        """Return what a method may spend, and what it may know beforehand."""
        if isinstance(budget, Claim):
            return {"claim": budget}
        rho = budget.concentrated(aside=aside) - sum(call.rho for call in calls)
        constraints = constraints_of(schema, method=self.method)
        rules = [one.table for one in constraints if one.table is not None]
        nests = schema.nests()
        _require_possible(rules, nests, modelled_sizes(schema))
        return {
            "rho": rho * (1 - 1e-12),
            "rules": rules,
            "published": [prior.published(schema) for prior in priors],
            # Other methods know nothing of what nests: what they draw is repaired.
            **({"nests": nests} if nests and self.method == "tables" else {}),
        }

    def _taken(
        self, frame: Any, *, rng: np.random.Generator | None
    ) -> tuple[pd.DataFrame, str]:
        """Return the records within the bound of their units, and what they came in."""
        records, container = to_records(frame)
        records = within_bound(records, self.schema.unit, rng=rng or np.random.default_rng())
        if not len(records):
            raise DomainError(
                Message("There are no records."),
                hint=Message("give a table with records in it"),
            )
        return records, container

    def _declared(
        self,
        records: pd.DataFrame,
        budget: Budget | Claim,
        discovery: Discovery | None,
        neighbours: Neighbours,
        noise: _WatchedNoise,
    ) -> tuple[Schema, list[Call], float]:
        """Return a schema without gaps, what it cost, and the delta put aside."""
        check_names(list(records.columns), self.schema)
        is_whole = self.schema.is_declared and not wide_columns(self.schema)
        if isinstance(budget, Claim) or is_whole:
            return self.schema, [], 0.0
        discovery = discovery or Discovery()
        needs_delta = any(
            self.schema.column(name).kind == "category" for name in self.schema.undeclared
        )
        aside = budget.delta * discovery.delta_share if needs_delta else 0.0
        # What is refused after finding domains is refused before they are paid for.
        trial, schema = stood_in(records, self.schema)
        schema = schema.cut_at_rules()
        terms = self._terms(schema, budget, (), aside, ())
        self._try(encode(trial, schema), schema, budget, neighbours, terms)
        rho = budget.concentrated(aside=aside)
        common_terms: dict[str, Any] = {"neighbours": neighbours, "noise": noise}
        schema, calls = discover(
            records, self.schema, rho=rho * discovery.share, delta=aside, **common_terms
        )
        rest = (rho - sum(call.rho for call in calls)) * discovery.bins_share
        schema, more = find_bins(records, schema, rho=rest, **common_terms)
        return schema, calls + more, aside

    def _workload(self) -> dict[tuple[int, ...], float] | None:
        if self.workload is None:
            return self._weighted_pairs()
        workload = self.workload
        weights = (
            workload
            if isinstance(workload, Mapping)
            else dict.fromkeys(map(tuple, workload), 1.0)
        )
        names, derived = self.schema.names, identities_of(self.schema)
        by_places: dict[tuple[int, ...], float] = {}
        for columns, weight in weights.items():
            if derived_names := [name for name in columns if name in derived]:
                raise SynthError(
                    Message(
                        "Column {words!r} of the workload follows from others by a rule.",
                        words=Name(derived_names[0]),
                    ),
                    hint=Message("name those in its place"),
                )
            places = tuple(sorted({names.index(name) for name in columns}))
            if len(places) < 2:
                raise SynthError(Message("A table of the workload has two columns or more."))
            by_places[places] = by_places.get(places, 0.0) + float(weight)
            for pair in self._with_weight(places):
                by_places[pair] = by_places.get(pair, 0.0) + float(weight)
        return by_places

    def _weighted_pairs(self) -> dict[tuple[int, ...], float] | None:
        """Return all pairs, those with the weight or the label twice; None without a weight.

        Whoever has a weight sums it over the categories of the others: its pairs matter most.
        """
        names = self.schema.names
        by = [one for one in self.schema.amounts or () if one.by is not None]
        has_any = self.schema.weight is not None or by
        if not has_any or self.method != "tables" or len(names) < 2:
            return None
        twice = {names.index(one) for one in (self.schema.weight, self.label) if one}
        pairs = combinations(range(len(names)), 2)
        weights: dict[tuple[int, ...], float] = {
            pair: 2.0 if twice & {*pair} else 1.0 for pair in pairs
        }
        for one in by:
            first, second = sorted((names.index(one.column), names.index(one.by or "")))
            weights[first, second] = _BY_AMOUNT
        return weights

    def _with_weight(self, places: tuple[int, ...]) -> list[tuple[int, int]]:
        """Return the pairs that a table of weighted records needs besides."""
        if self.schema.weight is None:
            return []
        weight = self.schema.names.index(self.schema.weight)
        if weight in places:
            return []
        return [(min(one, weight), max(one, weight)) for one in places]


def _require_possible(
    rules: Sequence[Rule], nests: Sequence[Nest], sizes: Sequence[int]
) -> None:
    """Refuse rules that no record can keep together, before anything is spent."""

    def alike(column: int, kinds: Integers) -> Integers:
        patterns = patterns_of(column, size=sizes[column], rules=rules)
        both = patterns * (int(kinds.max()) + 1) + kinds
        return np.asarray(np.unique(both, return_inverse=True)[1])

    groups = labels_under_rules(sizes, nests, label=alike)
    firsts = [np.unique(group, return_index=True)[1] for group in groups]
    masks = [
        (
            rule.columns,
            (~rule.forbidden[np.ix_(*(firsts[c] for c in rule.columns))]).astype(float),
        )
        for rule in rules
    ]
    for one in nests:
        mask = one.mask(groups[one.parent], groups[one.child])
        pair = (one.parent, one.child)
        masks.append((pair, mask) if pair[0] < pair[1] else (pair[::-1], mask.T))
    Network([len(first) for first in firsts], [], masks).calibrate([])


class _FirstLookError(Exception):
    """All is checked, and the records would be looked at now."""


class _WatchedNoise(NoiseSource):
    """Noise of a source; tells how far a fit is, or stops before anything is spent."""

    def __init__(
        self,
        source: NoiseSource,
        budget: Budget | Claim,
        report_progress: Progress | None,
    ) -> None:
        self._source, self._spent, self._is_dry = source, 0.0, report_progress is None
        self.is_timed = False
        self.tell = report_progress or no_progress
        self._rho = math.inf if isinstance(budget, Claim) else budget.concentrated()
        self.label = source.label
        self.rng = getattr(source, "rng", None)

    def look(self, rho: float = 0.0) -> None:
        """Note that the records are looked at."""
        if self._is_dry:
            raise _FirstLookError
        self._spent += rho if math.isfinite(rho) else 0.0
        if not self.is_timed:
            self.tell("fit", min(int(_STEPS * self._spent / self._rho), 99), _STEPS)

    def time(self, done: float, total: float) -> None:
        """Note how much of a fit is done, in seconds as estimated."""
        whole = max(round(10 * total), _STEPS)
        self.tell("fit", min(int(whole * done / total) if total else 0, whole - 1), whole)

    def add(self, counts: Integers, mechanism: Any) -> Integers:
        """Return counts with noise."""
        self.look(mechanism.guarantee.rho)
        return self._source.add(counts, mechanism)

    def choose(self, scores: Floats, mechanism: Any) -> int:
        """Return the index of a candidate."""
        self.look(mechanism.guarantee.rho)
        return self._source.choose(scores, mechanism)
