"""``ckm ptable build``: solve a perturbation table, or build a known mechanism's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.check import show_feasibility, tell_noise, tell_preset
from ckm.cli.ptable.convert import tell_priors
from ckm.cli.ptable.options import asked_spec, flags, limit_options, noise_options
from ckm.cli.terminal.click_group import PATH, Command, options, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.messages import Enumeration, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ptable import NoiseSpec, PTable
    from ptable.design.mechanisms import Mechanism

#: What each mechanism needs, and what it takes besides.
_MECHANISMS: dict[str, tuple[set[str], set[str]]] = {
    "rounding": ({"base"}, set()),
    "random-rounding": ({"base"}, set()),
    "small-count-rounding": ({"base"}, set()),
    "ons-10-5": (set(), set()),
    "discrete-laplace": ({"epsilon", "max_noise"}, {"edge"}),
    "discrete-gaussian": ({"variance", "max_noise"}, {"edge"}),
}
_mechanism_options = options(
    click.option(
        "--mechanism",
        type=click.Choice(list(_MECHANISMS)),
        help="A known mechanism instead of solving.",
    ),
    click.option("--base", type=click.IntRange(min=2), help="What rounding rounds to."),
    click.option("--epsilon", type=float, help="Rate of the discrete Laplace distribution."),
    click.option(
        "--edge",
        type=click.Choice(["clamp", "fold", "truncate"]),
        help="What becomes of results below 0.",
    ),
)


@click.command(cls=Command)
@click.argument("spec", type=PATH, required=False, metavar="[SPEC.toml]")
@output_options("A .parquet or .json file.", ".parquet", ".json", required=True)
@noise_options
@limit_options
@_mechanism_options
@click.option("--dry-run", is_flag=True, help="Show what is feasible, write nothing.")
@with_terminal
# claim noise-is-as-certified
def build(
    terminal: Terminal,
    /,
    *,
    spec: Path | None,
    output: Path,
    dry_run: bool,
    **options: Any,
) -> None:
    """Build a p-table and write it, with its certificate or what it guarantees.

    Examples
    --------
    ckm ptable build --max-noise 5 --variance 3 --small 2 -o pt.parquet
    ckm ptable build --preset insee-qpv -o pt.parquet
    ckm ptable build job.toml -o pt.parquet          the [ptable] section of a file
    ckm ptable build --max-noise 2 --variance 3 --dry-run -o other.parquet
    ckm ptable build --max-noise 5 --variance 3 --posterior 0.8 --floor 1 -o limits.parquet
    ckm ptable build --mechanism random-rounding --base 3 -o rounding.parquet
    """
    from ptable.design.presets import ONS, ONS_TEXT

    values = {name: v for name, v in options.items() if v is not None}
    mechanism = _asked_mechanism(values, has_file=spec is not None)
    if mechanism is None:
        noise_spec = asked_spec(spec, values)
        tell_preset(terminal, spec or values)
        table = _solve(terminal, noise_spec, shows_reach=dry_run)
    else:
        if "mechanism" not in values:
            terminal.step(
                "preset",
                Message("Preset {ons}: {ons_text}", ons=said(ONS), ons_text=said(ONS_TEXT)),
            )
        table = _build(terminal, mechanism)
    if dry_run:
        terminal.step(
            "dry run complete", Message("dry run: {output} would be written", output=output)
        )
        return
    table.write(output, overwrite=may_replace())
    proof = Message("certified") if mechanism is None else Message("as its mechanism says")
    terminal.step(
        "p-table built",
        Message("{n_rows} rows, {proof}", n_rows=table.n_rows, proof=proof),
    )
    tell_priors(terminal, output, table)
    click.echo(str(output))


def _solve(terminal: Terminal, noise_spec: NoiseSpec, *, shows_reach: bool) -> PTable:
    from ptable import feasible, solve

    answer = feasible(noise_spec)
    if shows_reach or not answer.ok:
        show_feasibility(terminal, answer)
    with terminal.progress() as report_progress:
        report_progress("solving", 0, 1)
        table = solve(noise_spec)
    tell_noise(terminal, noise_spec, proof=table.certificate)
    if table.certificate is not None and table.certificate.limits is not None:
        for line in table.certificate.limits.lines():
            terminal.step("limit", line)
    return table


def _build(terminal: Terminal, mechanism: Mechanism) -> PTable:
    from ptable.proof.guarantees import guarantee
    from ptable.proof.wording import describe_lines

    table = mechanism.build()
    proof = guarantee(table, epsilon=mechanism.epsilon or 1.0)
    for line in describe_lines(proof):
        terminal.step("guarantee", line)
    return table


def _asked_mechanism(options: Mapping[str, Any], *, has_file: bool) -> Mechanism | None:
    """Return the mechanism that the options name, or None where they name none."""
    from ptable.design.mechanisms import Mechanism
    from ptable.design.presets import ONS

    rest = dict(options)
    option = "mechanism" if rest.get("preset") != ONS or "mechanism" in rest else "preset"
    name = rest.pop(option, None)
    if name is None:
        own = [option for option in ("base", "epsilon", "edge") if option in rest]
        if own:
            raise click.UsageError(
                Message("{options} can only go with --mechanism.", options=flags(own))
            )
        return None
    if has_file:
        raise click.UsageError(
            Message("Give a file or --{option}, not both.", option=Name(option))
        )
    needs, takes = _MECHANISMS[name]
    problems = []
    if missing := sorted(needs - rest.keys()):
        problems.append(Message("needs {options}", options=flags(missing)))
    if foreign := sorted(rest.keys() - needs - takes):
        problems.append(Message("does not take {options}", options=flags(foreign)))
    if problems:
        raise click.UsageError(
            Message(
                "--{option} {name} {problems}.",
                option=Name(option),
                name=Name(name),
                problems=Enumeration(" and ", problems),
            )
        )
    return Mechanism.ons_10_5() if name == "ons-10-5" else Mechanism(name=name, **rest)
