"""The schemas for editors say yes and no where the readers do."""

import datetime as dt
import json
import re
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.config import JobError, read_job
from ckm.config.comparison.comparanda import read_comparanda
from ckm.config.dp_plan import read_dp_plan
from ckm.config.service.service import read_service
from ckm.config.swap import read_swap
from ckm.config.sweeps import read_sweep
from ckm.config.training import read_training

ROOT = Path(__file__).resolve().parents[4]
READERS = {
    "job": read_job,
    "service": read_service,
    "designs": read_comparanda,
    "swap": read_swap,
    "training": read_training,
    "synth": read_sweep,
    "dp": read_dp_plan,
}
#: A kind, and the key by which its files are known; a job is what has none of these.
KNOWN = (
    ("swap", "swap"),
    ("synth", "ways"),
    ("dp", "privacy"),
    ("training", "plan"),
    ("service", "service"),
    *(("designs", key) for key in ("designs", "grid", "methods", "experiment")),
)


def schema_of(kind):
    result = CliRunner().invoke(app, ["schema", kind])
    assert result.exit_code == 0
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def validators():
    return {kind: jsonschema_rs.Draft202012Validator(schema_of(kind)) for kind in READERS}


def plain(value):
    """Return a document as editors see it: dates are texts."""
    if isinstance(value, dict):
        return {key: plain(below) for key, below in value.items()}
    if isinstance(value, list):
        return [plain(below) for below in value]
    return value.isoformat() if isinstance(value, dt.date) else value


def printed():
    """Give every settings file of the repository and of its pages, with its place."""
    for folder in ("examples", "ckm/demo/files"):
        for file in sorted((ROOT / folder).rglob("*.toml")):
            yield file.name, file.read_text(encoding="utf-8")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for text in re.findall(
            r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL
        ):
            yield page.name, text


def test_every_settings_file_that_is_printed_is_valid(validators):
    kinds = set()
    for name, text in printed():
        document = plain(tomllib.loads(text))
        kind = next((kind for kind, key in KNOWN if key in document), "job")
        kinds.add(kind)
        errors = [error.message for error in validators[kind].iter_errors(document)]
        assert not errors, name
    assert kinds == set(READERS)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("job", "[data]\npaht = 'x'"),
        ("job", "[data]\npath = 3"),
        ("job", "[data]\npath = ''"),
        ("job", "[keys]\nchecks = 'maybe'"),
        ("job", "[ptable]\nmax_noise = 1001"),
        ("job", "[ptable]\nsmall = -1"),
        ("job", "[ptable]\nmin_probability = [1.0]"),
        ("job", "[hierarchies]\ngeo = { column = 'a' }"),
        ("job", "[[table]]\nname = 'a'\ndimensions = []"),
        ("job", "[[table]]\nname = 'a'\ndimensions = ['a']\nmargins = 'some'"),
        ("job", "[report.limits]\nposterior = 2.0"),
        ("job", "[[report.exceptions]]\nwhat = 'a'"),
        ("job", "[ledger]\nthreshold = 5"),
        ("service", "[service]\nport = 65536"),
        ("service", "[access]\nmode = 'opne'"),
        ("service", "[[variable]]\nname = 'a'\nis_area = 1"),
        ("designs", "[designs.a]\nbase = 3"),
        ("designs", "[designs.a]\nmechanism = 'rounding'\nbase = 1"),
        ("designs", "[designs.a]\nmechanism = 'rounding'\nbase = 3\nepsilon = 1.0"),
        ("designs", "[designs.a]\nmechanism = 'discrete-laplace'\nepsilon = 0\nmax_noise = 9"),
        ("designs", "[designs.a]\nmechanism = 'discrete-laplace'\nepsilon = 1.0"),
        ("designs", "[designs.a]\npath = 'pt.parquet'\nbase = 3"),
        ("designs", "[grid]\nmax_noise = ['a']\nvariance = [1.0]"),
        ("designs", "[methods]\nonly = []"),
        ("designs", "[methods.rounding]\nbase = 1"),
        ("designs", "[methods.mine]\nbase = 3"),
        ("designs", "[experiment]\npersons = 0"),
        ("designs", "design = 3"),
        ("swap", "[swap]\nrate = 1.5"),
        ("swap", "[swap]\nhouseholds = 'a'"),
        ("training", "[plan]\ndelta = 1"),
        ("training", "[network]\nhidden = 3"),
        ("synth", "folds = 1"),
        ("synth", "[measure]\nlearner = 'forest'"),
        ("synth", "[[ways]]\nmethod = 'tables'\n[measures]\n"),
    ],
)
def test_what_a_reader_refuses_for_its_form_is_invalid(validators, tmp_path, kind, text):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    found = list(validators[kind].iter_errors(tomllib.loads(text)))
    keys = set(re.findall(r"\w+", text))
    assert any(keys & set(map(str, error.instance_path)) for error in found) or any(
        "'design'" in error.message or "measures" in error.message for error in found
    )
    with pytest.raises(JobError) as caught:
        READERS[kind](file)
    assert any(problem.number is not None for problem in caught.value.problems)


@pytest.mark.parametrize("kind", READERS)
def test_every_key_says_what_it_means_and_every_section_is_closed(kind):
    def look(form, name):
        for key, below in form.get("properties", {}).items():
            is_said = {"description", "$ref", "const", "properties"} & set(below)
            assert is_said or kind == "designs", f"{name}.{key}"
            look(below, f"{name}.{key}")
        assert "properties" not in form or form["additionalProperties"] is not True

    schema = schema_of(kind)
    assert schema["$schema"].endswith("2020-12/schema")
    for name, form in {"": schema, **schema.get("$defs", {})}.items():
        look(form, name)
    assert schema["additionalProperties"] is False
    assert "null" not in re.findall(r'"type": "(\w+)"', json.dumps(schema))


def test_a_schema_is_written_to_a_file_once(tmp_path):
    file = tmp_path / "job.schema.json"
    arguments = ["schema", "job", "-o", str(file)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert json.loads(file.read_text(encoding="utf-8")) == schema_of("job")
    assert CliRunner().invoke(app, arguments).exit_code == 2
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
