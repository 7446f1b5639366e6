"""``ckm dpsgd attack``: who was in the data of such a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.sweep import check_page, page_options
from ckm.cli.dpsgd.train import on_threads, plan_and_data, source_of, thread_option
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Message, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.config.training import TrainingJob
    from dpsgd.audits import Evidence


@click.command(cls=Command)
@click.argument("data", type=PATH, required=False)
@click.option("--plan", "plan_file", type=PATH, help="The training file.")
@click.option("--shadows", type=click.IntRange(2), default=16, help="Models of the attacker.")
@click.option("--records", type=click.IntRange(50), help="So many records, drawn at random.")
@click.option("--with-plain", is_flag=True, help="Attack training without noise as well.")
@click.option("--seed", type=click.IntRange(min=0), help="Of all chance, to do it again.")
@output_options("The findings, for ckm dpsgd report: .json.", ".json")
@page_options
@thread_option
@with_terminal
def attack(
    terminal: Terminal,
    /,
    *,
    data: Path | None,
    plan_file: Path | None,
    shadows: int,
    records: int | None,
    with_plain: bool,
    seed: int | None,
    output: Path | None,
    page: Path | None,
    language: str,
    threads: int,
) -> int:
    """Train as a file says on half of the records, and guess who was in it.

    Examples
    --------
    ckm dpsgd attack --plan plan.toml
    ckm dpsgd attack images.toml --records 4000 --with-plain -o attacks.json --page attacks.html

    Five attacks, with models of the attacker's own, each trained on another half: batch rate,
    noise and steps are those of the plan. Nothing is charged: what comes out is about people
    in the data, and stays inside, as do records that are not public. Exit code 1 if an attack
    is above what the plan allows.
    """
    from ckm.cli.dpsgd.records import records_of
    from ckm.config.training import read_training
    from dpsgd.audits import write_evidence

    data, plan_file = plan_and_data(data, plan_file)
    if plan_file is None:
        raise click.UsageError(Message("The training file is missing: --plan plan.toml."))
    job = read_training(plan_file)
    if not job.is_classifier:
        raise click.UsageError(Message("The attack is on classifiers: predict codes."))
    source = source_of(data, job)
    check_page(page, inputs=(source, plan_file))
    part = records_of(job, source, labels=job.data.labels)
    part.check()
    with on_threads(threads), terminal.progress() as report_progress:
        evidence = [
            _attacked(
                job, part.read(), is_private=is_private, shadows=shadows, most=records,
                seed=seed, report_progress=report_progress,
            )
            for is_private in (True, False)[: 1 + with_plain]
        ]  # fmt: skip
    _show(terminal, evidence)
    if output is not None:
        write_whole(output, write_evidence(evidence) + "\n", is_private=True)
    if page is not None:
        _write_page(page, evidence, language=language)
    terminal.step(
        "attacks done", Message("they are about people in the data: keep them inside")
    )
    if any(rates.is_above for one in evidence for rates in one.attacks.values()):
        terminal.warn("promise broken", Message("An attack exceeds what the guarantee allows."))
        return CHECK_FAILED
    return 0


def _attacked(
    job: TrainingJob,
    records: tuple[Any, Any],
    *,
    is_private: bool,
    shadows: int,
    most: int | None,
    seed: int | None,
    report_progress: Any,
) -> Evidence:
    from ckm.cli.dpsgd.train import estimator_of
    from dpsgd.audits import Evidence
    from dpsgd.sweeps.attack import attack_training
    from dpsgd.sweeps.trials import changes_of

    changes = {} if is_private else changes_of({}, is_private=False)
    plan = job.plan(seed=seed, **changes)
    kind = Message("private") if is_private else Message("plain")
    game = attack_training(
        estimator_of(job, plan),
        *records,
        shadows=shadows,
        most=most,
        seed=seed,
        report_progress=lambda done, total: report_progress(str(kind), done, total),
    )
    cost = plan.cost()
    return Evidence(
        name="private" if is_private else "plain",
        adjacency=str(plan.adjacency),
        sampling=str(plan.sampling),
        unit=plan.unit,
        attacks=game.attacks,
        shadows=shadows,
        epsilon=cost.epsilon if is_private else None,
        delta=plan.delta if is_private else None,
    )


def _show(terminal: Terminal, several: list[Evidence]) -> None:
    rows = []
    for one in several:
        for name, rates in one.attacks.items():
            first = rates.rates[-1]
            limit = "" if rates.advantage_ceiling is None else f"{rates.advantage_ceiling:.3f}"
            rows.append(
                (
                    one.name, name, f"{rates.auc:.3f}", f"{rates.advantage:.3f}", limit,
                    f"{first.true_positive_rate:.3f}",
                    "" if first.ceiling is None else f"{first.ceiling:.3f}",
                )
            )  # fmt: skip
    at = several[0].attacks["loss"].rates[-1].false_positive_rate
    headings = (
        Message("training"), Message("attack"), Message("area"), Message("advantage"),
        Message("at most"), Message("true positive rate at {share}", share=said(f"{at:g}")),
        Message("at most"),
    )  # fmt: skip
    terminal.table(headings, rows, is_plain=True)


def _write_page(page: Path, evidence: list[Evidence], *, language: str) -> None:
    from dpsgd.pages import audit_facts
    from footing.version import engine_version
    from reports import make_report

    facts = audit_facts(evidence, version=engine_version())
    make_report(facts, language=language).write(page, overwrite=True)
