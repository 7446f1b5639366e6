"""``ckm compare``: rival methods, or designs of noise, on the tables of a job."""

from __future__ import annotations

import csv
import io
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.compare.method_table import show_methods, told
from ckm.cli.terminal.click_group import PATH, Command, limit_options, with_terminal
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.comparison.compare_designs import Comparison
    from ckm.comparison.compare_methods import MethodComparison
    from ckm.config.comparison.comparanda import Comparanda
    from ckm.config.job.job import Job
    from footing.progress import Progress
    from reports import Report
    from reports.facts.frontier import FrontierFacts
    from reports.facts.release import Text

_SHOWN = {
    "q_worst": "worst\nP(i | j)",
    "q_worst_set": "worst\nP(S | j)",
    "given_away_set": "given\naway",
    "aad": "mean\n|d|",
    "hellinger_raw": "Hellinger\n",
    "false_zeros_pct": "false\nzeros %",
}
_RISK, _LOSS = "q_worst_set", "aad"
#: What tells of every table.
_TALKATIVE = (
    "ckm.engine.engine",
    "ckm.ledger",
    "ckm.methods.suppression.secondary.search",
    "tables.cells.cube",
    "tables.swapping",
)
#: A narrower terminal has room for the two axes of the map alone.
_WIDE = 72

_SUFFIXES = (".csv", ".svg", ".html", ".json")


@click.command(cls=Command)
@click.argument("job", type=PATH, metavar="JOB.toml")
@click.argument("designs", type=PATH, metavar="[DESIGNS.toml]", required=False)
@output_options("A file: .csv, .svg, .html or .json.", *_SUFFIXES, has_lang=True)
@click.option("--lang", type=click.Choice(["en", "fr"]), help="The language of the page.")
@click.option("--full", is_flag=True, help="Write the long lists to the page, too.")
@click.option("--methods", help="Names of methods, with commas; by default all.")
@click.option("--geography", help="For methods: the dimension of areas.")
@click.option("--target", help="For methods: the dimension that an intruder wants to know.")
@click.option(
    "--sample",
    type=click.IntRange(1, 1_000_000),
    help="For methods: try them on at most so many records; by default 20000.",
)
@click.option(
    "--sensitive",
    type=click.IntRange(1, 1000),
    help="For designs: the largest sensitive count; by default that of the job's [report].",
)
@click.option(
    "--draws",
    type=click.IntRange(0, 1000),
    default=1,
    help="For designs: simulations for the figures that have no formula.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), help="Of all that is drawn; by default 1."
)
@click.option(
    "--frontier",
    "has_frontier",
    is_flag=True,
    help=(
        "For designs: also the frontier, the least loss of any p-table for each worst "
        "posterior."
    ),
)
@limit_options
@with_terminal
def compare(
    terminal: Terminal,
    *,
    job: Path,
    designs: Path | None,
    output: Path | None,
    lang: str | None,
    full: bool,
    methods: str | None,
    geography: str | None,
    target: str | None,
    sample: int | None,
    sensitive: int | None,
    draws: int,
    seed: int | None,
    has_frontier: bool,
    memory_limit: str | None,
    threads: int | None,
) -> None:
    """Compare methods, or designs of noise, on the tables of a job.

    Without DESIGNS, the job's own method comes first, exactly as ckm release would apply it
    now, and then the others, tried on the records of the job, a sample where there are many, by
    the criteria that offices choose by. Nothing is published, and no ledger is written. With
    DESIGNS, risk and utility
    of designs are mapped, the job's own p-table among them; these are expectations over all
    keys.

    Examples
    --------
    ckm compare job.toml                                    all methods, as measured
    ckm compare job.toml -o methods.html                    a page, --lang fr in French
    ckm compare job.toml -o methods.svg                     a picture
    ckm compare job.toml --methods rounding,cell-key
    ckm compare job.toml designs.toml                       designs of noise
    ckm compare job.toml designs.toml -o map.csv            all figures, per table
    ckm compare job.toml designs.toml -o map.svg            a picture
    ckm compare job.toml designs.toml -o comparison.html
    ckm compare job.toml designs.toml --frontier     and what is possible

    designs.toml may hold methods, designs or both
    ----------------------------------------------
    [methods.random-rounding]           other parameters of a method
    base = 3
    [methods.made]                      one more
    method = "synthetic"
    path = "synthetic.parquet"
    [experiment]                        what methods are tried on
    geography = "region"
    target = "category"
    [grid]                              all combinations
    max_noise = [3, 5, 8]
    variance = [1.0, 3.0]
    small = [0, 2]
    [designs.rounded]                   or one at a time
    mechanism = "random-rounding"
    base = 3
    [designs.ours]
    path = "ptable.parquet"

    The output is internal: its figures follow from original counts and from parameters.
    """
    from ckm.comparison.compare_designs import compare as compare_designs
    from ckm.config import read_job
    from ckm.config.comparison.comparanda import read_comparanda

    plan = read_job(job)
    settings = {"geography": geography, "target": target, "records": sample, "seed": seed}
    comparanda = read_comparanda(
        designs,
        only=_names(methods),
        experiment={name: value for name, value in settings.items() if value is not None},
    )
    _require_fit(comparanda, output)
    if has_frontier and not comparanda.designs:
        raise click.UsageError(Message("--frontier goes with designs: give DESIGNS.toml."))
    if has_frontier and output is not None and output.suffix.lower() in {".csv", ".svg"}:
        raise click.UsageError(
            Message("--frontier is for a page: ckm ptable frontier writes its own data.")
        )
    _tell_read(terminal, comparanda, designs)
    draw_options: dict[str, Any] = {
        "sensitive": None if sensitive is None else range(1, sensitive + 1),
        "n_draws": draws,
        "seed": 1 if seed is None else seed,
    }
    with terminal.progress() as report_progress:
        common: dict[str, Any] = {
            "progress": report_progress,
            "memory_limit": memory_limit,
            "threads": threads,
        }
        results = _Found(
            title=plan.title_of(),
            is_full=full,
            designs=compare_designs(plan, comparanda.designs, **common, **draw_options)
            if comparanda.designs
            else None,
            methods=_compared_methods(plan, comparanda, common) if comparanda.methods else None,
        )
        if has_frontier:
            line = _frontier(terminal, job, results, report_progress)
            results = replace(results, frontier=line)
    _finish(terminal, results, output, lang)


