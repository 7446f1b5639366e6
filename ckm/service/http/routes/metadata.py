"""Routes that describe what there is, as PxWebApi 2 does: tables, variables, code lists."""

import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.responses import Response

from ckm.config.service.sections import ServiceRate
from ckm.config.service.service import Service
from ckm.formats import FORMATS
from ckm.formats.about import is_period
from ckm.formats.cubes.json_stat import category_of, merged
from ckm.service.answering.addresses import absolute
from ckm.service.answering.documentation import (
    dimension_documentation,
    responsibility,
    table_extension,
    table_links,
)
from ckm.service.answering.figures import KINDS
from ckm.service.answering.messages import (
    ClientError,
    audit_notice,
    noise_notes,
    notice_of,
    say,
)
from ckm.service.answering.pxweb_selection import CONTENTS, codelists_of
from ckm.service.answering.render import Rendered
from ckm.service.answering.variables import Variable
from ckm.service.http.request_context import Call
from ckm.service.http.request_parsing import format_of
from ckm.service.http.responses import answered
from footing.version import engine_version


async def list_tables(call: Call) -> Response:
    """List the tables."""
    plain = call.parameters.plain
    page = _whole(plain, "pagenumber", default=1, most=10**6)
    size = _whole(plain, "pagesize", default=20, most=1000)
    query = plain.get("query", "")
    if len(query) > 1000:
        raise ClientError("bad_parameter", name="query")
    tables = [_table(call)]
    tables = [t for t in tables if all(w in t["label"].lower() for w in query.lower().split())]
    content = {
        "language": call.language,
        "tables": tables[(page - 1) * size : page * size],
        "page": {
            "pageNumber": page,
            "pageSize": size,
            "totalElements": len(tables),
            "totalPages": math.ceil(len(tables) / size),
            "links": [],
        },
        "links": [_link("self", "/tables", call.language)],
    }
    return answered(call.request, _json(content, call.language))


async def get_table(call: Call) -> Response:
    """Describe a table."""
    return answered(call.request, _json(_table(call), call.language))


async def get_metadata(call: Call) -> Response:
    """Describe the variables of a table, as JSON-stat without values."""
    if format_of(call.parameters.plain.get("outputformat")) != "json-stat2":
        raise ClientError("bad_parameter", name="outputFormat", choices=["json-stat2"])
    return _once(call, "metadata", partial(metadata_content, call))


async def get_codelist(call: Call) -> Response:
    """List the categories of a variable, or of one of its levels."""
    name = call.request.path_params["codelist_id"]
    variable = _listed_variable(call, name)
    return _once(call, f"codelist {name}", partial(_codelist, call, variable, name))


def part_of_codelist(call: Call, name: str, *, find: str, limit: int) -> dict[str, Any]:
    """Return some categories of a code list, those that a text finds; raise for no list."""
    variable = _listed_variable(call, name)
    ranks = variable.ranks(codelists_of(variable)[name])
    if find:
        listed = set(ranks.tolist())
        own = [rank for rank in variable.find(find, call.language) if rank in listed]
        ranks = np.array(own, np.int64)
    return _codelist(call, variable, name, ranks[:limit])


def _listed_variable(call: Call, name: str) -> Variable:
    """Return the variable that a code list is of."""
    variables = call.table_service.variables.values()
    variable = next((v for v in variables if name in codelists_of(v)), None)
    if variable is None:
        codelists = [one for v in variables for one in codelists_of(v)]
        raise ClientError("no_codelist", name=name, choices=codelists)
    return variable


async def get_config(call: Call) -> Response:
    """Limits and abilities."""
    service = call.table_service.service
    max_cells = call.table_service.answerer.settings.maximum_cells
    names = {"en": "English", "fr": "Français"}
    notices, audit = (
        [
            {"key": language, "value": text}
            for language in service.about.languages
            if (text := said_of(service, language))
        ]
        for said_of in (notice_of, audit_notice)
    )
    audited = {"key": "audited", "value": "True"}
    described = {
        "apiVersion": "2.0.0",
        "appVersion": engine_version(),
        "languages": [{"id": lang, "label": names[lang]} for lang in service.about.languages],
        "defaultLanguage": service.about.languages[0],
        "maxDataCells": max_cells if max_cells is not None else 2**31 - 1,
        "maxCallsPerTimeWindow": call.table_service.per_hour(call.caller),
        "timeWindow": 3600,
        "license": service.about.licence,
        "sourceReferences": [
            {"language": lang, "text": service.about.source[lang]}
            for lang in service.about.languages
            if service.about.source
        ],
        "defaultDataFormat": "json-stat2",
        "dataFormats": list(FORMATS),
        "features": [
            {
                "id": "CORS",
                "params": [{"key": "enabled", "value": str(bool(service.access.origins))}],
            },
            *([{"id": "reconstruction", "params": notices}] if notices else []),
            *([{"id": "audit", "params": [audited, *audit]}] if audit else []),
        ],
        "rules": {k: v for k, v in service.rules if v not in (None, ()) and v is not False},
    }
    return answered(call.request, _json(described, call.language))


def _table(call: Call) -> dict[str, Any]:
    """Describe the table of a service in a few lines."""
    language = call.language
    service = call.table_service.service
    path = f"/tables/{service.about.id}"
    labels = [v.offer.labels[language] for v in call.table_service.variables.values()]
    description = service.about.description.get(language, "")
    time = call.table_service.variables.get(service.time)
    codes = [] if time is None else [time.codes[rank] for rank in time.ranks(0).tolist()]
    periods = codes if all(map(is_period, codes)) else []
    return {
        "type": "Table",
        "language": language,
        "id": service.about.id,
        "label": service.about.title[language],
        "description": " ".join(t for t in (description, notice_of(service, language)) if t),
        "updated": _updated(service),
        "firstPeriod": min(periods, default=None),
        "lastPeriod": max(periods, default=None),
        "category": "public" if service.access.mode == "open" else "private",
        "variableNames": [*labels, say("measure", language)],
        "discontinued": False,
        "source": service.about.source.get(language, ""),
        "links": [
            _link("self", path, language),
            _link("metadata", f"{path}/metadata", language),
            _link("data", f"{path}/data", language),
        ],
    }


