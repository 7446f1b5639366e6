"""The form of the page: variables, levels and categories to choose from."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import replace

from ckm.config.service.sections import Described
from ckm.service.answering.messages import ClientError, say
from ckm.service.answering.polygons import MAX_VERTICES, Centres
from ckm.service.answering.pxweb_selection import codelists_of, ranks_of
from ckm.service.answering.variables import Variable
from ckm.service.page.page_state import View, Wanted, list_of, rank_named
from reports.facts.service import Board, Choice, Field, Group, OwnArea
from tables import FilterError
from tables.filtering.filters import parse_filter

_EXPRESSION = re.compile(r"[*?(]")
_MAX_TICKS = 40  # categories of a level that all stand on the page
_MAX_NAMES = 200  # areas in a polygon that are named


def field_of(variable: Variable, state: Wanted, *, ident: str, language: str) -> Field:
    """Describe what can be chosen of a variable, and what is."""
    ticked, others = _ticked(variable, state)
    groups: list[Group] = []
    on_page: set[int] = set()
    n_found = n_all = 0
    depth = len(variable.level_names)
    is_large = any(len(variable.ranks(level)) > _MAX_TICKS for level in range(depth))
    places = {}
    if is_large and state.find:
        places = {rank: at for at, rank in enumerate(variable.find(state.find, language))}
    for level in range(depth, -1, -1):
        ranks = [0] if level == depth else [r for r in variable.ranks(level).tolist() if r]
        ranks = [rank for rank in ranks if rank not in on_page]
        label = variable.level_label(level, language) if depth > 1 and level < depth else ""
        n_all += len(ranks)
        if is_large and (state.find or len(ranks) > _MAX_TICKS):
            matches = sorted((r for r in ranks if r in places), key=places.__getitem__)
            n_found += len(matches)
            ranks = sorted({*matches[:_MAX_TICKS], *ticked.intersection(ranks)})[
                : 5 * _MAX_TICKS
            ]
        on_page |= set(ranks)
        if ranks:
            choices = (
                Choice(
                    value=variable.word(rank),
                    label=variable.label(rank, language),
                    is_chosen=rank in ticked,
                )
                for rank in ranks
            )
            groups.append(Group(label=label, choices=tuple(choices)))
    rest = [variable.word(rank) for rank in sorted(ticked - on_page)]
    return Field(
        id=ident,
        name=variable.name,
        label=variable.offer.labels[language],
        definition=variable.offer.definition.get(language, ""),
        responsibility=_responsibility(variable.offer, language),
        shows=_shows(variable, state, language),
        groups=_merged(groups),
        codes=list_of([*others, *rest]) if is_large or others else None,
        find=state.find,
        n_found=n_found,
        n_categories=n_all if is_large else 0,
        is_area=variable.offer.is_area,
    )


def _responsibility(one: Described, language: str) -> str:
    """Say who answers for a variable, of when it is and how it was revised, as far as told."""
    filled = {
        "source": one.source.get(language),
        "contact": one.contact,
        "updated": one.updated and one.updated.isoformat(),
        "revision": one.revision.get(language),
    }
    parts = [
        say(f"described_{key}", language, said=said) for key, said in filled.items() if said
    ]
    return " ".join(parts)


def _ticked(variable: Variable, state: Wanted) -> tuple[set[int], list[str]]:
    """Return the categories that stand for themselves, and the expressions."""
    ticked, others = set(), []
    for code in state.codes:
        rank = variable.chosen(code)
        if rank is not None:
            ticked.add(rank)
            continue
        ranks: tuple[int, ...] = ()
        if _EXPRESSION.search(code):
            with contextlib.suppress(ClientError):
                ranks = ranks_of(variable, codes=[code], codelist=state.codelist or None)
        if 0 < len(ranks) <= _MAX_TICKS:
            ticked |= set(ranks)
        else:
            others.append(code)
    return ticked, others


def _merged(groups: list[Group]) -> tuple[Group, ...]:
    """Put the total beside the first level."""
    if len(groups) < 2 or groups[0].label or groups[1].label:
        return tuple(groups)
    both = (*groups[0].choices, *groups[1].choices)
    return (Group(label="", choices=both), *groups[2:])


def _shows(variable: Variable, state: Wanted, language: str) -> tuple[Choice, ...]:
    lists = codelists_of(variable)
    codelist = (state.codelist or variable.name) if state.is_shown else ""
    choices = [
        Choice(value="", label=say("not_shown", language), is_chosen=codelist not in lists)
    ]
    for name, level in lists.items():
        if level is not None and len(lists) > 2:
            label = variable.level_label(level, language)
        else:
            alone = len(lists) == 2
            words = ("with_total", "without_total") if alone else ("all_levels", "all_levels")
            label = say(words[level is not None], language)
        choices.append(Choice(value=name, label=label, is_chosen=name == codelist))
    return tuple(choices)


def in_filter(column: str) -> str:
    """Write a name as a filter needs it."""
    try:
        is_plain = parse_filter(f"{column} is missing").columns == {column}
    except FilterError:
        is_plain = False
    return column if is_plain else "`" + column.replace("`", "``") + "`"


def example_of(kinds: Mapping[str, str], variables: Mapping[str, Variable]) -> str:
    """Write a filter that holds for somebody; empty where no variable lends itself to one."""
    for variable in sorted(variables.values(), key=lambda v: len(v.ranks())):
        column = variable.axis.columns[-1]
        ranks = [rank for rank in variable.ranks(0).tolist() if rank][:2]
        if kinds.get(column) == "text" and ranks:
            texts = [str(variable.axis.labels[-1][rank]) for rank in ranks]
            quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
            return f"{in_filter(column)} in ({quoted})"
    return ""


def across_choices(view: View) -> tuple[Choice, ...]:
    """Return what can stand across the columns."""
    titles = {"": view.say("automatic")} | {name: view.label(name) for name in view.variables}
    return _choices(titles, view.asked.heading)


def population_choices(view: View) -> tuple[Choice, ...]:
    """Return whose tables there are; nothing where there is no choice."""
    declared = view.service.populations
    titles = {"": view.say("all_records")} if declared else {}
    titles |= {name: one.title[view.language] for name, one in declared.items()}
    return _choices(titles, view.asked.population)


def compared_names(view: View) -> tuple[str, ...]:
    """Return the two areas that are compared: their names, where the page asks for these."""
    codes = view.asked.pair or ("", "")
    area = view.variables.get(view.service.area or "")
    if area is None or len(area.ranks()) <= _MAX_TICKS:
        return codes
    return tuple(_name_or_code(area, code, view.language) for code in codes)


def _name_or_code(variable: Variable, code: str, language: str) -> str:
    """Return the name of an area, or its code where others have that name."""
    rank = variable.chosen(code)
    label = code if rank is None else variable.label(rank, language)
    with contextlib.suppress(ClientError):
        if rank is not None and rank_named(variable, label) == rank:
            return label
    return code


def own_area(view: View) -> OwnArea | None:
    """Describe the form for areas that are added up; None where there are no areas."""
    area = view.variables.get(view.service.area or "")
    if area is None:
        return None
    own = OwnArea(of=view.label(area.name), name=view.asked.zone)
    centres, language = view.table_service.answerer.centres, view.language
    if centres is None:
        return own
    titles = {
        area.level_names[level]: area.level_label(level, language)
        if len(area.level_names) > 1
        else view.label(area.name)
        for level in centres.levels
    }
    held = view.asked.held
    level = int(area.level_of[held[0]]) if held else 0
    return replace(
        own,
        levels=_choices(titles, view.asked.level),
        board=_board(centres, language),
        most=MAX_VERTICES,
        held=tuple(area.label(rank, language) for rank in held[:_MAX_NAMES]),
        n_held=len(held),
        level=area.level_label(level, language) if len(area.level_names) > 1 else "",
    )


def _board(centres: Centres, language: str) -> Board | None:
    """Lay out what polygons are drawn on, with the names of the largest areas."""
    sketch = centres.sketch
    if sketch is None:
        return None
    (left, top), (n_columns, n_rows) = sketch.corner, sketch.size
    names = []
    for rank, (x, y) in centres.placed(centres.levels[-1])[:_MAX_TICKS]:
        column, row = (x - left) / sketch.step, (top - y) / sketch.step
        if 0 <= column <= n_columns and 0 <= row <= n_rows:
            names.append((column, row, centres.variable.label(rank, language)))
    return Board(
        runs=sketch.runs,
        size=sketch.size,
        corner=sketch.corner,
        step=sketch.step,
        names=tuple(names) if len(centres.levels) > 1 else (),
    )


def _choices(titles: Mapping[str, str], current: str) -> tuple[Choice, ...]:
    return tuple(Choice(value=n, label=t, is_chosen=n == current) for n, t in titles.items())


def measure_choices(view: View) -> tuple[Choice, ...]:
    """Return which numbers can be shown; nothing where there is no choice."""
    measures, codes = view.table_service.measures, view.asked.measures
    if len(measures) < 2:
        return ()
    is_both = "*" in codes or len(codes) > 1
    current = measures if is_both else codes or measures[:1]
    single = [
        Choice(value=name if place else "", label=view.say(name), is_chosen=current == (name,))
        for place, name in enumerate(measures)
    ]
    return (*single, Choice(value="*", label=view.say("both"), is_chosen=is_both))
