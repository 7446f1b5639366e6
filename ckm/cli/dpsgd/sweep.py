"""``ckm dpsgd sweep``: many settings tried on some records, and what keeping the best costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.train import on_threads, plan_and_data, source_of, thread_option
from ckm.cli.terminal.click_group import PATH, Command, options, with_terminal
from ckm.cli.terminal.output import check_output
from footing.messages import Message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.config.training import TrainingJob
    from dpsgd import Plan
    from dpsgd.sweeps.sweep import Outcome

_CHOICES = (
    "batch_size", "noise_multiplier", "clipping_norm", "learning_rate", "epochs",
    "hidden_units", "image_factor",
)  # fmt: skip
_WAYS = {
    "one": "one run, settled beforehand or on public data",
    "sum": "all {runs} private runs counted",
    "basic": "all {runs} private runs counted, plain sum",
    "geometric": "{runs} runs on average, their number random (geometric law) and secret",
    "logarithmic": "{runs} runs on average, their number random (logarithmic law) and secret",
}


class Numbers(click.ParamType[Any]):
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
            self.fail(Message("it takes numbers between commas: 64,32"), param, ctx)


page_options = options(
    click.option("--page", type=PATH, help="Also a page with figures, .html."),
    click.option(
        "--language", "--lang", type=click.Choice(["en", "fr"]), default="en",
        help="Of the page.",
    ),
)  # fmt: skip
_choice_options = options(
    *(
        click.option(
            f"--{name.replace('_', '-')}",
            type=Numbers(),
            metavar="A,B,C",
            help="Values to try; the first is the usual one.",
        )
        for name in _CHOICES
    )
)


@click.command(cls=Command)
@click.argument("data", type=PATH, required=False)
@click.option("--plan", "plan_file", type=PATH, help="The training file.")
@click.option("--test", type=PATH, help="Records that were not trained on.")
@_choice_options
@click.option(
    "--published", is_flag=True, help="The rows of the source's table, in their place."
)
@click.option("--repetitions", type=click.IntRange(1), default=1, help="Runs of each choice.")
@click.option("--one-at-a-time", is_flag=True, help="Vary one choice around the usual ones.")
@click.option("--with-plain", is_flag=True, help="Run each without privacy as well.")
@click.option("--seed", type=click.IntRange(min=0), help="Of the first repetition.")
@click.option("-o", "--output", type=PATH, required=True, help="A .csv file, gone on with.")
@page_options
@thread_option
@with_terminal
def sweep(
    terminal: Terminal,
    /,
    *,
    data: Path | None,
    plan_file: Path | None,
    test: Path | None,
    published: bool,
    repetitions: int,
    one_at_a_time: bool,
    with_plain: bool,
    seed: int | None,
    output: Path,
    page: Path | None,
    language: str,
    threads: int,
    **choices: list[float] | None,
) -> None:
    r"""Train with lists of settings, several times each; tell mean and spread.

    Examples
    --------
    ckm dpsgd sweep --plan plan.toml --test others.parquet --batch-size 64,32 \
        --noise-multiplier 1,2 --repetitions 3 --with-plain -o runs.csv
    ckm dpsgd sweep --plan plan.toml --test others.parquet --one-at-a-time \
        --learning-rate 0.5,1,2 --hidden-units 8,16 -o runs.csv
    ckm dpsgd sweep images.toml --one-at-a-time --hidden-units 256,512 \
        --image-factor 1,2 -o runs.csv --page sweep.html
    ckm dpsgd sweep images.toml --published -o table.csv      the source's thirteen rows

    A line an epoch; the same command goes on where it was interrupted. The scores follow
    from the test records without noise: keep the file inside, and try settings on public or
    synthetic records where you can.
    """
    from ckm.config.training import read_training
    from ckm.release.files.output_folder import only_writer
    from dpsgd.sweeps.sweep import Sweep, outcomes, run_sweep

    data, plan_file = plan_and_data(data, plan_file)
    if plan_file is None:
        raise click.UsageError(Message("The training file is missing: --plan plan.toml."))
    job = read_training(plan_file)
    source, others = source_of(data, job), others_of(job, test)
    if others.exists() and source.exists() and others.samefile(source):
        raise click.UsageError(
            Message("--test must hold other records than those to learn from.")
        )
    check_output(output, force=True, endings=(".csv",), inputs=(source, others, plan_file))
    check_page(page, inputs=(source, others, plan_file, output))
    rows = _published(job, choices) if published else ()
    trials = Sweep(
        values={} if rows else _values(job, choices),
        rows=rows,
        repetitions=repetitions,
        one_at_a_time=one_at_a_time,
        with_plain=with_plain,
        seed=seed or 0,
    )
    with on_threads(threads), only_writer(output.absolute()):
        train = trials_of(job, source, others, is_test_given=test is not None, seed=seed)
        with terminal.progress() as report_progress:
            done = run_sweep(
                trials,
                train,
                file=output,
                report_progress=lambda n, all_: report_progress("runs", n, all_),
            )
    terminal.step(
        "sweep done",
        Message("{done} runs, the others were there; keep the file inside", done=done),
    )
    results = outcomes(output, classes=len(job.classes))
    _show(terminal, results, columns=[name for name, values in choices.items() if values])
    for line in _tuning(job, results):
        click.echo(line)
    if page is not None:
        write_page(page, job, results, language=language)
    click.echo(str(output))


def others_of(job: TrainingJob, test: Path | None) -> Path:
    """Return the file of the records that are not trained on."""
    others = test or job.data.test
    if others is None:
        raise click.UsageError(Message("The test records are missing: --test, or [data] test."))
    return others


def check_page(page: Path | None, *, inputs: tuple[Path, ...]) -> None:
    """Refuse a page that cannot be written."""
    if page is not None:
        check_output(page, force=True, endings=(".html",), inputs=inputs)


def trials_of(
    job: TrainingJob, source: Path, others: Path, *, is_test_given: bool, seed: int | None
) -> Any:
    """Return what trains the runs of a sweep, for a table or for images."""
    from ckm.cli.dpsgd.records import records_of
    from dpsgd.sweeps.trials import Trials

    labels = None if is_test_given else job.data.test_labels
    parts = (
        records_of(job, source, labels=job.data.labels),
        records_of(job, others, labels=labels),
    )
    for part in parts:
        part.check()
    network = dict(job.network)
    network.pop("average")
    if job.images is not None:
        table, test = (part.read() for part in parts)
        about: dict[str, Any] = {"images": job.images.form(), "classes": job.classes}
    else:
        table, test = (part.read()[0] for part in parts)
        about = {"schema": job.declared}
    return Trials(
        job.plan, table=table, test=test, network=network, is_seeded=seed is not None, **about
    )


def write_page(
    page: Path, job: TrainingJob, results: Sequence[Outcome], *, language: str = "en"
) -> None:
    """Write the page of a sweep, with its figures."""
    from dpsgd.pages import sweep_facts
    from footing.version import engine_version
    from reports import make_report

    promise = job.promise
    facts = sweep_facts(
        results,
        version=engine_version(),
        delta=promise.delta,
        dataset_size=promise.dataset_size,
        sampling=promise.sampling,
        adjacency=promise.adjacency,
        classes=len(job.classes),
    )
    make_report(facts, language=language).write(page, overwrite=True)


def _published(
    job: TrainingJob, choices: dict[str, list[float] | None]
) -> list[dict[str, float]]:
    """Return the rows of the source's table, with hidden units and factor of the file."""
    from dpsgd.accounting.published import PUBLISHED

    if any(choices.values()):
        raise click.UsageError(
            Message("--published has all its settings: give no lists beside it.")
        )
    usual = _values(job, {"learning_rate": [1.0]})
    names: tuple[str, ...] = ("hidden_units", "image_factor")
    own = {name: usual[name][0] for name in names if name in usual}
    return [{**run.choices, **own} for run in PUBLISHED]


