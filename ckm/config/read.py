"""Read a job file: parse, collect every problem, build the domain objects."""

from __future__ import annotations

import logging
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ckm.config.job.build import JobBuilder, build_noise_spec
from ckm.config.job.schema import JobModel, PTableModel, known_keys
from ckm.config.problems import JobError, Problem, did_you_mean, problem_from_pydantic
from ckm.config.section import schema_of
from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckm.config.job.job import Job
    from ptable import NoiseSpec

__all__ = ["job_schema", "read_job", "read_noise_spec"]

logger = logging.getLogger(__name__)

_MAX_BYTES = 1_000_000
_EXAMPLE = "examples/job.toml shows a whole job; ckm job schema prints its schema"
_EXAMPLES = {
    "design": "examples/qpv/designs.toml is such a file; ckm demo makes one",
    "swap": "docs/swapping.md shows a whole file",
    "sweep": "docs/synth-evaluation.md shows a whole file",
    "training": "docs/dpsgd.md shows a whole file",
}


def read_job(path: Path | str) -> Job:
    r"""Read and check a job file; relative paths start at its folder.

    The data are not opened: whether the columns exist is for the engine to say.

    Parameters
    ----------
    path
        The job file.

    Returns
    -------
    Job
        The job, with absolute paths.

    Raises
    ------
    JobError
        With every problem of the file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("rkey,sex\n17,F\n")
    >>> _ = (folder / "job.toml").write_text('''
    ... schema = 1
    ... data = { path = "people.csv", record_key = "rkey", key_range = 256 }
    ... keys = { mix = false }
    ... ptable = { max_noise = 2, variance = 1.0 }
    ... [[table]]
    ... name = "people"
    ... dimensions = ["sex"]
    ... ''')
    >>> list(read_job(folder / "job.toml").tables)
    ['people']
    """
    path = Path(path).absolute()
    text = _read_text(path, kind="job")
    document = _parse(path, text)
    problems: list[Problem] = []
    if isinstance(document.get("service"), dict):
        found = Problem(
            where="[service]",
            text="makes this a service, not a job.",
            hint="ckm serve, check and token take it; a job has [[table]] instead",
        )
        raise JobError(path.name, [found])
    try:
        model = JobModel.model_validate(document)
    except ValidationError as error:
        names = {name: _names(document, name) for name in ("table", "variable", "magnitude")}
        problems = [
            problem_from_pydantic(e, sections=known_keys(), names=names)
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise JobError(path.name, _version_first(document, dict.fromkeys(problems))) from None
    builder = JobBuilder(path.parent, model)
    job = builder.build(path, text)
    if builder.problems:
        raise JobError(path.name, list(dict.fromkeys(builder.problems)))
    unused = tuple(f"{path.name}: {text}" for text in builder.unused())
    for warning in unused:
        logger.warning(warning, extra={"event": "section without use"})
    return replace(job, warnings=unused)


def read_noise_spec(path: Path | str) -> NoiseSpec:
    r"""Read the specification of a p-table: the ``[ptable]`` section of a TOML file.

    Parameters
    ----------
    path
        A job file, or a file with the section ``[ptable]`` alone.

    Raises
    ------
    JobError
        With every problem of the section.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "spec.toml"
    >>> _ = file.write_text("[ptable]\nmax_noise = 2\nvariance = 1.0\n")
    >>> read_noise_spec(file).max_noise
    2
    """
    path = Path(path).absolute()
    document = _parse(path, _read_text(path, kind="specification"))
    known = known_keys()
    problems = [
        problem_from_pydantic(
            {"type": "extra_forbidden", "loc": (key,)}, sections=known, names={}
        )
        for key in document
        if key not in known[""]
    ]
    section = document.get("ptable")
    if not isinstance(section, dict):
        problems.append(Problem(where="", text="The section [ptable] is missing."))
        raise JobError(path.name, problems)
    try:
        model = PTableModel.model_validate(section)
    except ValidationError as error:
        problems += [
            problem_from_pydantic({**e, "loc": ("ptable", *e["loc"])}, sections=known, names={})
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise JobError(path.name, problems) from None
    if model.path is not None:
        text = "path names a p-table that exists; a specification has max_noise and variance."
        problems.append(Problem(where="[ptable]", text=text))
    spec = None if model.path is not None else build_noise_spec(model, problems)
    if problems or spec is None:
        raise JobError(path.name, problems)
    return spec


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file, for editors.

    Examples
    --------
    >>> job_schema()["title"]
    'A release job of ckm'
    """
    return schema_of(JobModel, title="A release job of ckm")


def _read_text(path: Path, *, kind: str) -> str:
    """Return the text of a small TOML file, or say why it is none."""
    name, example = path.name, _EXAMPLES.get(kind, _EXAMPLE)
    try:
        if path.is_dir():
            raise ConfigError(
                f"{name!r} is a folder; a {kind} is one TOML file.",
                hint=f"try {name}/job.toml" if (path / "job.toml").is_file() else example,
            )
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        hint = None
        if isinstance(error, FileNotFoundError) and path.parent.is_dir():
            hint = did_you_mean(name, [p.name for p in path.parent.glob("*.toml")])
        raise ConfigError(
            f"The {kind} file {name!r} cannot be read: {error.strerror or 'unreadable'}.",
            hint=hint or "look at the path's spelling",
        ) from None
    if not raw.strip():
        raise ConfigError(f"The {kind} file {name!r} is empty.", hint=example)
    if len(raw) > _MAX_BYTES:
        raise ConfigError(
            f"{name!r} is larger than 1 MB; a {kind} is a page of text.",
            hint="is this the data? give the TOML file that describes the release",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(
            f"{name!r} is not a text in UTF-8; a {kind} is a TOML file.", hint=example
        ) from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # The parser's own words may quote the file; its place is enough.
        place = re.search(r"\(at (line \d+, column \d+|end of document)\)", str(error))
        where = f" at {place[1]}" if place else ""
        raise ConfigError(
            f"{path.name!r} is not valid TOML{where}.",
            hint='texts stand in quotes, lists in square brackets: dimensions = ["sex", "age"]',
        ) from None


def _names(document: dict[str, Any], section: str) -> list[str]:
    """Return what to call each repeated section: its name, or its number."""
    listed = document.get(section)
    shown = []
    for number, one in enumerate(listed if isinstance(listed, list) else [], start=1):
        name = one.get("name") if isinstance(one, dict) else None
        shown.append(repr(name) if isinstance(name, str) and name else f"number {number}")
    return shown


def _version_first(document: dict[str, Any], problems: Iterable[Problem]) -> list[Problem]:
    """Put the schema's version into words, and first: it explains the rest."""
    others = [p for p in problems if not p.text.startswith("schema ")]
    if "schema" not in document:
        text, hint = "schema is missing.", "write schema = 1 as the first line"
    elif document["schema"] != 1 or isinstance(document["schema"], bool):
        text, hint = "schema must be 1.", "a later schema needs a later version of ckm"
    else:
        return others
    return [Problem(where="", text=text, hint=hint), *others]
