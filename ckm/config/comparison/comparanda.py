"""Read what a comparison is about: designs of noise, methods, and what these are tried on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.config.comparison.method_settings import (
    DEFAULTS,
    KINDS,
    Experiment,
    MethodChoice,
    Synthetic,
    choose_methods,
)
from ckm.config.job.noise import PTableSection
from ckm.config.lines import KeyPath
from ckm.config.read import add_unknown, open_settings, read_section
from ckm.config.reading import Reading
from ckm.config.section import Section, schema_of
from ckm.errors import ConfigError
from footing.messages import Argument, Message, Name
from ptable.design.mechanisms import Mechanism, parameter_schemas

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
    named
        The methods that were asked for by name; none where all are compared.
    experiment
        What the methods are tried on.
    """

    designs: Mapping[str, MapDesign] = field(default_factory=dict)
    methods: Mapping[str, MethodChoice] = field(default_factory=dict)
    named: tuple[str, ...] = ()
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
    names, methods = _methods(document.get("methods", {}), reading)
    fields = document.get("experiment", {})
    if experiment and isinstance(fields, dict):
        fields = {**fields, **experiment}
    section = read_section(Experiment, fields, reading, section="experiment")
    if reading.problems or section is None:
        raise reading.error()
    has_methods = bool(only) or not designs or bool({"methods", "experiment"} & set(document))
    if not has_methods:
        return Comparanda(designs=designs, experiment=section)
    try:
        names_of_methods = tuple(only) or names
        choices = choose_methods(methods, only=names_of_methods)
    except ConfigError as error:
        if only or path is None:
            raise
        reading.add_error(("methods", _ONLY), error)
        raise reading.error() from None
    return Comparanda(
        designs=designs, methods=choices, named=names_of_methods, experiment=section
    )


def _methods(
    section: object, reading: Reading
) -> tuple[tuple[str, ...], dict[str, MethodChoice]]:
    if not isinstance(section, dict):
        reading.add(("methods",), Message("is a section."))
        return (), {}
    only = section.get(_ONLY, [])
    is_list = isinstance(only, list) and all(isinstance(n, str) for n in only)
    if not is_list or (_ONLY in section and not only):
        reading.add(("methods",), Message("only is a list of names of methods."), key=_ONLY)
        only = []
    choices = (_method(n, fields, reading) for n, fields in section.items() if n != _ONLY)
    return tuple(only), {choice.name: choice for choice in choices if choice is not None}


def _method(name: str, fields: object, reading: Reading) -> MethodChoice | None:
    section = f"methods.{name}"
    if not isinstance(fields, dict):
        reading.add(("methods", name), Message("A method is a section."))
        return None
    before = DEFAULTS.get(name)
    kind = fields.get("method", name if before is None else before.kind)
    if not isinstance(kind, str) or kind not in KINDS:
        hint = Message("one of {kinds}", kinds=Name.each(KINDS))
        reading.add(
            ("methods", name),
            Message("There is no method {kind!r}.", kind=Argument(kind)),
            hint,
        )
        return None
    values = {key: value for key, value in fields.items() if key != "method"}
    if before is not None and before.kind == kind:
        values = {**before.parameters, **values}
    settings = read_section(KINDS[kind], values, reading, section=section)
    if isinstance(settings, Synthetic):
        reading.require_file(("methods", name), "path", settings.path)
    return None if settings is None else MethodChoice(name=name, settings=settings)


