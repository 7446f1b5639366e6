"""The descriptions that PxWebApi 2 gives: tables, metadata, code lists, configuration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ckm import __version__
from ckm.formats import FORMATS
from ckm.formats.json_stat.writer import category_of
from ckm.service.answering.pxweb_selection import CONTENTS, codelists_of
from ckm.service.answering.words.messages import notice_of, say

if TYPE_CHECKING:
    from ckm.service.answering.variables import Variable
    from ckm.service.table_service import TableService

__all__ = ["codelist", "config", "metadata", "table", "table_list"]


def _link(rel: str, path: str, language: str) -> dict[str, str]:
    return {"rel": rel, "hreflang": language, "href": f"{path}?lang={language}"}


def table(table_service: TableService, *, language: str) -> dict[str, Any]:
    """Describe the table of a service in a few lines.

    Parameters
    ----------
    table_service
        The service and what it offers.
    language
        ``"en"`` or ``"fr"``.
    """
    service = table_service.service
    path = f"/tables/{service.id}"
    labels = [variable.offer.labels[language] for variable in table_service.variables.values()]
    said = service.description.get(language, "")
    return {
        "type": "Table",
        "language": language,
        "id": service.id,
        "label": service.title[language],
        "description": " ".join(t for t in (said, notice_of(service, language)) if t),
        "updated": None if service.updated is None else f"{service.updated}T00:00:00Z",
        "firstPeriod": None,
        "lastPeriod": None,
        "category": "public" if service.access.mode == "open" else "private",
        "variableNames": [*labels, say("measure", language)],
        "discontinued": False,
        "source": service.source.get(language, ""),
        "links": [
            _link("self", path, language),
            _link("metadata", f"{path}/metadata", language),
            _link("data", f"{path}/data", language),
        ],
    }


def table_list(
    table_service: TableService,
    *,
    language: str,
    query: str = "",
    page: int = 1,
    size: int = 20,
) -> dict[str, Any]:
    """List the tables of a service, of which there is one.

    Parameters
    ----------
    table_service, language
        As for `table`.
    query
        Words that the label must hold.
    page, size
        Which part of the list.
    """
    found = [table(table_service, language=language)]
    found = [t for t in found if all(w in t["label"].lower() for w in query.lower().split())]
    return {
        "language": language,
        "tables": found[(page - 1) * size : page * size],
        "page": {
            "pageNumber": page,
            "pageSize": size,
            "totalElements": len(found),
            "totalPages": math.ceil(len(found) / size),
            "links": [],
        },
        "links": [_link("self", "/tables", language)],
    }


def codelist(
    table_service: TableService, variable: Variable, *, name: str, language: str
) -> dict[str, Any]:
    """Describe a code list.

    Parameters
    ----------
    table_service, variable
        The service, and the variable whose list it is.
    name
        The list.
    language
        ``"en"`` or ``"fr"``.
    """
    level = codelists_of(variable)[name]
    return {
        "id": name,
        "label": _list_label(variable, level, language),
        "language": language,
        "languages": list(table_service.service.languages),
        "type": "Valueset",
        "elimination": level is None,
        "values": [
            {
                "code": variable.codes[rank],
                "label": variable.label(int(rank), language),
                "valueMap": [variable.codes[rank]],
            }
            for rank in variable.ranks(level)
        ],
        "links": [_link("self", f"/codelists/{name}", language)],
    }


def _list_label(variable: Variable, level: int | None, language: str) -> str:
    label = variable.offer.labels[language]
    if level is None:
        return f"{label}: {say('all_levels', language)}"
    return f"{label}: {variable.level_label(level, language)}"


def metadata(table_service: TableService, *, language: str) -> dict[str, Any]:
    """Describe all variables of a table as a JSON-stat dataset without values.

    Parameters
    ----------
    table_service, language
        As for `table`.
    """
    service, measures = table_service.service, table_service.measures
    path = f"/tables/{service.id}"
    dimension = {
        name: _dimension(variable, language, is_mandatory=name in service.rules["mandatory"])
        for name, variable in table_service.variables.items()
    }
    dimension[CONTENTS] = {
        "label": say("measure", language),
        "category": {
            **category_of({measure: say(measure, language) for measure in measures}),
            "unit": {
                measure: {"base": service.unit.get(language, ""), "decimals": 0}
                for measure in measures
            },
        },
        "extension": {"elimination": False, "show": "value"},
    }
    area = service.area
    notes = [say(service.method, language)]
    return {
        "version": "2.0",
        "class": "dataset",
        "label": service.title[language],
        "source": service.source.get(language, ""),
        "updated": None if service.updated is None else f"{service.updated}T00:00:00Z",
        "note": notes,
        "role": {"metric": [CONTENTS], **({"geo": [area]} if area else {})},
        "id": list(dimension),
        "size": [len(d["category"]["index"]) for d in dimension.values()],
        "dimension": dimension,
        "extension": {
            "px": {"tableid": service.id, "language": language, "aggregallowed": False},
            "contact": [{"raw": service.contact}] if service.contact else [],
        },
        "link": {
            "self": [{"href": f"{path}/metadata?lang={language}"}],
            "data": [{"href": f"{path}/data?lang={language}"}],
        },
    }


def _dimension(variable: Variable, language: str, *, is_mandatory: bool) -> dict[str, Any]:
    ranks = variable.ranks().tolist()
    elimination: dict[str, Any] = {"elimination": not is_mandatory}
    if not is_mandatory:
        elimination["eliminationValueCode"] = variable.total
    return {
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


def config(table_service: TableService) -> dict[str, Any]:
    """Describe the service's limits and abilities.

    Parameters
    ----------
    table_service
        The service.
    """
    service = table_service.service
    most_cells = table_service.answerer.settings.maximum_cells
    names = {"en": "English", "fr": "Français"}
    notices = [
        {"key": language, "value": notice}
        for language in service.languages
        if (notice := notice_of(service, language))
    ]
    return {
        "apiVersion": "2.0.0",
        "appVersion": __version__,
        "languages": [{"id": lang, "label": names[lang]} for lang in service.languages],
        "defaultLanguage": service.languages[0],
        "maxDataCells": most_cells if most_cells is not None else 2**31 - 1,
        "maxCallsPerTimeWindow": service.limits.requests_per_hour,
        "timeWindow": 3600,
        "license": "",
        "sourceReferences": [
            {"language": lang, "text": service.source[lang]}
            for lang in service.languages
            if service.source
        ],
        "defaultDataFormat": "json-stat2",
        "dataFormats": list(FORMATS),
        "features": [
            {
                "id": "CORS",
                "params": [{"key": "enabled", "value": str(bool(service.access.origins))}],
            },
            *([{"id": "reconstruction", "params": notices}] if notices else []),
        ],
        "rules": {k: v for k, v in service.rules.items() if v is not False and v != []},
    }
