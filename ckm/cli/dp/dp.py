"""``ckm dp``: what differential privacy costs, what it means, and what is left of a budget."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import Group, common_options
from ckm.cli.terminal.exit_codes import CHECK_FAILED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckm.cli.terminal.console import Terminal
    from dp import Guarantee

__all__ = ["budget", "dp", "orders_of", "run_options"]

_PATH = click.Path(path_type=Path)
_ASSUMED = {
    "poisson": "Holds where each record joins each batch by its own coin; batches cut from a "
    "shuffled file\nmay cost far more: --sampling shuffled.",
    "fixed": "Holds where each batch has as many records, drawn afresh without replacement.",
    "shuffled": "Holds where each pass cuts the shuffled file into batches: nothing is proved "
    "of shuffling,\nso that the noise alone counts. A customary figure is no promise.",
}
_ADJACENCIES = ["add-remove", "replace", "zero-out", "local", "distance"]


@click.group(
    cls=Group,
    epilog="""\b
Examples:
  ckm dp budget -s 60000 -b 64 -n 1.0 -e 15       what a training run costs
  ckm dp noise -s 60000 -b 64 -e 15 --epsilon 1   how much noise a budget asks for
  ckm dp meaning --epsilon 1 --delta 1e-5 --lang fr
  ckm dp ledger create budget.db --epsilon 1 --unit person
""",
)
def dp() -> None:
    """Work with differential privacy: costs, meaning, budgets."""


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a training run: records, batch, passes, delta."""
    for option in (
        click.option(
            "-d",
            "--delta",
            type=float,
            default=1e-5,
            show_default=True,
            help="Delta of (epsilon, delta).",
        ),
        click.option("-e", "--epochs", type=int, required=True, help="Passes over the data."),
        click.option(
            "-b", "--batch-size", type=int, required=True, help="Expected records in a batch."
        ),
        click.option(
            "-s", "--dataset-size", type=int, required=True, help="Number of records."
        ),
    ):
        command = option(command)
    return command


@dp.command(
    epilog="""\b
Examples:
  ckm dp budget -s 60000 -b 64 -n 1.0 -e 15
  ckm dp budget -s 60000 -b 240 -n 1.3 -e 15 --sampling shuffled
  ckm dp budget -s 10000 -b 4 -n 2.6 -e 10 -a "8 16 32 64 128"
""",
)
@run_options
@click.option(
    "-n",
    "--noise-multiplier",
    "--noise_multiplier",
    type=float,
    required=True,
    help="Standard deviation of the noise over the clipping norm.",
)
@click.option(
    "-a", "--alphas", multiple=True, help="Orders of the Rényi formulas, in place of theirs."
)
@click.option(
    "--sampling",
    type=click.Choice(["poisson", "fixed", "shuffled"]),
    default="poisson",
    show_default=True,
    help="How batches are drawn.",
)
@common_options
@click.pass_obj
def budget(
    terminal: Terminal,
    *,
    dataset_size: int,
    batch_size: int,
    noise_multiplier: float,
    epochs: int,
    delta: float,
    alphas: tuple[str, ...],
    sampling: str,
) -> None:
    """Tell what a training run with noisy gradients costs, before it starts.

    The first epsilon is the least that is proved for batches drawn so. Below it stand those for
    other neighbours and by older formulas.
    """
    from dp.accounting.rdp import CLASSIC_ORDERS
    from dp.accounting.training import training_cost, weak_points
    from dpsgd.accounting.claims import claims
    from dpsgd.accounting.cost import Sampling

    orders = orders_of(alphas) or None
    run: Any = {"batch_size": batch_size, "noise_multiplier": noise_multiplier}
    run |= {"epochs": epochs, "delta": delta}
    classic = training_cost(dataset_size, orders=orders or CLASSIC_ORDERS, strict=False, **run)
    found = claims(dataset_size, sampling=Sampling(sampling), orders=orders, **run)
    best, formulas = (
        found[0],
        {
            "renyi": "Rényi orders",
            "renyi-classic": f"Rényi orders, classic formula (order {classic.order:g})",
        },
    )
    _table(
        [
            ("records", f"{dataset_size:,}"),
            ("batch size", f"{batch_size:,}"),
            ("epochs", f"{epochs:,}"),
            ("sampling rate", f"{100 * classic.sampling_rate:.3g} %"),
            ("noise multiplier", f"{noise_multiplier:g}"),
            ("steps", f"{classic.steps:,}"),
            ("delta", f"{delta:g}"),
            (
                "epsilon",
                f"{best.epsilon:.4g}  ({sampling} batches, {best.adjacency} neighbours)",
            ),
        ]
    )
    click.echo(
        f"\n{'worth':<11}{'neighbours':<12}{'epsilon':>9}  account of {sampling} batches"
    )
    for claim in found:
        account = formulas.get(claim.account, claim.account)
        click.echo(f"{claim.worth:<11}{claim.adjacency:<12}{claim.epsilon:>9.4g}  {account}")
    click.echo(_ASSUMED[sampling])
    for note in weak_points(classic, dataset_size=dataset_size, batch_size=batch_size):
        terminal.warn("weak point", note)


