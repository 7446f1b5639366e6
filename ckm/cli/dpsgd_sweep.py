"""``ckm dpsgd sweep``: many settings tried on one table, and what it costs to keep the best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd_train import check_target, on_threads, source_of, thread_option
from ckm.cli.root import common_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckm.cli.voice import Voice
    from ckm.config.training import TrainingJob
    from dpsgd.sweep import Outcome, Sweep

__all__ = ["sweep"]

_PATH = click.Path(path_type=Path)
_CHOICES = (
    "batch_size", "noise_multiplier", "clipping_norm", "learning_rate", "epochs",
    "hidden_units", "image_factor",
)  # fmt: skip


class _Numbers(click.ParamType[Any]):
    """Numbers between commas."""

    name = "list"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[float]:
        """Return the numbers."""
        if isinstance(value, list):
            return value
        try:
            return [float(word) for word in str(value).split(",")]
        except ValueError:
            self.fail("it takes numbers between commas: 64,32", param, ctx)


def _choice_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed(_CHOICES):
        option = click.option(
            f"--{name.replace('_', '-')}", type=_Numbers(), metavar="A,B,C",
            help="Values to try; the first is the usual one." if name == "batch_size" else None,
        )  # fmt: skip
        command = option(command)
    return command


@click.command(
    epilog="""\b
Examples:
  ckm dpsgd sweep --plan plan.toml --test others.parquet --batch-size 64,32 \\
      --noise-multiplier 1,2 --repetitions 3 --with-plain -o runs.csv
  ckm dpsgd sweep --plan plan.toml --test others.parquet --one-at-a-time \\
      --learning-rate 0.5,1,2 --hidden-units 8,16 -o runs.csv

A line an epoch; the same command goes on where it was interrupted. The scores follow from the
test records without noise: keep the file inside, and try settings on public or synthetic
records where you can.
"""
)
@click.argument("data", type=_PATH, required=False)
@click.option("--plan", "plan_file", type=_PATH, required=True, help="The training file.")
@click.option("--test", type=_PATH, required=True, help="Records that were not trained on.")
@_choice_options
@click.option("--repetitions", type=click.IntRange(1), default=1, show_default=True)
@click.option("--one-at-a-time", is_flag=True, help="Vary one choice around the usual ones.")
@click.option("--with-plain", is_flag=True, help="Run each without privacy as well.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the first repetition.")
@click.option("-o", "--output", type=_PATH, required=True, help="A .csv file, gone on with.")
@thread_option
@common_options
@click.pass_obj
def sweep(
    voice: Voice,
    /,
    *,
    data: Path | None,
    plan_file: Path,
    test: Path,
    repetitions: int,
    one_at_a_time: bool,
    with_plain: bool,
    seed: int | None,
    output: Path,
    threads: int,
    **choices: list[float] | None,
) -> None:
    """Train with lists of settings, several times each; tell mean and spread."""
    from ckm.config.training import read_training
    from ckm.folder import only_writer
    from ckm.training_records import read_columns
    from dpsgd.sweep import Sweep, outcomes, run_sweep

    job = read_training(plan_file)
    source = source_of(data, job)
    if test.exists() and source.exists() and test.samefile(source):
        raise click.UsageError("--test must hold other records than those to learn from.")
    if output.suffix.lower() != ".csv":
        raise click.UsageError("The output must end in .csv.")
    check_target(output, force=True, inputs=(source, test, plan_file))
    tried = Sweep(
        values={name: listed for name, listed in choices.items() if listed},
        repetitions=repetitions,
        one_at_a_time=one_at_a_time,
        with_plain=with_plain,
        seed=seed or 0,
    )
    with on_threads(threads), only_writer(output.absolute()):
        from dpsgd.trials import Trials

        table, others = (
            read_columns(file, names=job.names, table=job.table) for file in (source, test)
        )
        network = dict(job.network)
        network.pop("average")
        train = Trials(
            job.plan, table=table, test=others, schema=job.schema, network=network,
            is_seeded=seed is not None,
        )  # fmt: skip
        with voice.progress() as tell:
            done = run_sweep(
                tried, train, file=output, tell=lambda n, all_: tell("runs", n, all_)
            )
    voice.step("sweep done", f"{done} runs, the others were there; keep the file inside")
    target: Any = job.schema.target
    _show(voice, outcomes(output, classes=len(target.values)))
    for line in _tuning(job, tried):
        click.echo(line)
    click.echo(str(output))


def _show(voice: Voice, found: Sequence[Outcome]) -> None:
    from rich import box
    from rich.table import Table

    names = [name for name in _CHOICES if any(name in one.choices for one in found)]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for heading in (*names, "epsilon", "runs", "accuracy", "sd", "times chance"):
        table.add_column(heading.replace("_", " "), justify="right")
    for one in found:
        cells = [f"{one.choices[n]:g}" if n in one.choices else "" for n in names]
        epsilon = "plain" if one.epsilon is None else f"{one.epsilon:.4g}"
        spread = "" if one.sd is None else f"{one.sd:.4f}"
        chance = "" if one.times_chance is None else f"{one.times_chance:.3g}"
        table.add_row(*cells, epsilon, str(one.runs), f"{one.mean:.4f}", spread, chance)
    voice.out.print(table)


def _tuning(job: TrainingJob, tried: Sweep) -> list[str]:
    """Say what keeping the best costs, were the scores private."""
    from dp import RenyiCurve
    from dpsgd.tuning import best_of_random

    costs = []
    for choices, is_private, _ in tried.runs():
        if is_private:
            costs.append(_plan_of(job, choices))
    if len(costs) < 2:
        return []
    delta = costs[0].delta
    epsilon = sum(plan.cost().epsilon for plan in costs)
    delta_of_all = f"{len(costs) * delta:.2g}"
    kept = f"Keeping the best of these {len(costs)} private runs costs epsilon {epsilon:.4g}"
    lines = [f"{kept} at delta {delta_of_all}, not that of one run."]
    worst = max(costs, key=lambda plan: plan.cost().epsilon)
    if worst.sampling == "poisson" and worst.adjacency == "add-remove":
        curve = RenyiCurve.subsampled_gaussian(
            sampling_rate=worst.sampling_rate, noise_multiplier=worst.noise_multiplier
        )
        best = best_of_random(curve * worst.steps, mean_trials=len(costs)).epsilon(delta)
        drawn = "With as many on average, their number drawn at random and secret"
        lines.append(f"{drawn}: epsilon {best.epsilon:.4g} at delta {delta:g}.")
    lines.append("This holds only where the scores come from public records.")
    return lines


def _plan_of(job: TrainingJob, choices: dict[str, float]) -> Any:
    from dpsgd.trials import changes_of

    return job.plan(**changes_of(choices, is_private=True))