def _updated(service: Service) -> str | None:
    when = service.about.updated
    return None if when is None else f"{when}T00:00:00Z"


def metadata_content(call: Call) -> dict[str, Any]:
    """Describe all variables of a table as a JSON-stat dataset without values."""
    table_service, language = call.table_service, call.language
    service, measures = table_service.service, table_service.measures
    path = f"/tables/{service.about.id}"
    dimension = {
        name: _dimension(variable, language, is_mandatory=name in service.rules.mandatory)
        for name, variable in table_service.variables.items()
    }
    dimension[CONTENTS] = {
        "label": say("measure", language),
        "category": {
            **category_of({measure: say(measure, language) for measure in measures}),
            "unit": {
                measure: {"base": service.about.unit.get(language, ""), "decimals": 0}
                for measure in measures
            },
        },
        "extension": {"elimination": False, "show": "value"},
    }
    area = service.area
    return {
        "version": "2.0",
        "class": "dataset",
        "label": service.about.title[language],
        "source": service.about.source.get(language, ""),
        "updated": _updated(service),
        "note": [
            say(service.method, language),
            *noise_notes(table_service.answerer.margin, language),
            say("parts_note", language),
        ],
        "role": {
            "metric": [CONTENTS],
            **({"geo": [area]} if area else {}),
            **({"time": [service.time]} if service.time else {}),
        },
        "id": list(dimension),
        "size": [len(d["category"]["index"]) for d in dimension.values()],
        "dimension": dimension,
        "extension": {
            "px": {"tableid": service.about.id, "language": language, "aggregallowed": False},
            "contact": [{"raw": service.about.contact}] if service.about.contact else [],
            "figures": [*KINDS, *service.rates],
            "figureMargins": service.about.figure_margins,
            "rates": [_rate(rate, language) for rate in service.rates.values()],
            **table_extension(service, language),
            "populations": [
                {"code": name, "label": population.title[language]}
                for name, population in service.populations.items()
            ],
        },
        "link": {
            "self": [{"href": absolute(f"{path}/metadata?lang={language}", service)}],
            "data": [{"href": absolute(f"{path}/data?lang={language}", service)}],
            **{k: v for k, v in table_links(service, language).items() if k != "describedby"},
        },
    }


def _rate(rate: ServiceRate, language: str) -> dict[str, Any]:
    """Describe a rate."""
    definition = rate.definition.get(language, "")
    return {
        "code": rate.name,
        "label": rate.title[language],
        "per": rate.per,
        **({"note": [definition]} if definition else {}),
        **responsibility(rate, language),
    }


def _codelist(
    call: Call, variable: Variable, name: str, ranks: NDArray[np.int64] | None = None
) -> dict[str, Any]:
    """Describe a code list, all of it where no categories are named."""
    language = call.language
    level = codelists_of(variable)[name]
    ranks = variable.ranks(level) if ranks is None else ranks
    return {
        "id": name,
        "label": _list_label(variable, level, language),
        "language": language,
        "languages": list(call.table_service.service.about.languages),
        "type": "Valueset",
        "elimination": level is None,
        "values": [
            {
                "code": variable.codes[rank],
                "label": variable.label(int(rank), language),
                "valueMap": [variable.codes[rank]],
            }
            for rank in ranks
        ],
        "links": [_link("self", f"/codelists/{name}", language)],
    }


def _list_label(variable: Variable, level: int | None, language: str) -> str:
    label = variable.offer.labels[language]
    if level is None:
        return f"{label}: {say('all_levels', language)}"
    return f"{label}: {variable.level_label(level, language)}"


def _dimension(variable: Variable, language: str, *, is_mandatory: bool) -> dict[str, Any]:
    ranks = variable.ranks().tolist()
    elimination: dict[str, Any] = {"elimination": not is_mandatory}
    if not is_mandatory:
        elimination["eliminationValueCode"] = variable.total
    dimension = {
        "label": variable.offer.labels[language],
        "category": category_of(
            {variable.codes[rank]: variable.label(rank, language) for rank in ranks}
        ),
        "extension": {
            **elimination,
            "show": "value",
            "codelists": [
                {
                    "id": name,
                    "label": _list_label(variable, level, language),
                    "type": "Valueset",
                    "links": [_link("metadata", f"/codelists/{name}", language)],
                }
                for name, level in codelists_of(variable).items()
            ],
        },
    }
    return merged(dimension, dimension_documentation(variable.offer, language))


def _link(rel: str, path: str, language: str) -> dict[str, str]:
    return {"rel": rel, "hreflang": language, "href": f"{path}?lang={language}"}


def _once(call: Call, name: str, describe: Callable[[], Any]) -> Response:
    """Answer with a description that takes time, which is written once."""
    key = name, call.language
    result = call.table_service.rendered.get(key)
    if result is None:
        result = _json(describe(), call.language)
        call.table_service.rendered.put(key, result)
    return answered(call.request, result)


def _json(document: Any, language: str) -> Rendered:
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Rendered.of(body, "application/json", {"Content-Language": language})


def _whole(plain: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    text = plain.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise ClientError("bad_parameter", name=name)
    return int(text)
