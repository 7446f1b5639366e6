"""``ckm dpsgd``: private training, what it costs, and what attackers get out of it."""

from pathlib import Path

import click

from ckm.cli.dp.dp import budget
from ckm.cli.dpsgd.advise import advise
from ckm.cli.dpsgd.attack import attack
from ckm.cli.dpsgd.card import card
from ckm.cli.dpsgd.charge import charge
from ckm.cli.dpsgd.memory import memory
from ckm.cli.dpsgd.published import published
from ckm.cli.dpsgd.sweep import sweep
from ckm.cli.dpsgd.train import ADJACENCY, SAMPLING, predict, train
from ckm.cli.terminal.click_group import Group, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Message, Name

_PATH = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group(cls=Group, verbs={"report": "ckm.cli.dpsgd.report:report"})
def dpsgd() -> None:
    """Train on confidential data: cost, models, audits.

    Examples
    --------
    ckm dpsgd budget -s 60000 -b 64 -n 1.0 -e 15     what a training run costs
    ckm dpsgd train people.parquet --plan plan.toml -o model.safetensors
    ckm dpsgd card model.safetensors                 what the model promises
    ckm dpsgd predict model.safetensors new.parquet -o predicted.csv
    ckm dpsgd charge run.pt --ledger budget.db       pay for a training by Opacus
    ckm dpsgd train images.toml -o digits.safetensors     on folders of images
    ckm dpsgd advise --plan plan.toml                settings proposed for the budget
    ckm dpsgd attack --plan plan.toml                can one tell who was in the data?
    ckm dpsgd audit scores.csv --epsilon 1           do an attacker's scores keep the promise?
    ckm dpsgd report plan.toml -o study.html         its cost in pictures, beside other choices
    """


@dpsgd.command()
@click.argument("file", type=_PATH)
@click.option(
    "--epsilon",
    type=float,
    help="The guarantee of the model; none for a model trained without privacy.",
)
@click.option("-d", "--delta", type=float, default=1e-5, help="The delta.")
@click.option(
    "--sampling",
    type=SAMPLING,
    default="poisson",
    help="The batches that the epsilon is for.",
)
@click.option(
    "--adjacency",
    type=ADJACENCY,
    default="add-remove",
    help="The neighbours that the epsilon is for.",
)
@click.option(
    "--canaries",
    is_flag=True,
    help="Membership was drawn independently with probability one half.",
)
@click.option("--name", help="Of the model, on a page; by default that of the file.")
@output_options("The findings: .json.", ".json")
@with_terminal
def audit(
    terminal: Terminal,
    /,
    *,
    file: Path,
    epsilon: float | None,
    delta: float,
    sampling: str,
    adjacency: str,
    canaries: bool,
    name: str | None,
    output: Path | None,
) -> int:
    """Compare the scores of an attack with the guarantee; exit code 1 if it is violated.

    Example
    -------
    ckm dpsgd audit scores.csv --epsilon 1 -d 1e-5      columns: score, is_member
    ckm dpsgd audit scores.csv --epsilon 1 -o audit.json    for ckm dpsgd report
    """
    from dpsgd.audits import Ceiling, Evidence, attack_rates, one_run_audit, write_evidence

    scores, is_member = _scores(file)
    ceiling = None if epsilon is None else Ceiling(epsilon=epsilon, delta=delta)
    rates = attack_rates(scores[is_member], scores[~is_member], ceiling=ceiling)
    bound = one_run_audit(scores, is_in=is_member, delta=delta) if canaries else None
    evidence = Evidence(
        name=name or file.stem,
        epsilon=epsilon,
        delta=None if epsilon is None else delta,
        adjacency=adjacency,
        sampling=sampling,
        attacks={"scores": rates},
        one_run=bound,
    )
    click.echo(f"area under the curve  {rates.auc:.3f}")
    click.echo(f"advantage             {rates.advantage:.3f}{_most(rates.advantage_ceiling)}")
    for rate in rates.rates:
        click.echo(
            f"found at {rate.false_positive_rate:>6.1%}      {rate.true_positive_rate:.3f}  "
            f"({rate.low:.3f} to {rate.high:.3f}){_most(rate.ceiling)}"
        )
    if bound is not None:
        click.echo(f"epsilon is not below  {bound.epsilon:.3f}  (wrong 5 times in 100)")
    if output is not None:
        write_whole(output, write_evidence([evidence]) + "\n", is_private=True)
        terminal.step(
            "findings written", Message("they are about people in the data: keep them inside")
        )
    if evidence.is_refuted or rates.is_above:
        terminal.warn("promise broken", Message("The scores exceed what the guarantee allows."))
        return CHECK_FAILED
    return 0


def _most(ceiling: float | None) -> str:
    return "" if ceiling is None else f"  (at most {ceiling:.3f})"


def _scores(file: Path):  # type: ignore[no-untyped-def]  # noqa: ANN202
    import csv

    import numpy as np

    from dpsgd.errors import TrainingDataError

    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = [(float(r["score"]), int(r["is_member"])) for r in csv.DictReader(stream)]
    except (KeyError, ValueError, TypeError, csv.Error):
        rows = []
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    if not np.isin(table[:, 1], (0, 1)).all() or len(set(table[:, 1])) < 2:
        raise TrainingDataError(
            Message(
                "{file!r} needs numbers in columns score and is_member, the latter 0 and 1.",
                file=Name(file.name),
            ),
            hint=Message("one line a record"),
        )
    return table[:, 0], table[:, 1] == 1


for _command in (
    budget, train, predict, card, charge, sweep, memory, advise, attack, published,
):  # fmt: skip
    dpsgd.add_command(_command)
