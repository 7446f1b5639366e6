"""Many training runs over lists of choices: repeated, recorded by epoch, resumable.

The training itself comes from outside: a function that is given the choices and a seed, and
yields the accuracy after each epoch.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, TypeAlias

from dpsgd.errors import DPSGDError
from footing.checks import is_number, require_integer
from footing.files import csv_text, write_whole
from footing.messages import Argument, Message, Name

if TYPE_CHECKING:
    from _typeshed import StrPath


#: What can be varied: the batch, the noise multiplier, the clipping norm, the learning rate,
#: the passes, the hidden units, and by what the sides of an image are divided.
CHOICES = (
    "batch_size",
    "noise_multiplier",
    "clipping_norm",
    "learning_rate",
    "epochs",
    "hidden_units",
    "image_factor",
)
_COLUMNS = (*CHOICES, "is_private", "repetition", "epoch", "accuracy", "epsilon")
_WHOLE = {"batch_size", "epochs", "hidden_units", "image_factor"}
_MAX_RUNS = 100_000

#: Given the choices, whether the run is private, and a seed: yield accuracy and epsilon after
#: each epoch; epsilon None where the run is plain.
Train: TypeAlias = Callable[
    [Mapping[str, float], bool, int], Iterable[tuple[float, float | None]]
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Lists of choices, and how often each is run.

    Parameters
    ----------
    values
        Choice → its values; the first is the usual one. Choices: see `CHOICES`.
    repetitions
        Runs of each combination, with seeds that differ.
    one_at_a_time
        Vary one choice at a time around the usual values, in place of all combinations.
    with_plain
        Run each combination without privacy as well, for comparison; the noise and the
        clipping then do not matter and are not varied.
    seed
        Of the first repetition.
    rows
        Combinations, in place of lists of values: the rows of a table, say.

    Examples
    --------
    >>> sweep = Sweep(values={"batch_size": [64, 32], "learning_rate": [0.1, 0.05]})
    >>> len(sweep.runs()), len(Sweep(values=sweep.values, one_at_a_time=True).runs())
    (4, 3)
    """

    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    repetitions: int = 1
    one_at_a_time: bool = False
    with_plain: bool = False
    seed: int = 0
    rows: Sequence[Mapping[str, float]] = ()

    def __post_init__(self) -> None:
        if self.rows and self.values:
            raise DPSGDError(Message("A sweep has lists of values, or rows."))
        named = {name: [v] for row in self.rows for name, v in row.items()} or self.values
        unknown = [name for name in named if name not in CHOICES]
        if unknown or not named:
            raise DPSGDError(
                Message("A sweep cannot vary {names!r}.", names=Name(unknown[0]))
                if unknown
                else Message("A sweep varies nothing."),
                hint=Message("known: {choices}", choices=Name.each(CHOICES)),
            )
        for name, several in self._lists():
            _check(name, several)
        require_integer(self.repetitions, "repetitions", error=DPSGDError, minimum=1)
        number = len(self.rows) or math.prod(len(several) for several in self.values.values())
        if number * self.repetitions > _MAX_RUNS:
            raise DPSGDError(
                Message("{number:,} runs are too many.", number=number * self.repetitions),
                hint=Message("vary one choice at a time"),
            )

    def _lists(self) -> list[tuple[str, Sequence[float]]]:
        rows = [(name, [value]) for row in self.rows for name, value in row.items()]
        return [*self.values.items(), *rows]

    def combinations(self) -> list[dict[str, float]]:
        """Return the combinations of choices, in order."""
        if self.rows:
            return [dict(row) for row in self.rows]
        names = list(self.values)
        if not self.one_at_a_time:
            return [
                dict(zip(names, choice, strict=True))
                for choice in itertools.product(*self.values.values())
            ]
        usual = {name: several[0] for name, several in self.values.items()}
        others = (
            usual | {name: v} for name, several in self.values.items() for v in several[1:]
        )
        return [usual, *others]

    def runs(self) -> list[tuple[dict[str, float], bool, int]]:
        """Return choices, whether private, and the number of the repetition, of each run."""
        runs = [(choices, True) for choices in self.combinations()]
        for choices in self.combinations() if self.with_plain else ():
            plain = {n: v for n, v in choices.items() if n not in _PRIVATE}, False
            runs += [plain] if plain not in runs else []
        return [(*run, again) for run in runs for again in range(self.repetitions)]


_PRIVATE = {"noise_multiplier", "clipping_norm"}


def _check(name: str, several: Sequence[Any]) -> None:
    if not several or len(set(several)) != len(several):
        raise DPSGDError(Message("{name} needs values, each once.", name=Name(name)))
    for value in several:
        is_wrong = not is_number(value, minimum=0) or (not value and name != "noise_multiplier")
        if is_wrong or (name in _WHOLE and value != int(value)):
            kind = (
                Message("whole numbers from 1")
                if name in _WHOLE
                else Message("positive numbers")
            )
            raise DPSGDError(
                Message(
                    "{name} takes {kind}, not {value!r}.",
                    name=Name(name),
                    kind=kind,
                    value=Argument(value),
                )
            )


