"""The descriptions that PxWebApi 2 gives: tables, metadata, code lists, configuration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ckm.formats import FORMATS
from ckm.formats.json_stat.writer import category_of
from ckm.service.answering.pxweb_selection import codelists_of
from ckm.service.answering.words.messages import notice_of, say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.config.service.service import Service
    from ckm.service.answering.variables import Variable

__all__ = ["CONTENTS", "codelist", "config", "metadata", "table", "table_list"]

CONTENTS = "ContentsCode"


class _Links:
    def __init__(self, language: str) -> None:
        self.language = language

    def to(self, rel: str, path: str) -> dict[str, str]:
        mark = "&" if "?" in path else "?"
        return {
            "rel": rel,
            "hreflang": self.language,
            "href": f"{path}{mark}lang={self.language}",
        }


def table(
    service: Service, variables: Mapping[str, Variable], *, language: str
) -> dict[str, Any]:
    """Describe the table of a service in a few lines.

    Parameters
    ----------
    service, variables
        The service and what it offers.
    language
        ``"en"`` or ``"fr"``.
    """
    links = _Links(language)
    path = f"/tables/{service.about.id}"
    labels = [variable.offer.labels[language] for variable in variables.values()]
    said = service.about.description.get(language, "")
    return {
        "type": "Table",
        "language": language,
        "id": service.about.id,
        "label": service.about.title[language],
        "description": " ".join(t for t in (said, notice_of(service, language)) if t),
        "updated": None
        if service.about.updated is None
        else f"{service.about.updated}T00:00:00Z",
        "firstPeriod": None,
        "lastPeriod": None,
        "category": "public" if service.access.mode == "open" else "private",
        "variableNames": [*labels, say("measure", language)],
        "discontinued": False,
        "source": service.about.source.get(language, ""),
        "links": [
            links.to("self", path),
            links.to("metadata", f"{path}/metadata"),
            links.to("data", f"{path}/data"),
        ],
    }


def table_list(
    service: Service,
    variables: Mapping[str, Variable],
    *,
    language: str,
    query: str = "",
    page: int = 1,
    size: int = 20,
) -> dict[str, Any]:
    """List the tables of a service, of which there is one.

    Parameters
    ----------
    service, variables, language
        As for `table`.
    query
        Words that the label must hold.
    page, size
        Which part of the list.
    """
    found = [table(service, variables, language=language)]
    found = [t for t in found if all(w in t["label"].lower() for w in query.lower().split())]
    links = _Links(language)
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
        "links": [links.to("self", "/tables")],
    }


def codelist(
    service: Service, variable: Variable, *, name: str, language: str
) -> dict[str, Any]:
    """Describe a code list.

    Parameters
    ----------
    service, variable
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
        "languages": list(service.about.languages),
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
        "links": [_Links(language).to("self", f"/codelists/{name}")],
    }


def _list_label(variable: Variable, level: int | None, language: str) -> str:
    label = variable.offer.labels[language]
    if level is None:
        return f"{label}: {say('all_levels', language)}"
    return f"{label}: {variable.level_label(level, language)}"


def metadata(
    service: Service,
    variables: Mapping[str, Variable],
    *,
    language: str,
    measures: tuple[str, ...],
) -> dict[str, Any]:
    """Describe all variables of a table as a JSON-stat dataset without values.

    Parameters
    ----------
    service, variables, language
        As for `table`.
    measures
        ``"count"``, and ``"weighted"`` where there are weights.
    """
    links = _Links(language)
    path = f"/tables/{service.about.id}"
    dimension = {
        name: _dimension(variable, language, is_mandatory=name in service.rules.mandatory)
        for name, variable in variables.items()
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
    notes = [say(service.method, language)]
    return {
        "version": "2.0",
        "class": "dataset",
        "label": service.about.title[language],
        "source": service.about.source.get(language, ""),
        "updated": None
        if service.about.updated is None
        else f"{service.about.updated}T00:00:00Z",
        "note": notes,
        "role": {"metric": [CONTENTS], **({"geo": [area]} if area else {})},
        "id": list(dimension),
        "size": [len(d["category"]["index"]) for d in dimension.values()],
        "dimension": dimension,
        "extension": {
            "px": {"tableid": service.about.id, "language": language, "aggregallowed": False},
            "contact": [{"raw": service.about.contact}] if service.about.contact else [],
        },
        "link": {
            "self": [{"href": links.to("self", f"{path}/metadata")["href"]}],
            "data": [{"href": links.to("data", f"{path}/data")["href"]}],
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
                    "links": [_Links(language).to("metadata", f"/codelists/{name}")],
                }
                for name, level in codelists_of(variable).items()
            ],
        },
    }


def config(service: Service, *, version: str, most_cells: int | None) -> dict[str, Any]:
    """Describe the service's limits and abilities.

    Parameters
    ----------
    service
        The service.
    version
        Version of the engine.
    most_cells
        Cells of an answer.
    """
    names = {"en": "English", "fr": "Français"}
    notices = [
        {"key": language, "value": notice}
        for language in service.about.languages
        if (notice := notice_of(service, language))
    ]
    return {
        "apiVersion": "2.0.0",
        "appVersion": version,
        "languages": [{"id": lang, "label": names[lang]} for lang in service.about.languages],
        "defaultLanguage": service.about.languages[0],
        "maxDataCells": most_cells if most_cells is not None else 2**31 - 1,
        "maxCallsPerTimeWindow": service.limits.requests_per_hour,
        "timeWindow": 3600,
        "license": "",
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
        ],
        "rules": {
            k: v
            for k, v in dict(service.rules).items()
            if v not in (None, ()) and v is not False
        },
    }
