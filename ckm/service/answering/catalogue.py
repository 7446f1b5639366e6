"""The tables of a service as a catalogue: DCAT 3 in JSON-LD, with what DCAT-AP 3 requires.

A data set for the table whose variables callers choose, and one for each official table that
they can ask for. Only the settings and the shapes of tables are looked at, no count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.formats import FORMATS
from ckm.service.answering.addresses import absolute, address_of_query
from ckm.service.answering.messages import say
from ckm.service.answering.query import Query, Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckm.config.job.job import Job
    from ckm.config.job.table import JobTable
    from ckm.config.service.service import Service
    from ckm.service.answering.variables import Variable

MEDIA_TYPE = "application/ld+json"

_CONTEXT = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_AUTHORITY = "http://publications.europa.eu/resource/authority/"
_LANGUAGES = {"en": "ENG", "fr": "FRA"}
_FILE_TYPES = {"csv": "CSV", "csv-labels": "CSV", "xlsx": "XLSX", "json-stat2": "JSON"}
_IANA = "https://www.iana.org/assignments/media-types/"

Content = dict[str, Any]


def catalogue_of(
    service: Service,
    *,
    variables: Mapping[str, Variable],
    measures: tuple[str, ...],
    permits: Callable[[Query], bool],
) -> Content:
    """Return the catalogue of a service.

    Parameters
    ----------
    service
        What is served.
    variables, measures
        What may be asked for.
    permits
        Tells whether the rules on shape let a query pass.
    """
    about = service.about
    language = about.languages[0]
    datasets = [_chosen_table(service, variables)]
    for place, (table, query) in enumerate(_official_tables(service, variables, measures)):
        address = address_of_query(
            query, service=service, variables=variables, language=language
        )
        if address is not None and permits(query):
            datasets.append(_official_dataset(service, table, place, address))
    data_service = {
        "@id": absolute("/catalogue#api", service),
        "@type": "dcat:DataService",
        "dct:title": _texts(about.title, service),
        "dcat:endpointURL": _node(absolute("/", service)),
        "dcat:endpointDescription": _node(absolute("/openapi.json", service)),
        "dcat:servesDataset": [_node(dataset["@id"]) for dataset in datasets],
        **_licence(service),
    }
    return {
        "@context": _CONTEXT,
        "@id": absolute("/catalogue", service),
        "@type": "dcat:Catalog",
        "dct:title": _texts(about.title, service),
        "dct:description": _description(service),
        "dct:publisher": _publisher(service),
        "dct:language": _languages(service),
        "foaf:homepage": _node(absolute("/", service)),
        **_dates(service),
        **_licence(service),
        "dcat:dataset": datasets,
        "dcat:service": [data_service],
    }


def _chosen_table(service: Service, variables: Mapping[str, Variable]) -> Content:
    """Describe the table whose variables callers choose: the service gives access to it."""
    path = f"/tables/{service.about.id}"
    distribution = {
        "@type": "dcat:Distribution",
        "dct:title": _texts(service.about.title, service),
        "dcat:accessURL": _node(absolute(f"{path}/data", service)),
        "dcat:accessService": _node(absolute("/catalogue#api", service)),
        "dcat:mediaType": _node(_IANA + FORMATS["json-stat2"].media_type),
        **_licence(service),
    }
    words = [
        {"@language": language, "@value": variable.offer.labels[language]}
        for language in service.about.languages
        for variable in variables.values()
    ]
    return {
        "@id": absolute(path, service),
        **_dataset(service, service.about.title, service.about.id),
        "dcat:keyword": words,
        "dcat:distribution": [distribution],
    }


def _official_dataset(service: Service, table: JobTable, place: int, address: str) -> Content:
    """Describe a table of the office, a distribution for each format."""
    title = table.title or dict.fromkeys(service.about.languages, table.name)
    distributions = []
    for name, kind in FORMATS.items():
        href = f"{address}&outputFormat={name}"
        file_type = _FILE_TYPES.get(name)
        more = {"dct:format": _node(f"{_AUTHORITY}file-type/{file_type}")} if file_type else {}
        distributions.append(
            {
                "@type": "dcat:Distribution",
                "dct:title": name,
                "dcat:accessURL": _node(href),
                "dcat:downloadURL": _node(href),
                "dcat:accessService": _node(absolute("/catalogue#api", service)),
                "dcat:mediaType": _node(_IANA + kind.media_type.split(";")[0]),
                **more,
                **_licence(service),
            }
        )
    return {
        "@id": absolute(f"/catalogue#table-{place + 1}", service),
        **_dataset(service, title, table.name),
        "dcat:distribution": distributions,
    }


def _dataset(service: Service, title: Mapping[str, str], identifier: str) -> Content:
    is_open = service.access.mode == "open"
    right = f"{_AUTHORITY}access-right/{'PUBLIC' if is_open else 'RESTRICTED'}"
    return {
        "@type": "dcat:Dataset",
        "dct:title": _texts(title, service),
        "dct:description": _description(service),
        "dct:identifier": identifier,
        "dct:publisher": _publisher(service),
        "dct:language": _languages(service),
        "dct:accessRights": _node(right),
        "dcat:landingPage": _node(absolute("/", service)),
        **_contact(service),
        **_dates(service),
    }


def _official_tables(
    service: Service, variables: Mapping[str, Variable], measures: tuple[str, ...]
) -> Iterator[tuple[JobTable, Query]]:
    """Give the official tables that callers can ask for, each with what asks for it."""
    filters = {one.where: name for name, one in service.populations.items()}
    for job in filter(lambda job: _has_same_records(job, service), service.official):
        for table in job.table:
            own_measures = tuple(name for name in table.measures if name in measures)
            is_known = all(_is_same_variable(name, job, service) for name in table.dimensions)
            is_whole = table.where is None or table.where in filters
            if not (own_measures and is_known and is_whole):
                continue
            # Of a list of margins, the finest cells, which every table has.
            level = None if table.margins == "all" else 0
            selections = [
                Selection(variable=name, ranks=tuple(variables[name].ranks(level).tolist()))
                for name in table.dimensions
            ]
            query = Query(
                selections=tuple(selections),
                measures=own_measures,
                population=filters.get(table.where) if table.where else None,
            )
            yield table, query


def _has_same_records(job: Job, service: Service) -> bool:
    """Tell whether a job's tables are of the data, the keys and the noise of the service."""
    names = ("data", "keys", "ptable")
    is_same = all(getattr(job, name) == getattr(service, name) for name in names)
    return is_same and not job.output.additive


