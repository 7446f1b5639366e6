"""Data dictionaries in XML: DDI-Codebook, and structures of SDMX.

Only what is declared is read: minima, maxima and frequencies of a file, which a code book may
hold besides, would leak.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from footing.messages import Message, Name
from synth.errors import SchemaError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_MOST_MISSING = 100
_COMPONENTS = {"Dimension", "TimeDimension", "Attribute", "PrimaryMeasure", "Measure"}


class Told(NamedTuple):
    """What a dictionary says of a column, as it is written there."""

    name: Any
    kind: str = ""
    codes: Sequence[Any] = ()
    missing: Mapping[str, Any] = {}
    low: Any = None
    high: Any = None
    decimals: int | None = None
    #: The coarser code that each code lies in, of those that have one.
    above: Mapping[str, str] = {}


def told_by_xml(content: bytes, name: str) -> Iterator[Told]:
    """Yield what a DDI code book or an SDMX structure says of each column."""
    root = _parsed(content, name)
    if root.tag == "codeBook":
        yield from map(_ddi, root.iter("var"))
    elif root.tag == "Structure":
        yield from _sdmx(root)
    else:
        raise SchemaError(
            Message(
                "{name!r} is neither a DDI code book nor an SDMX structure.", name=Name(name)
            ),
            hint=Message("known in XML: codeBook of DDI 2, Structure of SDMX 2.1 and 3"),
        )


def _parsed(content: bytes, name: str) -> "Element":
    """Parse XML without names of namespaces; what declares entities is refused at once."""
    from xml.etree.ElementTree import TreeBuilder
    from xml.parsers import expat

    builder, parser = TreeBuilder(), expat.ParserCreate(namespace_separator=" ")

    def refuse(*_: object) -> None:
        raise SchemaError(
            Message(
                "{name!r} has a document type, which may declare entities.", name=Name(name)
            ),
            hint=Message("take it out"),
        )

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, attributes: builder.start(_local(tag), attributes)
    parser.EndElementHandler = lambda tag: builder.end(_local(tag))
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(content, True)  # noqa: FBT003 (no keyword is taken)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(Message("{name!r} cannot be read as XML.", name=Name(name))) from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _ddi(var: "Element") -> Told:
    codes, missing = list[str](), dict[str, str]()
    for one in var.iterfind("catgry"):
        code, label = ((one.findtext(tag) or "").strip() for tag in ("catValu", "labl"))
        if one.get("missing") == "Y":
            missing[label if label and label not in missing else code] = code
        else:
            codes.append(code)
    missing |= {code: code for code in _invalid(var) if code not in missing.values()}
    codes += [item.get("VALUE", "") for item in var.iterfind("valrng/item")]
    limits, shape = (_attributes(var.find(tag)) for tag in ("valrng/range", "varFormat"))
    decimals = int(re.sub("[^0-9]", "", var.get("dcml", "")) or 0)
    kind = "date" if shape.get("category") == "date" else ""
    is_number = var.get("intrvl") == "contin" or shape.get("type") == "numeric" or limits
    if not kind and is_number and (not codes or var.get("intrvl") == "contin"):
        kind = "number" if decimals else "int"
    codes = list(dict.fromkeys(code for code in codes if code not in missing.values()))
    ends = limits.get("min"), limits.get("max")
    above = _groups_of(var)
    return Told(var.get("name", ""), kind, codes, missing, *ends, decimals, above)


def _groups_of(var: "Element") -> dict[str, str]:
    """Return the label of the group that each category of a variable lies in."""
    values = {
        one.get("ID"): (one.findtext("catValu") or "").strip() for one in var.iter("catgry")
    }
    above: dict[str, str] = {}
    for group in var.iterfind("catgryGrp"):
        label = (group.findtext("labl") or group.get("ID") or "").strip()
        for member in (group.get("catgry") or "").split():
            code = values.get(member, "")
            if code and label and above.setdefault(code, label) != label:
                raise SchemaError(
                    Message(
                        "A code of {name!r} has two parents.", name=Name(var.get("name", ""))
                    )
                )
    return above


def _attributes(one: "Element | None") -> Mapping[str, str]:
    return {} if one is None else one.attrib


def _invalid(var: "Element") -> Iterator[str]:
    """Yield the codes of missing values; a range of whole numbers is a list of codes."""
    yield from (item.get("VALUE", "") for item in var.iterfind("invalrng/item"))
    for one in var.iterfind("invalrng/range"):
        ends = one.get("min", ""), one.get("max", "")
        if all(re.fullmatch("-?[0-9]{1,9}", end) for end in ends):
            yield from map(str, range(int(ends[0]), int(ends[1]) + 1)[:_MOST_MISSING])


def _sdmx(root: "Element") -> Iterator[Told]:
    structures = list(root.iter("DataStructure"))
    if len(structures) != 1:
        raise SchemaError(
            Message("The file has {number} data structures, not one.", number=len(structures))
        )
    elements = {(one.tag, one.get("id")): one for one in root.iter() if one.get("id")}
    for one in structures[0].iter():
        if one.tag not in _COMPONENTS:
            continue
        concept = _referred(one.find("ConceptIdentity"))
        representation = one.find("LocalRepresentation")
        if representation is None and ("Concept", concept) in elements:
            representation = elements["Concept", concept].find("CoreRepresentation")
        enumeration = None if representation is None else representation.find("Enumeration")
        shape = _attributes(
            None
            if representation is None or enumeration is not None
            else representation.find("TextFormat")
        )
        code_list = elements.get(("Codelist", _referred(enumeration)))
        codes = (
            [] if code_list is None else [code.get("id") for code in code_list.iterfind("Code")]
        )
        ends = shape.get("minValue"), shape.get("maxValue")
        decimals = int(shape["decimals"]) if "decimals" in shape else None
        name, kind = one.get("id") or concept or "", shape.get("textType", "")
        above = {} if code_list is None else dict(_parents_of(code_list))
        yield Told(name, kind, codes, {}, *ends, decimals, above)


def _parents_of(code_list: "Element") -> Iterator[tuple[str, str]]:
    """Yield each code of a list with the code that lies above it, of those that have one."""
    for code in code_list.iterfind("Code"):
        parent = code.find("Parent")
        above = _referred(parent) or ("" if parent is None else (parent.text or "").strip())
        if above:
            yield code.get("id", ""), above


def _referred(element: "Element | None") -> str | None:
    """Return the id that a reference names, as an element of SDMX 2.1 or as a URN."""
    if element is None:
        return None
    for one in element.iter("Ref"):
        return one.get("id")
    urn = re.search(
        r"[=.:]([\w@$-]+)(?:\([^)]*\)(?:\.([\w@$-]+))?)?$", (element.text or "").strip()
    )
    return None if urn is None else urn[2] or urn[1]
