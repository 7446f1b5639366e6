"""Every example of the API's description is asked, and answered as described."""

from __future__ import annotations

import json
import re
import time

import jsonschema_rs
import pytest

from ckm.service.http.openapi_examples import examples_of
from ckm.service.table_service import TableService
from tests.unit.ckm.service.answering.test_zones import with_zones
from tests.unit.ckm.service.conftest import Served

RULES = """
[[rate]]
name = "first"
title = { en = "In A, per 100", fr = "En A, pour 100" }
variable = "category"
numerator = ["A"]
denominator = ["Total"]
"""


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A service with areas, centres, a population and a rate."""
    path, _ = with_zones(tmp_path_factory.mktemp("rich"))
    path.write_text(path.read_text() + RULES)
    opened = Served(path, tmp_path_factory.mktemp("jobs"))
    yield opened
    opened.close()


def operations(document):
    """Return each operation with the address that its own examples make."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            filled, query = path, []
            for parameter in operation["parameters"]:
                example = parameter.get("example")
                if parameter["in"] == "path" and example is not None:
                    filled = filled.replace("{" + parameter["name"] + "}", example)
                elif isinstance(example, dict):
                    name = parameter["name"]
                    query += [(f"{name}[{one}]", text) for one, text in example.items()]
                elif example is not None and parameter["in"] == "query":
                    query.append((parameter["name"], example))
            yield method.upper(), filled, query, operation


def bodies_of(operation):
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return [one["value"] for one in content.get("examples", {}).values()] or [None]


def require_as_described(answer, operation, document):
    """Check the status, the media type and the shape of an answer against its description."""
    response = operation["responses"].get(str(answer.status_code))
    assert response is not None, (answer.status_code, answer.text)
    assert answer.status_code < 300, answer.text
    media = answer.headers.get("content-type", "").split(";")[0]
    if "content" not in response:
        assert not answer.content
        return
    schema = response["content"][media].get("schema")
    if schema is not None:
        assert schema, operation["operationId"]
        whole = {**schema, "components": document["components"]}
        jsonschema_rs.Draft202012Validator(whole).validate(json.loads(answer.content))


def test_every_example_of_the_description_is_answered_as_described(rich):
    web = rich.web
    document = web.get("/openapi.json").json()
    n_asked, jobs = 0, []
    for method, path, query, operation in operations(document):
        if "{request_id}" in path:
            jobs.append((method, path, operation))
            continue
        for parameters in ([], query):
            for body in bodies_of(operation):
                more = {} if body is None else {"json": body}
                address = "127.0.0.1" if path == "/metrics" else web.address
                own = type(web)(web.app, address=address)
                answer = own.ask(method, path, params=parameters, **more)
                require_as_described(answer, operation, document)
                n_asked += 1
    assert n_asked > 25
    # The addresses of jobs have no example of their own: the table of one, asked as a job.
    operation = document["paths"]["/requests"]["post"]
    answer = web.post("/requests", json=bodies_of(operation)[0] | {"wait": False})
    require_as_described(answer, operation, document)
    place = answer.headers["location"]
    deadline = time.monotonic() + 300
    while web.get(place).json()["status"] != "done" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert {method for method, _, _ in jobs} == {"GET", "DELETE"}
    for method, path, operation in sorted(jobs, key=lambda job: job[0], reverse=True):
        own_path = path.replace("/requests/{request_id}", place)
        require_as_described(web.ask(method, own_path), operation, document)


def test_examples_are_of_the_services_own_variables_and_types_of_problems_occur(rich):
    document = rich.web.get("/openapi.json").json()
    text = json.dumps([bodies_of(one[-1]) for one in operations(document)])
    named = set(re.findall(r'"variableCode": "(\w+)"', text))
    assert named <= set(rich.table_service.variables)
    examples = document["components"]["schemas"]["Problem"]["properties"]["type"]["examples"]
    answer = rich.web.get("/tables/jobseekers/data?valuecodes[sex]=nobody")
    assert answer.json()["type"] in examples


def test_a_mandatory_variable_is_in_the_examples(rich, tmp_path):
    rules = rich.service.rules.changed(mandatory=("category", "sex"))
    table_service = TableService(
        rich.service.changed(rules=rules), rich.answerer, folder=tmp_path
    )
    try:
        examples = examples_of(table_service)
    finally:
        table_service.close()
    assert set(examples.parameters["valuecodes"]) == {"category", "sex"}
    assert examples.bodies["RequestBody"]["table"]["dimensions"] == ["category", "sex"]