def designs_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of designs and methods, for editors."""
    noise = schema_of(PTableSection)["properties"]
    path = noise.pop("path")
    # Magnitudes have other tables, and one by limits is a file.
    others = ("step", "anchors", "limits", "objective")
    noise = {key: form for key, form in noise.items() if key not in others}
    design = [
        _closed(noise, ("max_noise", "variance")),
        _closed(noise, ("preset",)),
        _closed({"path": path}, ("path",)),
    ]
    for name, (parameters, needed) in parameter_schemas().items():
        mechanism = {"mechanism": {"const": name}, **parameters}
        design.append(_closed(mechanism, ("mechanism", *needed)))
    lists = {
        key: {"anyOf": [form, {"type": "array", "items": form}]} for key, form in noise.items()
    }
    grid = {key: lists[key] for key in ("max_noise", "variance", "small")}
    own, method = {}, []
    for kind, settings in KINDS.items():
        form = schema_of(settings)
        own[kind] = _closed(form["properties"])
        properties = {"method": {"const": kind}, **form["properties"]}
        method.append(_closed(properties, ("method", *form.get("required", ()))))
    other = {"$ref": "#/$defs/Method"}
    defaults = {name: {"anyOf": [own[one.kind], other]} for name, one in DEFAULTS.items()}
    only = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    methods = _closed({_ONLY: only, **defaults}) | {"additionalProperties": other}
    return {
        **schema_of(Section),
        "title": "Designs and methods of ckm compare",
        "$defs": {"Method": {"anyOf": method}},
        "properties": {
            "designs": {"type": "object", "additionalProperties": {"anyOf": design}},
            "grid": _closed(grid, ("max_noise", "variance")),
            "methods": methods,
            "experiment": _closed(schema_of(Experiment)["properties"]),
        },
    }


def _closed(properties: Mapping[str, Any], required: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of a section that has no other keys."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def read_designs(path: Path | str) -> dict[str, MapDesign]:
    r"""Read ``[designs.<name>]`` and ``[grid]``; paths start at the file's folder.

    A design has ``path``, or ``mechanism`` and its parameters, or the parameters of a noise;
    the grid has lists of ``max_noise``, ``variance`` and ``small``, and makes all combinations.

    Parameters
    ----------
    path
        The TOML file.

    Raises
    ------
    JobError
        With every problem of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "designs.toml"
    >>> _ = file.write_text('''
    ... [designs.rounded]
    ... mechanism = "random-rounding"
    ... base = 3
    ... [grid]
    ... max_noise = [3, 5]
    ... variance = [1.0]
    ... ''')
    >>> list(read_designs(file))
    ['rounded', 'D=3 V=1 js=0', 'D=5 V=1 js=0']
    """
    reading, document = open_settings(path, kind="design")
    add_unknown(reading, document, _SECTIONS)
    designs = designs_in(document, reading)
    if not designs and not reading.problems:
        reading.add((), Message("There is no [designs.<name>] and no [grid]."))
    if reading.problems:
        raise reading.error()
    return designs


def designs_in(document: Mapping[str, Any], reading: Reading) -> dict[str, MapDesign]:
    """Build the designs of a parsed file; what is wrong with them is added to its problems."""
    sections = document.get("designs", {})
    if not isinstance(sections, dict):
        sections = {"": sections}
    candidates = {
        name: _design(fields, ("designs", name), reading) for name, fields in sections.items()
    }
    designs = {name: design for name, design in candidates.items() if design is not None}
    return designs | (_grid(document["grid"], reading) if "grid" in document else {})


def _design(fields: object, where: KeyPath, reading: Reading) -> MapDesign | None:
    from ptable.design.presets import spelled_out
    from ptable.errors import PTableError

    if not isinstance(fields, dict):
        reading.add(where, Message("A design is a section."))
        return None
    kinds = {"path", "mechanism"} & set(fields)
    kinds = kinds or ({"noise"} if {"max_noise", "preset"} & set(fields) else set())
    if len(kinds) != 1 or ("path" in kinds and len(fields) > 1):
        reading.add(
            where,
            Message("A design has a path, a mechanism, a preset, or max_noise and variance."),
        )
        return None
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    try:
        if "path" in kinds:
            return _from_file(str(fields["path"]), where, reading)
        if "mechanism" in kinds:
            return Mechanism.from_dict({"name": plain.pop("mechanism"), **plain})
        return spelled_out(plain)
    except PTableError as error:
        reading.add_error(where, error)
        return None


def _from_file(name: str, where: KeyPath, reading: Reading) -> MapDesign | None:
    from ptable.table import PTable

    before, file = len(reading.problems), reading.resolve(name)
    reading.require_file(where, "path", file)
    return None if len(reading.problems) > before else PTable.read(file)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _grid(fields: object, reading: Reading) -> dict[str, MapDesign]:
    from risk.risk_map.designs import noise_grid

    keys = {"max_noise", "variance", "small"}
    fits = isinstance(fields, dict) and {"max_noise", "variance"} <= set(fields) <= keys
    if not fits or not isinstance(fields, dict):
        text = Message("The grid has lists of max_noise, of variance, and perhaps of small.")
        reading.add(("grid",), text, key="max_noise")
        return {}
    lists = {name: v if isinstance(v, list) else [v] for name, v in fields.items()}
    wrong = [name for name, values in lists.items() if not all(map(_is_number, values))]
    if wrong:
        reading.add(("grid",), Message("The lists of the grid hold numbers."), key=wrong[0])
        return {}
    return noise_grid(**lists)
