"""``ckm dp``: what differential privacy costs, what it means, and what is left of a budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Group, common_options, options, with_terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output_options import output_options
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from dp import BudgetLedger, Guarantee

_ASSUMED = {
    "poisson": Message(
        "Holds where each record joins each batch independently; batches cut from a "
        "shuffled file\nmay cost far more: --sampling shuffled."
    ),
    "fixed": Message(
        "Holds where each batch has as many records, drawn afresh without replacement."
    ),
    "shuffled": Message(
        "Holds where each pass cuts the shuffled file into batches: nothing is proved of "
        "shuffling,\nso that the noise alone counts. A customary figure is no guarantee."
    ),
}


@click.group(
    cls=Group,
    verbs={
        "release": "ckm.cli.dp.release:release",
        "response": "ckm.cli.dp.response:response",
    },
)
def dp() -> None:
    """Work with differential privacy: costs, meaning, budgets.

    Examples
    --------
    ckm dp budget -s 60000 -b 64 -n 1.0 -e 15       what a training run costs
    ckm dp noise -s 60000 -b 64 -e 15 --epsilon 1   how much noise a budget asks for
    ckm dp meaning --epsilon 1 --delta 1e-5 --lang fr
    ckm dp ledger create budget.db --epsilon 1 --unit person
    ckm dp release plan.toml -o out/ --dry-run      what tables cost, before data are opened
    """


#: What describes a training run: records, batch, passes, delta.
run_options = options(
    click.option("-s", "--dataset-size", type=int, required=True, help="Number of records."),
    click.option(
        "-b", "--batch-size", type=int, required=True, help="Expected records in a batch."
    ),
    click.option("-e", "--epochs", type=int, required=True, help="Passes over the data."),
    click.option("-d", "--delta", type=float, default=1e-5, help="Delta of (epsilon, delta)."),
)


def _cost_options(unit: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give the options of a cost: epsilon and delta, or rho, to whom, between which data."""
    return options(
        click.option("--epsilon", type=float, help="The epsilon."),
        click.option("--delta", type=float, default=0.0, help="The delta."),
        click.option("--rho", type=float, help="Concentrated loss, in place of epsilon."),
        click.option(
            "--adjacency",
            type=click.Choice(["add-remove", "replace", "zero-out", "local", "distance"]),
            default="add-remove",
            help="What the neighbours are.",
        ),
        click.option("--unit", default=unit, help="Who is protected."),
    )


@dp.command()
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
    help="How batches are drawn.",
)
@with_terminal
def budget(
    terminal: Terminal, /, *, alphas: tuple[str, ...], sampling: str, **run: Any
) -> None:
    """Compute the privacy cost of a training run with noisy gradients beforehand.

    The first epsilon is the least that is proved for batches drawn so. Below it stand those for
    other neighbours and by older formulas.

    Examples
    --------
    ckm dp budget -s 60000 -b 64 -n 1.0 -e 15
    ckm dp budget -s 60000 -b 240 -n 1.3 -e 15 --sampling shuffled
    ckm dp budget -s 10000 -b 4 -n 2.6 -e 10 -a "8 16 32 64 128"
    """
    from dp.accounting.rdp import CLASSIC_ORDERS
    from dp.accounting.training import training_cost, weak_points
    from dpsgd.accounting.claims import claims
    from dpsgd.accounting.cost import Sampling

    orders = orders_of(alphas) or None
    classic = training_cost(orders=orders or CLASSIC_ORDERS, strict=False, **run)
    all_claims = claims(sampling=Sampling(sampling), orders=orders, **run)
    best = all_claims[0]
    formulas = {
        "renyi": "Rényi orders",
        "renyi-classic": f"Rényi orders, classic formula (order {classic.order:g})",
    }
    _table(
        [
            ("records", f"{run['dataset_size']:,}"),
            ("batch size", f"{run['batch_size']:,}"),
            ("epochs", f"{run['epochs']:,}"),
            ("sampling rate", f"{100 * classic.sampling_rate:.3g} %"),
            ("noise multiplier", f"{classic.noise_multiplier:g}"),
            ("steps", f"{classic.steps:,}"),
            ("delta", f"{classic.delta:g}"),
            (
                "epsilon",
                f"{best.epsilon:.4g}  ({sampling} batches, {best.adjacency} neighbours)",
            ),
        ]
    )
    click.echo(
        f"\n{'worth':<11}{'neighbours':<12}{'epsilon':>9}  account of {sampling} batches"
    )
    for claim in all_claims:
        account = formulas.get(claim.account, claim.account)
        click.echo(f"{claim.worth:<11}{claim.adjacency:<12}{claim.epsilon:>9.4g}  {account}")
    terminal.tell(_ASSUMED[sampling])
    sizes = {name: run[name] for name in ("dataset_size", "batch_size")}
    for note in weak_points(classic, **sizes):
        terminal.warn("weak point", note)


