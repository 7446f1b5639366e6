"""``ckm dpsgd report``: the page of a plan, a sweep, an audit or a privacy card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.train import ADJACENCY, SAMPLING
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.messages import Message, Name, said
from footing.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from dpsgd.accounting.sensitivity import Choices
    from dpsgd.card import PrivacyCard

_LARGEST = 64 * 2**20
_SUFFIXES = (".html", ".json")


@click.command(cls=Command)
@click.argument("files", type=PATH, metavar="[FILE]...", nargs=-1)
@output_options("The page: .html or .json.", *_SUFFIXES, required=True)
@click.option(
    "--lang",
    "language",
    type=click.Choice(["en", "fr"]),
    default="en",
    help="Of the page.",
)
@click.option("--title", default="", show_default=False, help="Of the page.")
@click.option("-s", "--dataset-size", type=int, help="Number of records.")
@click.option("-b", "--batch-size", type=int, help="Records in a batch.")
@click.option(
    "-n",
    "--noise-multiplier",
    "--noise_multiplier",
    type=float,
    help="Standard deviation of the noise over the clipping norm.",
)
@click.option("-e", "--epochs", type=int, help="Passes over the data.")
@click.option("-d", "--delta", type=float, help="The delta; of a study 1e-05 by default.")
@click.option(
    "--sampling",
    type=SAMPLING,
    help="How the batches of a sweep were drawn; poisson by default.",
)
@click.option(
    "--adjacency",
    type=ADJACENCY,
    help="The neighbours that a sweep's epsilons are for; add-remove by default.",
)
@click.option("--classes", type=int, help="Of a sweep, for the multiple of chance.")
@with_terminal
def report(
    terminal: Terminal,
    /,
    *,
    files: tuple[Path, ...],
    output: Path,
    language: str,
    title: str,
    **options: Any,
) -> None:
    r"""Make a page on the cost, results, attacks or guarantee of a run.

    Examples
    --------
    ckm dpsgd report -s 60000 -b 64 -n 1.0 -e 15 -o study.html     what a run would cost
    ckm dpsgd report plan.toml -o study.fr.html --lang fr
    ckm dpsgd report runs.csv -o sweep.html -s 32561 -d 1e-5 --classes 2
    ckm dpsgd report private.json plain.json -o audits.html        attacks, side by side
    ckm dpsgd report model.safetensors -o card.html                the card of a model
    ckm dpsgd report card.json -o numbers.json                     its numbers, for programs

    \b
    Sweeps and audits follow from confidential records: their pages are internal.
    """
    from reports import make_report

    facts = _found(files, title=title, options=options)
    page = make_report(facts, language=language)
    page.write(output, overwrite=may_replace())
    if page.edition == "internal":
        terminal.step(
            "page written", Message("it follows from confidential records: keep it inside")
        )
    click.echo(str(output))


def _found(files: tuple[Path, ...], *, title: str, options: dict[str, Any]) -> Any:
    """Gather what the page says, by what is given."""
    from footing.version import engine_version

    about = {"title": title, "version": engine_version()}
    if not files:
        return _study(_choices(options), about)
    suffix = files[0].suffix.lower()
    if suffix == ".csv":
        return _sweep(_only(files), options, about)
    if suffix == ".safetensors":
        _refuse(options)
        return _card(_card_in_model(_only(files)), about)
    _refuse(options)
    if suffix == ".toml":
        from ckm.config.training import read_training

        return _study(read_training(_only(files)).plan(), about)
    return _of_json(files, _read_json(files[0]), about)


def _of_json(files: tuple[Path, ...], first: dict[str, Any], about: dict[str, Any]) -> Any:
    if first.get("format") == "ckm-dpsgd-audit":
        return _audits(files, about)
    _only(files)
    text = json.dumps(first)
    if "accountant" in first:
        from dpsgd.card import PrivacyCard

        return _card(PrivacyCard.from_json(text), about)
    if "steps" in first and "sampling_rate" in first:
        from dpsgd.plan import Plan

        return _study(Plan.from_json(text), about)
    if isinstance(first.get("card"), dict):
        return _card(_as_card(first["card"], files[0]), about)
    raise _unknown(files[0])


def _study(content: Any, about: dict[str, Any]) -> Any:
    from dpsgd.pages import choices_of, study_facts
    from dpsgd.plan import Plan

    plan = content if isinstance(content, Plan) else None
    base = content if plan is None else choices_of(plan)
    return study_facts(base, plan=plan, **about)


def _choices(options: dict[str, Any]) -> Choices:
    from dpsgd.accounting.sensitivity import Choices

    names = ("dataset_size", "batch_size", "noise_multiplier", "epochs")
    missing = [name for name in names if options[name] is None]
    if missing:
        raise click.UsageError(
            Message(
                "Give a file, or a run by -s, -b, -n and -e; --{replace} is missing.",
                replace=said(missing[0].replace("_", "-")),
            )
        )
    delta = 1e-5 if options["delta"] is None else options["delta"]
    return Choices(delta=delta, **{name: options[name] for name in names})


def _sweep(file: Path, options: dict[str, Any], about: dict[str, Any]) -> Any:
    from dpsgd.errors import TrainingDataError
    from dpsgd.pages import sweep_facts
    from dpsgd.sweeps.sweep import outcomes

    if not file.is_file():
        raise click.UsageError(
            Message("The file {file!r} cannot be read.", file=Name(file.name))
        )
    results = outcomes(file, classes=options["classes"])
    if not results:
        raise TrainingDataError(
            Message("{file!r} has no runs.", file=Name(file.name)),
            hint=Message("run the sweep first"),
        )
    has_delta = options["delta"] is not None
    return sweep_facts(
        results,
        sampling=options["sampling"] or ("poisson" if has_delta else ""),
        adjacency=options["adjacency"] or ("add-remove" if has_delta else ""),
        **{name: options[name] for name in ("delta", "dataset_size", "classes")},
        **about,
    )


def _audits(files: tuple[Path, ...], about: dict[str, Any]) -> Any:
    from dpsgd.audits.evidence import read_evidence
    from dpsgd.pages import audit_facts

    texts = [json.dumps(_read_json(file)) for file in files]
    all_evidence = [evidence for text in texts for evidence in read_evidence(text)]
    return audit_facts(all_evidence, **about)


def _card(card: PrivacyCard, about: dict[str, Any]) -> Any:
    from dpsgd.pages import card_facts

    return card_facts(card, **about)


def _card_in_model(file: Path) -> PrivacyCard:
    """Read the card in a model's file; needs no PyTorch."""
    from dpsgd import CheckpointError, read_facts

    if (card := read_facts(file).card) is None:
        raise CheckpointError(
            Message("The file {file!r} has no privacy card.", file=Name(file.name)),
            hint=Message("it was written without one, or holds no model"),
        )
    return card


