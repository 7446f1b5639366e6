"""Read a job file: parse, collect every problem, build the domain objects."""

import logging
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ValidationError

from ckm.config.job.job import Job
from ckm.config.job.noise import PTableSection, noise_spec
from ckm.config.problems import Problem, did_you_mean, heading, problem_from_pydantic
from ckm.config.reading import Reading, languages_asked
from ckm.config.section import ReadAs, Section, keys_of
from ckm.errors import ConfigError
from footing.errors import Location
from footing.messages import Message, Name, said
from ptable import NoiseSpec

_S = TypeVar("_S", bound=Section)

logger = logging.getLogger(__name__)

_MAX_BYTES = 1_000_000
#: Commands that make such a file, or say what may stand in one: a wheel has no pages.
_EXAMPLE = Message("ckm job init drafts one from data")
_EXAMPLES = {
    "design": Message("ckm demo makes one; ckm schema designs lists its keys"),
    "plan": Message("ckm schema dp lists its keys"),
    "service": Message("ckm demo makes one; ckm schema service lists its keys"),
    "specification": Message("ckm ptable advise proposes one"),
    "swap": Message("ckm schema swap lists its keys"),
    "sweep": Message("ckm schema synth lists its keys"),
    "training": Message("ckm schema training lists its keys"),
}


def _alone(section: PTableSection, reading: Reading) -> NoiseSpec | None:
    if section.path is None or section.limits is not None:
        return noise_spec(section, reading)
    text = Message(
        "path names a p-table that exists; a specification has max_noise and variance."
    )
    reading.add(("ptable",), text, key="path")
    return None


class _Specification(Section):
    ptable: Annotated[NoiseSpec, ReadAs(PTableSection, _alone)]


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
    reading, document = open_settings(path, kind="job")
    if isinstance(document.get("service"), dict):
        hint = Message("ckm serve, check and token take it; a job has [[table]] instead")
        reading.add(("service",), Message("makes this a service, not a job."), hint)
        raise reading.error()
    job = build(Job, document, reading)
    for warning in job.warnings:
        logger.warning(warning, extra={"event": "section without use"})
    return job


def read_job_for_its_tables(path: Path | str) -> Job:
    """Read a job whose noise is yet to be designed: for its data and tables alone."""
    reading, document = open_settings(path, kind="job")
    return build(Job, document | {"ptable": {"max_noise": 2, "variance": 1.0}}, reading)


