"""Data dictionaries of offices: what they declare is read, and nothing else."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckm.engine.published_table import PublishedTable
from ckm.formats.about import TableAbout
from ckm.formats.csvw import write_metadata
from synth import Category, Date, Real, Schema, SchemaError, Whole, lint
from synth.schema.migration import read_dictionary

DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5"><dataDscr>
 <var ID="V1" name="AGE" intrvl="contin" dcml="0"><labl>Age</labl>
  <valrng><range UNITS="INT" min="0" max="120"/></valrng>
  <invalrng><item VALUE="-8"/><range UNITS="INT" min="998" max="999"/></invalrng>
  <sumStat type="min">3</sumStat><sumStat type="max">117</sumStat>
 </var>
 <var ID="V2" name="SEX" intrvl="discrete">
  <catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">7341</catStat></catgry>
  <catgry><catValu>2</catValu><labl>Female</labl></catgry>
  <catgry missing="Y"><catValu>9</catValu><labl>refused</labl></catgry>
 </var>
 <var ID="V3" name="WAGE" intrvl="contin" dcml="2">
  <sumStat type="max">98765</sumStat></var>
 <var ID="V4" name="NACE"><catgry><catValu>01</catValu></catgry>
  <catgry><catValu>10</catValu></catgry></var>
 <var ID="V5" name="BORN"><valrng><range min="1900-01-01" max="2020-12-31"/></valrng>
  <varFormat type="character" category="date"/></var>
 <var ID="V6" name="NOTE"><varFormat type="character"/></var>
 <var ID="V7" name="KIDS"><varFormat type="numeric"/><sumStat type="max">9</sumStat></var>
</dataDscr></codeBook>"""

SDMX = """<mes:Structure xmlns:mes="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
 xmlns:str="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
 xmlns:com="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common"><mes:Structures>
 <str:Codelists><str:Codelist id="CL_SEX" agencyID="X" version="1.0">
  <str:Code id="F"><com:Name xml:lang="en">Female</com:Name></str:Code><str:Code id="M"/>
 </str:Codelist><str:Codelist id="CL_AREA" agencyID="X"><str:Code id="01"/></str:Codelist>
 </str:Codelists>
 <str:Concepts><str:ConceptScheme id="CS"><str:Concept id="AREA"><str:CoreRepresentation>
  <str:Enumeration><Ref id="CL_AREA" agencyID="X"/></str:Enumeration></str:CoreRepresentation>
 </str:Concept></str:ConceptScheme></str:Concepts>
 <str:DataStructures><str:DataStructure id="D" agencyID="X"><str:DataStructureComponents>
  <str:DimensionList id="DimensionDescriptor">
   <str:Dimension id="SEX" position="1">
    <str:LocalRepresentation><str:Enumeration>{listed}</str:Enumeration>
    </str:LocalRepresentation></str:Dimension>
   <str:Dimension id="AREA"><str:ConceptIdentity>{concept}</str:ConceptIdentity></str:Dimension>
   <str:Dimension id="AGE"><str:LocalRepresentation>
    <str:TextFormat textType="Integer" minValue="0" maxValue="99"/></str:LocalRepresentation>
   </str:Dimension>
   <str:TimeDimension id="TIME_PERIOD"><str:LocalRepresentation>
    <str:TextFormat textType="ObservationalTimePeriod"/></str:LocalRepresentation>
   </str:TimeDimension></str:DimensionList>
  <str:MeasureList><str:PrimaryMeasure id="OBS_VALUE"><str:LocalRepresentation>
   <str:TextFormat textType="Decimal" decimals="1" minValue="0" maxValue="10.5"/>
  </str:LocalRepresentation></str:PrimaryMeasure></str:MeasureList>
 </str:DataStructureComponents></str:DataStructure></str:DataStructures>
</mes:Structures></mes:Structure>"""
REFERRED = [
    (
        '<Ref id="CL_SEX" agencyID="X" version="1.0"/>',
        '<Ref id="AREA" maintainableParentID="CS"/>',
    ),
    (
        "urn:sdmx:org.sdmx.infomodel.codelist.Codelist=X:CL_SEX(1.0)",
        "urn:sdmx:org.sdmx.infomodel.conceptscheme.Concept=X:CS(1.0+.0).AREA",
    ),
]  # of SDMX 2.1 and of 3

