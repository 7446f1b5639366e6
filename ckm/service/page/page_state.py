"""What an address of the page asks for, and the address of another table.

The words are those of the API: ``codelist[…]``, ``valuecodes[…]``, ``filter``, ``heading``.
Forms send a name more than once, and ``codelist[sex]=`` for a variable that is not shown:
categories ticked then say who is counted. ``compare=A,B`` puts two areas side by side, and
``against=geo=A`` is short for ``of=geo&base=A``. A ``polygon`` asks for no table: it ticks the
areas that it holds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ckm.service.answering.messages import ClientError, bad_request, say
from ckm.service.answering.name_search import plain
from ckm.service.answering.pxweb_selection import (
    CONTENTS,
    codelists_of,
    max_patterns,
    measures_of,
    parts_of,
    ranks_of,
    split_codes,
)
from ckm.service.answering.query import Query, Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckm.config.service.service import Service
    from ckm.service.answering.figures import Derivation
    from ckm.service.answering.polygons import Centres
    from ckm.service.answering.variables import Variable
    from ckm.service.table_service import TableService

_DEEP = re.compile(r"(valuecodes|codelist|find)\[([^\[\]]{1,2000})\]")
_PLAIN = {"lang", "population", "filter", "heading", "sort", "rows", "outputFormat"} | {
    *("figure", "of", "base", "against", "zone", "polygon", "polygon-level")
}
_MANY_CODES = 20  # of one variable, in an address: above, they stand in one list
_SORT = re.compile(r"-?[0-9]{1,3}")
#: Parameters of an address or a form.
MAX_PARAMETERS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is wanted of one variable.

    Parameters
    ----------
    codes
        Codes and expressions, as they came.
    codelist
        The list that is shown; empty to leave the variable out, None where nothing is said.
    find
        What is searched for among the categories.
    """

    codes: tuple[str, ...] = ()
    codelist: str | None = None
    find: str = ""

    @property
    def is_shown(self) -> bool:
        """Whether the variable is in the table."""
        return bool(self.codelist) or (self.codelist is None and bool(self.codes))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """An address of the page.

    Parameters
    ----------
    wanted
        Variable → what is wanted of it.
    population
        Whose table it is; empty for all records.
    where
        The filter.
    heading
        The variable across the columns.
    measures
        Which numbers, as they came.
    sort, first
        The column to sort by, from 1, negative for falling; the first row, from 0.
    language
        The language, where it is named.
    compare
        The variable of areas, where two of them stand side by side.
    figure, over, base, zone
        What is made of the numbers, as in the API; the name of the areas that are added up.
    level, held
        The level of the areas that a polygon is to hold; those that it holds, by rank.
    is_look
        Whether a polygon was sent: its areas are shown, and no table is asked for.
    """

    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    population: str = ""
    where: str = ""
    heading: str = ""
    measures: tuple[str, ...] = ()
    sort: int = 0
    first: int = 0
    language: str = ""
    compare: str = ""
    figure: str = ""
    over: tuple[str, ...] = ()
    base: str = ""
    zone: str = ""
    level: str = ""
    held: tuple[int, ...] = ()
    is_look: bool = False

    @property
    def pair(self) -> tuple[str, ...]:
        """The codes of the two areas that stand side by side; none where none do."""
        codes = self.of(self.compare).codes
        return codes if self.compare and len(codes) == 2 else ()

    def of(self, name: str) -> Wanted:
        """Return what is wanted of a variable."""
        return self.wanted.get(name) or Wanted()

    @property
    def is_table(self) -> bool:
        """Whether a table is asked for."""
        is_chosen = any(w.is_shown or w.codes for w in self.wanted.values())
        return not self.is_look and (is_chosen or bool(self.where or self.population))

    def put(self, name: str, state: Wanted) -> PageState:
        """Return the address with something else wanted of a variable."""
        return replace(self, wanted={**self.wanted, name: state}, sort=0, first=0)

    @property
    def plain(self) -> PageState:
        """The address of the same table from its first row on, as it is by itself."""
        return replace(self, sort=0, first=0)

    def href(self, **more: str) -> str:
        """Return the address, relative to the page."""
        pairs = self.pairs(**more)
        return f"./?{urlencode(pairs)}" if pairs else "./"

    def pairs(self, **more: str) -> list[tuple[str, str]]:
        """Return the parameters of the address."""
        pairs: list[tuple[str, str]] = []
        for name, state in self.wanted.items():
            if name == self.compare and self.pair:
                pairs += [("compare", code or "[]") for code in self.pair]
                continue
            if state.codelist or (state.codelist == "" and state.codes):
                pairs.append((f"codelist[{name}]", state.codelist))
            codes = [code or "[]" for code in state.codes]
            codes = [list_of(codes)] if len(codes) > _MANY_CODES else codes
            pairs += [(f"valuecodes[{name}]", code) for code in codes]
        pairs += [(f"valuecodes[{CONTENTS}]", code) for code in self.measures]
        plain = {
            "population": self.population,
            "filter": self.where,
            "heading": self.heading,
            "sort": str(self.sort or ""),
            "rows": str(self.first or ""),
            "figure": self.figure,
            "of": ",".join(self.over),
            "base": self.base,
            "zone": self.zone,
            "lang": self.language,
            **more,
        }
        return pairs + [(name, text) for name, text in plain.items() if text]


