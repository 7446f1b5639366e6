"""The parts of an XLSX file that hold its sheets together: no date, no author, no program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_CORE = f"{_PACKAGE}/metadata/core-properties"
_TYPE = "application/vnd.openxmlformats-"
_PLAIN = 'numFmtId="0" fontId="0" fillId="0" borderId="0"'
# Three styles of cells: plain, bold for headings, and texts that stay texts when edited.
_STYLES = f"""<styleSheet xmlns="{MAIN}">
<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>
<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>
<fills count="2"><fill><patternFill patternType="none"/></fill>
<fill><patternFill patternType="gray125"/></fill></fills>
<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>
<cellStyleXfs count="1"><xf {_PLAIN}/></cellStyleXfs>
<cellXfs count="3"><xf {_PLAIN} xfId="0"/>
<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>
<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>
<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>
</styleSheet>"""


def parts(sheets: Sequence[str], *, title: str) -> dict[str, str]:
    """Return all parts but the sheets: name → text."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(sheets, start=1)
    )
    links = [
        (f"{_OFFICE}/worksheet", f"worksheets/sheet{n + 1}.xml") for n in range(len(sheets))
    ]
    links.append((f"{_OFFICE}/styles", "styles.xml"))
    roots = [
        (f"{_OFFICE}/officeDocument", "xl/workbook.xml"),
        (f"{_PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml"),
    ]
    texts = {
        "[Content_Types].xml": _content_types(len(sheets)),
        "_rels/.rels": _relationships(roots),
        "docProps/core.xml": f'<cp:coreProperties xmlns:cp="{_CORE}" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></cp:coreProperties>",
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{_OFFICE}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relationships(links),
        "xl/styles.xml": _STYLES,
    }
    return {name: XML + text for name, text in texts.items()}


def _content_types(n_sheets: int) -> str:
    sheet = f"{_TYPE}officedocument.spreadsheetml."
    types = {
        "/xl/workbook.xml": f"{sheet}sheet.main+xml",
        "/xl/styles.xml": f"{sheet}styles+xml",
        "/docProps/core.xml": f"{_TYPE}package.core-properties+xml",
    }
    for number in range(1, n_sheets + 1):
        types[f"/xl/worksheets/sheet{number}.xml"] = f"{sheet}worksheet+xml"
    overrides = "".join(
        f'<Override PartName="{name}" ContentType="{kind}"/>' for name, kind in types.items()
    )
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="{_TYPE}package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
    )


def _relationships(links: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{n}" Type="{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(links, start=1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'
