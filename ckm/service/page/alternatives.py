"""Tables to start with, and to try where one is not published: one step away from it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

from ckm.service.answering.messages import Refusal
from ckm.service.answering.pxweb_selection import codelists_of
from ckm.service.answering.variables import Variable
from ckm.service.page.page_state import PageState, View, Wanted, is_fine
from reports.facts.service import Choice, Kind, Try

Step = tuple[PageState, Try]

_MAX_TRIES, _MAX_STARTS = 6, 4
_BY = " \N{MULTIPLICATION SIGN} "
_MAX_CATEGORIES = 100


def tries_of(refusal: Refusal, view: View) -> tuple[Try, ...]:
    """Return tables that follow what a rule advises.

    Those whose shape breaks no rule; where all do, all are returned.
    """
    steps = _Steps(view)
    one, area = refusal.dimension, view.service.area
    reason = refusal.reason
    if reason == "mandatory":
        candidates = steps.add(one)
    elif reason in {"maximum_variables", "exclusive"}:
        candidates = steps.leave_out(None)
    elif reason == "maximum_variables_small_areas":
        candidates = chain(steps.coarser(area), steps.leave_out(None))
    elif reason in {"minimum_population", "empty"}:
        candidates = chain(steps.coarser(area), steps.unfilter())
    elif reason == "thin_difference":
        candidates = chain(steps.all_categories(), steps.unfilter())
    elif reason in {"project_spent", "filter_alone"}:
        candidates = steps.unfilter()
    elif reason in {"maximum_cells", "maximum_categories"}:
        candidates = chain(steps.coarser(one), steps.leave_out(one))
    else:
        candidates = chain(steps.coarser(one), steps.coarser(area), steps.leave_out(one))
    all_steps = list(candidates)
    fine = [step for step in all_steps if is_fine(step[0], view.table_service)]
    return tuple({step.href: step for _, step in fine or all_steps}.values())[:_MAX_TRIES]


class _Steps:
    """Addresses one step away from another."""

    def __init__(self, view: View) -> None:
        self._view, self._asked, self._variables = view, view.asked, view.variables
        self._shown = [name for name, state in view.asked.wanted.items() if state.is_shown]

    def coarser(self, one: str | None) -> Iterator[Step]:
        """Show a variable, or any, by the next coarser level, all of its categories."""
        for name in self._shown if one is None else [one]:
            state = self._asked.of(name)
            variable = self._variables[name]
            level = self._level(name, state)
            if name in self._shown and level + 1 < len(variable.level_names) > 1:
                codelist = _list_at(variable, level + 1)
                yield self._try(
                    "coarser",
                    self._asked.put(name, replace(state, codes=(), codelist=codelist, find="")),
                    name,
                    variable.level_label(level + 1, self._view.language),
                )

    def leave_out(self, one: str | None) -> Iterator[Step]:
        """Leave a variable out, or any that may be left out."""
        if len(self._shown) < 2:
            return
        for name in self._shown if one is None else [one]:
            if name in self._shown and name not in self._view.service.rules.mandatory:
                states = {n: w for n, w in self._asked.wanted.items() if n != name}
                yield self._try("without", replace(self._asked, wanted=states), name)

    def add(self, one: str | None) -> Iterator[Step]:
        """Add a variable at its coarsest level."""
        if one is not None:
            variable = self._variables[one]
            codelist = _list_at(variable, len(variable.level_names) - 1)
            state = replace(self._asked.of(one), codelist=codelist)
            yield self._try("with", self._asked.put(one, state), one)

    def unfilter(self) -> Iterator[Step]:
        """Count everybody."""
        states = {name: self._asked.wanted[name] for name in self._shown}
        if states and (self._asked.where or len(states) < len(self._asked.wanted)):
            yield self._try("unfiltered", replace(self._asked, where="", wanted=states))

    def all_categories(self) -> Iterator[Step]:
        """Take all categories of the variables that are shown."""
        if any(self._asked.of(name).codes for name in self._shown):
            states = {
                name: replace(w, codes=(), codelist=w.codelist or name)
                if name in self._shown
                else w
                for name, w in self._asked.wanted.items()
            }
            yield self._try("all", replace(self._asked, wanted=states))

    def _level(self, name: str, state: Wanted) -> int:
        """Return the level that is shown; of all levels, the one below the coarsest."""
        variable = self._variables[name]
        level = codelists_of(variable).get(state.codelist or name)
        if level is None and not state.codes:
            return len(variable.level_names) - 2
        return level or 0

    def _try(self, kind: Kind, page_state: PageState, name: str = "", level: str = "") -> Step:
        label = self._view.label(name) if name else ""
        attempt = Try(kind=kind, href=page_state.plain.href(), variable=label, level=level)
        return page_state.plain, attempt


def _list_at(variable: Variable, level: int) -> str:
    return next(name for name, at in codelists_of(variable).items() if at == level)


def starts_of(view: View) -> tuple[Choice, ...]:
    """Return addresses of small tables whose shape breaks no rule, each with its name."""
    variables, mandatory = view.variables, view.service.rules.mandatory
    small = [name for name, v in variables.items() if len(_coarsest(v)[1]) <= _MAX_CATEGORIES]
    choices: dict[tuple[str, ...], Choice] = {}
    for names in _combinations(small, view.service.area):
        own_names = tuple(dict.fromkeys((*names, *mandatory)))
        page_state = PageState(
            wanted={name: Wanted(codelist=_coarsest(variables[name])[0]) for name in own_names},
            language=view.language if view.asked.language else "",
        )
        if own_names not in choices and is_fine(page_state, view.table_service):
            label = _BY.join(_title(variables[name], view.language) for name in own_names)
            choices[own_names] = Choice(value=page_state.href(), label=label)
    return tuple(islice(choices.values(), _MAX_STARTS))


def _combinations(names: list[str], area: str | None) -> Iterator[tuple[str, ...]]:
    """Give the area by another variable, two others, and each alone."""
    others = [name for name in names if name != area]
    if area in names and area is not None:
        yield from ((area, other) for other in others[:2])
    if len(others) > 1:
        yield (others[0], others[1])
    yield from ((name,) for name in names)


def _coarsest(variable: Variable) -> tuple[str, list[int]]:
    """Return the code list of the broadest level; of a variable without levels, all of it."""
    lists = codelists_of(variable)
    if len(lists) == 2:
        return variable.name, variable.ranks().tolist()
    name, level = list(lists.items())[1]
    return name, variable.ranks(level).tolist()


def _title(variable: Variable, language: str) -> str:
    return variable.title(len(variable.level_names) - 1, language)