def _as_card(content: Any, file: Path) -> PrivacyCard:
    from dpsgd.card import PrivacyCard

    if not isinstance(content, (str, dict)):
        raise _unknown(file)
    return PrivacyCard.from_json(content if isinstance(content, str) else json.dumps(content))


def _read_json(file: Path) -> dict[str, Any]:
    from dpsgd.files.tensor_file import parsed_json

    try:
        text = read_text(file) if file.stat().st_size <= _LARGEST else ""
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(
            Message("The file {file!r} cannot be read.", file=Name(file.name))
        ) from None
    content = parsed_json(text)
    if not isinstance(content, dict):
        raise _unknown(file)
    return content


def _unknown(file: Path) -> Exception:
    from dpsgd.errors import DPSGDError

    return DPSGDError(
        Message(
            "{file!r} is no plan, sweep, audit, model or privacy card.",
            file=Name(file.name),
        ),
        hint=Message("plans, audits and cards are JSON, sweeps CSV, models .safetensors"),
    )


def _only(files: tuple[Path, ...]) -> Path:
    if len(files) > 1:
        raise click.UsageError(Message("Only audits come in several files."))
    return files[0]


def _refuse(options: dict[str, Any]) -> None:
    names = [name for name, value in options.items() if value is not None]
    if names:
        raise click.UsageError(
            Message(
                "--{replace} does not go with this file: it says all itself.",
                replace=said(names[0].replace("_", "-")),
            )
        )