def run_sweep(
    sweep: Sweep,
    train: Train,
    *,
    file: StrPath,
    report_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Run what is not in the file yet, and return how many runs that were."""
    target = Path(file)
    lines = _read(target)
    done = {_key(line) for line in lines}
    runs = sweep.runs()
    number = 0
    for place, (choices, is_private, again) in enumerate(runs):
        head = dict.fromkeys(_COLUMNS, "")
        head |= {name: repr(float(value)) for name, value in choices.items()}
        head |= {"is_private": str(int(is_private)), "repetition": str(again)}
        if _key(head) not in done:
            lines += _epochs(train(choices, is_private, sweep.seed + again), head)
            rows = ([line[name] for name in _COLUMNS] for line in lines)
            write_whole(target, csv_text((_COLUMNS, *rows)), error=DPSGDError)
            number += 1
        if report_progress is not None:
            report_progress(place + 1, len(runs))
    return number


def _epochs(
    points: Iterable[tuple[float, float | None]], head: Mapping[str, str]
) -> list[dict[str, str]]:
    lines = []
    for epoch, (accuracy, epsilon) in enumerate(points, start=1):
        if not 0 <= accuracy <= 1:
            raise DPSGDError(
                Message(
                    "An accuracy lies between 0 and 1, not {accuracy!r}.",
                    accuracy=Argument(accuracy),
                )
            )
        epsilon_text = "" if epsilon is None else repr(float(epsilon))
        if head["is_private"] == "1" and not epsilon_text:
            raise DPSGDError(
                Message("A private run must state its epsilon after each epoch."),
                hint=Message("yield accuracy and plan.cost(steps).epsilon"),
            )
        lines.append(
            dict(head)
            | {"epoch": str(epoch), "accuracy": repr(float(accuracy)), "epsilon": epsilon_text}
        )
    if not lines:
        raise DPSGDError(Message("A run must have at least one epoch."))
    return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the repetitions of one combination came to, after their last epoch.

    Parameters
    ----------
    choices
        The combination.
    is_private
        Whether noise was added.
    runs
        How many repetitions.
    mean, sd
        Of the accuracy; sd None for a single run.
    epsilon
        The largest of the runs; what one of them costs, not what the sweep costs.
    times_chance
        The accuracy over that of guessing one of equally many classes; None where unknown.

    Examples
    --------
    >>> Outcome(
    ...     choices={},
    ...     is_private=True,
    ...     runs=1,
    ...     mean=0.55,
    ...     sd=None,
    ...     epsilon=8.3,
    ...     times_chance=56.1,
    ... ).mean
    0.55
    """

    choices: dict[str, float]
    is_private: bool
    runs: int
    mean: float
    sd: float | None
    epsilon: float | None
    times_chance: float | None


def outcomes(file: StrPath, *, classes: int | None = None) -> tuple[Outcome, ...]:
    """Return mean and standard deviation of each combination of a sweep's file, best first.

    To choose the best by accuracies of confidential data is a query of those data: see
    `dpsgd.accounting.choosing`.
    """
    if classes is not None and classes < 2:
        raise DPSGDError(Message("There are at least 2 classes."))
    last = {_key(line): line for line in _read(Path(file))}
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for line in last.values():
        groups.setdefault(_key(line)[:-1], []).append(line)
    outcomes = [_outcome(lines, classes) for lines in groups.values()]
    return tuple(sorted(outcomes, key=lambda outcome: -outcome.mean))


def _outcome(lines: list[dict[str, str]], classes: int | None) -> Outcome:
    accuracies = [float(line["accuracy"]) for line in lines]
    epsilons = [float(line["epsilon"]) for line in lines if line["epsilon"]]
    return Outcome(
        choices={name: float(lines[0][name]) for name in CHOICES if lines[0][name]},
        is_private=lines[0]["is_private"] == "1",
        runs=len(lines),
        mean=fmean(accuracies),
        sd=stdev(accuracies) if len(accuracies) > 1 else None,
        epsilon=max(epsilons, default=None),
        times_chance=None if classes is None else fmean(accuracies) * classes,
    )


def _key(line: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(line[name] for name in (*CHOICES, "is_private", "repetition"))


def _read(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            lines = list(reader)
            is_ours = tuple(reader.fieldnames or ()) == _COLUMNS
    except (UnicodeDecodeError, csv.Error):
        is_ours, lines = False, []
    if not is_ours or not all(_is_line(line) for line in lines):
        raise DPSGDError(
            Message(
                "The file {dumps} is no record of a sweep.", dumps=Name(json.dumps(file.name))
            ),
            hint=Message("take another name"),
        )
    return lines


def _is_line(line: Mapping[str, Any]) -> bool:
    try:
        numbers = [float(line[n]) for n in _COLUMNS if line[n] != ""]
        return (
            set(line) == set(_COLUMNS)
            and 0 <= float(line["accuracy"]) <= 1
            and all(not math.isnan(number) for number in numbers)
        )
    except (TypeError, ValueError):
        return False
