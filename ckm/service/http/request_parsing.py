"""One request over HTTP as the table service sees it: who asks, in which language, for what."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckm.formats import FORMATS
from ckm.service.answering.messages import ClientError, bad_request
from ckm.service.answering.pxweb_selection import (
    CONTENTS,
    codelists_of,
    measures_of,
    ranks_of,
    split_codes,
)
from ckm.service.answering.query import Query, Selection
from ckm.service.http.middleware import language_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request

    from ckm.service.answering.variables import Variable
    from ckm.service.http.request_bodies import SelectionBody
    from ckm.service.table_service import TableService

#: Parameters that are given for each variable.
DEEP = ("valuecodes", "codelist", "outputvalues")

_DEEP = re.compile(rf"({'|'.join(DEEP)})\[([^\[\]]{{1,2000}})\]", re.IGNORECASE)
_MAX_PARAMETERS = 200
_HANDED_ON = ("forwarded", "x-forwarded-for", "x-real-ip", "via")
_OUTPUT_VALUES = ("aggregated", "single")


@dataclass(slots=True, kw_only=True)
class Criterion:
    """What is wanted of one variable."""

    codes: Sequence[str] = ("*",)
    codelist: str | None = None
    is_single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The parameters of an address: plain ones, and those of variables."""

    plain: Mapping[str, str] = field(default_factory=dict)
    deep: Sequence[tuple[str, str, str]] = ()


def token_of(request: Request) -> str | None:
    """Return the token that a request carries."""
    headers = request.headers.getlist("authorization")
    if not headers:
        return None
    scheme, _, token = headers[0].partition(" ")
    if len(headers) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise ClientError("no_token")
    return token.strip()


def address_of(request: Request) -> str:
    """Return whence a request comes: an address, or the network of an IPv6 address."""
    host = request.client.host if request.client is not None else "unknown"
    address = _address(host)
    if address is None:
        return host[:100]
    if isinstance(address, ipaddress.IPv6Address):
        network = int(address) >> 64 << 64
        return f"{ipaddress.IPv6Address(network)}/64"
    return str(address)


def is_local(request: Request) -> bool:
    """Tell whether a request comes from this very machine, and no proxy handed it on."""
    address = _address(request.client.host) if request.client is not None else None
    is_handed_on = any(name in request.headers for name in _HANDED_ON)
    return address is not None and address.is_loopback and not is_handed_on


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    # A socket for both kinds gives addresses of the fourth version this form.
    return getattr(address, "ipv4_mapped", None) or address


def parameters_of(request: Request, names: Sequence[str]) -> Parameters:
    """Return the parameters of an address, each once."""
    items = request.query_params.multi_items()
    if len(items) > _MAX_PARAMETERS:
        raise bad_request("many_parameters", limit=_MAX_PARAMETERS)
    lower_names = [name.lower() for name in names if name not in DEEP]
    plain: dict[str, str] = {}
    deep: dict[tuple[str, str], str] = {}
    for name, text in items:
        match = _DEEP.fullmatch(name) if len(lower_names) < len(names) else None
        if match is not None:
            place = (match[1].lower(), match[2])
            if place in deep:
                raise ClientError("repeated", name=name)
            deep[place] = text
        elif name.lower() in lower_names:
            if name.lower() in plain:
                raise ClientError("repeated", name=name)
            plain[name.lower()] = text
        else:
            raise ClientError("bad_parameter", name=name, choices=lower_names)
    return Parameters(plain=plain, deep=[(word, v, text) for (word, v), text in deep.items()])


def language_wanted(request: Request, languages: tuple[str, ...]) -> str:
    """Return the language asked for."""
    language = request.query_params.get("lang")
    if language is not None and language not in languages:
        raise ClientError("bad_parameter", name="lang", choices=languages)
    return language_of(request.scope, languages)


def format_of(name: str | None, request: Request | None = None) -> str:
    """Return the format asked for, by its name or else by the media type of a request."""
    if name is None:
        if request is None:
            return _USUAL_FORMAT
        return _accepted_format(",".join(request.headers.getlist("accept")))
    if name.lower() not in FORMATS:
        raise ClientError(
            "bad_format", name=name, choices=list(FORMATS), listed=", ".join(FORMATS)
        )
    return name.lower()