@dp.command()
@run_options
@click.option("--epsilon", type=float, required=True, help="What may be spent.")
@common_options
def noise(*, epsilon: float, **run: Any) -> None:
    """Tell how much noise a training run needs to keep a budget; for Poisson batches.

    Example
    -------
    ckm dp noise -s 60000 -b 64 -e 15 --epsilon 1 -d 1e-6
    """
    from dp.accounting.training import training_cost
    from dpsgd.accounting.cost import noise_for

    # The cost of any noise checks the numbers and counts the steps.
    plan = training_cost(noise_multiplier=1.0, strict=False, **run)
    multiplier = noise_for(
        epsilon, delta=plan.delta, sampling_rate=plan.sampling_rate, steps=plan.steps
    )
    rounded = math.ceil(multiplier * 1e4) / 1e4
    _table(
        [
            ("sampling rate", f"{100 * plan.sampling_rate:.3g} %"),
            ("steps", f"{plan.steps:,}"),
            ("epsilon", f"{epsilon:g}"),
            ("delta", f"{plan.delta:g}"),
            ("noise multiplier", f"{rounded:g}"),
        ]
    )


@dp.command()
@_cost_options(unit="person")
@click.option(
    "--prior",
    "priors",
    multiple=True,
    type=float,
    help="A probability before the publication, from 0 to 1. Repeat; by default 0.01 and 0.5.",
)
@click.option(
    "--at-most", type=float, help="In place of epsilon: what the first --prior may become."
)
@click.option("--lang", type=click.Choice(["en", "fr"]), default="en", help="Of the page.")
@click.option(
    "--table", is_flag=True, help="Probabilities after, by probabilities before and epsilon."
)
@output_options("A page with pictures, .html.", ".html")
@common_options
def meaning(
    *,
    priors: tuple[float, ...],
    at_most: float | None,
    lang: str,
    table: bool,
    output: Path | None,
    **cost: Any,
) -> None:
    """Explain the guarantee of an epsilon in plain words.

    Examples
    --------
    ckm dp meaning --epsilon 1 --delta 1e-5
    ckm dp meaning --rho 0.1 --delta 1e-6 --unit person
    ckm dp meaning --epsilon 0.5 --prior 0.1 -o meaning.html --lang fr
    ckm dp meaning --prior 0.1 --at-most 0.25
    ckm dp meaning --table
    """
    from ckm.cli.dp.meaning import explained, meaning_page
    from dp import meaning as meaning_of
    from footing.files import write_whole

    if table:
        _belief_table()
        return
    if at_most is not None:
        cost["epsilon"] = _chosen(priors, at_most, cost)
    guarantee = _guarantee(**cost)
    if cost["epsilon"] is None:
        guarantee = guarantee.at(cost["delta"])
    priors, unit = priors or (0.01, 0.5), cost["unit"]
    if output is None:
        statement = meaning_of(guarantee, priors=priors)
        lines = explained(statement, adjacency=cost["adjacency"], unit=unit, language=lang)
        click.echo("\n".join(lines))
        return
    page = meaning_page(guarantee, priors=priors, unit=unit, language=lang)
    write_whole(output, page.html)
    click.echo(str(output))


def _chosen(priors: tuple[float, ...], most: float, cost: dict[str, Any]) -> float:
    """Return the largest epsilon that keeps any statement about a unit below a belief."""
    from dp import Adjacency, epsilon_for_belief

    if not priors or cost["epsilon"] is not None or cost["rho"] is not None or cost["delta"]:
        raise click.UsageError(
            Message(
                "--at-most goes with --prior and gives a pure epsilon: leave the others out."
            )
        )
    epsilon = epsilon_for_belief(priors[0], most=most, adjacency=Adjacency(cost["adjacency"]))
    # Digits that are not shown must not be in it.
    return math.floor(epsilon * 1e4) / 1e4 or epsilon


