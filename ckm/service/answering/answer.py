"""From a query to a protected table, or to a refusal: the one path of the API and the page.

Shape rules, cells, noise, rules on protected counts area by area, the ledger, the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ckm.config.service.rules import RuleSettings
from ckm.service.answering.cells.cell_cache import Cubes
from ckm.service.answering.figures import Deriver
from ckm.service.answering.ledger_recorder import Publication
from ckm.service.answering.messages import ClientError, Refusal, explained
from ckm.service.answering.polygons import Centres
from ckm.service.answering.populations import memberships, population_conditions
from ckm.service.answering.query import Selection
from ckm.service.answering.query_plan import Planner
from ckm.service.answering.table_layout import slices_of, table_of
from ckm.service.answering.variables import offered_variables
from ckm.service.maps.area_map import open_map
from ckm.service.rules.areas import commonest, judge_areas
from ckm.service.rules.shape import Finding, judge_shape
from ptable.lookup import margin_of_error
from risk.inference.public_margins import PublicMargin
from tables.deadline import Deadline
from tables.prepared.prepared import POPULATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ckm.config.service.service import Service
    from ckm.engine.engine import Engine
    from ckm.engine.published_table import PublishedTable
    from ckm.service.answering.figures import Derivation, Figure
    from ckm.service.answering.ledger_recorder import Recorder
    from ckm.service.answering.query import Query
    from ckm.service.answering.query_plan import Levels, QueryPlan
    from ckm.service.answering.table_layout import Protected
    from ckm.service.answering.variables import Variable
    from footing.arrays import Flags
    from ptable.lookup import MarginOfError
    from risk.inference.exact_margins import ExactMargin
    from tables import Cells
    from tables.cells.axes import Axis
    from tables.prepared.prepared import PreparedCells

    Account = Callable[[Query], Finding | None]

_MANY = 1000
_MAX_CELLS = 40_000_000  # whatever the rules say


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A table, or the reason why there is none.

    Parameters
    ----------
    query
        What was asked for.
    table
        The protected table: one column per variable, in codes. None for a refusal.
    selections
        The categories of the table, without withheld areas.
    withheld
        Code of an area that is not published → why.
    refusal
        Why there is no table.
    flag
        What the ledger remarked, where its policy is to flag; not for readers.
    margin
        The margin of error of its counts, where the service tells it.
    variables
        Variables of the table that are not those of the service: areas with zones.
    figure, figure_margin
        What its numbers are made to, and the margin of figures, where that is told.
    """

    query: Query
    table: PublishedTable | None = None
    selections: tuple[Selection, ...] = ()
    withheld: Mapping[str, Refusal] = field(default_factory=dict)
    refusal: Refusal | None = None
    flag: Refusal | None = None
    margin: MarginOfError | None = None
    variables: Mapping[str, Variable] = field(default_factory=dict)
    figure: Figure | None = None
    figure_margin: PublicMargin | ExactMargin | None = None

    @property
    def shown_measures(self) -> tuple[str, ...]:
        """The measures that a reader sees: of a figure, the figure alone."""
        if self.figure is None:
            return self.query.measures
        if self.figure.kind == "count":
            return self.query.measures[:1]
        return self.figure.measures[:1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """What the rules let pass of a query.

    Parameters
    ----------
    plan
        The levels that it needs.
    protected
        Combination of levels → the ranks and published numbers of its cells that are not empty.
    withheld
        The areas, by rank, that are not published.
    """

    plan: QueryPlan
    protected: Protected
    withheld: frozenset[int]


class Answerer:
    """Answers the queries of a service.

    Parameters
    ----------
    service
        The service.
    engine
        The engine over its data; must stay open.
    ledger
        The record of publications, if there is one.
    is_checked
        Whether populations must have and differ by enough records.
    """

    def __init__(
        self,
        service: Service,
        engine: Engine,
        *,
        ledger: Recorder | None = None,
        is_checked: bool = True,
    ) -> None:
        self.service = service
        self._engine = engine
        names = list(service.variables)
        if service.area is not None:  # the records lie area by area
            names.sort(key=lambda name: name != service.area)
        self._prepared = engine.prepare(
            names,
            sketch=0 if ledger is None else ledger.width,
            populations={name: one.where for name, one in service.populations.items()},
        )
        self.variables = offered_variables(service, engine, self._prepared)
        for variable in self.variables.values():
            if variable.axis.size > _MANY:
                for language in service.about.languages:
                    variable.find("", language)  # so that the first search is as fast as all
        area = self.variables.get(service.area or "")
        self.centres = None if area is None or not area.offer.centres else Centres(area)
        self.area_map = open_map(area)
        self.planner = Planner(
            self._prepared,
            self.variables,
            area=service.area,
            populations=population_conditions(service, self._prepared, is_checked=is_checked),
        )
        self.settings = service.rules
        self.is_weighted = self._prepared.is_weighted
        self.kinds = self._prepared.kinds
        limits = service.limits
        self.cubes = Cubes(
            self._prepared,
            max_bytes=limits.cache_bytes // 2,
            scans=limits.concurrent_scans,
            timeout_s=limits.seconds,
        )
        self._ledger = ledger
        self.ptable = engine.ptable
        is_told = service.about.publish_noise
        self.margin = margin_of_error(engine.ptable) if is_told else None
        # Fixed before anything is published: it depends on the p-table alone.
        level = service.about.figure_margins
        self.deriver = Deriver(
            self.variables,
            area=service.area,
            rates=service.rates,
            margin=None if level is None else PublicMargin.of(engine.ptable, level=level),
            ptable=engine.ptable if service.job.keys.mix else None,
        )
        self._sensitive = [v.name for v in service.variables.values() if v.is_sensitive]

    def answer(
        self,
        query: Query,
        *,
        settings: RuleSettings | None = None,
        deadline: Deadline | None = None,
        account: Account | None = None,
        before_review: Callable[[Query], None] | None = None,
    ) -> Answer:
        """Answer a query.

        Parameters
        ----------
        query
            What is asked for.
        settings
            The rules; by default those of the service.
        deadline
            When the work must end.
        account
            Returns what speaks against the query for what its caller asked before, and keeps
            account of what it lets pass. It is asked before the cells of the query are looked
            at, as what the rules say of filtered counts tells of them too.
        before_review
            Called before the ledger is asked about a table that it does not know.

        Raises
        ------
        ClientError
            If the filter or the measures are wrong.
        tables.StoppedError
            If it takes too long, or was called off.
        """
        deadline = deadline or Deadline()
        rules = settings or self.settings
        rules = rules.changed(maximum_cells=min(rules.maximum_cells or _MAX_CELLS, _MAX_CELLS))
        if "weighted" in query.measures and not self.is_weighted:
            raise ClientError("no_weight")
        plan = self.planner.plan(query)
        finding = judge_shape(self.planner.shape(query, plan), rules)
        if finding is not None:
            return self._refused(query, finding)
        parents: list[Finding | None] = []
        if rules.judge_filters and (query.where is not None or query.within):
            # First, as the cells wanted are rolled up from these.
            coarser = self.planner.widened(plan)
            parents = self._judged(
                coarser, self._counted(coarser, (), deadline=deadline)[1], rules
            )
            if parents and all(f is not None for f in parents):
                return self._refused(query, commonest(parents))
        deadline.require()
        budget_finding = None if account is None else account(query)
        if budget_finding is not None:
            return self._refused(query, budget_finding)
        cells, protected = self._counted(
            plan, plan.shown(), deadline=deadline, measures=_measures(query)
        )
        findings = self._judged(plan, protected, rules)
        if parents:
            findings = [mine or other for mine, other in zip(findings, parents, strict=True)]
        withheld = self._withheld(plan, findings)
        if findings and all(f is not None for f in findings):
            return self._refused(query, commonest(findings))
        deadline.require()  # what is recorded is answered
        flag = None
        if self._ledger is not None:
            publication = self._publication(query, plan, cells, withheld)
            objection = _reviewed(self._ledger, publication, before_review)
            if objection is not None and self._ledger.policy == "refuse":
                return self._refused(query, objection)
            flag = None if objection is None else explained(objection, self.variables)
        return self._assembled(query, plan, protected, withheld, flag)

    def derive(
        self,
        derivation: Derivation,
        *,
        settings: RuleSettings | None = None,
        deadline: Deadline | None = None,
        account: Account | None = None,
        before_review: Callable[[Query], None] | None = None,
    ) -> Answer:
        """Answer a query with figures of its numbers, or with sums of areas.

        Parameters
        ----------
        derivation
            The query, and what is made of it.
        settings, deadline, account, before_review
            As for `answer`, which is asked for all whose numbers are needed.
        """
        answer = self.answer(
            self.deriver.widened(derivation),
            settings=settings,
            deadline=deadline,
            account=account,
            before_review=before_review,
        )
        if answer.refusal is not None:
            return replace(answer, query=derivation.query)
        return self.deriver.derived(
            answer, derivation, check=None if deadline is None else deadline.require
        )

    def _counted(
        self,
        plan: QueryPlan,
        level_sets: Iterable[Levels],
        *,
        deadline: Deadline,
        measures: tuple[str, ...] = ("count",),
    ) -> tuple[PreparedCells, dict[Levels, Any]]:
        """Find the cells that are shown and those that the rules look at, and protect them."""
        inner_pairs = plan.inner(self.planner.top_level(plan))
        all_sets = dict.fromkeys(
            [
                *level_sets,
                *(levels for pairs in inner_pairs for pair in pairs for levels in pair),
            ]
        )
        names = [selection.variable for selection in plan.active]
        finest = {name: levels[0] for name, levels in zip(names, plan.used, strict=True)}
        prepared_cells = self.cubes.find(finest, where=plan.where, deadline=deadline)
        cells = self._prepared.cells_by_level(
            prepared_cells.without_sketch(), names, level_sets=list(all_sets)
        )
        deadline.require()
        numbers = self._engine.protect_each(list(cells.values()), measures=measures)
        protected = {
            levels: (part.ranks, own)
            for (levels, part), own in zip(cells.items(), numbers, strict=True)
        }
        deadline.require()
        return prepared_cells, protected

    def _judged(
        self, plan: QueryPlan, protected: Protected, rules: RuleSettings
    ) -> list[Finding | None]:
        """Return, for each area, the first rule that a combination of its levels breaks."""
        findings: list[Finding | None] = []
        for pairs in plan.inner(self.planner.top_level(plan)):
            slices = slices_of(plan, pairs, protected, self.variables)
            here = judge_areas(slices, rules, sensitive=self._sensitive)
            findings = (
                [a or b for a, b in zip(findings, here, strict=True)] if findings else here
            )
        return findings

    def _publication(
        self,
        query: Query,
        plan: QueryPlan,
        cells: PreparedCells,
        withheld: Mapping[int, Finding],
    ) -> Publication:
        population = query.population
        return Publication(
            query=self.planner.of_active(query, plan),
            selections=tuple(
                _without(s, withheld) if s.variable == self.service.area else s
                for s in plan.active
            ),
            levels=plan.used,
            found=cells,
            prepared=self._prepared,
            variables=self.variables,
            population=population and self.service.populations[population].where,
        )

    def permitted(self, query: Query) -> Permitted | None:
        """Return what the rules let pass of a query, and no more; disclosive, as it has counts.

        Neither the ledger nor `maximum_cells` are looked at: what a table is too large for can
        be asked in parts.

        Parameters
        ----------
        query
            What is asked for.
        """
        rules = self.settings.changed(maximum_cells=None)
        plan = self.planner.plan(query)
        if judge_shape(self.planner.shape(query, plan), rules) is not None:
            return None
        protected = self._counted(plan, plan.shown(), deadline=Deadline())[1]
        findings = self._judged(plan, protected, rules)
        if findings and all(finding is not None for finding in findings):
            return None
        return Permitted(
            plan=plan, protected=protected, withheld=frozenset(self._withheld(plan, findings))
        )

    def memberships(self) -> dict[str, Flags]:
        """Return, for each population, which categories of the last axis below are in it."""
        return memberships(self._prepared, self.service.populations)

    def joint_counts(self) -> tuple[tuple[Axis, ...], Cells]:
        """Return the axes of all variables, and the true counts at their finest levels.

        Where there are populations, their memberships are the last axis.
        """
        names = [*self.variables, *([POPULATIONS] if self.service.populations else [])]
        prepared_cells = self._prepared.scan(dict.fromkeys(names, 0))
        cells = self._prepared.cells_by_level(
            prepared_cells.without_sketch(), names, level_sets=[(0,) * len(names)]
        )
        return tuple(self._prepared.axes[name] for name in names), cells[(0,) * len(names)]

    def refuses_shape(self, query: Query) -> bool:
        """Return whether a rule refuses a query for its shape, before anything is counted.

        Parameters
        ----------
        query
            What is asked for.
        """
        shape = self.planner.shape(query, self.planner.plan(query))
        return judge_shape(shape, self.settings) is not None

    def _withheld(self, plan: QueryPlan, findings: list[Finding | None]) -> dict[int, Finding]:
        if plan.area is None:
            return {}
        ranks = plan.active[plan.area].ranks
        pairs = zip(ranks, findings, strict=True)
        return {rank: finding for rank, finding in pairs if finding is not None}

    def _refused(self, query: Query, finding: Finding | None) -> Answer:
        assert finding is not None  # noqa: S101  (every area has one)
        return Answer(query=query, refusal=explained(finding, self.variables))

    def _assembled(
        self,
        query: Query,
        plan: QueryPlan,
        protected: Protected,
        withheld: Mapping[int, Finding],
        flag: Refusal | None,
    ) -> Answer:
        area = self.service.area
        selections = tuple(
            _without(s, withheld) if s.variable == area else s for s in query.selections
        )
        reasons = {id(f): explained(f, self.variables) for f in withheld.values()}
        codes = self.variables[area].codes if area else ()
        return Answer(
            query=query,
            table=table_of(query, plan, protected, self.variables, selections=selections),
            selections=selections,
            withheld={codes[rank]: reasons[id(f)] for rank, f in withheld.items()},
            flag=flag,
            margin=self.margin if "count" in query.measures else None,
        )


def _measures(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(("count", *query.measures)))


def _without(selection: Selection, withheld: Mapping[int, Finding]) -> Selection:
    ranks = tuple(rank for rank in selection.ranks if rank not in withheld)
    return Selection(variable=selection.variable, ranks=ranks)


def _reviewed(
    ledger: Recorder, publication: Publication, before: Callable[[Query], None] | None
) -> Finding | None:
    """Return what a ledger has against a table; ask first whether to look at a new one."""
    if before is not None and not ledger.is_known(publication):
        before(publication.query)
    return ledger.review(publication)
