"""Read which methods a comparison is about, and what they are tried on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.config.comparison.designs import designs_in
from ckm.config.comparison.method_settings import (
    DEFAULTS,
    KINDS,
    Experiment,
    MethodChoice,
    Synthetic,
    choose_methods,
)
from ckm.config.problems import JobError
from ckm.config.read import add_unknown, open_settings, read_section
from ckm.config.reading import Reading
from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from risk.risk_map.designs import MapDesign

_SECTIONS = ("designs", "grid", "methods", "experiment")
_ONLY = "only"


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
    """
    document: dict[str, Any] = {}
    reading = Reading(Path.cwd() / "the options")
    if path is not None:
        reading, document = open_settings(path, kind="design")
    add_unknown(reading, document, _SECTIONS)
    designs = designs_in(document, reading)
    listed, methods = _methods(document.get("methods", {}), reading)
    given = document.get("experiment", {})
    if experiment and isinstance(given, dict):
        given = {**given, **experiment}
    tried = read_section(Experiment, given, reading, section="experiment")
    if reading.problems or tried is None:
        raise JobError(reading.path.name, reading.all_problems())
    has_methods = bool(only) or not designs or bool({"methods", "experiment"} & set(document))
    if not has_methods:
        return Comparanda(designs=designs, experiment=tried)
    try:
        chosen = choose_methods(methods, only=tuple(only) or listed)
    except ConfigError as error:
        if only or path is None:
            raise
        reading.add_error("[methods] only:", error)
        raise JobError(reading.path.name, reading.problems) from None
    return Comparanda(designs=designs, methods=chosen, experiment=tried)


def _methods(
    section: object, reading: Reading
) -> tuple[tuple[str, ...], dict[str, MethodChoice]]:
    if not isinstance(section, dict):
        reading.add("[methods]", "is a section.")
        return (), {}
    only = section.get(_ONLY, [])
    is_list = isinstance(only, list) and all(isinstance(n, str) for n in only)
    if not is_list or (_ONLY in section and not only):
        reading.add("[methods]", "only is a list of names of methods.")
        only = []
    choices = (_method(n, fields, reading) for n, fields in section.items() if n != _ONLY)
    return tuple(only), {choice.name: choice for choice in choices if choice is not None}


def _method(name: str, fields: object, reading: Reading) -> MethodChoice | None:
    section = f"methods.{name}"
    if not isinstance(fields, dict):
        reading.add(f"[{section}]", "A method is a section.")
        return None
    before = DEFAULTS.get(name)
    kind = fields.get("method", name if before is None else before.kind)
    if not isinstance(kind, str) or kind not in KINDS:
        hint = f"one of {', '.join(KINDS)}"
        reading.add(f"[{section}]", f"There is no method {kind!r}.", hint)
        return None
    given = {key: value for key, value in fields.items() if key != "method"}
    if before is not None and before.kind == kind:
        given = {**before.parameters, **given}
    settings = read_section(KINDS[kind], given, reading, section=section)
    if isinstance(settings, Synthetic):
        reading.require_file(f"[{section}]", "path", settings.path)
    return None if settings is None else MethodChoice(name=name, settings=settings)