@dp.group(cls=Group)
def ledger() -> None:
    """Keep a privacy budget that lasts.

    Examples
    --------
    ckm dp ledger create budget.db --epsilon 1 --unit person --about "survey of 2027"
    ckm dp ledger spend budget.db --epsilon 0.25 --unit person --who Ada --what "mean age"
    ckm dp ledger create health.db --epsilon 0.25 --unit person --out-of budget.db --who Ada
    ckm dp ledger show budget.db
    ckm dp ledger show survey.db register.db        what several promise together
    ckm dp ledger verify budget.db --head 5fcb3e4a…
    """


@ledger.command()
@click.argument("file", type=PATH)
@_cost_options(unit="record")
@click.option("--about", default="", show_default=False, help="Which data the budget is for.")
@click.option("--out-of", type=PATH, help="A ledger that pays for the budget of this one.")
@click.option("--who", default="", show_default=False, help="Who allots it, for that ledger.")
@with_terminal
def create(
    terminal: Terminal, /, *, file: Path, about: str, out_of: Path | None, who: str, **cost: Any
) -> None:
    """Make a ledger with a budget; nothing is overwritten."""
    from dp import BudgetLedger
    from dp.adjacency import common

    if out_of is None:
        ledger = BudgetLedger.create(file, about=about, **cost)
    else:
        parent = BudgetLedger.open(out_of)
        own = parent.settings
        common([(own.adjacency, own.unit), (cost.pop("adjacency"), cost.pop("unit"))])
        ledger = parent.allot(file, who=who, about=about, **cost)
        terminal.step(
            "charged",
            Message(
                "left in {out_of}: {left}", out_of=Name(out_of.name), left=Argument(parent.left)
            ),
        )
    terminal.step(
        "ledger made",
        Message("{name}: {text}", name=Name(file.name), text=said(str(ledger.left))),
    )


@ledger.command()
@click.argument("file", type=PATH)
@_cost_options(unit="record")
@click.option("--who", required=True, help="Who releases.")
@click.option("--what", required=True, help="What is released.")
@with_terminal
def spend(terminal: Terminal, /, *, file: Path, who: str, what: str, **cost: Any) -> None:
    """Charge a release, before it is made; exit code 1 when too little is left."""
    from dp import BudgetLedger

    ledger = BudgetLedger.open(file)
    entry = ledger.spend(_guarantee(**cost), who=who, what=what)
    terminal.step(
        "charged",
        Message(
            "entry {number}; left: {left}", number=entry.number, left=said(str(ledger.left))
        ),
    )


@ledger.command()
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="FILE...")
@with_terminal
def show(terminal: Terminal, *, files: tuple[Path, ...]) -> None:
    """List what was spent and what is left; of several ledgers also what they cost together.

    Name none that another of them pays for: what it spends would count twice.
    """
    from dp import BudgetLedger, basic

    ledgers = [BudgetLedger.open(file) for file in files]
    for one in ledgers:
        _show(terminal, one)
    if len(ledgers) > 1:
        together = basic(one.spent for one in ledgers)
        if not together.is_private:
            raise click.UsageError(
                Message(
                    "Budgets of rho, and of epsilon with a delta, have no sum: show them apart."
                )
            )
        click.echo(f"together, spent: {together}")


def _show(terminal: Terminal, ledger: BudgetLedger) -> None:
    from rich.text import Text

    lines = []
    for entry in ledger.entries():
        costs = (entry.epsilon, entry.delta, entry.rho)
        figures = ("" if cost == "inf" else f"{float(cost):g}" for cost in costs)
        cells = (str(entry.number), entry.at, entry.who, entry.what, *figures)
        lines.append(map(Text, cells))
    columns = ("entry", "at", "who", "what", "epsilon", "delta", "rho")
    terminal.table(columns, lines, left=columns)
    if ledger.settings.about:
        click.echo(f"for:   {ledger.settings.about}")
    click.echo(f"spent: {ledger.spent}")
    click.echo(f"left:  {ledger.left}")


@ledger.command()
@click.argument("file", type=PATH)
@click.option("--head", help="A digest noted before: its entry must still be there.")
@with_terminal
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
    *, epsilon: float | None, delta: float, rho: float | None, adjacency: str, unit: str
) -> Guarantee:
    from dp import Adjacency, Guarantee

    if epsilon is None and rho is None:
        raise click.UsageError(Message("The cost is missing: --epsilon, or --rho."))
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
        raise click.UsageError(
            Message("--alphas are numbers above 1: -a '2 4 8 16'.")
        ) from None


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