def list_of(codes: Iterable[str]) -> str:
    """Write codes as one list with commas."""
    return ", ".join(f"[{code}]" if "," in code else code for code in codes)


@dataclass(frozen=True, slots=True)
class View:
    """A page to be made: of a service, at an address, in a language."""

    table_service: TableService
    asked: PageState
    language: str

    @property
    def service(self) -> Service:
        """What the service is."""
        return self.table_service.service

    @property
    def variables(self) -> dict[str, Variable]:
        """What may be asked for."""
        return self.table_service.variables

    def label(self, name: str) -> str:
        """Return what readers call a variable."""
        return self.variables[name].offer.labels[self.language]

    def say(self, key: str, **filled: object) -> str:
        """Return words."""
        return say(key, self.language, **filled)


def asked_of(
    items: Sequence[tuple[str, str]],
    variables: Mapping[str, Variable],
    centres: Centres | None = None,
) -> tuple[PageState, list[ClientError]]:
    """Read the parameters of an address; say what is wrong and keep the rest.

    Parameters
    ----------
    items
        Names and texts.
    variables, centres
        Of the service; it may have no centres of areas.
    """
    if len(items) > MAX_PARAMETERS:
        raise bad_request("many_parameters", limit=MAX_PARAMETERS)
    mistakes: list[ClientError] = []
    deep: dict[str, dict[str, list[str]]] = {}
    single: dict[str, str] = {}
    pair: list[str] = []
    for name, text in items:
        match = _DEEP.fullmatch(name)
        if match is not None and match[2] in {*variables, CONTENTS}:
            deep.setdefault(match[2], {}).setdefault(match[1], []).append(text)
        elif match is not None:
            mistakes.append(ClientError("no_variable", name=match[2], choices=list(variables)))
        elif "[" in name:
            mistakes.append(ClientError("bad_parameter", name=name))
        elif name == "compare":
            pair.append(text)
        elif name in _PLAIN:
            single[name] = text
    contents = deep.pop(CONTENTS, {})
    states = {
        name: _wanted(variable, deep[name])
        for name, variable in variables.items()
        if name in deep
    }
    area = next((name for name, v in variables.items() if v.offer.is_area), "")
    try:
        codes = _pair_of(pair, variables.get(area))
    except ClientError as client_error:
        mistakes.append(client_error)
        codes = ()
    if codes:
        all_states = {**states, area: Wanted(codes=codes, codelist=area)}
        states = {name: all_states[name] for name in variables if name in all_states}
    over, base = _over_and_base(single, variables)
    rows = single.get("rows", "")
    sort = single.get("sort", "")
    page_state = PageState(
        wanted=states,
        population=single.get("population", ""),
        where=single.get("filter", "").strip(),
        heading=area if codes else single.get("heading", ""),
        measures=tuple(dict.fromkeys(filter(None, contents.get("valuecodes", [])))),
        sort=int(sort) if _SORT.fullmatch(sort) else 0,
        first=int(rows) if rows.isascii() and rows.isdigit() and len(rows) < 9 else 0,
        language=single.get("lang", ""),
        compare=area if codes else "",
        figure="" if codes else single.get("figure", ""),
        over=() if codes else over,
        base="" if codes else base,
        zone="" if codes else single.get("zone", "").strip(),
        level=single.get("polygon-level", ""),
    )
    held, wrong = _held(single.get("polygon", "").strip(), page_state.level, centres)
    page_state = replace(page_state, held=held, is_look=bool(held or wrong))
    return _with_areas(page_state, area, variables), [*mistakes, *wrong]


