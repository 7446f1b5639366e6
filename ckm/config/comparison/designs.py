"""Read a file of designs: the noise and the mechanisms that a comparison is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.config.problems import JobError
from ckm.config.read import add_unknown, open_settings
from ptable.design.mechanisms import Mechanism

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckm.config.reading import Reading
    from risk.risk_map.designs import MapDesign

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
    found = designs_in(document, reading)
    if not found and not reading.problems:
        reading.add("", "There is no [designs.<name>] and no [grid].")
    if reading.problems:
        raise JobError(reading.path.name, reading.problems)
    return found


def designs_in(document: Mapping[str, Any], reading: Reading) -> dict[str, MapDesign]:
    """Build the designs of a parsed file; what is wrong with them is added to its problems."""
    sections = document.get("designs", {})
    if not isinstance(sections, dict):
        sections = {"": sections}
    made = {
        name: _design(fields, f"[designs.{name}]", reading) for name, fields in sections.items()
    }
    found = {name: design for name, design in made.items() if design is not None}
    return found | (_grid(document["grid"], reading) if "grid" in document else {})


def _design(fields: object, where: str, reading: Reading) -> MapDesign | None:
    from ptable.errors import PTableError

    if not isinstance(fields, dict):
        reading.add(where, "A design is a section.")
        return None
    kinds = {"path", "mechanism", "max_noise"} & set(fields)
    if len(kinds) != 1 or ("path" in kinds and len(fields) > 1):
        reading.add(where, "A design has a path, or a mechanism, or max_noise and variance.")
        return None
    plain = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    try:
        if "path" in kinds:
            return _from_file(str(fields["path"]), where, reading)
        if "mechanism" in kinds:
            return Mechanism.from_dict({"name": plain.pop("mechanism"), **plain})
    except PTableError as error:
        reading.add_error(where, error)
        return None
    return plain


def _from_file(name: str, where: str, reading: Reading) -> MapDesign | None:
    from ptable.table import PTable

    before, file = len(reading.problems), reading.resolve(name)
    reading.require_file(where, "path", file)
    return None if len(reading.problems) > before else PTable.read(file)


def _grid(fields: object, reading: Reading) -> dict[str, MapDesign]:
    from risk.risk_map.designs import noise_grid

    known = {"max_noise", "variance", "small"}
    fits = isinstance(fields, dict) and {"max_noise", "variance"} <= set(fields) <= known
    if not fits or not isinstance(fields, dict):
        text = "The grid has lists of max_noise, of variance, and perhaps of small."
        reading.add("[grid]", text)
        return {}
    lists = {name: v if isinstance(v, list) else [v] for name, v in fields.items()}
    numbers = [v for values in lists.values() for v in values]
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in numbers):
        reading.add("[grid]", "The lists of the grid hold numbers.")
        return {}
    return noise_grid(**lists)
