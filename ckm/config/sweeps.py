"""Read which ways to synthesise a sweep tries, on what, and what it measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckm.config.problems import JobError, Problem, did_you_mean
from ckm.config.read import _parse, _read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SweepPlan", "read_sweep"]

_TOP = ("schema", "data", "declared", "folds", "seed", "controls", "measure", "ways")
_MEASURE = ("only", "classes", "numbers", "keys", "sensitive", "learner")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPlan:
    """What a sweep tries.

    Parameters
    ----------
    data, declared
        The records, and the schema of them.
    ways
        Blocks of factors; see `synth.evaluation.ways.ways_of`.
    folds, seed
        Of the cross-validation.
    controls
        Whether known records are tried as well.
    measure
        What is measured; see `synth.evaluation.Plan`.

    Examples
    --------
    >>> SweepPlan(data=Path("a.csv"), declared=Path("s.json"), ways=()).folds
    5
    """

    data: Path
    declared: Path
    ways: tuple[Mapping[str, Any], ...]
    folds: int = 5
    seed: int = 0
    controls: bool = True
    measure: Mapping[str, Any] = field(default_factory=dict)


def read_sweep(path: Path | str) -> SweepPlan:
    r"""Read the file of a sweep; its paths start at its folder.

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
    >>> file = Path(tempfile.mkdtemp()) / "sweep.toml"
    >>> _ = file.write_text('''
    ... schema = 1
    ... data = "people.parquet"
    ... declared = "schema.json"
    ... [[ways]]
    ... method = "tables"
    ... epsilon = [1, 8]
    ... ''')
    >>> [dict(way) for way in read_sweep(file).ways]
    [{'method': 'tables', 'epsilon': [1, 8]}]
    """
    path = Path(path).absolute()
    document = _parse(path, _read_text(path, kind="sweep"))
    problems = [
        *_unknown(document, _TOP, ""),
        *_wrong_top(document),
        *_wrong_measure(document.get("measure", {})),
    ]
    if problems:
        raise JobError(path.name, problems)
    return SweepPlan(
        data=path.parent / document["data"],
        declared=path.parent / document["declared"],
        ways=tuple(document["ways"]),
        folds=document.get("folds", 5),
        seed=document.get("seed", 0),
        controls=document.get("controls", True),
        measure=document.get("measure", {}),
    )


def _unknown(found: Mapping[str, Any], known: tuple[str, ...], where: str) -> list[Problem]:
    return [
        Problem(where=where, text=f"Unknown key {key!r}.", hint=did_you_mean(key, known))
        for key in found
        if key not in known
    ]


def _wrong_top(document: Mapping[str, Any]) -> list[Problem]:
    problems = []
    if document.get("schema") != 1 or isinstance(document.get("schema"), bool):
        problems.append(Problem(where="schema", text="must be 1: the version of this file."))
    for name in ("data", "declared"):
        value = document.get(name)
        if not isinstance(value, str) or not value:
            text = "is missing." if value is None else "must be the path of a file, in quotes."
            problems.append(Problem(where=name, text=text))
    for name, least, most in (("folds", 2, 1000), ("seed", 0, 2**31 - 1)):
        value = document.get(name, least)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            text = f"must be a whole number from {least} to {most}."
            problems.append(Problem(where=name, text=text))
    if not isinstance(document.get("controls", True), bool):
        problems.append(Problem(where="controls", text="must be true or false."))
    ways = document.get("ways")
    if not isinstance(ways, list) or not ways or not all(isinstance(w, dict) for w in ways):
        text = "must name at least one way to synthesise."
        hint = 'write [[ways]], and below it method = "tables", epsilon = [1, 8]'
        problems.append(Problem(where="[[ways]]", text=text, hint=hint))
    return problems


def _wrong_measure(measure: Any) -> list[Problem]:
    if not isinstance(measure, dict):
        return [Problem(where="[measure]", text="must be a table of keys and values.")]
    problems = _unknown(measure, _MEASURE, "[measure]")
    for name, value in measure.items():
        if name == "learner":
            if value not in ("histogram", "xgboost"):
                text = 'must be "histogram" or "xgboost".'
                problems.append(Problem(where="[measure] learner", text=text))
        elif not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            problems.append(Problem(where=f"[measure] {name}", text="must be a list of texts."))
    return problems
