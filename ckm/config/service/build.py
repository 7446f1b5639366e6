"""A service: what a service file says, checked and with its paths resolved."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ckm.config.job.build import JobBuilder
from ckm.config.job.ledger import build_ledger
from ckm.config.job.schema import JobModel, OutputModel
from ckm.config.problems import JobError, did_you_mean, problem_from_pydantic
from ckm.config.read import _names, _parse, _read_text, _version_first, read_job
from ckm.config.section import schema_of
from ckm.config.service.schema import ServiceModel, known_service_keys
from ckm.config.service.service import (
    RECONSTRUCTION,
    OfferedVariable,
    Service,
    ServiceAccess,
    ServiceLimits,
)
from ckm.config.words import LANGUAGES, read_codelist, texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckm.config.job.job import Job, JobLedger
    from ckm.config.service.schema import VariableModel

__all__ = [
    "OfferedVariable",
    "Service",
    "ServiceAccess",
    "ServiceLimits",
    "is_service_file",
    "read_service",
    "service_schema",
]

_OTHERS_MAY_READ = 0o077


def is_service_file(path: Path) -> bool:
    """Return whether a TOML file describes a service rather than a job.

    Parameters
    ----------
    path
        The file; False where it cannot be read, so that a job's reader says why.

    Examples
    --------
    >>> is_service_file(Path("job.toml"))
    False
    """
    try:
        document = _parse(path, _read_text(path, kind="service"))
    except ValueError:
        return False
    return "service" in document or ("variable" in document and "table" not in document)


def service_schema() -> dict[str, Any]:
    """Return the JSON Schema of a service file, for editors.

    Examples
    --------
    >>> service_schema()["title"]
    'A service of ckm'
    """
    return schema_of(ServiceModel, title="A service of ckm")


def read_service(path: Path | str) -> Service:
    r"""Read and check a service file; relative paths start at its folder.

    Parameters
    ----------
    path
        The service file.

    Returns
    -------
    Service
        The service, with absolute paths.

    Raises
    ------
    JobError
        With every problem of the file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("rkey,sex\n17,F\n")
    >>> _ = (folder / "service.toml").write_text('''
    ... schema = 1
    ... service = { title = "People" }
    ... data = { path = "people.csv", record_key = "rkey", key_range = 256 }
    ... keys = { mix = false }
    ... ptable = { max_noise = 2, variance = 1.0 }
    ... [[variable]]
    ... name = "sex"
    ... labels = { en = "Sex", fr = "Sexe" }
    ... ''')
    >>> read_service(folder / "service.toml").title["fr"]
    'People'
    """
    path = Path(path).absolute()
    text = _read_text(path, kind="service")
    document = _parse(path, text)
    try:
        model = ServiceModel.model_validate(document)
    except ValidationError as error:
        known, names = known_service_keys(), {"variable": _names(document, "variable")}
        found = [
            problem_from_pydantic(e, sections=known, names=names)
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise JobError(path.name, _version_first(document, dict.fromkeys(found))) from None
    return _Builder(path, text, model).build()


class _Builder:
    def __init__(self, path: Path, text: str, model: ServiceModel) -> None:
        self.path, self.text, self.model = path, text, model
        about = model.service
        output = OutputModel(
            total_label=about.total_label,
            missing_label=about.missing_label,
            csv_formulas=about.csv_formulas,
        )
        shared = {name: getattr(model, name) for name in _SHARED}
        job = JobModel.model_construct(
            version=1, output=output, table=[], ledger=None, **shared
        )
        self.jobs = JobBuilder(path.parent, job)
        self._add = self.jobs._add  # noqa: SLF001

    def build(self) -> Service:
        model, about = self.model, self.model.service
        job = self.jobs.build(self.path, self.text)
        access = self._access()
        ledger = build_ledger(model.ledger, self.path.parent, add=self._add)
        service = Service(
            job=job,
            id=about.id,
            title=texts_of(about.title),
            description=texts_of(about.description),
            source=texts_of(about.source),
            unit=texts_of(about.unit),
            contact=about.contact or "",
            updated=about.updated,
            languages=tuple(dict.fromkeys(about.languages)),
            listen=about.listen,
            port=about.port,
            workers=about.workers,
            variables={v.name: self._variable(v) for v in model.variable},
            rules=self._rules(),
            limits=ServiceLimits(**model.limits.model_dump()),
            access=access,
            ledger=ledger,
            official=self._official(ledger, has_filters=access.has_filters),
        )
        self._across()
        if self.jobs.problems:
            raise JobError(self.path.name, list(dict.fromkeys(self.jobs.problems)))
        return service

    def _across(self) -> None:
        """Note what several sections contradict each other in."""
        names = [variable.name for variable in self.model.variable]
        for name in sorted({n for n in names if names.count(n) > 1}):
            self._add("[[variable]]", f"the name {name!r} occurs more than once.")
        areas = [variable.name for variable in self.model.variable if variable.is_area]
        if len(areas) > 1:
            shown = ", ".join(map(repr, areas))
            self._add("[[variable]]", f"one variable is the area, not {shown}.")
        for section in ("hierarchies", "categories"):
            for name in getattr(self.model, section):
                if name not in names:
                    hint = did_you_mean(name, names) or "name it in a [[variable]], or drop it"
                    self._add(f"[{section}]", f"{name!r} is no variable of the service.", hint)
        data = self.model.data
        for secret in (data.id, data.record_key):
            nested = [self.model.hierarchies.get(name, [name]) for name in names]
            if secret is not None and any(secret in n for n in nested if isinstance(n, list)):
                text = f"column {secret!r} tells persons apart: it is no variable."
                self._add("[[variable]]", text, "offer groups of people")

    def _variable(self, model: VariableModel) -> OfferedVariable:
        where = f"[[variable]] {model.name!r}:"
        if model.codelist is not None and model.categories:
            self._add(where, "has both codelist and categories.", "keep one of the two")
        categories = {code: texts_of(text) for code, text in model.categories.items()}
        if model.codelist is not None:
            path = self.jobs._path(where, "codelist", model.codelist)  # noqa: SLF001
            categories = read_codelist(path, add=partial(self._add, where))
        nested = self.model.hierarchies.get(model.name)
        levels = nested if isinstance(nested, list) else []
        for level in model.levels:
            if level not in levels:
                text = f"{level!r} is no level of it."
                self._add(where, text, did_you_mean(level, levels))
        return OfferedVariable(
            name=model.name,
            labels=texts_of(model.labels) or dict.fromkeys(LANGUAGES, model.name),
            is_area=model.is_area,
            is_sensitive=model.is_sensitive,
            levels={level: texts_of(text) for level, text in model.levels.items()},
            categories=categories,
        )

    def _rules(self) -> dict[str, Any]:
        rules = self.model.rules
        names = [variable.name for variable in self.model.variable]
        listed = [*rules.mandatory, *(name for group in rules.exclusive for name in group)]
        for name in dict.fromkeys(listed):
            if name not in names:
                hint = did_you_mean(name, names)
                self._add("[rules]", f"{name!r} is no variable of the service.", hint)
        levels = [
            level
            for variable in self.model.variable
            if variable.is_area
            for level in self._levels_of(variable.name)
        ]
        for name in rules.small_areas:
            if name not in levels:
                hint = did_you_mean(name, levels)
                self._add("[rules]", f"{name!r} is no level of the area variable.", hint)
        return dict(rules.model_dump())

    def _levels_of(self, name: str) -> Sequence[str]:
        nested = self.model.hierarchies.get(name)
        return nested if isinstance(nested, list) else [name]

    def _access(self) -> ServiceAccess:
        access, where = self.model.access, "[access]"
        if access.mode == "tokens" and access.tokens is None:
            hint = 'tokens = "tokens.json", filled with: ckm token add'
            self._add(where, 'mode = "tokens" needs the file of tokens.', hint)
        tokens = None if access.tokens is None else self.path.parent / access.tokens
        if tokens is not None and tokens.exists() and tokens.stat().st_mode & _OTHERS_MAY_READ:
            self._add(
                where, "the file of tokens can be read by others.", f"chmod 600 {tokens.name}"
            )
        audit = None if access.audit is None else self.path.parent / access.audit
        budgets = None if access.budgets is None else self.path.parent / access.budgets
        for path, what in ((audit, "audit log"), (budgets, "file of budgets")):
            if path is not None and not path.parent.is_dir():
                self._add(where, f"the folder of the {what} does not exist.")
        is_accepted = access.accepts_reconstruction is not None
        if access.mode == "open" and access.filters == "public" and not is_accepted:
            text = (
                'filters = "public" in an open service lets anybody reconstruct the true '
                "counts, from some hundred filtered tables."
            )
            words = f'accepts_reconstruction = "{RECONSTRUCTION}"'
            self._add(where, text, f"leave filters out, or accept it in these words: {words}")
        return ServiceAccess(
            mode=access.mode,
            tokens=tokens,
            audit=audit,
            budgets=budgets,
            trusted_proxies=tuple(access.trusted_proxies),
            origins=tuple(access.origins),
            filters=access.filters,
            accepts_reconstruction=is_accepted,
        )

    def _official(self, ledger: JobLedger | None, *, has_filters: bool) -> tuple[Job, ...]:
        """Read the jobs whose tables are reserved; note where nothing is and has to be."""
        model, where = self.model.ledger, "[ledger]"
        if model is None or ledger is None:
            return ()
        if has_filters and not model.official:
            self._add(
                where,
                "reserves nothing, while callers may filter: one table of theirs can keep a "
                "table of the office from publication for ever.",
                'name the jobs whose tables come first: official = ["job.toml"]',
            )
        jobs = []
        for name in model.official:
            before = len(self.jobs.problems)
            path = self.jobs._path(where, "official", name)  # noqa: SLF001
            if len(self.jobs.problems) > before:
                continue
            try:
                job = read_job(path)
            except JobError as error:
                for problem in error.problems:
                    self._add(where, f"official {name!r}: {problem.line()}", problem.hint)
                continue
            if job.ledger is None or _place(job.ledger) != _place(ledger):
                text = f"official {name!r} names another ledger or history, or none."
                self._add(where, text, "give the job the path and history of the service")
            jobs.append(job)
        return tuple(jobs)


def _place(ledger: JobLedger) -> tuple[Path | str, str]:
    """Return where a ledger keeps tables: its file or database, and the history."""
    target = ledger.target
    return (target.resolve() if isinstance(target, Path) else target), ledger.history


_SHARED = ("data", "keys", "ptable", "hierarchies", "categories")
