"""``ckm dpsgd train`` and ``ckm dpsgd predict``: a private model from a table, and its use."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, options, with_terminal
from ckm.cli.terminal.output import check_output
from ckm.cli.terminal.output_options import output_options
from footing.messages import Message, Name, joined, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.config.training import TrainingJob
    from dpsgd import Plan

ADJACENCY = click.Choice(["add-remove", "zero-out", "replace"])
SAMPLING = click.Choice(["poisson", "fixed", "shuffled"])
#: Entry of the training file that an option of its name replaces → section, kind and help.
_PLAIN: dict[str, tuple[str, Any, str]] = {
    "epsilon": ("plan", float, "What may be spent."),
    "noise_multiplier": ("plan", float, "Noise, in place of epsilon."),
    "delta": ("plan", float, "Delta of (epsilon, delta)."),
    "unit": ("plan", str, "Who is protected."),
    "adjacency": ("plan", ADJACENCY, "What the neighbours are."),
    "sampling": ("plan", SAMPLING, "How batches are drawn."),
    "dataset_size": ("plan", int, "Number of records, or a public guess."),
    "batch_size": ("plan", int, "Expected records in a batch."),
    "steps": ("plan", int, "How many batches."),
    "epochs": ("plan", float, "Passes, in place of steps."),
    "clipping_norm": ("plan", float, "Longest gradient of one record."),
    "learning_rate": ("network", float, "Of the descent."),
    "average": ("network", float, "Weight of the past in an average."),
    "engine": (
        "network",
        click.Choice(["ckm", "opacus", "one-by-one"]),
        "Who finds gradients of records.",
    ),
    "about": ("data", str, "Which data: for the privacy card."),
    "trials": ("data", int, "Plans run on these data, with this one."),
}


def plan_options_without(*names: str) -> Callable[[Any], Any]:
    """Return the training file, and the options that replace its entries, but for some."""
    plain = (
        click.option(f"--{name.replace('_', '-')}", type=kind, help=text)
        for name, (_, kind, text) in _PLAIN.items()
        if name not in names
    )
    return options(
        click.option("--plan", "plan_file", type=PATH, help="A training file, see below."),
        *plain,
        *_COLUMNS,
    )


_COLUMNS = (
    click.option("--hidden-units", multiple=True, type=int, help="Width of a layer. Repeat."),
    click.option(
        "--number",
        "numbers",
        multiple=True,
        type=(str, float, float),
        metavar="NAME LOW HIGH",
        help="A column of numbers and its public bounds. Repeat.",
    ),
    click.option(
        "--codes",
        multiple=True,
        type=(str, str),
        metavar="NAME A,B,C",
        help="A column of codes and their public list. Repeat.",
    ),
    click.option(
        "--target-number", type=(str, float, float), metavar="NAME LOW HIGH",
        help="A number to predict.",
    ),
    click.option(
        "--target-codes", type=(str, str), metavar="NAME A,B,C", help="Codes to predict."
    ),
)  # fmt: skip
plan_options = plan_options_without()
thread_option = click.option(
    "--threads", type=click.IntRange(1, 1024), default=1,
    help="Of PyTorch. Several rarely help on a table.",
)  # fmt: skip


def asked_job(plan_file: Path | None, options: dict[str, Any]) -> TrainingJob:
    """Read the training file, with what the options replace."""
    from ckm.config.training import read_training

    changes: dict[str, Any] = {}
    for name, (section, _, _) in _PLAIN.items():
        if options.get(name) is not None:
            changes.setdefault(section, {})[name] = options[name]
    for one, other in (("steps", "epochs"), ("epsilon", "noise_multiplier")):
        _replace(changes.get("plan", {}), one, other)
    if options["hidden_units"]:
        changes.setdefault("network", {})["hidden"] = [*options["hidden_units"]]
    columns = [_number(*entry) for entry in options["numbers"]]
    columns += [_codes(*entry) for entry in options["codes"]]
    if columns:
        changes["column"] = columns
    if options["target_number"] and options["target_codes"]:
        raise click.UsageError(Message("A model predicts one column: a number or codes."))
    if options["target_number"]:
        changes["target"] = _number(*options["target_number"])
    if options["target_codes"]:
        changes["target"] = _codes(*options["target_codes"])
    if plan_file is None and not {"plan", "target", "column"} <= set(changes):
        raise click.UsageError(
            Message(
                "The plan is missing: --plan plan.toml, or options for epsilon, delta, "
                "sizes, columns and target."
            )
        )
    return read_training(plan_file, changes=changes)


def _replace(entries: dict[str, Any], one: str, other: str) -> None:
    """Let an option put out the entry of the file that says the same in another way."""
    for first, second in ((one, other), (other, one)):
        if first in entries and second not in entries:
            entries[second] = None


def _number(name: str, low: float, high: float) -> dict[str, Any]:
    return {"name": name, "low": low, "high": high}


def _codes(name: str, codes: str) -> dict[str, Any]:
    return {"name": name, "values": [code.strip() for code in codes.split(",")]}


def plan_and_data(data: Path | None, plan_file: Path | None) -> tuple[Path | None, Path | None]:
    """Take a training file that stands in the place of the records for what it is."""
    if plan_file is None and data is not None and data.suffix.lower() == ".toml":
        return None, data
    return data, plan_file


def source_of(data: Path | None, job: TrainingJob) -> Path:
    """Return the file of the records."""
    file = data or job.data.path
    if file is None:
        raise click.UsageError(Message("The records are missing: name a file, or [data] path."))
    return file


@contextlib.contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Require PyTorch, and limit its threads."""
    import dpsgd

    _ = dpsgd.DPClassifier  # says what to install, where it is missing
    from dpsgd.training.threads import limited_threads

    with limited_threads(number):
        yield


