"""The examples of the API's description: of the service's own variables, so that each runs.

What a page of documentation fills in together is asked together: the examples of the
parameters and of the body of an address are one request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ckm.service.answering.pxweb_selection import codelists_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.service.answering.variables import Variable
    from ckm.service.table_service import TableService

_N_AREAS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Examples of requests.

    Parameters
    ----------
    parameters
        Of an address or of a path, by name; those that have none are left out.
    bodies
        Model of a body → name of an example → the body.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    bodies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def examples_of(table_service: TableService) -> Examples:
    """Make examples of a service's own variables."""
    service, variables = table_service.service, table_service.variables
    names = _example_variables(table_service)
    coarsest = {name: _coarsest(variables[name]) for name in names}
    first = names[0]
    language = service.about.languages[0]
    parameters = {
        "table_id": service.about.id,
        "codelist_id": coarsest[first],
        "lang": language,
        "query": service.about.title[language].split()[0],
        "pageNumber": 1,
        "pageSize": 20,
        "outputFormat": "json-stat2",
        "valuecodes": dict.fromkeys(names, "*"),
        "codelist": coarsest,
        "outputvalues": {first: "aggregated"},
        "stub": ",".join(names),
        "figure": "share",
        "of": first,
        **({"population": next(iter(service.populations))} if service.populations else {}),
    }
    selection = [
        {"variableCode": name, "valueCodes": ["*"], "codelist": codelist}
        for name, codelist in coarsest.items()
    ]
    table = {"dimensions": names, "margins": "all", "measures": ["count"]}
    requests = {
        "table": table,
        "shares": {**table, "figure": "share", "of": [first]},
        **_zone_example(table_service, names),
    }
    bodies: dict[str, Mapping[str, Any]] = {
        "SelectionBody": {
            "table": {"selection": selection, "placement": {"heading": [], "stub": names}}
        },
        "RequestBody": requests,
        "ZoneBody": _polygon_example(table_service),
    }
    return Examples(parameters=parameters, bodies=bodies)


def _example_variables(table_service: TableService) -> list[str]:
    """Return the mandatory variables; where there is none, that of the fewest categories."""
    service, variables = table_service.service, table_service.variables
    if service.rules.mandatory:
        return list(service.rules.mandatory)
    others = [name for name in variables if name != service.area] or list(variables)
    return [min(others, key=lambda name: len(variables[name].ranks()))]


def _coarsest(variable: Variable) -> str:
    return list(codelists_of(variable))[1]


def _zone_example(table_service: TableService, names: list[str]) -> dict[str, Any]:
    """Return a request that adds some areas up; none where there are no areas."""
    area = table_service.service.area
    if area is None or area in names:
        return {}
    variable = table_service.variables[area]
    level = codelists_of(variable)[_coarsest(variable)]
    areas = [rank for rank in variable.ranks(level).tolist() if rank][:_N_AREAS]
    if not areas:
        return {}
    body = {
        "dimensions": [area, *names],
        "select": {area: [variable.total]},
        "zones": {"My area": [variable.codes[rank] for rank in areas]},
    }
    return {"zone": body}


def _polygon_example(table_service: TableService) -> dict[str, Any]:
    """Return a polygon around the centre of an area; none where no centre is given."""
    variable = table_service.variables.get(table_service.service.area or "")
    centres = {} if variable is None else variable.offer.centres
    if variable is None or not centres:
        return {}
    for level, name in enumerate(variable.level_names):
        for rank in variable.ranks(level).tolist():
            centre = centres.get(variable.codes[rank]) or centres.get(variable.own(rank))
            if rank and centre is not None:
                x, y = centre
                corners = ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))
                ring = [[x + dx, y + dy] for dx, dy in corners]
                polygon = {"type": "Polygon", "coordinates": [ring]}
                return {"square": {"polygon": polygon, "level": name}}
    return {}
