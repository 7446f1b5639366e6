"""Data dictionaries in XML: DDI-Codebook, and structures of SDMX.

Only what is declared is read: minima, maxima and frequencies of a file, which a code book may
hold besides, would leak.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from synth.errors import SchemaError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SDMX = {
    "Integer": "whole", "Long": "whole", "Short": "whole", "BigInteger": "whole",
    "Count": "whole", "Decimal": "real", "Float": "real", "Double": "real",
    "GregorianDay": "date", "Boolean": "boolean",
}  # fmt: skip
_MOST_MISSING = 100
_COMPONENTS = {"Dimension", "TimeDimension", "Attribute", "PrimaryMeasure", "Measure"}


@dataclass(frozen=True, slots=True)
class Described:
    """What a dictionary says of a column, as it is written there."""

    name: str
    kind: str
    codes: tuple[str, ...] = ()
    missing: Mapping[str, str | None] = field(default_factory=dict)
    low: Any = None
    high: Any = None
    decimals: int | None = None


def described_by_xml(content: bytes, name: str) -> list[Described]:
    """Return what a DDI code book or an SDMX structure says of each column."""
    root = _parsed(content, name)
    if root.tag == "codeBook":
        found = [_ddi(one) for one in root.iter("var")]
    elif root.tag == "Structure":
        found = list(_sdmx(root))
    else:
        raise SchemaError(
            f"{name!r} is neither a DDI code book nor an SDMX structure.",
            hint="known in XML: codeBook of DDI 2, Structure of SDMX 2.1 and 3",
        )
    if not found:
        raise SchemaError(f"{name!r} describes no column.")
    return found


def _parsed(content: bytes, name: str) -> "Element":
    """Parse XML without names of namespaces; what declares entities is refused at once."""
    from xml.etree.ElementTree import TreeBuilder
    from xml.parsers import expat

    builder, parser = TreeBuilder(), expat.ParserCreate(namespace_separator=" ")

    def refuse(*_: object) -> None:
        raise SchemaError(
            f"{name!r} has a document type, which may declare entities.", hint="take it out"
        )

    def start(tag: str, given: dict[str, str]) -> None:
        builder.start(_local(tag), {_local(key): value for key, value in given.items()})

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: builder.end(_local(tag))
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)  # noqa: FBT003 (no keyword is taken)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"{name!r} cannot be read as XML.") from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _text(parent: "Element", tag: str) -> str:
    return (parent.findtext(tag) or "").strip()


def _ddi(var: "Element") -> Described:
    codes, missing = [], dict[str, str | None]()
    for one in var.iterfind("catgry"):
        code, label = _text(one, "catValu"), _text(one, "labl")
        if one.get("missing") == "Y":
            missing[label if label and label not in missing else code] = code
        else:
            codes.append(code)
    for code in _invalid(var):
        if code not in missing.values():
            missing[code] = code
    codes += [item.get("VALUE", "") for item in var.iterfind("valrng/item")]
    limits = next(var.iterfind("valrng/range"), None)
    shape = next(var.iterfind("varFormat"), None)
    is_number = shape is not None and shape.get("type") == "numeric"
    decimals = int(var.get("dcml", "0")) if var.get("dcml", "0").isdigit() else 0
    kind = "category"
    if shape is not None and shape.get("category") == "date":
        kind = "date"
    elif var.get("intrvl") == "contin" or (not codes and (limits is not None or is_number)):
        kind = "real" if decimals else "whole"
    return Described(
        var.get("name", ""),
        kind,
        codes=tuple(dict.fromkeys(code for code in codes if code not in missing.values())),
        missing=missing,
        low=None if limits is None else limits.get("min"),
        high=None if limits is None else limits.get("max"),
        decimals=decimals if kind == "real" else None,
    )


def _invalid(var: "Element") -> list[str]:
    """Return the codes of missing values; a short range of whole numbers is a list of codes."""
    codes = [item.get("VALUE", "") for item in var.iterfind("invalrng/item")]
    for one in var.iterfind("invalrng/range"):
        ends = one.get("min", ""), one.get("max", "")
        if all(re.fullmatch("-?[0-9]{1,9}", end) for end in ends):
            codes += [
                str(code) for code in range(int(ends[0]), int(ends[1]) + 1)[:_MOST_MISSING]
            ]
    return codes


def _sdmx(root: "Element") -> Iterator[Described]:
    structures = list(root.iter("DataStructure"))
    if len(structures) != 1:
        raise SchemaError(f"The file has {len(structures)} data structures, not one.")
    lists = {
        one.get("id"): [code.get("id", "") for code in one.iterfind("Code")]
        for tag in ("Codelist", "ValueList")
        for one in root.iter(tag)
    }
    concepts = {one.get("id"): one for one in root.iter("Concept")}
    for one in structures[0].iter():
        if one.tag in _COMPONENTS:
            yield _sdmx_component(one, lists, concepts)


def _sdmx_component(
    one: "Element", lists: Mapping[str | None, list[str]], concepts: Mapping[str | None, Any]
) -> Described:
    concept = _referred(next(one.iterfind("ConceptIdentity"), None))
    name, used = one.get("id") or concept, one.find("LocalRepresentation")
    if used is None and concept in concepts:
        used = concepts[concept].find("CoreRepresentation")
    listed = None if used is None else used.find("Enumeration")
    shape = None if used is None else used.find("TextFormat")
    told: Mapping[str, str] = {} if shape is None or listed is not None else shape.attrib
    decimals = told.get("decimals", "")
    return Described(
        name or "",
        _SDMX.get(told.get("textType", ""), "category"),
        codes=tuple(lists.get(_referred(listed), ())),
        low=told.get("minValue"),
        high=told.get("maxValue"),
        decimals=int(decimals) if decimals.isdigit() else None,
    )


def _referred(found: "Element | None") -> str | None:
    """Return the id that a reference names, as an element of SDMX 2.1 or as a URN."""
    if found is None:
        return None
    for one in found.iter("Ref"):
        return one.get("id")
    urn = re.search(
        r"[=.:]([\w@$-]+)(?:\([^)]*\)(?:\.([\w@$-]+))?)?$", (found.text or "").strip()
    )
    return None if urn is None else urn[2] or urn[1]