@dp.command(
    epilog="""\b
Example:
  ckm dp noise -s 60000 -b 64 -e 15 --epsilon 1 -d 1e-6
""",
)
@run_options
@click.option("--epsilon", type=float, required=True, help="What may be spent.")
@common_options
def noise(
    *, dataset_size: int, batch_size: int, epochs: int, delta: float, epsilon: float
) -> None:
    """Tell how much noise a training run needs to keep a budget; for Poisson batches."""
    from dp.accounting.training import training_cost
    from dpsgd.accounting.cost import noise_for

    # The cost of any noise checks the numbers and counts the steps.
    plan = training_cost(
        dataset_size,
        batch_size=batch_size,
        noise_multiplier=1.0,
        epochs=epochs,
        delta=delta,
        strict=False,
    )
    found = noise_for(epsilon, delta=delta, sampling_rate=plan.sampling_rate, steps=plan.steps)
    rounded = math.ceil(found * 1e4) / 1e4
    _table(
        [
            ("sampling rate", f"{100 * plan.sampling_rate:.3g} %"),
            ("steps", f"{plan.steps:,}"),
            ("epsilon", f"{epsilon:g}"),
            ("delta", f"{delta:g}"),
            ("noise multiplier", f"{rounded:g}"),
        ]
    )


@dp.command(
    epilog="""\b
Examples:
  ckm dp meaning --epsilon 1 --delta 1e-5
  ckm dp meaning --rho 0.1 --delta 1e-6 --unit person
  ckm dp meaning --epsilon 0.5 --lang fr
  ckm dp meaning --table
""",
)
@click.option("--epsilon", type=float, help="The epsilon.")
@click.option("--delta", type=float, default=0.0, help="The delta, 0 by default.")
@click.option("--rho", type=float, help="Concentrated loss, in place of epsilon.")
@click.option("--adjacency", type=click.Choice(_ADJACENCIES), default="add-remove")
@click.option("--unit", default="person", show_default=True, help="Who is protected.")
@click.option("--lang", type=click.Choice(["en", "fr"]), default="en", show_default=True)
@click.option("--table", is_flag=True, help="Beliefs after, by beliefs before and epsilon.")
@common_options
def meaning(
    *,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    adjacency: str,
    unit: str,
    lang: str,
    table: bool,
) -> None:
    """Say in plain words what an epsilon promises."""
    from ckm.cli.dp.meaning import explained
    from dp import meaning as meaning_of

    if table:
        _belief_table()
        return
    guarantee = _guarantee(epsilon, delta, rho, adjacency, unit)
    if epsilon is None:
        guarantee = guarantee.at(delta)
    lines = explained(meaning_of(guarantee), adjacency=adjacency, unit=unit, language=lang)
    click.echo("\n".join(lines))


@dp.group(
    cls=Group,
    epilog="""\b
Examples:
  ckm dp ledger create budget.db --epsilon 1 --unit person --about "survey of 2027"
  ckm dp ledger spend budget.db --epsilon 0.25 --unit person --who Ada --what "mean age"
  ckm dp ledger show budget.db
  ckm dp ledger verify budget.db --head 5fcb3e4a…
""",
)
def ledger() -> None:
    """Keep a privacy budget that lasts."""


def _cost_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--unit", default="record", show_default=True, help="Who is protected."),
        click.option(
            "--adjacency",
            type=click.Choice(_ADJACENCIES),
            default="add-remove",
            show_default=True,
            help="What the neighbours are.",
        ),
        click.option("--rho", type=float, help="Concentrated loss, in place of epsilon."),
        click.option("--delta", type=float, default=0.0, help="The delta, 0 by default."),
        click.option("--epsilon", type=float, help="The epsilon."),
    ):
        command = option(command)
    return command