@click.command(cls=Command)
@click.argument("data", type=PATH, required=False)
@plan_options
@click.option("-o", "--output", type=PATH, required=True, help="The model, .safetensors.")
@click.option("--ledger", type=PATH, help="The budget that pays: see ckm dp ledger.")
@click.option("--who", default="", show_default=False, help="Who trains, for the ledger.")
@click.option("--seed", type=click.IntRange(min=0), help="A demonstration: NOT PRIVATE.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@click.option("--force", is_flag=True, help="Replace the model; begin an interrupted run anew.")
@click.option("--test", type=PATH, help="Other records, to score the model on once.")
@click.option("--dry-run", is_flag=True, help="Check everything, tell the cost, train nothing.")
@thread_option
@with_terminal
# claim dpsgd-cost
def train(
    terminal: Terminal,
    /,
    *,
    data: Path | None,
    plan_file: Path | None,
    output: Path,
    ledger: Path | None,
    who: str,
    seed: int | None,
    resume: bool,
    force: bool,
    test: Path | None,
    dry_run: bool,
    threads: int,
    **options: Any,
) -> None:
    """Train a private model on a table (Parquet, CSV or DuckDB), or on images.

    Examples
    --------
    ckm dpsgd train people.parquet --plan plan.toml -o model.safetensors
    ckm dpsgd train --plan plan.toml --ledger budget.db --who Ada -o model.safetensors
    ckm dpsgd train --plan plan.toml -o model.safetensors --resume
    ckm dpsgd train images.toml -o digits.safetensors --test test/

    plan.toml
    ---------
    schema = 1
    [plan]
    epsilon = 1.0
    delta = 1e-6
    unit = "person"
    dataset_size = 20000
    batch_size = 1000
    epochs = 10
    [target]
    name = "employed"
    values = ["no", "yes"]
    [[column]]
    name = "age"
    low = 0
    high = 100

    images.toml
    -----------
    schema = 1
    [data]
    path = "train"
    [plan]
    epsilon = 1.0
    delta = 1e-6
    dataset_size = 60000
    batch_size = 12000
    steps = 80
    [images]
    classes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    height = 28
    width = 28

    Images are a folder with a folder for each class, an .npz with arrays x and y, or IDX files
    as MNIST has. A score on --test follows from its records without noise.

    The whole plan is paid for before the first step. An interrupted run stays paid for, and
    goes on with --resume.
    """
    from ckm.cli.dpsgd.records import records_of
    from dp import BudgetLedger

    data, plan_file = plan_and_data(data, plan_file)
    job = asked_job(plan_file, options)
    source = source_of(data, job)
    check_output(output, force=force, inputs=(source,))
    records = records_of(job, source, labels=job.data.labels)
    tests = _tests(job, test, source)
    budget = None if ledger is None else BudgetLedger.open(ledger)
    if budget is not None and not who.strip():
        raise click.UsageError(Message("--ledger needs --who: who trains?"))
    with on_threads(threads):
        plan = job.plan(seed=seed)
        for part in (records, *tests):
            part.check()
        _tell(terminal, plan)
        if dry_run:
            estimator_of(job, plan).check(*records.read())
            _hint_rate(terminal, job, plan)
            terminal.step(
                "dry run complete", Message("dry run: {output} would be written", output=output)
            )
            return
        _train(
            terminal, job, plan, records, output, force=force, tests=tests,
            ledger=budget, who=who, is_resumed=resume,
        )  # fmt: skip
    if budget is not None:
        terminal.step("charged", Message("left: {left}", left=said(str(budget.left))))
    click.echo(str(output))


def _tests(job: TrainingJob, test: Path | None, source: Path) -> tuple[Any, ...]:
    """Return the records to score the model on, if any."""
    from ckm.cli.dpsgd.records import records_of

    path = test or job.data.test
    if path is None:
        return ()
    if path.exists() and source.exists() and path.samefile(source):
        raise click.UsageError(
            Message("--test must hold other records than those to learn from.")
        )
    labels = job.data.test_labels if test is None else None
    return (records_of(job, path, labels=labels),)


def _tell(terminal: Terminal, plan: Plan) -> None:
    noise = Message(
        "noise multiplier {noise_multiplier:.4g}", noise_multiplier=plan.noise_multiplier
    )
    terminal.step("plan made", joined("; ", [str(plan.cost()), noise]))
    if plan.is_demonstration:
        terminal.warn(
            "demonstration",
            Message("the noise comes from a seed: a demonstration, not a release"),
        )
    if not plan.noise_multiplier:
        terminal.warn("no noise", Message("there is no noise: nobody is protected"))


def _hint_rate(terminal: Terminal, job: TrainingJob, plan: Plan) -> None:
    """Say where made-up records of this form want another learning rate by far."""
    from ckm.cli.dpsgd.advise import is_advised, trial_records_of
    from dpsgd.sweeps.proposal import better_rate

    if not is_advised(job):
        return
    network = job.network
    better = better_rate(
        plan,
        records=trial_records_of(job),
        learning_rate=network.learning_rate,
        momentum=network.momentum,
        average=network.average,
    )
    if better is not None:
        terminal.warn(
            "learning rate",
            Message(
                "learning_rate {planned:g} is far from what made-up records of this form want "
                "at this noise, some {better:.2g}: ckm dpsgd advise proposes settings",
                planned=network.learning_rate,
                better=better.learning_rate,
            ),
        )


def _train(
    terminal: Terminal,
    job: TrainingJob,
    plan: Plan,
    records: Any,
    output: Path,
    *,
    force: bool,
    tests: tuple[Any, ...],
    is_resumed: bool,
    **payment: Any,
) -> None:
    import dpsgd
    from ckm.release.files.output_folder import only_writer

    checkpoint = output.with_name(f"{output.name}.run")
    card = None
    if plan.noise_multiplier:  # first: what cannot be stated is not begun
        card = dpsgd.card_of(
            plan, data=job.data.about, touches=job.data.touches, trials=job.data.trials
        )
    with only_writer(output.absolute()):
        if is_resumed and not checkpoint.exists():
            raise click.UsageError(
                Message(
                    "There is no interrupted run beside {output!r}.",
                    output=Name(output.name),
                )
            )
        if not is_resumed and checkpoint.exists():
            if not force:
                raise click.UsageError(
                    Message(
                        "{kept!r} keeps an interrupted run: --resume goes on with it, --force "
                        "begins anew, which is paid for anew.",
                        kept=Name(checkpoint.name),
                    )
                )
            checkpoint.unlink()
        table, classes = records.read()
        with terminal.progress() as report_progress:
            model = estimator_of(job, plan).fit(
                table,
                classes,
                **payment,
                what=f"model {output.name}",
                checkpoint=checkpoint,
                is_resumed=is_resumed,
                progress=lambda done, total: report_progress("training", done, total),
            )
        model.save(output, card=card)
    terminal.step(
        "model written",
        Message("written to {output}; its card: ckm dpsgd card", output=Name(output.name)),
    )
    for part in tests:
        score = model.score(*part.read())
        terminal.step(
            "model scored",
            Message(
                "{share:.2%} of the test records rightly: a statistic without noise, keep it "
                "inside",
                share=score,
            )
            if job.is_classifier
            else Message(
                "{share:.3f} of the variance explained: a statistic without noise, keep it "
                "inside",
                share=score,
            ),
        )


def estimator_of(job: TrainingJob, plan: Plan) -> Any:
    """Return the untrained model of a training file."""
    import dpsgd

    network = dict(job.network)
    weights = network.pop("class_weights")
    if job.images is not None:
        network |= {"images": job.images.form(), "classes": job.classes}
    if job.is_classifier:
        return dpsgd.DPClassifier(plan, class_weights=weights, **network)
    return dpsgd.DPRegressor(plan, **network)


@click.command(cls=Command)
@click.argument("file", metavar="MODEL", type=PATH)
@click.argument("data", type=PATH)
@click.option("--keep", multiple=True, help="A column to take over, an identifier say. Repeat.")
@click.option("--table", help="The table of a DuckDB file.")
@output_options(
    "A .csv or .parquet file.", ".csv", ".parquet", required=True, inputs=("file", "data")
)
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@thread_option
@with_terminal
def predict(
    terminal: Terminal,
    *,
    file: Path,
    data: Path,
    keep: tuple[str, ...],
    table: str | None,
    output: Path,
    dry_run: bool,
    threads: int,
) -> None:
    """Predict the target of each record of a table, or the class of each image.

    Examples
    --------
    ckm dpsgd predict model.safetensors people.parquet -o predicted.csv
    ckm dpsgd predict model.safetensors people.csv --keep person_id -o predicted.parquet
    ckm dpsgd predict digits.safetensors test/ -o predicted.csv

    Of codes, each has a column with its probability. Predictions of records follow from these
    records: they are as confidential as they are.
    """
    import dpsgd
    from ckm.cli.dpsgd.records import (
        check_columns,
        predicted,
        predicted_images,
        read_columns,
        write_table,
    )

    facts = dpsgd.read_facts(file)
    form = facts.settings.get("images")
    if facts.plan.schema is None and form is None:
        raise dpsgd.DPSGDError(
            Message("This model was trained on arrays, not on a table."),
            hint=Message("predict with Python"),
        )
    if form is not None and (keep or table):
        raise click.UsageError(Message("Images have no columns to keep, and no table."))
    names = []
    if facts.plan.schema is not None:
        names = [*dict.fromkeys([*(c.name for c in facts.plan.schema.columns), *keep])]
        check_columns(data, names=names, table=table)
    with on_threads(threads):
        model = dpsgd.read_model(file)
        if dry_run:
            terminal.step(
                "dry run complete", Message("dry run: {output} would be written", output=output)
            )
            return
        if form is not None:
            predictions = predicted_images(model, data)
        else:
            records = read_columns(data, names=names, table=table)
            predictions = predicted(model, records, keep=keep)
    write_table(predictions, output)
    if facts.plan.is_demonstration:
        terminal.warn(
            "demonstration", Message("the model is a demonstration: it protects nobody")
        )
    terminal.step(
        "predictions written", Message("written to {output}", output=Name(output.name))
    )
    click.echo(str(output))
