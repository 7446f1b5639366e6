"""``ckm rappor params``: find a design, or show what one does."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, Literal

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.oracles import Oracle
    from rappor.parameters import Parameters
    from rappor.solver import Design, Goal

_COUNT = click.IntRange(min=1)
_HASHES = click.Choice(["mmh3", "md5", "index"])
_SHOWN_REPORTS = (1, 2, 5, 10, 30)
_SHOWN_HASHES = (1, 2, 4)


@click.command(cls=Command)
@click.argument("file", type=PATH, required=False)
@click.option("--hash", "hash_name", type=_HASHES, help="For a .csv; else md5.")
@click.option("--epsilon-one", type=float, help="Largest loss of one report.")
@click.option("--epsilon-permanent", type=float, help="Largest loss of all of a value's.")
@click.option("--population", type=_COUNT, help="Number of clients.")
@click.option("--candidates", "n_candidates", type=_COUNT, default=200, help="Values tested.")
@click.option("--frequency", type=float, help="Share of clients to be found; else the best.")
@click.option("--alpha", type=float, default=0.05, help="False discovery rate.")
@click.option("--power", type=float, default=0.8, help="Probability of detection.")
@click.option(
    "--closed", "is_closed", is_flag=True, help="The candidates are all values there are."
)
@click.option(
    "--oracle",
    type=click.Choice(["best", "grr", "oue", "olh", "hadamard"]),
    help="Values sent once: compare the ways, take one.",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Show the loss of reports that a collector mixes, but for this chance.",
)
@click.option(
    "--preset",
    type=click.Choice(
        [
            *("paper", "windows", "homepages", "chrome-normal", "chrome-sparse"),
            *("google-demo", "google-client", "cobalt", "mozilla"),
        ]
    ),
    help="Parameters of a published deployment or experiment.",
)
@click.option(
    "--rotations", type=_COUNT, help="Show what reports cost if the secret changes so often."
)
@click.option("-o", "--output", type=PATH, help="A .json or .csv file.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@with_terminal
def params(
    terminal: Terminal,
    /,
    *,
    file: Path | None,
    hash_name: Any,
    oracle: Any,
    delta: float | None,
    preset: str | None,
    rotations: int | None,
    output: Path | None,
    force: bool,
    **options: Any,
) -> None:
    r"""Find the design with the smallest detectable frequency for a privacy loss, or show one.

    Examples
    --------
    ckm rappor params --epsilon-one 1 --epsilon-permanent 4 --population 1000000 -o params.json
    ckm rappor params --epsilon-one 1 --epsilon-permanent 4 --population 50000 \
        --closed --candidates 12 --frequency 0.05 -o params.json
    ckm rappor params --oracle best --epsilon-one 1 --population 50000 --candidates 1000 \
        -o params.json
    ckm rappor params params.json --population 1000000      what these parameters do
    ckm rappor params params.json --rotations 4             a new secret four times
    ckm rappor params --preset chrome-normal -o params.json

    With --oracle every value is sent once and all --candidates values are known:
    generalised randomised response (grr), a bit a value (oue), hashed symbols (olh) and
    Hadamard's response are compared at the loss of one report.

    --delta is for a collector who mixes one report of each client and passes on neither names
    nor order nor times: the loss to an observer of the mixed reports alone.
    """
    if file is not None and output is not None:
        raise click.UsageError(Message("A file that is shown is not written: leave -o out."))
    if preset is not None:
        if file is not None or oracle is not None or options["epsilon_permanent"] is not None:
            raise click.UsageError(Message("--preset is a design of its own."))
        from rappor.presets import PRESETS

        preset_design = PRESETS[preset]
        terminal.tell(preset_design.source)
        losses = {"epsilon_one": 1.0, "epsilon_permanent": 1.0}
        _show_design(
            terminal, preset_design.parameters, _goal(options | losses), delta, rotations
        )
        _write(terminal, preset_design.parameters, output, force=force)
        return
    if oracle is not None:
        if file is not None or options["epsilon_permanent"] is not None:
            raise click.UsageError(
                Message("--oracle is for a new design, of values sent once.")
            )
        options["epsilon_permanent"] = math.inf
    if file is not None:
        from rappor.parameters import Parameters

        parameters = Parameters.read(file, hash=hash_name)
        # A prediction ignores the losses.
        losses = {"epsilon_one": 1.0, "epsilon_permanent": 1.0}
        _show_design(terminal, parameters, _goal(options | losses), delta, rotations)
        return
    missing = [
        name
        for name in ("epsilon_one", "epsilon_permanent", "population")
        if options[name] is None
    ]
    if missing:
        words = ", ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise click.UsageError(
            Message("A design needs {words}; to show one, name its file.", words=said(words))
        )
    from rappor.solver import solve

    goal = _goal(options)
    design = solve(goal) if oracle is None else _compared(terminal, goal, oracle)
    _show_design(terminal, design.parameters, goal, delta, rotations)
    if not goal.is_closed and oracle is None:
        _show_hashes(terminal, goal)
    _write(terminal, design.parameters, output, force=force)


def _write(
    terminal: Terminal, parameters: Parameters, output: Path | None, *, force: bool
) -> None:
    if output is not None:
        parameters.write(output, overwrite=force)
        terminal.step(
            "parameters written", Message("written to {output}", output=Name(output.name))
        )


def _goal(options: dict[str, Any]) -> Goal:
    from rappor.solver import Goal

    return Goal(**options | {"population": options["population"] or 10**6})


def _show_design(
    terminal: Terminal,
    parameters: Parameters,
    goal: Goal,
    delta: float | None,
    rotations: int | None,
) -> None:
    from rappor.accounting import epsilon_after, epsilon_rotated
    from rappor.solver import predict

    design = predict(parameters, goal)
    rows: list[tuple[str, ...]] = [
        (
            Message("bits, hashes, cohorts"),
            f"{parameters.n_bits}, {parameters.n_hashes}, {parameters.n_cohorts}",
        ),
        ("f, p, q", f"{parameters.f:.6g}, {parameters.p:.6g}, {parameters.q:.6g}"),
        (Message("hash, fingerprint"), f"{parameters.hash}, {parameters.fingerprint}"),
        (Message("loss of all reports of a value"), _number(parameters.epsilon_permanent)),
    ]
    rows += [
        (
            Message(
                "loss of {number} report{plural}",
                number=t,
                plural=Message("s") if t > 1 else Message(),
            ),
            _number(epsilon_after(parameters, reports=t)),
        )
        for t in _SHOWN_REPORTS
    ]
    if rotations is not None:
        rows += [
            (
                Message(
                    "loss of {number} reports, {secrets} secrets in turn",
                    number=t * (rotations + 1),
                    secrets=rotations + 1,
                ),
                _number(epsilon_rotated(parameters, reports=[t] * (rotations + 1))),
            )
            for t in _SHOWN_REPORTS
        ]
    if delta is not None:
        rows.append(_mixed(parameters.epsilon_one, goal.population, delta))
    rows += [
        (
            Message(
                "standard error of a count, {population:,} clients", population=goal.population
            ),
            _number(design.standard_error),
        ),
        (
            Message(
                "found with chance {power:g}, {n_candidates:,} candidates",
                power=goal.power,
                n_candidates=goal.n_candidates,
            ),
            _share(design),
        ),
    ]
    cells = ([terminal.say(cell) for cell in row] for row in rows)
    terminal.table(("", ""), cells, left=("",), show_header=False)


def _mixed(
    local: float, population: int, delta: float
) -> tuple[str, str]:  # claim rappor-mixed
    from dp import shuffled_epsilon

    what = Message("loss of 1 report, mixed with those of all, delta {delta:g}", delta=delta)
    if not 0 < local < math.inf or population < 2:
        return what, Message("no bound")
    return what, _number(shuffled_epsilon(delta, local=local, reports=population))


def _compared(terminal: Terminal, goal: Goal, name: Oracle | Literal["best"]) -> Design:
    """Show all oracles, the best first, and give the one asked for."""
    from rappor.oracles import bits_sent, compare_oracles

    designs = compare_oracles(goal)
    rows = [
        (
            oracle,
            f"{bits_sent(design.parameters):,}",
            _number(design.standard_error),
            _share(design),
        )
        for oracle, design in designs.items()
    ]
    headings = (
        "oracle",
        Message("bits sent"),
        Message("standard error"),
        Message("found from"),
    )
    terminal.table(headings, rows, left=headings[:1])
    best = next(iter(designs)) if name == "best" else name
    terminal.step(
        "oracle chosen", Message("the design below is that of {chosen}", chosen=said(best))
    )
    return designs[best]


def _show_hashes(terminal: Terminal, goal: Goal) -> None:
    """Say what more hashes would cost."""
    from rappor.errors import RapporError
    from rappor.solver import solve

    rows: list[tuple[str, ...]] = []
    for h in _SHOWN_HASHES:
        with contextlib.suppress(RapporError):
            design = solve(goal, n_hashes=[h])
            rows.append((str(h), _number(design.standard_error), _share(design)))
    headings = (
        Message("hashes, at the same losses"),
        Message("standard error"),
        Message("found from"),
    )
    terminal.table(headings, rows, left=headings[:1])


def _number(value: float) -> str:
    return Message("without bound") if math.isinf(value) else f"{value:,.4g}"


def _share(design: Design) -> str:
    return (
        Message("{detectable:.3%} of clients", detectable=design.detectable)
        if design.detectable < 1
        else Message("never")
    )
