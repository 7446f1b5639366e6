"""Service and batch job write the same files, and neither tells what nobody published."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ckm.config import read_job
from ckm.config.service.service import read_service
from ckm.formats import FORMAT_NAMES
from ckm.release.files.table_files import file_names
from ckm.release.job_inputs import load_ptable, open_engine
from ckm.release.perturbed import release
from ckm.service.answering.messages import say
from tests.readers.reading import read_table
from tests.unit.ckm.service.conftest import Served, write_service

LOOSE = """
[rules]
minimum_population = false
sparsity_a = false
sparsity_b = false
mean_cell_size = false
group_disclosure = false
"""

JOB = """
schema = 1
[data]
path = "people.parquet"
id = "person_id"
weight = "weight"
[keys]
secret = "secret.key"
[ptable]
path = "pt.parquet"
[hierarchies]
geo = ["region", "department", "commune"]
age_tree = { column = "age_group", tree = "ages.csv" }
[categories]
sex = ["F", "M"]
category = ["A", "B", "C", "D", "E"]
[output]
language = "LANGUAGE"
source = { en = "An office", fr = "Un office" }
[report]
contact = "office@example.org"
[[variable]]
name = "geo"
labels = { en = "Place", fr = "Lieu" }
levels = { region = { en = "Region", fr = "Région" } }
is_area = true
[[variable]]
name = "sex"
labels = { en = "Sex", fr = "Sexe" }
categories = { F = { en = "Women", fr = "Femmes" }, M = { en = "Men", fr = "Hommes" } }
[[table]]
name = "jobseekers"
title = { en = "Job seekers", fr = "Demandeurs d'emploi" }
dimensions = ["sex", "category", "age_tree"]
measures = ["count", "weighted"]
[[table]]
name = "places"
dimensions = ["geo", "sex"]
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The folder of a service without rules, and of a job over the same records."""
    return write_service(tmp_path_factory.mktemp("files"), more=LOOSE).parent


@pytest.fixture(scope="module")
def open_service(files, tmp_path_factory):
    opened = Served(files / "service.toml", tmp_path_factory.mktemp("jobs"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def batches(files):
    """The public folders of a release in English and in French."""
    found = {}
    for language in ("en", "fr"):
        (files / "job.toml").write_text(JOB.replace("LANGUAGE", language))
        release(read_job(files / "job.toml"), files / language, formats=FORMAT_NAMES)
        found[language] = files / language / "public"
    return found


def batch_bytes(public, name, kind):
    """Return the files of a table as the service sends them: two as the parts of an archive."""
    parts = [(public / file).read_bytes() for file in file_names(name, kind)]
    return parts if len(parts) > 1 else parts[0]


def served_bytes(answer):
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"] != "application/zip":
        return answer.content
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return [archive.read(name) for name in archive.namelist()]


def undocumented(body, language):
    """Return a JSON-stat document without what a service alone says in it."""
    document = json.loads(body)
    assert document.pop("link")["describedby"]
    assert document["extension"].pop("translations")
    assert document["note"].pop() == say("parts_note", language)
    return (json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("kind", FORMAT_NAMES)
def test_a_download_and_a_release_of_the_same_table_are_the_same_bytes(
    open_service, batches, kind, language
):
    body = {
        "dimensions": ["sex", "category", "age_tree"],
        "measures": ["count", "weighted"],
        "format": kind,
    }
    url = f"/requests?lang={language}"
    answer = open_service.web.post(url, json=body)
    expected = batch_bytes(batches[language], "jobseekers", kind)
    sent = served_bytes(answer)
    assert (undocumented(sent, language) if kind == "json-stat2" else sent) == expected
    assert len(expected) > 0


@pytest.mark.slow
def test_over_a_hierarchy_the_layout_differs_and_the_numbers_do_not(open_service, batches):
    answer = open_service.web.post("/requests", json={"dimensions": ["geo", "sex"]})
    document = json.loads(answer.content)
    sizes, values = document["size"], document["value"]
    codes = document["dimension"]["geo"]["category"]["index"]
    codes = sorted(codes, key=codes.__getitem__) if isinstance(codes, dict) else codes
    sexes = list(document["dimension"]["sex"]["category"]["index"])
    served = {
        (code, sex): values[place * sizes[1] + at]
        for place, code in enumerate(codes)
        for at, sex in enumerate(sexes)
    }
    table = read_table(batches["en"] / "places.px")
    columns = [[cats[c] for c in codes] for codes, cats in table.dimensions.values()]
    compared = 0
    for *path, sex, count in zip(*columns, table.measures["count"].tolist(), strict=True):
        nodes = [text for text in path if text != "Total"]
        for code in ("/".join(nodes), nodes[-1] if nodes else "Total", "Total"):
            if (code, sex) in served and ("/" in code or len(nodes) < 2 or code == nodes[-1]):
                assert served[code, sex] == count
                compared += 1
                break
        else:
            raise AssertionError(path)
    assert compared == table.n_rows > 100


def everything(answer):
    """Return all that an answer holds as text, whatever packs it."""
    data = answer.content
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "\n".join(archive.read(n).decode() for n in archive.namelist())
    if data[:4] == b"PAR1":
        file = pq.ParquetFile(io.BytesIO(data))
        table = file.read()
        group = file.metadata.row_group(0)
        parts = [str(group.column(n).statistics) for n in range(group.num_columns)]
        parts += [str(table.schema.metadata), *(str(c.to_pylist()) for c in table.columns)]
        parts += [
            str(c.chunk(0).dictionary.to_pylist())
            for c in table.columns
            if pa.types.is_dictionary(c.type)
        ]
        return "\n".join(parts) + data.decode("latin-1")
    return data.decode()


@pytest.mark.slow
def test_the_service_tells_of_no_category_that_its_published_count_does_not_show(tmp_path):
    path = write_service(tmp_path, more=LOOSE, persons=2000)
    people = pq.read_table(tmp_path / "people.parquet")
    rare = [f"MARK{n:03d}x" if n < 60 else "often" for n in range(len(people))]
    people = people.append_column("rare", pa.array(rare))
    pq.write_table(people, tmp_path / "people.parquet")
    lines = [f"{code},LABEL{code},LABEL{code}" for code in dict.fromkeys(rare)]
    (tmp_path / "rare.csv").write_text("\n".join(["code,en,fr", *lines]) + "\n")
    variable = '[[variable]]\nname = "rare"\ncodelist = "rare.csv"\n'
    path.write_text(path.read_text() + variable)
    service = read_service(path)
    with open_engine(service.job, load_ptable(service.job)) as engine:
        shown = set(engine.tabulate(["rare"]).dimensions["rare"][1]) - {"often", "Total"}
    unseen = set(rare) - shown - {"often"}
    assert min(len(shown), len(unseen)) > 10
    opened = Served(path, tmp_path / "jobs")
    try:
        answers = [
            opened.web.post("/requests", json={"dimensions": ["rare", "sex"], "format": kind})
            for kind in FORMAT_NAMES
        ]
        answers += [
            opened.web.get(address)
            for address in ("/tables/jobseekers/metadata", "/codelists/rare", "/?lang=fr")
        ]
        for answer in answers:
            assert answer.status_code == 200, answer.text
            found = set(re.findall(r"MARK\d{3}x", everything(answer)))
            assert found == shown, answer.url
        code = min(unseen)
        refused = opened.web.post(
            "/requests", json={"dimensions": ["rare"], "select": {"rare": [code]}}
        )
        never = opened.web.post(
            "/requests", json={"dimensions": ["rare"], "select": {"rare": ["MARK999x"]}}
        )
        assert refused.status_code == never.status_code == 400
        assert refused.text.replace(code, "MARK999x") == never.text
    finally:
        opened.close()