def read_noise_spec(
    path: Path | str, *, prior_of_tables: Callable[[Path], Any] | None = None
) -> NoiseSpec:
    r"""Read the specification of a p-table: the ``[ptable]`` section of a TOML file.

    Parameters
    ----------
    path
        A job file, or a file with the section ``[ptable]`` alone.
    prior_of_tables
        Gives the prior "tables" of a job file; None where its data must not be read.

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
    reading, document = open_settings(path, kind="specification")
    reading.prior_of_tables = prior_of_tables
    own_keys = keys_of(Job)
    reading.problems += [
        problem_from_pydantic(
            {"type": "extra_forbidden", "loc": (key,)}, sections=own_keys, names={}
        )
        for key in document
        if key not in own_keys[""]
    ]
    section = document.get("ptable")
    if not isinstance(section, dict):
        reading.add((), Message("The section [ptable] is missing."))
        raise reading.error()
    return build(_Specification, {"ptable": section}, reading, sections=own_keys).ptable


def open_settings(path: Path | str, *, kind: str) -> tuple[Reading, dict[str, Any]]:
    """Return a TOML file that is to be read, and what is in it."""
    path = Path(path).absolute()
    text = _read_text(path, kind=kind)
    document = _parse(path, text)
    return Reading(path, text, languages=languages_asked(document), kind=kind), document


def keys_in(path: Path) -> set[str]:
    """Return the keys at the top of a TOML file; none where it cannot be read."""
    try:
        return set(open_settings(path, kind="TOML")[1])
    except ValueError:
        return set()


def kind_of(path: Path) -> Literal["job", "plan", "service", "swap"]:
    """Tell by its sections what a TOML file describes; a job, if nothing else is there.

    Parameters
    ----------
    path
        The file; whether it can be read is for whoever reads it to say.

    Examples
    --------
    >>> kind_of(Path("no such file"))
    'job'
    """
    keys, of_jobs = keys_in(path), {"table", "tables", "magnitude", "output", "report"}
    if "swap" in keys:
        return "swap"
    if "privacy" in keys:
        return "plan"
    is_service = "service" in keys or ("variable" in keys and not keys & of_jobs)
    return "service" if is_service else "job"


def build(
    model: type[_S],
    document: dict[str, Any],
    reading: Reading,
    *,
    sections: dict[str, tuple[str, ...]] | None = None,
) -> _S:
    """Build what a file describes."""
    if "version" in model.model_fields and type(document.get("schema", 1)) is not int:
        document = document | {"schema": None}  # true and 1.0 are equal to 1, and not meant
    try:
        value = model.model_validate(document, context=reading)
    except ValidationError as error:
        own_keys = sections or keys_of(model)
        formed = _worded(error, sections=own_keys, names=_names(document))
        if "version" in model.model_fields:
            formed = _version_first(document, formed)
        reading.problems[:0] = formed
    if not reading.problems:
        return value
    wrong = reading.error()
    if reading.infeasible is not None and len(wrong.problems) == 1:
        reading.infeasible.reword(wrong.problem)
        raise reading.infeasible  # alone, it has an exit code of its own
    raise wrong


def read_section(model: type[_S], value: Any, reading: Reading, *, section: str) -> _S | None:
    """Read one section of a file; None where problems were noted."""
    try:
        return model.model_validate(value, context=reading)
    except ValidationError as error:
        sections = {section: keys_of(model)[""]}
        reading.problems += _worded(error, sections=sections, names={}, section=section)
        return None


def add_unknown(reading: Reading, keys: Iterable[str], choices: Sequence[str]) -> None:
    """Note keys at the top of a file that are unknown."""
    for key in keys:
        if key not in choices:
            text = Message("Unknown key {key!r}.", key=Name(key))
            reading.add((), text, did_you_mean(key, choices), key=key)


def _worded(
    error: ValidationError,
    *,
    sections: dict[str, tuple[str, ...]],
    names: Mapping[str, Sequence[str | int]],
    section: str = "",
) -> list[Problem]:
    problems = []
    for e in error.errors(include_url=False, include_input=False):
        loc = (section, *e["loc"]) if section else e["loc"]
        problem = problem_from_pydantic({**e, "loc": loc}, sections=sections, names=names)
        place = (*section.split(".", 1), *e["loc"]) if section else loc
        # An unknown key of [keys] may be the secret itself.
        problems.append(replace(problem, at=place[:1] if "keys" in place[:1] else place))
    return problems


def _read_text(path: Path, *, kind: str) -> str:
    """Return the text of a small TOML file, or say why it is none."""
    name, example = path.name, _EXAMPLES.get(kind, _EXAMPLE)
    try:
        if path.is_dir():
            raise ConfigError(
                Message(
                    "{name!r} is a folder; a {kind} is one TOML file.",
                    name=Name(name),
                    kind=Name(kind),
                ),
                hint=Message("try {name}/job.toml", name=Name(name))
                if (path / "job.toml").is_file()
                else example,
            )
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except OSError as error:
        hint = None
        if isinstance(error, FileNotFoundError) and path.parent.is_dir():
            is_settings = path.suffix.lower() in ("", ".toml")
            near = path.parent.glob("*.toml") if is_settings else ()
            hint = did_you_mean(name, [p.name for p in near])
            hint = hint or (
                None
                if is_settings
                else Message(
                    "a {kind} is a TOML file; {example}", kind=Name(kind), example=example
                )
            )
        raise ConfigError(
            Message(
                "The {kind} file {name!r} cannot be read: {reason}.",
                kind=Name(kind),
                name=Name(name),
                reason=said(error.strerror or Message("unreadable")),
            ),
            hint=hint or Message("look at the path's spelling"),
        ) from None
    if not raw.strip():
        raise ConfigError(
            Message("The {kind} file {name!r} is empty.", kind=Name(kind), name=Name(name)),
            hint=example,
        )
    if len(raw) > _MAX_BYTES:
        raise ConfigError(
            Message(
                "{name!r} is larger than 1 MB; a {kind} is a page of text.",
                name=Name(name),
                kind=Name(kind),
            ),
            hint=Message("is this the data? give the TOML file that describes the release"),
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(
            Message(
                "{name!r} is not a text in UTF-8; a {kind} is a TOML file.",
                name=Name(name),
                kind=Name(kind),
            ),
            hint=example,
        ) from None


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # The parser's own words may quote the file; its place is enough.
        place = re.search(r"\(at (?:line (\d+), column (\d+)|end of document)\)", str(error))
        number = int(place[1]) if place and place[1] else None
        where = Message(" at end of document") if place else Message()
        if place and number is not None:
            where = Message(
                " at line {line}, column {column}", line=number, column=int(place[2])
            )
        line = text.splitlines()[number - 1] if number is not None else ""
        hint = Message(
            'texts stand in quotes, lists in square brackets: dimensions = ["sex", "age"]'
        )
        if re.search(r"=\s*-?\d+,\d", line):
            hint = Message("decimals have a point: variance = 3.0")
        refusal = ConfigError(
            Message("{path!r} is not valid TOML{where}.", path=Name(path.name), where=where),
            hint=hint,
        )
        if number is not None:
            refusal.location = Location(path.name, number, refusal.problem)
        raise refusal from None


def _names(document: dict[str, Any]) -> dict[str, list[str | int]]:
    """Return what to call each repeated section: its name, or its number."""
    titles: dict[str, list[str | int]] = {}
    for section, entries in document.items():
        for number, one in enumerate(entries if isinstance(entries, list) else []):
            name = one.get("name") if isinstance(one, dict) else None
            titles.setdefault(section, []).append(
                name if name and isinstance(name, str) else number
            )
    return titles


def _version_first(document: dict[str, Any], problems: Iterable[Problem]) -> list[Problem]:
    """Put the schema's version into words, and first: it explains the rest."""
    others = [p for p in problems if p.at != ("schema",)]
    if "schema" not in document:
        text, hint = (
            Message("schema is missing."),
            Message("write schema = 1 as the first line"),
        )
    elif document["schema"] != 1 or isinstance(document["schema"], bool):
        text, hint = (
            Message("schema must be 1."),
            Message("a later schema needs a later version of ckm"),
        )
    else:
        return others
    return [Problem(where=heading(()), text=text, hint=hint, at=("schema",)), *others]
