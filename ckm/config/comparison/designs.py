"""Read a file of designs: the noise and the mechanisms that a comparison is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.config.problems import JobError, Problem
from ckm.config.read import add_unknown, open_settings
from ptable.design.mechanisms import Mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from risk.risk_map.designs import MapDesign

__all__ = ["design_problems", "read_designs"]

#: The last two are for `ckm.config.comparison.methods`.
_KNOWN = ("designs", "grid", "methods", "experiment")


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
    add_unknown(reading, document, _KNOWN)
    found, problems = design_problems(document, reading.path.parent)
    reading.problems += problems
    if not found and not reading.problems:
        reading.add("", "There is no [designs.<name>] and no [grid].")
    if reading.problems:
        raise JobError(reading.path.name, reading.problems)
    return found


def design_problems(
    document: Mapping[str, Any], folder: Path
) -> tuple[dict[str, MapDesign], list[Problem]]:
    """Build the designs of a parsed file, and tell what is wrong with them.

    Parameters
    ----------
    document
        The file.
    folder
        Where paths start.

    Examples
    --------
    >>> from pathlib import Path
    >>> found, problems = design_problems({"grid": {"max_noise": 3, "variance": 1}}, Path())
    >>> list(found), problems
    (['D=3 V=1 js=0'], [])
    """
    problems: list[Problem] = []
    sections = document.get("designs", {})
    if not isinstance(sections, dict):
        sections = {"": sections}
    found: dict[str, MapDesign] = {}
    for name, fields in sections.items():
        where = f"[designs.{name}]"
        design = _design(folder, where, fields, problems)
        if design is not None:
            found[name] = design
    if "grid" in document:
        found |= _grid(document["grid"], problems)
    return found, problems


def _design(
    folder: Path, where: str, fields: object, problems: list[Problem]
) -> MapDesign | None:
    if not isinstance(fields, dict):
        problems.append(Problem(where=where, text="A design is a section."))
        return None
    kinds = {"path", "mechanism", "max_noise"} & set(fields)
    if len(kinds) != 1 or ("path" in kinds and len(fields) > 1):
        text = "A design has a path, or a mechanism, or max_noise and variance."
        problems.append(Problem(where=where, text=text))
        return None
    if "path" in kinds:
        return _from_file(folder / str(fields["path"]), where, problems)
    rest = {name: _plain(value) for name, value in fields.items() if name != "mechanism"}
    if "mechanism" not in kinds:
        return rest
    return _mechanism({"name": fields["mechanism"], **rest}, where, problems)


def _mechanism(
    fields: Mapping[str, Any], where: str, problems: list[Problem]
) -> MapDesign | None:
    from ptable.errors import PTableError

    try:
        return Mechanism.from_dict(fields)
    except PTableError as error:
        problems.append(Problem(where=where, text=error.problem, hint=error.hint))
        return None


def _from_file(file: Path, where: str, problems: list[Problem]) -> MapDesign | None:
    from ptable.errors import PTableError
    from ptable.table import PTable

    if not file.is_file():
        problems.append(Problem(where=where, text=f"There is no file {file.name!r}."))
        return None
    try:
        return PTable.read(file)
    except PTableError as error:
        problems.append(Problem(where=where, text=error.problem, hint=error.hint))
        return None


def _grid(fields: object, problems: list[Problem]) -> dict[str, MapDesign]:
    from risk.risk_map.designs import noise_grid

    known = {"max_noise", "variance", "small"}
    fits = isinstance(fields, dict) and {"max_noise", "variance"} <= set(fields) <= known
    if not fits or not isinstance(fields, dict):
        text = "The grid has lists of max_noise, of variance, and perhaps of small."
        problems.append(Problem(where="[grid]", text=text))
        return {}
    lists = {name: v if isinstance(v, list) else [v] for name, v in fields.items()}
    numbers = [v for values in lists.values() for v in values]
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in numbers):
        problems.append(Problem(where="[grid]", text="The lists of the grid hold numbers."))
        return {}
    return noise_grid(**lists)


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