@ledger.command()
@click.argument("file", type=_PATH)
@_cost_options
@click.option("--about", default="", help="Which data the budget is for.")
@common_options
@click.pass_obj
def create(
    terminal: Terminal,
    *,
    file: Path,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    adjacency: str,
    unit: str,
    about: str,
) -> None:
    """Make a ledger with a budget; nothing is overwritten."""
    from dp import Adjacency, BudgetLedger

    made = BudgetLedger.create(
        file,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        adjacency=Adjacency(adjacency),
        unit=unit,
        about=about,
    )
    terminal.step("ledger made", f"{file.name}: {made.left}")


@ledger.command()
@click.argument("file", type=_PATH)
@_cost_options
@click.option("--who", required=True, help="Who releases.")
@click.option("--what", required=True, help="What is released.")
@common_options
@click.pass_obj
def spend(
    terminal: Terminal,
    *,
    file: Path,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    adjacency: str,
    unit: str,
    who: str,
    what: str,
) -> None:
    """Charge a release, before it is made; exit code 1 when too little is left."""
    from dp import BudgetLedger

    opened = BudgetLedger.open(file)
    guarantee = _guarantee(epsilon, delta, rho, adjacency, unit)
    entry = opened.spend(guarantee, who=who, what=what)
    terminal.step("charged", f"entry {entry.number}; left: {opened.left}")


@ledger.command()
@click.argument("file", type=_PATH)
@common_options
@click.pass_obj
def show(terminal: Terminal, *, file: Path) -> None:
    """List what was spent, and what is left."""
    from rich.table import Table
    from rich.text import Text

    from dp import BudgetLedger

    opened = BudgetLedger.open(file)
    table = Table()
    for column in ("entry", "at", "who", "what", "epsilon", "delta", "rho"):
        table.add_column(column)
    for entry in opened.entries():
        cells = (entry.number, entry.at, entry.who, entry.what)
        costs = (entry.epsilon, entry.delta, entry.rho)
        table.add_row(
            *(Text(str(cell)) for cell in cells),
            *("" if cost == "inf" else f"{float(cost):g}" for cost in costs),
        )
    terminal.out.print(table)
    if opened.settings.about:
        click.echo(f"for:   {opened.settings.about}")
    click.echo(f"spent: {opened.spent}")
    click.echo(f"left:  {opened.left}")


@ledger.command()
@click.argument("file", type=_PATH)
@click.option("--head", help="A digest noted before: its entry must still be there.")
@common_options
@click.pass_obj
def verify(terminal: Terminal, *, file: Path, head: str | None) -> int:
    """Check every entry; print the digest of the last, to be noted elsewhere."""
    from dp import BudgetLedger, LedgerFileError

    try:
        digest = BudgetLedger.open(file).verify(head=head)
    except LedgerFileError as error:
        if not file.is_file():
            raise
        terminal.warn("ledger not right", error.problem)
        return CHECK_FAILED
    click.echo(digest)
    return 0


def _guarantee(
    epsilon: float | None, delta: float, rho: float | None, adjacency: str, unit: str
) -> Guarantee:
    from dp import Adjacency, Guarantee

    if epsilon is None and rho is None:
        raise click.UsageError("The cost is missing: --epsilon, or --rho.")
    return Guarantee(
        epsilon=math.inf if epsilon is None else epsilon,
        delta=0.0 if epsilon is None else delta,
        rho=math.inf if rho is None else rho,
        adjacency=Adjacency(adjacency),
        unit=unit,
    )


def orders_of(texts: Sequence[str]) -> list[float]:
    """Return the Rényi orders that --alphas names; none for none."""
    try:
        return sorted(
            {float(word) for text in texts for word in text.replace(",", " ").split()}
        )
    except ValueError:
        raise click.UsageError("--alphas are numbers above 1: -a '2 4 8 16'.") from None


def _belief_table() -> None:
    from dp.belief import TABLE_EPSILONS, TABLE_PRIORS, belief_table

    click.echo(
        "Most that can be believed after of who is in the data, in %; rows: before, columns: "
        "epsilon"
    )
    click.echo("  before" + "".join(f"{epsilon:>8g}" for epsilon in TABLE_EPSILONS))
    for prior, row in zip(TABLE_PRIORS, belief_table(about="membership"), strict=True):
        cells = "".join(f"{100 * value:8.2f}" for value in row)
        click.echo(f"{100 * prior:6g} %{cells}")
    click.echo(
        "For any other statement about one person, where epsilon is add-remove or zero-out:\n"
        "the column of twice epsilon"
    )


def _table(rows: Sequence[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {value}")