def _frontier(
    terminal: Terminal, job: Path, results: _Found, report_progress: Progress
) -> FrontierFacts:
    """Trace the frontier of the job's design, with the other designs beside it."""
    from ckm.cli.frontier import trace
    from ckm.comparison.frontier import frontier_facts, plan_of_job

    plan = plan_of_job(job, limits={}, objective=None)
    comparison = results.designs
    others = {} if comparison is None else dict(comparison.ptables)
    line = trace(terminal, plan, progress=report_progress, has_field=False, designs=others)
    return frontier_facts(plan, line)


def _warn_of(terminal: Terminal, comparison: Comparison) -> None:
    """Tell which designs were refused, and what the noise of others does to small counts."""
    from ckm.release.job_inputs import cautions_of

    for name, reason in comparison.map.refused.items():
        refusal = Message("{name}: {text}", name=Name(name), text=said(reason))
        terminal.warn("design refused", refusal, design=name)
    for name, table in comparison.ptables.items():
        for text in (
            cautions_of(table) if name != comparison.chosen else ()
        ):  # the job's were told
            words = Message("{name}: {text}", name=Name(name), text=said(text))
            terminal.warn("noise", words, design=name)


def _finish(terminal: Terminal, results: _Found, output: Path | None, lang: str | None) -> None:
    """Tell what was refused, and show the comparison or write it."""
    if results.designs is not None:
        _warn_of(terminal, results.designs)
    if results.methods is not None:
        for result in results.methods.results:
            if result.reason:
                terminal.warn("method not tried", told(result), method=result.choice.name)
    if output is None:
        from ckm.cli.frontier import show_frontier

        if results.methods is not None:
            show_methods(terminal, results.methods)
        if results.designs is not None:
            _show(terminal, results.designs)
        if results.frontier is not None:
            show_frontier(terminal, results.frontier)
        return
    text = _WRITERS[output.suffix.lower()](results, lang or terminal.language)
    write_whole(output, text, is_private=True)
    terminal.step(
        "comparison written", Message("it follows from original counts: keep it inside")
    )
    click.echo(str(output))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Designs, methods or both."""

    title: Text
    is_full: bool
    designs: Comparison | None
    methods: MethodComparison | None
    frontier: FrontierFacts | None = None

    def report(self, language: str) -> Report:
        from ckm.comparison.method_facts import comparison_of_methods, method_facts
        from reports import make_report

        if self.designs is None:
            assert self.methods is not None  # noqa: S101  (one of the two was asked for)
            facts = comparison_of_methods(self.methods, title=self.title)
        else:
            facts = self.designs.facts()
            if self.methods is not None:
                facts = replace(facts, methods=method_facts(self.methods))
            facts = replace(facts, frontier=self.frontier)
        return make_report(facts, language=language, is_full=self.is_full)


def _names(methods: str | None) -> tuple[str, ...]:
    if methods is None:
        return ()
    names = tuple(name.strip() for name in methods.split(",") if name.strip())
    if not names:
        raise click.UsageError(Message("--methods names no method."))
    return names


def _require_fit(comparanda: Comparanda, output: Path | None) -> None:
    suffix = "" if output is None else output.suffix.lower()
    if comparanda.methods and comparanda.designs and suffix in {".csv", ".svg"}:
        raise click.UsageError(
            Message(
                "Methods and designs do not fit into one {suffix}: write .html or .json, "
                "or compare them one after the other.",
                suffix=said(suffix[1:].upper()),
            )
        )


def _tell_read(terminal: Terminal, comparanda: Comparanda, file: Path | None) -> None:
    numbers = {"design": len(comparanda.designs), "method": len(comparanda.methods)}
    parts = [f"{n} {word}{'s' * (n != 1)}" for word, n in numbers.items() if n]
    name = "defaults" if file is None else file.name
    terminal.step(
        "designs read" if comparanda.designs else "methods read",
        f"{name}: {', '.join(parts)}",
        **{f"{word}s": n for word, n in numbers.items()},
    )


def _compared_methods(
    plan: Job, comparanda: Comparanda, options: Mapping[str, Any]
) -> MethodComparison:
    """Try methods; the events of the hundreds of tables that are tried stay out of the log."""
    from ckm.comparison.compare_methods import compare_methods

    levels = {logging.getLogger(name): logging.getLogger(name).level for name in _TALKATIVE}
    for logger in levels:
        logger.setLevel(logging.WARNING)
    try:
        return compare_methods(
            plan,
            comparanda.methods,
            experiment=comparanda.experiment,
            named=comparanda.named,
            **options,
        )
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


def _show(terminal: Terminal, result: Comparison) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    front = set(result.map.pareto(risk=_RISK, utility=_LOSS))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("")
    table.add_column("design", overflow="fold", min_width=14)
    is_wide = terminal.out.width >= _WIDE
    names = list(_SHOWN) if is_wide else [_RISK, _LOSS]
    for figure in names:
        table.add_column(_SHOWN[figure], justify="right", no_wrap=True)
    for design in result.map.designs:
        is_chosen = design == result.chosen
        mark = "*" * (design in front) + "J" * is_chosen
        cells = (_number(result, design, figure) for figure in names)
        table.add_row(mark, Text(design), *cells, style="bold" if is_chosen else "")
    most = max(result.map.sensitive)
    terminal.out.print(table)
    terminal.out.print(
        "* on the frontier: no other is lower in both worst P(S | j) and mean |d|\n"
        "J the job's own\n"
        f"S: the sensitive counts, 1 to {most}    "
        "given away: certainly in S with one record more\n"
        f"All tables together, each of {result.count_histogram.distinct:,} distinct cells once."
        + "\nMore figures: on a wider terminal, or with -o map.csv"
        * (not is_wide),
        markup=False,
    )


def _number(comparison: Comparison, design: str, figure: str) -> str:
    from risk.risk_map.catalogue import FIGURES

    number = comparison.map.find(design, figure)
    if number is None:
        return "none"
    return f"{number:.3f}" if FIGURES[figure].unit == "probability" else f"{number:.4g}"


def _as_csv(results: _Found, _language: str) -> str:
    from ckm.comparison.method_facts import methods_csv

    if results.methods is not None:
        return methods_csv(results.methods)
    return "" if results.designs is None else _map_csv(results.designs)


def _map_csv(comparison: Comparison) -> str:
    from risk.risk_map.catalogue import FIGURES

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["design", "table", "cells", *FIGURES])
    for line in comparison.map.lines:
        values = ["" if v is None else repr(v) for v in line.figures.values()]
        writer.writerow([line.design, line.table, line.n_cells, *values])
    return text.getvalue()


def _as_svg(results: _Found, language: str) -> str:
    comparison = results.methods or results.designs
    return "" if comparison is None else comparison.plot(language=language).svg


_WRITERS: dict[str, Callable[[_Found, str], str]] = {
    ".csv": _as_csv,
    ".svg": _as_svg,
    ".html": lambda results, language: results.report(language).html,
    ".json": lambda results, language: results.report(language).to_json(),
}
