"""``ckm synth evaluate`` and ``ckm synth compare``: synthetic records against real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.synth.record_files import kinds_of_files, read_frame
from ckm.cli.terminal.click_group import PATH, Command, options, with_terminal
from ckm.cli.terminal.output import read_json
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Message, Name
from footing.serialisation import document

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd

    from ckm.cli.terminal.console import Terminal
    from synth import Schema
    from synth.evaluation import Evaluation, EvaluationPlan

_GROUPS = (
    "amounts", "dependence", "tables", "columns",
    "detection", "learning", "membership", "nearness", "inference",
)  # fmt: skip
_CONTROLS = ("train", "bootstrap", "holdout", "independent")
#: A narrower terminal has room for these alone.
_WIDE, _MAX_TELLING = 100, ("holdout", "independent")
_SUFFIXES = (".csv", ".json", ".html")


#: What evaluate and compare have in common.
_measure_options = options(
    click.option("--holdout", type=PATH, help="Real records that the synthesis never saw."),
    click.option("--schema", type=PATH, help="The declared columns, as JSON."),
    click.option("--class", "classes", multiple=True, help="A column to learn. Repeat."),
    click.option("--number", "numbers", multiple=True, help="Numbers to learn. Repeat."),
    click.option("--key", "keys", multiple=True, help="What an intruder knows. Repeat."),
    click.option(
        "--sensitive", multiple=True, help="A column that the intruder wants. Repeat."
    ),
    click.option(
        "--amount",
        "amounts",
        multiple=True,
        help="A column with totals, by default numbers with many values. Repeat.",
    ),
    click.option("--by", help="Categories with totals of their own."),
    click.option(
        "--only",
        "groups",
        multiple=True,
        type=click.Choice(_GROUPS),
        help="Only this group of figures. Repeat.",
    ),
    click.option(
        "--learner",
        type=click.Choice(["histogram", "xgboost"]),
        default="histogram",
        help="Boosted trees of scikit-learn, or of XGBoost.",
    ),
    click.option("--drop", multiple=True, help="A column to leave out, as a weight. Repeat."),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        help="Of all samples: no secret depends on it.",
    ),
    click.option("--title", default="", show_default=False, help="Of the page."),
    output_options("A file: .csv, .json or .html.", *_SUFFIXES, has_lang=True),
    click.option("--lang", type=click.Choice(["en", "fr"]), help="Of the page."),
    with_terminal,
)


@click.command(cls=Command)
@click.argument("train", type=PATH, metavar="TRAIN")
@click.argument("synthetic", type=PATH, metavar="SYNTHETIC")
@_measure_options
def evaluate(terminal: Terminal, /, *, train: Path, synthetic: Path, **options: Any) -> None:
    r"""Measure synthetic records against the real ones they were made from.

    Examples
    --------
    ckm synth evaluate train.parquet synthetic.parquet --holdout test.parquet
    ckm synth evaluate train.parquet synthetic.parquet --holdout test.parquet \
        --class income --key age --key sex --sensitive occupation -o quality.html

    \b
    The output is internal: its figures follow from confidential records without noise.
    """
    _run(terminal, train, {synthetic.stem: synthetic}, options)


@click.command(cls=Command)
@click.argument("train", type=PATH, metavar="TRAIN")
@click.argument("synthetic", type=PATH, nargs=-1, required=True, metavar="SYNTHETIC...")
@_measure_options
def compare(
    terminal: Terminal, /, *, train: Path, synthetic: tuple[Path, ...], **options: Any
) -> None:
    r"""Measure several sets of synthetic records against the same real ones.

    Examples
    --------
    ckm synth compare train.parquet eps1.parquet eps8.parquet --holdout test.parquet
    ckm synth compare train.parquet eps*.parquet --holdout test.parquet -o all.html

    \b
    The output is internal: its figures follow from confidential records without noise.
    """
    files = {path.stem: path for path in synthetic}
    if len(files) < len(synthetic):
        raise click.UsageError(Message("Two sets of synthetic records have the same name."))
    _run(terminal, train, files, options)


def _run(
    terminal: Terminal, train: Path, synthetic: Mapping[str, Path], options: dict[str, Any]
) -> None:
    from dataclasses import replace

    from synth.evaluation import evaluate as measure
    from synth.evaluation import read_kinds
    from synth.guarantee import guarantee_beside

    output: Path | None = options["output"]
    declared = _declared(options["schema"])
    schema = _schema_of(declared)
    dropped = {
        *options["drop"],
        *([] if schema is None else [*schema.ignored, schema.unit.identifier]),
    }
    kinds = read_kinds(declared)
    paths = [train, *synthetic.values(), *([options["holdout"]] if options["holdout"] else [])]
    all_kinds = kinds if schema is not None else {**kinds_of_files(paths), **kinds}

    def read(path: Path) -> pd.DataFrame:
        return _without(dropped, read_frame(path, all_kinds))

    real = read(train)
    holdout = options["holdout"] and read(options["holdout"])
    kinds = {name: kind for name, kind in kinds.items() if name in real.columns}
    plan = _plan(options)
    evaluations: dict[str, Evaluation] = {}
    for name, path in synthetic.items():
        terminal.step("synthetic records read", path.name)
        promised = guarantee_beside(path)
        # Controls are the same for every set: they are measured once.
        own_plan = plan if not evaluations else replace(plan, controls=())
        evaluation = measure(
            real,
            read(path),
            holdout=holdout,
            kinds=kinds,
            plan=own_plan,
            progress=lambda what: terminal.step("measured", what),
        )
        settings = {**evaluation.settings, "guarantee": promised.to_dict()}
        evaluations[name] = replace(evaluation, settings=settings)
    evaluations = _with_controls(evaluations)
    if output is None:
        show_figures(terminal, evaluations)
        return
    text = _WRITERS[output.suffix.lower()](
        evaluations, options["title"], options["lang"] or "en"
    )
    write_whole(output, text, is_private=True)
    terminal.step(
        "evaluation written", Message("it follows from confidential records: keep it inside")
    )
    click.echo(str(output))


def _plan(options: dict[str, Any]) -> EvaluationPlan:
    from synth.evaluation import EvaluationPlan

    if options["sensitive"] and not options["keys"]:
        raise click.UsageError(Message("--sensitive needs at least one --key."))
    names = ("classes", "numbers", "keys", "sensitive", "amounts", "by", "learner", "seed")
    return EvaluationPlan(
        groups=options["groups"] or _GROUPS, **{name: options[name] for name in names}
    )


def _without(dropped: set[str], frame: pd.DataFrame) -> pd.DataFrame:
    return frame[[name for name in frame.columns if name not in dropped]]


def _declared(schema: Path | None) -> Any:
    from synth.evaluation import EvaluationError

    if schema is None:
        return {}
    if (content := read_json(schema, Message("schema"))) is None:
        raise EvaluationError(
            Message("The schema {schema!r} is not JSON.", schema=Name(schema.name))
        )
    return content


def _schema_of(declared: Any) -> Schema | None:
    """Return what is declared, where it is a schema of ours."""
    from synth import Schema

    is_ours = isinstance(declared, dict) and declared.get("format") == "ckm-synth-schema"
    return Schema.from_dict(declared) if is_ours else None


def _with_controls(evaluations: dict[str, Evaluation]) -> dict[str, Evaluation]:
    """Give every set the controls of the first."""
    from dataclasses import replace

    from reports.catalogues.synthesis import FIGURES

    first = next(iter(evaluations.values()))
    copies = {}
    for name, evaluation in evaluations.items():
        figures = []
        for figure in evaluation.figures:
            subject = None if FIGURES[figure.name].group == "tables" else figure.subject
            first_figure = first.find(figure.name, subject)
            figures.append(
                replace(figure, controls={} if first_figure is None else first_figure.controls)
            )
        copies[name] = replace(evaluation, figures=tuple(figures))
    return copies


def show_figures(terminal: Terminal, evaluations: Mapping[str, Evaluation]) -> None:
    """Show figures beside their controls on the terminal."""
    from rich.table import Column
    from rich.text import Text

    from reports.catalogues.synthesis import CONTROLS, FIGURES, GOOD
    from synth.guarantee import Guarantee

    _show_trust(terminal, evaluations)
    first = next(iter(evaluations.values()))
    controls = [c for c in _CONTROLS if any(c in figure.controls for figure in first.figures)]
    is_wide = terminal.out.width >= _WIDE
    if not is_wide:
        controls = [c for c in controls if c in _MAX_TELLING]
    headings = (*evaluations, *(CONTROLS[c].lower() for c in controls))
    columns = [
        Column("figure", overflow="fold", min_width=16),
        *(Column(heading, justify="right", overflow="fold") for heading in headings),
        *[Column("good", overflow="fold")] * is_wide,
    ]
    rows = []
    for figure in (one for one in first.figures if not one.part):  # a file has them by category
        subject = None if FIGURES[figure.name].group == "tables" else figure.subject
        definition = FIGURES[figure.name]
        name = definition.name + (f" ({figure.subject})" if figure.subject else "")
        values = [evaluation.value(figure.name, subject) for evaluation in evaluations.values()]
        values += [figure.controls.get(c) for c in controls]
        cells = ["none" if value is None else _written(value) for value in values]
        rows.append((Text(name), *cells, *[GOOD[definition.good]] * is_wide))
    terminal.table(columns, rows, is_plain=True, padding=(0, 1, 0, 0))
    for name, evaluation in evaluations.items():
        if "guarantee" in evaluation.settings:
            promised = Guarantee.from_dict(evaluation.settings["guarantee"])
            terminal.out.print(f"{name}: {promised.text}", markup=False, highlight=False)
    terminal.out.print(
        "An attack that finds nothing proves nothing.\nDistances are no evidence of privacy."
        + "\nMore controls: on a wider terminal, or with -o figures.csv" * (not is_wide),
        markup=False,
    )


def _show_trust(terminal: Terminal, evaluations: Mapping[str, Evaluation]) -> None:
    """Say first how far amounts are off, which tables can be used, how far counts are off."""
    from reports.catalogues.synthesis import CONCLUSIONS, FIGURES
    from reports.i18n.languages import words_of
    from synth.evaluation.conclusions import conclusions

    words = words_of("en")
    for name, evaluation in evaluations.items():
        for one in conclusions(evaluation):
            if one.name.startswith(("amounts", "trusted", "cells")):
                values = dict(one.values)
                if figure := values.get("figure"):
                    values["figure"] = FIGURES[str(figure)].name
                sentence = CONCLUSIONS[one.name].say(words, values, of=one.name)
                terminal.out.print(f"{name}: {sentence}", markup=False, highlight=False)


def _written(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 100 else f"{value:.1f}"


def _as_csv(evaluations: Mapping[str, Evaluation], _title: str, _language: str) -> str:
    import pandas as pd

    from synth.guarantee import Guarantee

    frames = []
    for name, some in evaluations.items():
        promised = Guarantee.from_dict(some.settings["guarantee"]).text
        frames.append(some.to_frame().assign(records=name, guarantee=promised))
    whole = pd.concat([frame.astype(object) for frame in frames])
    front = ["records", *(c for c in whole.columns if c not in ("records", "guarantee"))]
    front.append("guarantee")
    return str(whole[front].to_csv(index=False, lineterminator="\n"))


def _as_json(evaluations: Mapping[str, Evaluation], _title: str, _language: str) -> str:
    return document(evaluations)


def page_of(evaluations: Mapping[str, Evaluation], title: str, language: str) -> str:
    """Return the page of evaluations of the same real records."""
    from footing.version import engine_version
    from reports import make_report
    from synth.evaluation.conclusions import facts_of

    facts = facts_of(evaluations, title=title, version=engine_version())
    return make_report(facts, language=language).html


_WRITERS: dict[str, Callable[[Mapping[str, Evaluation], str, str], str]] = {
    ".csv": _as_csv,
    ".json": _as_json,
    ".html": page_of,
}
