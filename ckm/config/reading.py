"""A settings file while it is read: where its paths start, and what is wrong with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ckm.config.lines import KeyPath, Lines
from ckm.config.problems import JobError, Problem, did_you_mean, heading
from footing.addresses import Address
from footing.errors import ExplainedError
from footing.messages import Message, Name
from footing.places import list_files

LANGUAGES = ("en", "fr")

_NO_DATA = {".toml", ".key"}


class Reading:
    """The file that is read: what it says, and the problems found so far.

    Parameters
    ----------
    path
        The file; relative paths start at its folder.
    text
        What it says.
    languages
        Those that words of the file are needed in.
    kind
        What it describes: a job, a service, a specification.
    """

    def __init__(
        self,
        path: Path,
        text: str = "",
        *,
        languages: Sequence[str] = LANGUAGES,
        kind: str = "job",
    ) -> None:
        self.path, self.text, self.languages, self.kind = path, text, languages, kind
        self.problems: list[Problem] = []
        self.infeasible: ExplainedError | None = None
        #: Tabulates the job, where a command may look at its data.
        self.prior_of_tables: Callable[[Path], Any] | None = None
        self._written: dict[Path, str] = {}

    def add(
        self, section: KeyPath, text: str, hint: str | None = None, *, key: str | KeyPath = ()
    ) -> None:
        """Note a problem of a section, and of which of its keys; a place for one below."""
        at = (*section, *((key,) if isinstance(key, str) else key))
        problem = Problem(where=heading(section), text=text, hint=hint, at=at)
        self.problems.append(problem)

    def add_error(
        self, section: KeyPath, error: ExplainedError, hint: str | None = None
    ) -> None:
        """Note what a domain object says is wrong."""
        from ptable import InfeasibleError

        if isinstance(error, InfeasibleError):
            self.infeasible = error
        self.add(section, error.problem, hint or error.hint, key=error.at)

    def all_problems(self) -> list[Problem]:
        """Return the problems, each once and with its line; last what no p-table can do."""
        last = None if self.infeasible is None else self.infeasible.problem
        lines, problems = Lines(self.text), []
        for problem in dict.fromkeys(self.problems):
            at, number = lines.at(problem.at)
            problems.append(replace(problem, at=at, number=number))
        return sorted(problems, key=lambda problem: problem.text == last)

    def error(self) -> JobError:
        """Return the error that tells the problems."""
        return JobError(self.path.name, self.all_problems())

    def resolve(self, name: str) -> Path:
        """Return the path that a name in the file stands for."""
        if "\0" in name:  # not shown: it may be the secret itself
            self.add(
                (), Message("A path holds a NUL character (\\u0000)."), Message("remove it")
            )
        path = self.path.parent / name.replace("\0", "")
        self._written[path] = name
        return path

    def name_of(self, path: Path) -> str:
        """Return a path as the file has it."""
        return self._written.get(path, str(path))

    def is_elsewhere(self, path: Path) -> bool:
        """Return whether a path cannot be one of this machine."""
        return "://" in self.name_of(path)

    def require_file(
        self, section: KeyPath, key: str, path: Path, *, is_glob: bool = False
    ) -> None:
        """Note where a path is no file of this machine; a glob may be a folder."""
        place = tuple(key.split("."))
        name = self.name_of(path)
        if self.is_elsewhere(path):
            text = Message("{key} must be a file of this machine.", key=Name(key))
            self.add(section, text, Message("export it to Parquet first"), key=place)
        elif not (path.exists() or (is_glob and list_files(str(path)))):
            files = path.parent.iterdir() if path.parent.is_dir() else ()
            # A table is not meant by the name of a job or of a secret.
            near = [p.name for p in files if p.suffix not in _NO_DATA - {path.suffix}]
            hint = did_you_mean(path.name, near) or Message(
                "relative paths start at the file's folder"
            )
            text = Message(
                "{key} {path!r} does not exist.", key=Name(key), path=Name(Address(name).masked)
            )
            self.add(section, text, hint, key=place)
        elif not is_glob and path.is_dir():
            text = Message(
                "{key} {name!r} is a folder, not a file.", key=Name(key), name=Name(name)
            )
            self.add(section, text, key=place)


def languages_asked(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the languages that a settings file asks for: of its pages, and of its files."""
    service, output, report = (
        section if isinstance(section := document.get(name), dict) else {}
        for name in ("service", "output", "report")
    )
    if "service" in document:
        settings = [service.get("languages", LANGUAGES)]
    else:
        settings = [output.get("language", ("en",)), report.get("languages", LANGUAGES)]
    lists = [[one] if isinstance(one, str) else one for one in settings]
    if not all(isinstance(one, list | tuple) for one in lists):
        return LANGUAGES  # what is wrong is told where it stands
    codes = [code for one in lists for code in one]
    return tuple(code for code in LANGUAGES if code in codes) or LANGUAGES