def _values(job: TrainingJob, choices: dict[str, list[float] | None]) -> dict[str, list[float]]:
    """Return the values to try, and beside them the usual ones of the training file.

    So the record says with what each run was made, and is not gone on with by another plan.
    """
    lists = {name: values for name, values in choices.items() if values}
    if not lists:
        return {}
    hidden = job.network.hidden
    usual = {
        **dict(job.promise),
        "learning_rate": job.network.learning_rate,
        "hidden_units": hidden[0] if len(hidden) == 1 else None,
        "image_factor": None if job.images is None else job.images.factor,
    }
    if (usual["epochs"] or 0.5) % 1:  # a list has whole passes
        usual["epochs"] = None
    defaults = {name: usual.get(name) for name in _CHOICES if name not in lists}
    return {**lists, **{n: [float(v)] for n, v in defaults.items() if v is not None}}


def _show(terminal: Terminal, results: Sequence[Outcome], *, columns: Sequence[str]) -> None:
    values = {name: {one.choices.get(name) for one in results} - {None} for name in _CHOICES}
    names = [name for name in _CHOICES if name in columns or len(values[name]) > 1]
    rows = []
    for one in results:
        cells = [f"{one.choices[n]:g}" if n in one.choices else "" for n in names]
        epsilon = "plain" if one.epsilon is None else f"{one.epsilon:.4g}"
        spread = "" if one.sd is None else f"{one.sd:.4f}"
        chance = "" if one.times_chance is None else f"{one.times_chance:.3g}"
        rows.append((*cells, epsilon, str(one.runs), f"{one.mean:.4f}", spread, chance))
    headings = (*names, "epsilon", "runs", "accuracy", "sd", Message("times chance"))
    terminal.table([name.replace("_", " ") for name in headings], rows, is_plain=True)


def _tuning(job: TrainingJob, results: Sequence[Outcome]) -> list[str]:
    """Say what keeping the best costs, were the scores private."""
    from dpsgd.accounting.choosing import cost_of_choosing
    from dpsgd.sweeps.trials import changes_of

    runs = [one for one in results if one.is_private]
    if sum(one.runs for one in runs) < 2:
        return []
    plans = [job.plan(**changes_of(one.choices, is_private=True)) for one in runs]
    run_plans = [_with_choices(one, plan) for one, plan in zip(runs, plans, strict=True)]
    is_usual = all(
        p.sampling == "poisson" and p.adjacency == "add-remove" and not p.cuts_noise
        for p in plans
    )
    costs = cost_of_choosing(
        run_plans,
        delta=plans[0].delta,
        dataset_size=plans[0].dataset_size if is_usual else None,
    )
    lines = ["To keep the best of these runs costs, where the scores come from public records:"]
    for cost in costs:
        words = _WAYS[cost.way].format(runs=cost.runs)
        lines.append(f"  epsilon {cost.epsilon:<8.4g} delta {cost.delta:<8.2g} {words}")
    return lines


def _with_choices(one: Outcome, plan: Plan) -> Outcome:
    """Return the outcome with all that its account depends on."""
    batches = math.ceil(1 / plan.sampling_rate - 1e-9)
    choices = {
        "batch_size": float(round(plan.expected_batch)),
        "noise_multiplier": plan.noise_multiplier,
        "epochs": float(math.ceil(plan.steps / batches)),
    }
    return replace(one, choices=choices)