def _accepted_format(accept: str) -> str:
    """Return the format that a header ``Accept`` likes best; JSON-stat where it is empty."""
    wishes = []
    for place, part in enumerate(filter(None, map(str.strip, accept[:1000].split(",")))):
        kind, *parameters = (text.strip().lower() for text in part.split(";"))
        weights = [text[2:] for text in parameters if text.startswith("q=")]
        try:
            weight = float(weights[0]) if weights else 1.0
        except ValueError:
            weight = 1.0
        wishes.append((-weight, place, kind))
    kinds = [kind for weight, _, kind in sorted(wishes) if weight < 0]
    formats = (_BY_MEDIA_TYPE.get(kind) for kind in kinds)
    name = next(filter(None, formats), None if wishes else _USUAL_FORMAT)
    if name is None:
        listed = ", ".join(dict.fromkeys(map(_media_type, FORMATS)))
        raise ClientError("not_acceptable", listed=listed)
    return name


def _media_type(name: str) -> str:
    return FORMATS[name].media_type.split(";")[0]


_USUAL_FORMAT = "json-stat2"
#: Media type → the first format that has it.
_BY_MEDIA_TYPE = {
    **{_media_type(name): name for name in reversed(FORMATS)},
    "text/*": "csv",
    **dict.fromkeys(("*/*", "application/*", "application/json"), _USUAL_FORMAT),
}


def criteria_of_parameters(
    parameters: Parameters, variables: Mapping[str, Variable]
) -> dict[str, Criterion]:
    """Return what an address wishes of each variable."""
    criteria: dict[str, Criterion] = {}
    for word, name, text in parameters.deep:
        criterion = criteria.setdefault(name, Criterion())
        if word == "valuecodes":
            criterion.codes = split_codes(text, variables.get(name))
        elif word == "codelist":
            criterion.codelist = text
        elif text.lower() in _OUTPUT_VALUES:
            criterion.is_single = text.lower() == "single"
        else:
            raise ClientError("bad_parameter", name=f"outputvalues[{name}]")
    return criteria


def criteria_of_body(body: SelectionBody, parameters: Parameters) -> dict[str, Criterion]:
    """Return what a body wishes of each variable."""
    beside = criteria_of_parameters(parameters, {})
    if any(word == "valuecodes" for word, _, _ in parameters.deep):
        raise ClientError("bad_parameter", name="valueCodes")
    criteria: dict[str, Criterion] = {}
    for part in body.selection:
        if part.variableCode in criteria:
            raise ClientError("repeated", name=part.variableCode)
        other = beside.pop(part.variableCode, Criterion())
        criteria[part.variableCode] = Criterion(
            codes=part.valueCodes,
            codelist=part.codelist if part.codelist is not None else other.codelist,
            is_single=other.is_single or part.outputValues == "single",
        )
    if beside:
        raise ClientError("bad_parameter", name=f"codelist[{next(iter(beside))}]")
    return criteria


def query_of_wishes(
    table_service: TableService,
    criteria: Mapping[str, Criterion],
    *,
    where: str | None = None,
    population: str | None = None,
    order: Sequence[str] = (),
) -> Query:
    """Return the query of what is wished of each variable."""
    variables = table_service.variables
    for name in [*criteria, *order]:
        if name not in variables and name != CONTENTS:
            raise ClientError("no_variable", name=name, choices=[*variables, CONTENTS])
    contents = criteria.get(CONTENTS)
    measures = (
        table_service.measures[:1]
        if contents is None
        else measures_of(contents.codes, table_service.measures)
    )
    own_criteria: dict[str, Criterion] = {n: w for n, w in criteria.items() if n != CONTENTS}
    if not criteria:
        own_criteria = {name: Criterion() for name in _first_look(table_service)}
    names = sorted(
        own_criteria, key=lambda name: order.index(name) if name in order else len(order)
    )
    selections = []
    for name in names:
        variable, criterion = variables[name], own_criteria[name]
        # Where nobody chose, the broadest level.
        codelist = criterion.codelist if criteria else list(codelists_of(variable))[1]
        ranks = ranks_of(
            variable, codes=criterion.codes, codelist=codelist, is_single=criterion.is_single
        )
        selections.append(Selection(variable=name, ranks=ranks))
    return Query(
        selections=tuple(selections), where=where, measures=measures, population=population
    )


def _first_look(table_service: TableService) -> list[str]:
    """Return the variables of a table that nobody chose: the mandatory ones, or the first."""
    mandatory: Any = table_service.service.rules.mandatory
    return list(mandatory) or list(table_service.variables)[:1]
