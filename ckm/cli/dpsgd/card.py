"""``ckm dpsgd card``: what the model in a file promises, and whether its plan bears it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from footing.messages import Message, Name

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from dpsgd import PrivacyCard

_DOUBTS = {
    "sampling": Message("batches were drawn otherwise than the account assumes"),
    "trials": Message("several settings were tried, and their cost is not counted"),
    "seed": Message("the noise comes from a seed: a demonstration, not a release"),
    "touches": Message("the data were used beside training, which is not counted"),
    "no-noise": Message("there is no noise: there is no protection"),
}


@click.command(cls=Command)
@click.argument("file", metavar="MODEL", type=PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Of what is printed.",
)
@click.option("--strict", is_flag=True, help="Exit code 1 also for every doubt.")
@with_terminal
def card(terminal: Terminal, *, file: Path, form: str, strict: bool) -> int:
    """Print the privacy card of a model; needs no PyTorch.

    Examples
    --------
    ckm dpsgd card model.safetensors
    ckm dpsgd card model.safetensors --format json > card.json
    ckm dpsgd card model.safetensors --strict

    The cost is reckoned again from the plan in the file: a card that states less has exit
    code 1.
    """
    from dpsgd import DPSGDError, read_facts
    from dpsgd.card import disagreements

    facts = read_facts(file)
    privacy_card = facts.card
    if privacy_card is None:
        raise DPSGDError(
            Message(
                "The model in {file!r} has no privacy card: it was trained without noise.",
                file=Name(file.name),
            ),
            hint=Message("it gives no protection: keep it internal"),
        )
    click.echo(privacy_card.to_json() if form == "json" else _text(privacy_card))
    wrong = disagreements(privacy_card, plan=facts.plan)
    for name in wrong:
        terminal.warn(
            "card not right",
            Message("the plan in the file does not bear out: {name}", name=Name(name)),
        )
    for name in privacy_card.doubts:
        terminal.warn("in doubt", _DOUBTS[name])
    return CHECK_FAILED if wrong or (strict and privacy_card.doubts) else 0


def _text(card: PrivacyCard) -> str:
    rows = [
        ("promise", f"epsilon {card.epsilon:.6g}, delta {card.delta:g}"),
        ("per", f"{card.unit}, {card.records_per_unit} record at most of each"),
        ("neighbours", card.adjacency),
        ("batches", f"{card.sampling}, accounted for as {card.accounted_sampling}"),
        ("account", card.accountant),
        ("steps", f"{card.steps:,}, of {card.expected_batch:g} records expected"),
        ("sampling rate", f"{card.sampling_rate:.6g}"),
        ("noise", f"multiplier {card.noise_multiplier:.6g}"),
        ("clipping", f"norm {card.clipping_norm:g}, {card.clipping}"),
        ("released", card.released),
        ("data", card.data or "not stated"),
        *(("other use", touch) for touch in card.touches),
        ("tuning", f"{card.trials:g} trial{'s' if card.trials > 1 else ''}, {card.tuning}"),
        ("chance from", card.randomness),
        *(("limit", limit) for limit in card.limits),
    ]
    return "\n".join(f"{name:<15}{value}" for name, value in rows)