def _held(
    text: str, level: str, centres: Centres | None
) -> tuple[tuple[int, ...], list[ClientError]]:
    """Return the areas whose centre a polygon holds, and what is wrong with it."""
    if not text:
        return (), []
    try:
        if centres is None:
            raise bad_request("no_centres")
        return tuple(centres.inside(_json_of(text), level or None)[1]), []
    except ClientError as client_error:
        return (), [client_error]


def _json_of(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise bad_request("polygon_no_json") from None


def _with_areas(
    page_state: PageState, area: str, variables: Mapping[str, Variable]
) -> PageState:
    """Put areas that are added up into the table, whatever the form says of their variable."""
    before = page_state.of(area)
    if not area or not (page_state.held or (page_state.zone and before.codes)):
        return page_state
    codes = dict.fromkeys([*before.codes, *map(variables[area].word, page_state.held)])
    state = replace(before, codes=tuple(codes), codelist=before.codelist or area)
    states = {**page_state.wanted, area: state}
    return replace(
        page_state, wanted={name: states[name] for name in variables if name in states}
    )


def _over_and_base(
    single: Mapping[str, str], variables: Mapping[str, Variable]
) -> tuple[tuple[str, ...], str]:
    """Return the variables that a figure is over, and the category it is against."""
    against = single.get("against", "")
    for name in sorted(variables, key=len, reverse=True):
        if against.startswith(f"{name}="):
            return (name,), against.removeprefix(f"{name}=")
    if against:
        raise ClientError("bad_parameter", name="against")
    return tuple(filter(None, single.get("of", "").split(","))), single.get("base", "")


def _pair_of(texts: Iterable[str], variable: Variable | None) -> tuple[str, ...]:
    """Return the codes of two areas that are to be compared; none where none are named."""
    own_codes: list[str] = []
    for text in filter(None, texts):
        if variable is None:
            raise ClientError("bad_parameter", name="compare")
        own_codes += _codes_of(text, variable)
    if variable is None or not own_codes:
        return ()
    ranks = [variable.chosen(code) for code in own_codes]
    codes = [variable.codes[rank] for rank in ranks if rank is not None]
    if None in ranks:
        name = own_codes[ranks.index(None)]
        raise ClientError("no_category", variable=variable.name, name=name)
    if len(codes) != 2 or codes[0] == codes[1]:
        raise ClientError("compare_two")
    return tuple(codes)


def _codes_of(text: str, variable: Variable) -> Sequence[str]:
    """Return the codes of a text: itself, or what commas part that are in no code."""
    if variable.chosen(text) is not None:
        return [text]
    if (rank := rank_named(variable, text)) is not None:
        return [variable.word(rank)]
    parts = text.split(",")
    pairs = [(",".join(parts[:n]), ",".join(parts[n:])) for n in range(1, min(len(parts), 100))]
    pairs = [pair for pair in pairs if None not in map(variable.chosen, pair)]
    return pairs[0] if len(pairs) == 1 else split_codes(text, variable)


def rank_named(variable: Variable, text: str) -> int | None:
    """Return the area of a name, in any language; raise where several have it."""
    named = {
        rank
        for language in variable.offer.labels
        for rank in variable.find(text, language)
        if plain(variable.label(rank, language)) == plain(text)
    }
    if len(named) > 1:
        codes = ", ".join(variable.codes[rank] for rank in sorted(named)[:10])
        raise bad_request("area_names", name=text, listed=codes)
    return next(iter(named), None)


def _wanted(variable: Variable, fields: Mapping[str, list[str]]) -> Wanted:
    codes: dict[str, None] = {}
    for text in filter(None, fields.get("valuecodes", [])):  # an empty field says nothing
        is_code = variable.chosen(text) is not None
        codes |= dict.fromkeys([text] if is_code else split_codes(text, variable))
    others = sum(variable.chosen(code) is None for code in codes)
    most = max_patterns(variable)
    if others > most:
        raise ClientError("too_many_patterns", variable=variable.name, limit=most)
    lists = fields.get("codelist")
    return Wanted(
        codes=tuple(codes),
        codelist=None if lists is None else lists[-1],
        find=fields.get("find", [""])[-1].strip()[:100],
    )


def is_fine(page_state: PageState, table_service: TableService) -> bool:
    """Return whether no rule speaks against the shape of a table."""
    query, wrong = query_of(page_state, table_service)
    return not wrong and not table_service.answerer.refuses_shape(query)


def asked_table(
    page_state: PageState, query: Query, table_service: TableService
) -> Query | Derivation:
    """Return the query of an address, with what is made of its numbers."""
    return table_service.answerer.deriver.derivation(
        query,
        figure=page_state.figure or None,
        of=page_state.over,
        base=page_state.base or None,
        zone=page_state.zone or None,
    )


def query_of(
    page_state: PageState, table_service: TableService
) -> tuple[Query, list[ClientError]]:
    """Return the query of an address, and all that is wrong with it."""
    variables, measures = table_service.variables, table_service.measures
    mistakes: list[ClientError] = []
    selections, within = [], []
    for name, state in page_state.wanted.items():
        try:
            if state.is_shown:
                ranks = shown_ranks(variables[name], state)
                selections.append(Selection(variable=name, ranks=ranks))
            elif state.codes:
                ranks = ranks_of(variables[name], codes=state.codes)
                within.append(Selection(variable=name, ranks=tuple(sorted(ranks))))
        except ClientError as client_error:
            mistakes.append(client_error)
    if page_state.heading and page_state.heading not in variables:
        mistakes.append(
            ClientError("no_variable", name=page_state.heading, choices=list(variables))
        )
    own_measures = measures[:1]
    if page_state.measures:
        try:
            own_measures = measures_of(page_state.measures, measures)
        except ClientError as client_error:
            mistakes.append(client_error)
    query = Query(
        selections=tuple(selections),
        where=page_state.where or None,
        measures=own_measures,
        within=tuple(within),
        population=page_state.population or None,
    )
    return query, mistakes


def shown_ranks(variable: Variable, state: Wanted) -> tuple[int, ...]:
    """Return the categories that are shown, in their order.

    A ticked category above the level that is shown stands for its parts at that level. The
    total beside others stands for itself; alone it stands for the total and the level.
    """
    codelist = state.codelist or variable.name
    lists = codelists_of(variable)
    level = lists.get(codelist)
    if not state.codes or codelist not in lists:  # an unknown list is a mistake
        return ranks_of(variable, codes=None, codelist=codelist)
    ranks: set[int] = set()
    for code in state.codes:
        rank = variable.chosen(code)
        if rank is not None:
            ranks.add(rank)
        else:  # a pattern, of which there are few
            ranks |= set(ranks_of(variable, codes=[code], codelist=codelist))
    if level is None:
        return tuple(sorted(ranks))
    if ranks == {0}:
        return (0, *_listed(variable, level))
    return tuple(sorted(_parts(variable, ranks, level)))


def _listed(variable: Variable, level: int) -> list[int]:
    return [rank for rank in variable.ranks(level).tolist() if rank]


def _parts(variable: Variable, ranks: Iterable[int], level: int) -> set[int]:
    at_level = set(_listed(variable, level))
    parts = {
        rank
        for rank in ranks
        if rank == 0 or rank in at_level or int(variable.level_of[rank]) < level
    }
    parts |= set(parts_of(variable, [*(set(ranks) - parts)], level))
    if not parts:
        raise ClientError("nothing_selected", variable=variable.name)
    return parts
