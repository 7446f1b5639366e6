"""Read which methods a comparison is about, and what they are tried on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.config.comparison.designs import design_problems
from ckm.config.comparison.method_settings import (
    DEFAULTS,
    Experiment,
    MethodChoice,
    choose_methods,
)
from ckm.config.problems import JobError, Problem, did_you_mean
from ckm.config.read import _parse, _read_text
from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from risk.risk_map.designs import MapDesign

__all__ = ["Comparanda", "read_comparanda"]

_SECTIONS = ("designs", "grid", "methods", "experiment")
_ONLY = "only"
_EXPERIMENT = {
    "geography": "geography",
    "target": "target",
    "areas": "areas",
    "records": "most_records",
    "most_areas": "most_areas",
    "persons": "persons",
    "seed": "seed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparanda:
    """What a comparison is about: designs of noise, methods, or both.

    Parameters
    ----------
    designs
        Name → design; empty for no comparison of designs.
    methods
        Name → method; empty for no comparison of methods.
    experiment
        What the methods are tried on.

    Examples
    --------
    >>> len(Comparanda(methods=dict(DEFAULTS)).methods)
    13
    """

    designs: Mapping[str, MapDesign] = field(default_factory=dict)
    methods: Mapping[str, MethodChoice] = field(default_factory=dict)
    experiment: Experiment = field(default_factory=Experiment)


def read_comparanda(
    path: Path | str | None = None,
    *,
    only: Sequence[str] = (),
    experiment: Mapping[str, Any] | None = None,
) -> Comparanda:
    r"""Read ``[designs]``, ``[grid]``, ``[methods]`` and ``[experiment]`` of a file.

    A section ``[methods.<name>]`` changes the parameters of the method of that name; with
    ``method = …`` it adds one. ``only = […]`` in ``[methods]`` lists what is compared. Methods
    are compared where the file has one of its two sections, or no designs.

    Parameters
    ----------
    path
        The TOML file; without one, all methods are compared with their defaults.
    only
        Names of methods, instead of those of the file.
    experiment
        Field of `Experiment` → value, instead of that of the file.

    Raises
    ------
    JobError
        With every problem of the file.
    ConfigError
        If a name of `only` or a value of `experiment` is wrong.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "methods.toml"
    >>> _ = file.write_text('''
    ... [methods]
    ... only = ["rounding", "coarse"]
    ... [methods.coarse]
    ... method = "rounding"
    ... base = 10
    ... ''')
    >>> [(c.name, c.parameters) for c in read_comparanda(file).methods.values()]
    [('rounding', {'base': 5}), ('coarse', {'base': 10})]
    """
    document: dict[str, Any] = {}
    name, folder = "", Path()
    if path is not None:
        path = Path(path).absolute()
        name, folder = path.name, path.parent
        document = _parse(path, _read_text(path, kind="design"))
    problems = [
        Problem(where="", text=f"Unknown key {key!r}.", hint=did_you_mean(key, _SECTIONS))
        for key in document
        if key not in _SECTIONS
    ]
    designs, found = design_problems(document, folder)
    problems += found
    listed, methods = _methods(document.get("methods", {}), folder, problems)
    tried = _experiment(document.get("experiment", {}), problems)
    if problems:
        raise JobError(name, problems)
    asked = replace(tried, **experiment) if experiment else tried
    has_methods = bool(only) or not designs or bool({"methods", "experiment"} & set(document))
    if not has_methods:
        return Comparanda(designs=designs, experiment=asked)
    try:
        chosen = choose_methods(methods, only=tuple(only) or listed)
    except ConfigError as error:
        if only or path is None:
            raise
        raise JobError(
            name, [Problem(where="[methods] only:", text=error.problem, hint=error.hint)]
        ) from None
    return Comparanda(designs=designs, methods=chosen, experiment=asked)


def _methods(
    section: object, folder: Path, problems: list[Problem]
) -> tuple[tuple[str, ...], dict[str, MethodChoice]]:
    if not isinstance(section, dict):
        problems.append(Problem(where="[methods]", text="is a section."))
        return (), {}
    only = section.get(_ONLY, [])
    is_list = isinstance(only, list) and all(isinstance(n, str) for n in only)
    if not is_list or (_ONLY in section and not only):
        text = "only is a list of names of methods."
        problems.append(Problem(where="[methods]", text=text))
        only = []
    found = {}
    for name, fields in section.items():
        if name == _ONLY:
            continue
        choice = _method(name, fields, folder, problems)
        if choice is not None:
            found[name] = choice
    return tuple(only), found


def _method(
    name: str, fields: object, folder: Path, problems: list[Problem]
) -> MethodChoice | None:
    where = f"[methods.{name}]"
    if not isinstance(fields, dict):
        problems.append(Problem(where=where, text="A method is a section."))
        return None
    given = dict(fields)
    before = DEFAULTS.get(name)
    kind = given.pop("method", name if before is None else before.kind)
    simple = given.pop("simple", None)
    if isinstance(given.get("path"), str) and given["path"]:
        given["path"] = folder / given["path"]
        if not given["path"].is_file():
            text = f"There is no file {given['path'].name!r}."
            problems.append(Problem(where=where, text=text))
            return None
    rest = before.parameters if before is not None and before.kind == kind else {}
    try:
        return MethodChoice(name=name, kind=kind, parameters={**rest, **given}, simple=simple)
    except ConfigError as error:
        problems.append(Problem(where=where, text=error.problem, hint=error.hint))
        return None


def _experiment(section: object, problems: list[Problem]) -> Experiment:
    where = "[experiment]"
    if not isinstance(section, dict):
        problems.append(Problem(where=where, text="is a section."))
        return Experiment()
    unknown = [key for key in section if key not in _EXPERIMENT]
    problems += [
        Problem(where=where, text=f"Unknown key {k!r}.", hint=did_you_mean(k, _EXPERIMENT))
        for k in unknown
    ]
    given = {_EXPERIMENT[k]: v for k, v in section.items() if k not in unknown}
    if isinstance(given.get("areas"), str):
        given["areas"] = [given["areas"]]
    if not isinstance(given.get("areas", []), list):
        problems.append(Problem(where=where, text="areas must be a list of dimensions."))
        return Experiment()
    try:
        return Experiment(**given)
    except ConfigError as error:
        problems.append(Problem(where=where, text=error.problem, hint=error.hint))
        return Experiment()
