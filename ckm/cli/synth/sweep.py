"""``ckm synth sweep``: many ways to synthesise, cross-validated, resumable."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.synth.record_files import read_frame
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd

    from ckm.cli.terminal.console import Terminal
    from ckm.config.sweeps import SweepPlan
    from synth import Schema
    from synth.evaluation import EvaluationPlan
    from synth.evaluation.sweep import Sweep

#: What the terminal shows, the most telling first; a narrow one shows three.
_SHOWN = (
    "tvd2", "class_auc", "class_mcc", "number_rmse", "ks_mean", "spearman_change_pairs",
    "detection_auc", "mia_mean", "tvd1", "tvd3", "fit_cpu_seconds",
)  # fmt: skip
_MAX_WIDE, _MAX_NARROW, _WIDE = 6, 3, 100


@click.command(cls=Command)
@click.argument("file", type=PATH, metavar="SWEEP.toml")
@click.option("--journal", type=PATH, help="Where finished runs are kept.")
@click.option("--title", default="", show_default=False, help="Of the page.")
@output_options("A file: .csv of all runs, or .html.", ".csv", ".html", has_lang=True)
@click.option("--over", metavar="FACTOR", help="On the terminal: means over it, as epsilon.")
@click.option("--lang", type=click.Choice(["en", "fr"]), help="Of the page.")
@click.option("--dry-run", is_flag=True, help="Check everything, fit nothing.")
@with_terminal
def sweep(
    terminal: Terminal,
    /,
    *,
    file: Path,
    journal: Path | None,
    title: str,
    output: Path | None,
    over: str | None,
    lang: str | None,
    dry_run: bool,
) -> int:
    r"""Compare methods of synthesis on folds of the records.

    Examples
    --------
    ckm synth sweep sweep.toml
    ckm synth sweep sweep.toml -o sweep.csv
    ckm synth sweep sweep.toml -o sweep.html --lang fr

    sweep.toml; what is a list is a factor, and all combinations are tried
    ----------------------------------------------------------------------
    schema = 1
    data = "people.parquet"
    declared = "schema.json"
    folds = 5
    [measure]
    only = ["tables", "learning"]
    classes = ["income"]
    [[ways]]
    method = "tables"
    epsilon = [0.1, 1, 8]
    [[ways]]
    method = "copula-shirley"
    epsilon = [1, 8]
    ratio = [0.3, 0.5]
    encoder = ["ordinal", "one-hot"]
    mechanism = ["laplace", "geometric"]
    truncation = [1, 2, "all"]

    \b
    Finished runs are kept in sweep.runs.jsonl; the same command goes on where it stopped. Noise
    comes from seeds, and the output follows from confidential records: it is internal.
    """
    from ckm.config.sweeps import read_sweep
    from synth import Schema
    from synth.evaluation.sweep import lines_of
    from synth.evaluation.ways import control_ways, ways_of

    plan = read_sweep(file)
    schema = Schema.read(plan.declared)
    ways = ways_of(plan.ways, schema=schema)
    if over is not None and not any(f", {over}=" in name for name in ways):
        raise click.UsageError(Message("No way has a factor {over!r}.", over=Argument(over)))
    controls = control_ways() if plan.controls else {}
    evaluation_plan = _measured(plan)
    frame = _records(plan.data, schema)
    number = len(ways) * plan.folds
    terminal.step(
        "sweep read",
        Message(
            "{number} ways on {folds} folds: {number_2} fits",
            number=len(ways),
            folds=plan.folds,
            number_2=number,
        ),
    )
    if dry_run:
        for name in ways:
            click.echo(name)
        return 0
    from synth.evaluation import sweep as run

    with terminal.progress() as report_progress:
        results = run(
            frame,
            {**controls, **ways},
            folds=plan.folds,
            kinds=_kinds(schema),
            plan=evaluation_plan,
            seed=plan.seed,
            left_out=_identifiers(schema),
            about={"data_sha256": _digest(plan.data), "declared_sha256": schema.digest},
            path=journal or file.with_name(f"{file.stem}.runs.jsonl"),
            progress=lambda done, of, _name: report_progress("runs", done, of),
        )
    if output is None:
        _show(terminal, results, over)
    else:
        if output.suffix.lower() == ".csv":
            text = str(lines_of(results).to_csv(index=False, lineterminator="\n"))
        else:
            text = _page(results, plan, len(frame), title, lang)
        write_whole(output, text, is_private=True)
        terminal.step(
            "sweep written", Message("it follows from confidential records: keep it inside")
        )
        click.echo(str(output))
    failed = [one for one in results.runs if one.error]
    for one in failed:
        terminal.warn(
            "run failed",
            Message(
                "{one}, fold {fold}: {error}",
                one=Name(one.name),
                fold=one.fold + 1,
                error=said(one.error),
            ),
        )
    return CHECK_FAILED if failed else 0


def _measured(plan: SweepPlan) -> EvaluationPlan:
    from synth.evaluation import EvaluationPlan

    if plan.measure.sensitive and not plan.measure.keys:
        raise click.UsageError(Message("[measure] sensitive needs keys."))
    settings = plan.measure.model_dump(exclude_none=True)
    groups = settings.pop("only", None)
    return EvaluationPlan(**settings, **({"groups": groups} if groups else {}))


def _records(path: Path, schema: Schema) -> pd.DataFrame:
    """Read the columns of a schema, and its identifier."""
    from synth import DomainError

    frame = read_frame(path, _kinds(schema))
    if not len(frame):
        raise DomainError(
            Message("There are no records."), hint=Message("give a table with records in it")
        )
    columns = [*schema.names, *_identifiers(schema)]
    if absent := [name for name in columns if name not in frame.columns]:
        raise DomainError(
            Message(
                "The column {absent!r} of the schema is not in the records.",
                absent=Name(absent[0]),
            )
        )
    return frame[columns]


def _identifiers(schema: Schema) -> list[str]:
    return [] if schema.unit.identifier is None else [schema.unit.identifier]


def _kinds(schema: Schema) -> Mapping[str, Any]:

    from synth.evaluation import read_kinds

    return read_kinds(schema.to_dict())


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _page(results: Sweep, plan: SweepPlan, rows: int, title: str, lang: str | None) -> str:
    from footing.version import engine_version
    from reports import make_report
    from synth.evaluation.conclusions import sweep_facts
    from synth.evaluation.ways import control_ways

    facts = sweep_facts(
        results,
        controls=tuple(control_ways()),
        rows=rows,
        learner=plan.measure.learner,
        title=title,
        version=engine_version(),
    )
    return make_report(facts, language=lang or "en").html


def _show(terminal: Terminal, results: Sweep, over: str | None) -> None:
    """Show mean and deviation over the folds, and over a factor; a line per way."""
    from rich.table import Column
    from rich.text import Text

    keys = dict.fromkeys(key for run in results.runs for key in run.figures)
    most = _MAX_WIDE if terminal.out.width >= _WIDE else _MAX_NARROW
    figures = [key for name in _SHOWN for key in keys if key.partition(":")[0] == name][:most]
    means = [results.aggregate(key, over=over) for key in figures]
    headings = (Text(key.replace(":", "\n")) for key in figures)
    terminal.table(
        (
            Column("way", overflow="fold", min_width=16),
            *(Column(heading, justify="right", no_wrap=True) for heading in headings),
        ),
        (
            (Text(name), *(_spread(*mean.loc[name, ["mean", "sd"]]) for mean in means))
            for name in (means[0].index if means else ())
        ),
        is_plain=True,
        padding=(0, 1, 0, 0),
    )
    terminal.out.print(
        "Mean ± standard deviation over the folds. All figures: with -o sweep.csv or .html",
        markup=False,
        highlight=False,
    )


def _spread(mean: float, sd: float) -> str:
    if mean != mean:  # noqa: PLR0124  (nothing was measured)
        return "none"
    return f"{mean:.4f}" if sd != sd else f"{mean:.4f} ± {sd:.4f}"  # noqa: PLR0124