CSVW = {
    "@context": ["http://www.w3.org/ns/csvw", {"@language": "en"}],
    "url": "people.csv",
    "tableSchema": {
        "columns": [
            {"name": "c1", "titles": "age", "required": True,
             "datatype": {"base": "integer", "minimum": "0", "maximum": "120"}},
            {"titles": ["sex", "gender"], "datatype": {"base": "string", "format": "^(F|M)$"},
             "null": ["", "X"]},
            {"titles": {"en": "moved"}, "required": True,
             "datatype": {"base": "date", "minimum": "2000-01-01", "maximum": "2020-12-31"}},
            {"name": "free", "required": True},
            {"name": "row", "virtual": True},
        ]
    },
}  # fmt: skip

NIST = {
    "SEX": {"description": "", "values": {"1": "Male", "2": "Female"}},
    "MSP": {"description": "", "values": {"N": "N/A", "1": "Now married", "2": "Widowed"}},
    "POVPIP": {"description": "", "values": {"N": "N/A", "min": 0, "max": 500, "501": "more"}},
    "DENSITY": {"description": "", "values": {"min": 16.3, "max": 52864.7}},
    "INDP": {"description": "", "link": "a book"},
}


def read(tmp_path, content, name="book.xml", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_dictionary(path, **options)


def test_a_ddi_code_book_gives_what_it_declares_and_not_what_it_counted(tmp_path):
    by = {"declared_by": "code book 2027"}
    assert read(tmp_path, DDI, **by).columns == (
        Whole(name="AGE", low=0, high=120, missing={"-8": -8, "998": 998, "999": 999}, **by),
        Category(name="SEX", values=(1, 2), missing={"refused": 9}, **by),
        Real(name="WAGE", decimals=2, **by),
        Category(name="NACE", values=("01", "10"), **by),
        Date(name="BORN", low="1900-01-01", high="2020-12-31", **by),
        Category(name="NOTE", **by),
        Whole(name="KIDS", **by),
    )


@pytest.mark.parametrize(("listed", "concept"), REFERRED)
def test_a_structure_of_sdmx_gives_code_lists_and_limits(tmp_path, listed, concept):
    by = {"declared_by": "book.xml"}
    text = SDMX.format(listed=listed, concept=concept)
    assert read(tmp_path, text).columns == (
        Category(name="SEX", values=("F", "M"), **by),
        Category(name="AREA", values=("01",), **by),
        Whole(name="AGE", low=0, high=99, **by),
        Category(name="TIME_PERIOD", **by),
        Real(name="OBS_VALUE", low=0.0, high=10.5, decimals=1, **by),
    )


def test_metadata_of_csv_on_the_web_give_types_formats_and_limits(tmp_path):
    by = {"declared_by": "m.json"}
    for text in (CSVW, {"@context": CSVW["@context"], "tables": [CSVW]}):
        assert read(tmp_path, json.dumps(text), "m.json").columns == (
            Whole(name="age", low=0, high=120, **by),
            Category(name="sex", values=("F", "M"), missing={"null": None, "X": "X"}, **by),
            Date(name="moved", low="2000-01-01", high="2020-12-31", **by),
            Category(name="free", **by),
        )


def test_metadata_that_we_write_name_the_categories(tmp_path):
    table = PublishedTable(
        dimensions={"sex": (np.array([0, 1]), ("F", "M"))},
        measures={"count": np.array([3, 4])},
    )
    with (tmp_path / "t-metadata.json").open("wb") as stream:
        write_metadata(table, stream, TableAbout(), name="t.csv")
    made = read_dictionary(tmp_path / "t-metadata.json")
    assert made.column("sex").values == ("F", "M")
    assert made.undeclared == ["count"]


def test_the_dictionary_of_nist_gives_codes_ranges_and_values_beside_them(tmp_path):
    by = {"declared_by": "NIST"}
    na = {"not applicable": "N"}
    made = read(tmp_path, json.dumps(NIST), declared_by="NIST")
    assert made.columns == (
        Category(name="SEX", values=(1, 2), **by),
        Category(name="MSP", values=(1, 2), missing=na, **by),
        Whole(name="POVPIP", low=0, high=501, points=(501,), missing=na, **by),
        Real(name="DENSITY", low=16.3, high=52864.7, decimals=1, **by),
        Category(name="INDP", **by),
    )
    assert [one.place for one in lint(made) if one.level == "error"] == ["INDP"]


LAUGHS = '<!DOCTYPE a [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><codeBook>&b;</codeBook>'
OUTSIDE = '<!DOCTYPE a SYSTEM "http://localhost/a.dtd"><codeBook><var name="a"/></codeBook>'
FILE = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><codeBook>&a;</codeBook>'


@pytest.mark.parametrize("text", [LAUGHS, OUTSIDE, FILE])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_entities_is_refused(tmp_path, text, encoding):
    with pytest.raises(SchemaError, match=r"document type|JSON or XML"):
        read(tmp_path, text.encode(encoding))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<codeBook>", "cannot be read as XML"),
        ("<codeBook/>", "at least one column"),
        ("<html/>", "neither a DDI code book"),
        ('<?xml version="1.0" encoding="magic"?><codeBook/>', "cannot be read as XML"),
        ("<codeBook>" + "<a>" * 50_000 + "</a>" * 50_000 + "</codeBook>", "at least one"),
        ("<codeBook><var/></codeBook>", "A column has a name"),
        ('<codeBook><var name="a"><valrng><range min="x" max="1"/></valrng></var></codeBook>',
         "'a' of the dictionary: no numbers or days"),
        ('<codeBook><var name="a"><valrng><range min="9" max="1"/></valrng></var></codeBook>',
         "'a' of the dictionary: low is above high"),
        ("<Structure/>", "0 data structures"),
        ("{", "JSON or XML"),
        ("[" * 10_000, "JSON or XML"),
        ("[]", "no description"),
        ('{"@context": "http://www.w3.org/ns/csvw", "tables": []}', "0 tables"),
        ('{"@context": "http://www.w3.org/ns/csvw", "tableSchema": 1}', "hold together"),
        ('{"a": {"description": 1, "values": {"min": "x", "max": 3}}}', "no numbers or days"),
        (b"\xff\xfe\x00", "JSON or XML"),
        (b"<codeBook>" + b" " * 20_000_000, "more than 20 MB"),
    ],
)  # fmt: skip
def test_a_dictionary_that_cannot_be_read_is_refused_with_a_sentence(tmp_path, content, words):
    with pytest.raises(SchemaError, match=words):
        read(tmp_path, content)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["min", "max", "N", "values", "description", "base", "format", "1"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)


@given(VALUES, st.sampled_from(["titles", "datatype", "null", "required", "qb:codeList", "d"]))
def test_any_json_gives_a_schema_or_a_schema_error(tmp_path_factory, value, entry):
    column = {"titles": "a", **CSVW["tableSchema"]["columns"][1], entry: value}
    found = {"@context": CSVW["@context"], "tableSchema": {"columns": [column]}}
    folder = tmp_path_factory.getbasetemp()
    for one in (found, {"a": {"description": "", "values": value}}):
        try:
            assert isinstance(read(folder, json.dumps(one), "any.json"), Schema)
        except SchemaError:
            continue