def _is_same_variable(name: str, job: Job, service: Service) -> bool:
    """Tell whether a dimension of a job is the variable that the service offers."""
    offer = service.variables.get(name)
    if offer is None or job.hierarchies.get(name) != service.hierarchies.get(name):
        return False
    own = next((one.derived for one in job.variable if one.name == name), None)
    return own == offer.derived


def _texts(texts: Mapping[str, str], service: Service) -> list[Content]:
    return [
        {"@language": language, "@value": texts[language]}
        for language in service.about.languages
    ]


def _description(service: Service) -> list[Content]:
    about = service.about
    return [
        {
            "@language": language,
            "@value": " ".join(
                filter(None, [about.description.get(language), say(service.method, language)])
            ),
        }
        for language in about.languages
    ]


def _publisher(service: Service) -> Content:
    about = service.about
    return {
        "@id": absolute("/catalogue#publisher", service),
        "@type": "foaf:Agent",
        "foaf:name": _texts(about.source or about.title, service),
    }


def _contact(service: Service) -> Content:
    contact = service.about.contact
    if not contact:
        return {}
    content: Content = {"@type": "vcard:Kind", "vcard:fn": contact}
    if "@" in contact and " " not in contact:
        content["vcard:hasEmail"] = _node(f"mailto:{contact}")
    elif contact.startswith(("https://", "http://")) and " " not in contact:
        content["vcard:hasURL"] = _node(contact)
    return {"dcat:contactPoint": content}


def _dates(service: Service) -> Content:
    dates = {"dct:issued": service.about.issued, "dct:modified": service.about.updated}
    return {
        name: {"@type": "xsd:date", "@value": date.isoformat()}
        for name, date in dates.items()
        if date is not None
    }


def _licence(service: Service) -> Content:
    licence = service.about.licence
    return {"dct:license": _node(licence)} if licence else {}


def _languages(service: Service) -> list[Content]:
    return [
        _node(f"{_AUTHORITY}language/{_LANGUAGES[language]}")
        for language in service.about.languages
    ]


def _node(address: str) -> Content:
    return {"@id": address}
