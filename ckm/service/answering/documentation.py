"""What a JSON-stat document says of a table beside its numbers, so that it stands alone.

In the fields that JSON-stat has: `note` of the dataset, of dimensions and of categories, and
`link` by relations of IANA. What it has no field for is in `extension`: who answers for a
variable, and the words in the other languages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.formats.about import about_table
from ckm.service.answering.addresses import absolute, address_of_answer
from ckm.service.answering.messages import say
from ckm.service.answering.pxweb_selection import CONTENTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckm.config.service.sections import Described
    from ckm.config.service.service import Service
    from ckm.formats.about import TableAbout
    from ckm.service.answering.answer import Answer
    from ckm.service.answering.variables import Variable


def responsibility(one: Described, language: str) -> dict[str, Any]:
    """Return source, contact, date and revision of a variable or figure, as far as told."""
    content: dict[str, Any] = {}
    if source := one.source.get(language):
        content["source"] = source
    if one.contact:
        content["contact"] = [{"raw": one.contact}]
    if one.updated is not None:
        content["updated"] = one.updated.isoformat()
    if revision := one.revision.get(language):
        content["revision"] = revision
    return content


def dimension_documentation(one: Described, language: str) -> dict[str, Any]:
    """Return what the dimension of a variable says beside its categories."""
    content: dict[str, Any] = {}
    if definition := one.definition.get(language):
        content["note"] = [definition]
    if extension := responsibility(one, language):
        content["extension"] = extension
    return content


def table_extension(service: Service, language: str) -> dict[str, Any]:
    """Return when a service's tables were first published, and how they were revised."""
    about = service.about
    content: dict[str, Any] = {}
    if about.issued is not None:
        content["issued"] = about.issued.isoformat()
    if revision := about.revision.get(language):
        content["revision"] = revision
    return content


def table_links(service: Service, language: str) -> dict[str, list[dict[str, str]]]:
    """Return the links that every document has: its description, catalogue and licence."""
    path = f"/tables/{service.about.id}"
    links = {
        "describedby": absolute(f"{path}/metadata?lang={language}", service),
        "collection": absolute("/catalogue", service),
        "license": service.about.licence,
    }
    return {name: [{"href": href}] for name, href in links.items() if href}


def documentation_of(
    answer: Answer,
    abouts: Mapping[str, TableAbout],
    *,
    service: Service,
    variables: Mapping[str, Variable],
    language: str,
) -> dict[str, Any]:
    """Return what the document of a table says beside what every format does.

    Parameters
    ----------
    answer
        The answer, with its table.
    abouts
        Language → what is said about the table; the others are its translations.
    service, variables, language
        Where, and in which language.
    """
    assert answer.table is not None  # noqa: S101  (the caller looked)
    own = {language: about_table(abouts[language], answer.table)}
    own |= {name: about_table(one, answer.table) for name, one in abouts.items()}
    links = table_links(service, language)
    address = address_of_answer(answer, service=service, variables=variables, language=language)
    if address is not None:
        links = {"self": [{"href": address}], **links}
    translations = {
        other: _translation(
            answer,
            about,
            original=own[language],
            service=service,
            dimensions=_dimensions(answer, service, variables, other),
        )
        for other, about in own.items()
        if other != language
    }
    extension = table_extension(service, language)
    extension |= {"translations": translations} if translations else {}
    return {
        "note": _notes(answer, language),
        "link": links,
        "dimension": _dimensions(answer, service, variables, language),
        "extension": extension,
    }


def _notes(answer: Answer, language: str) -> list[str]:
    """Say why parts do not add up, where the table has a total beside them."""
    has_totals = any(0 in s.ranks and len(s.ranks) > 1 for s in answer.selections)
    return [say("parts_note", language)] if has_totals else []


def _dimensions(
    answer: Answer, service: Service, variables: Mapping[str, Variable], language: str
) -> dict[str, Any]:
    """Return what each dimension says, that of the measures among them."""
    names = [selection.variable for selection in answer.selections]
    dimensions = {
        name: said
        for name in names
        if (said := dimension_documentation(variables[name].offer, language))
    }
    figure = answer.figure
    if figure is not None and figure.rate and CONTENTS not in names:
        rate = service.rates[figure.rate]
        said = dimension_documentation(rate, language)
        contents: dict[str, Any] = {}
        if "note" in said:
            contents["category"] = {"note": {rate.name: said["note"]}}
        if "extension" in said:
            contents["extension"] = {"measures": {rate.name: said["extension"]}}
        dimensions |= {CONTENTS: contents} if contents else {}
    return dimensions


def _translation(
    answer: Answer,
    about: TableAbout,
    *,
    original: TableAbout,
    service: Service,
    dimensions: dict[str, Any],
) -> dict[str, Any]:
    """Return the words of a document in another language: of categories, those that differ."""
    for selection in answer.selections:
        name = selection.variable
        own = dimensions[name] = {"label": about.labels[name], **dimensions.get(name, {})}
        before = original.category_labels.get(name, {})
        labels = {
            code: label
            for code, label in about.category_labels.get(name, {}).items()
            if before.get(code) != label
        }
        own |= {"category": {"label": labels}} if labels else {}
    contents = dimensions.setdefault(CONTENTS, {})
    measures = [name for name in answer.query.measures if name in about.labels]
    contents["category"] = {
        **contents.get("category", {}),
        "label": {name: about.labels[name] for name in measures},
    }
    content: dict[str, Any] = {"label": about.title}
    content |= {"source": about.source} if about.source else {}
    content |= {"note": [*about.notes, *_notes(answer, about.language)]}
    content |= {"dimension": dimensions}
    extension = table_extension(service, about.language)
    return content | ({"extension": extension} if extension else {})
