"""``ckm synth sanitise``: the sanitisers of the survey, to teach with and to compare with."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ckm.cli.synth.record_files import kinds_of_files, read_frame
from ckm.cli.synth.settings import settings_from
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output import check_output
from footing.files import new_file
from footing.messages import Message, Name
from footing.serialisation import document

if TYPE_CHECKING:
    from ckm.cli.terminal.console import Terminal

#: What the file name, the header and the certificate say.
WARNING = "no privacy guarantee"
_IN_NAMES = WARNING.replace(" ", "-")


class _Sanitiser(NamedTuple):
    """A function of `synth.sanitisers`: what may be set, and whether it draws at random."""

    function: str
    settings: tuple[str, ...]
    has_columns: bool = True
    is_random: bool = False


SANITISERS = {
    "add-noise": _Sanitiser("add_noise", ("scale", "lower", "upper"), is_random=True),
    "microaggregate": _Sanitiser("microaggregate", ("k", "method")),
    "rank-swap": _Sanitiser("rank_swap", ("reach",), is_random=True),
    "rotate": _Sanitiser("rotate", ("degrees", "is_normalised")),
    "sample-columns": _Sanitiser("sample_columns", ()),
    "sample-rows": _Sanitiser("sample_rows", ("share",), has_columns=False, is_random=True),
    "suppress-rare": _Sanitiser("suppress_rare", ("least", "mark")),
}


@click.command(cls=Command)
@click.argument("data", type=PATH)
@click.option(
    "--method", type=click.Choice(sorted(SANITISERS)), required=True, help="The sanitiser."
)
@click.option("--column", "columns", multiple=True, help="A column that it changes. Repeat.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting: 'k=5', 'reach=0.05', 'scale=100', 'share=0.1', 'least=3'. Repeat.",
)
@click.option("--seed", type=int, help="Draw the same again; it allows a swap to be undone.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="The file to write; its name gets 'no-privacy-guarantee'.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@with_terminal
def sanitise(
    terminal: Terminal,
    *,
    data: Path,
    method: str,
    columns: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int | None,
    output: Path,
    force: bool,
    dry_run: bool,
) -> None:
    r"""Change records by a classical method, for comparison: NO PRIVACY GUARANTEE.

    Microaggregation, swapping of ranks, noise, rotation, suppression, samples: as in the survey
    of chapter III. The disclosure by the changed records has no bound. The name of the file, a
    column of it and its certificate say so; keep it inside.

    Examples
    --------
    ckm synth sanitise people.csv --method microaggregate --column pay --set k=5 -o out.csv
    ckm synth sanitise people.parquet --method rank-swap --column age --set reach=0.05 \
        -o swapped.parquet
    """
    from synth.frames import write_records

    sanitiser = SANITISERS[method]
    options = _options(method, sanitiser, columns, settings_from(settings))
    target = marked(output)
    beside = target.with_name(f"{target.name}.certificate.json")
    for file in (target, beside):
        check_output(file, force=force)
    frame = read_frame(data, kinds_of_files([data]))
    if WARNING in frame.columns:
        raise click.UsageError(
            Message("The records have a column {name!r} already.", name=Name(WARNING))
        )
    records = _sanitised(sanitiser, frame, options, seed)
    records.insert(len(records.columns), WARNING, method)
    if dry_run:
        terminal.step(
            "dry run complete", Message("dry run: records would go to {output}", output=target)
        )
        return
    with ExitStack() as files:
        draft = files.enter_context(new_file(target, overwrite=force))
        paper = files.enter_context(new_file(beside, overwrite=force))
        write_records(records, draft)
        facts = {
            "format": "ckm-synth-sanitised",
            "guarantee": WARNING,
            "method": method,
            "columns": list(columns),
            # No seed: whoever knows it can undo what was drawn.
            "settings": {name: value for name, value in options.items() if name != "columns"},
            "data": {
                "file": target.name,
                "sha256": hashlib.sha256(draft.read_bytes()).hexdigest(),
            },
        }
        paper.write_text(document(facts), encoding="utf-8")
    terminal.warn(
        "no privacy guarantee",
        Message("the disclosure by these records has no bound: NO PRIVACY GUARANTEE"),
    )
    click.echo(str(target))


def marked(output: Path) -> Path:
    """Return a name that says that the file protects nobody."""
    if _IN_NAMES in output.name:
        return output
    return output.with_name(f"{output.stem}.{_IN_NAMES}{output.suffix}")


def _options(
    method: str, sanitiser: _Sanitiser, columns: tuple[str, ...], settings: dict[str, Any]
) -> dict[str, Any]:
    unknown = sorted({*settings} - {*sanitiser.settings})
    if unknown:
        raise click.UsageError(
            Message(
                "The sanitiser {method!r} has no setting {name!r}; it has {names}.",
                method=Name(method),
                name=Name(unknown[0]),
                names=Name.each(sanitiser.settings) or Message("none"),
            )
        )
    if sanitiser.has_columns != bool(columns):
        raise click.UsageError(
            Message("Name what is changed: --column pay.")
            if sanitiser.has_columns
            else Message("The sanitiser {method!r} is of whole records.", method=Name(method))
        )
    options = dict(settings)
    if method == "add-noise":
        if "scale" not in options:
            raise click.UsageError(Message("Say how much noise: --set scale=100."))
        options["scales"] = dict.fromkeys(columns, options.pop("scale"))
    elif sanitiser.has_columns:
        options["columns"] = list(columns)
    return options


def _sanitised(
    sanitiser: _Sanitiser, frame: Any, options: dict[str, Any], seed: int | None
) -> Any:
    import numpy as np

    function = getattr(import_module("synth.sanitisers"), sanitiser.function)
    chance = {"rng": np.random.default_rng(seed)} if sanitiser.is_random else {}
    try:
        return function(frame, **options, **chance)
    except TypeError:  # what is missing, or of the wrong type
        raise click.UsageError(
            Message(
                "The sanitiser needs its settings, as numbers: {names}.",
                names=Name.each(sanitiser.settings) or Message("none"),
            )
        ) from None
