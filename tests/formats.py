"""What the files of this version hold: their format versions, and the names of their fields.

``python -m tests.formats`` writes `tests/formats.json`, which a test compares with the
program of today: a field that comes or goes raises the version of its format, unless every
program that reads the version reads it as before. Values are not compared.
"""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from ckm.cli import app
from ckm.config.dp_plan import DPPlanFile
from ckm.config.job.job import Job
from ckm.config.section import schema_of
from ckm.config.service.service import Service
from ckm.config.swap import SwapJob
from ckm.config.training import TrainingJob

KEPT = Path(__file__).parent / "kept"
FORMATS = Path(__file__).parent / "formats.json"


def run(*words: object) -> None:
    """Run a command of ckm, which has to end well."""
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, (words, done.output)


def fields(value: Any, path: str = "") -> Iterator[str]:
    """Give the names of all fields of a document; what a list holds stands below ``[]``."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}".removeprefix(".")
            yield from fields(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, f"{path}[]")


def format_of(value: Any, version: object, *, values: tuple[str, ...] = ()) -> dict[str, Any]:
    """Describe a format; below the fields `values` names are data, and left out."""
    names = {name for name in fields(value) if not name.startswith(tuple(values))}
    return {"version": str(version), "fields": sorted(names)}


def document(path: Path, key: str, *, values: tuple[str, ...] = ()) -> dict[str, Any]:
    """Describe a JSON file, whose version stands under a key."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return format_of(content, content[key], values=values)


def database(path: Path, settings: str, version: str) -> dict[str, Any]:
    """Describe a database of SQLite: the columns of its tables, and its settings."""
    content: dict[str, Any] = {}
    with sqlite3.connect(path) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'"):
            columns = connection.execute(f"SELECT name, type FROM pragma_table_info('{table}')")
            content[table] = {f"{name} {kind}": 0 for name, kind in columns}
        rows = dict(connection.execute(f"SELECT name, content FROM {settings}"))
    content["settings"] = {name: _content(text) for name, text in rows.items()}
    top = _content(rows.get("settings", "{}"))
    return format_of(content, rows.get(version) or top.get(version, ""))


def _content(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _keys(schema: dict[str, Any]) -> dict[str, Any]:
    """Give the keys of settings by their sections, which a JSON schema describes."""
    sections = {"": schema, **schema.get("$defs", {})}
    return {
        name or "file": dict.fromkeys(section["properties"], 0)
        for name, section in sections.items()
        if "properties" in section
    }


def formats() -> dict[str, dict[str, Any]]:
    """Describe each kind of file that somebody keeps, as this version writes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("people.csv", "secret.key", "plain.parquet", "schema.json", "params.json"):
            shutil.copy(KEPT / "0.1.0" / file, folder)
        for file in folder.iterdir():
            file.chmod(0o600)
        shutil.copy(KEPT / "0.1.0" / "job.toml", folder / "job.toml")
        shutil.copy(KEPT / "0.1.0" / "reports.rappor", folder)
        run("release", folder / "job.toml", "-o", folder / "out")
        run("ptable", "convert", folder / "plain.parquet", folder / "table.json")
        run("dp", "ledger", "create", folder / "budget.db", "--epsilon", 1)
        run("rappor", "sum", folder / "reports.rappor", "-o", folder / "counts.json")
        model = folder / "model.json"
        fit = ("--schema", folder / "schema.json", "--epsilon", 1, "--delta", 1e-5)
        run("synth", "fit", folder / "people.csv", *fit, "--simulate", 1, "-o", model)
        run("synth", "sample", model, "-n", 9, "--seed", 1, "-o", folder / "drawn.csv")
        certificate = folder / "drawn.csv.certificate.json"
        return {
            "p-table": document(folder / "table.json", "version", values=("rows[]",)),
            "public manifest": document(folder / "out/public/manifest.json", "schema"),
            "internal manifest": document(folder / "out/internal/manifest.json", "schema"),
            "job": format_of(_keys(schema_of(Job)), 1),
            "service": format_of(_keys(schema_of(Service)), 1),
            "training": format_of(_keys(schema_of(TrainingJob)), 1),
            "swap": format_of(_keys(schema_of(SwapJob)), 1),
            "plan of tables": format_of(_keys(schema_of(DPPlanFile)), 1),
            "ledger of tables": database(folder / "history.ckml", "ckm_ledger", "schema"),
            "budget": database(folder / "budget.db", "dp_ledger", "version"),
            "RAPPOR counts": document(folder / "counts.json", "format"),
            "synthetic model": document(model, "version", values=("model.",)),
            "synthetic certificate": document(certificate, "version"),
        }


def write() -> None:
    """Write what the test compares with."""
    FORMATS.write_text(json.dumps(formats(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
