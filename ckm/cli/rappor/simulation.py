"""``ckm rappor simulate``: populations to try a design on, and the sources' experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.files import csv_text
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from footing.arrays import Integers
    from rappor.counts import Counts
    from rappor.experiments import SourceExperiment

_HASHES = click.Choice(["mmh3", "md5", "index"])
_CLIENTS = 10**6


@click.command(cls=Command)
@click.option("--params", type=PATH, help="A .json or .csv file.")
@click.option("--hash", "hash_name", type=_HASHES, help="For a .csv; else md5.")
@click.option(
    "--experiment",
    type=click.Choice(["normal", "exponential", "google"]),
    help="That of a source, with its parameters and figures.",
)
@click.option(
    "--shape",
    type=click.Choice(["uniform", "normal", "exponential", "zipf"]),
    default="exponential",
    help="How often each value is held.",
)
@click.option("--values", type=click.IntRange(1, 10**5), default=200, help="Values there are.")
@click.option(
    "--unheld", type=click.IntRange(0, 10**5), default=0, help="Candidates without a holder."
)
@click.option(
    "--clients", type=click.IntRange(1, 10**12), help="That report; 1000000, or the source's."
)
@click.option(
    "--seed", type=click.IntRange(min=0), required=True, help="Same seed, same files."
)
@click.option("-o", "--output", required=True, type=PATH, help="A new folder.")
@with_terminal
def simulate(
    terminal: Terminal,
    /,
    *,
    params: Path | None,
    hash_name: Any,
    experiment: Any,
    shape: Any,
    values: int,
    unheld: int,
    clients: int | None,
    seed: int,
    output: Path,
) -> None:
    r"""Draw a population and the counts its reports would add up to.

    Examples
    --------
    ckm rappor simulate --params params.json --shape exponential --values 200 \
        --clients 1000000 --seed 1 -o try/
    ckm rappor simulate --experiment exponential --seed 1 -o paper/
    ckm rappor simulate --experiment google --seed 1 -o demo/

    The folder gets counts.json, counts.csv, candidates.txt and truth.csv. An experiment has
    candidates without a holder, as its source has; it is decoded, and what was found stands
    beside what the source printed.
    """
    import numpy as np

    from ckm.cli.rappor.rappor import asked_parameters
    from rappor.client.simulate import population, simulate_counts

    if (params is None) == (experiment is None):
        raise click.UsageError(Message("Name either --params or --experiment."))
    if output.exists():
        raise click.UsageError(
            Message("The folder {output!r} exists; name a new one.", output=Name(output.name))
        )
    rng = np.random.default_rng(seed)
    if params is None:
        _repeat(terminal, experiment, clients, output, rng=rng)
        return
    parameters = asked_parameters(params, hash_name)
    if unheld and parameters.is_numbered:
        raise click.UsageError(Message("Numbered values are all held: leave --unheld out."))
    clients = clients or _CLIENTS
    numbers = population(shape, n_values=values, n_clients=clients, rng=rng)
    names: list[Any] = [f"v{number + 1}" for number in range(values + unheld)]
    if parameters.is_numbered:
        names = list(range(values))
    numbers = np.concatenate([numbers, np.zeros(unheld, np.int64)])
    counts = simulate_counts(names, numbers, parameters=parameters, rng=rng)
    _write(output, counts, names, names, numbers)
    terminal.step(
        "population simulated",
        Message("{clients:,} clients, {values:,} values", clients=clients, values=values),
    )
    click.echo(str(output))


def _write(
    output: Path,
    counts: Counts,
    candidates: Sequence[Any],
    names: Sequence[Any],
    numbers: Integers,
) -> None:
    from ckm.release.files.output_folder import new_folder

    truth = csv_text((("string", "count"), *zip(names, numbers.tolist(), strict=True)))
    with new_folder(output) as folder:
        counts.write(folder / "counts.json")
        counts.write(folder / "counts.csv")
        lines = "".join(f"{name}\n" for name in candidates)
        (folder / "candidates.txt").write_text(lines, encoding="utf-8")
        (folder / "truth.csv").write_text(truth, encoding="utf-8")


def _repeat(
    terminal: Terminal, name: Any, n_reports: int | None, output: Path, *, rng: Any
) -> None:
    """Draw the experiment of a source, decode it, and say what the source printed."""
    from rappor.experiments import source_experiment

    source = source_experiment(name)
    numbers, counts = source.draw(n_reports=n_reports, rng=rng)
    _write(output, counts, source.candidates, source.values, numbers)
    _compare(terminal, source, numbers, counts)
    click.echo(str(output))


def _compare(
    terminal: Terminal, source: SourceExperiment, numbers: Integers, counts: Counts
) -> None:
    import numpy as np

    from rappor.decoding.candidates import Candidates
    from rappor.decoding.decode import decode

    candidates = Candidates.of(list(source.candidates), parameters=source.parameters)
    truth = numbers[np.array(source.is_candidate)]
    rows = []
    for correction in ("benjamini-hochberg", "bonferroni"):
        decoding = decode(counts, candidates, correction=correction)
        is_false = decoding.is_detected & (truth == 0)
        error = float(np.sqrt(np.mean((decoding.estimates - truth) ** 2)))
        rows.append(
            (
                correction,
                f"{int(decoding.is_detected.sum())}",
                f"{int(is_false.sum())}",
                f"{error:,.0f}",
            )
        )
    headings = (
        Message("tests"),
        Message("candidates found"),
        Message("of them false"),
        Message("root mean square error of a count"),
    )
    terminal.table(headings, rows, left=headings[:1], is_plain=True)
    for sentence in source.printed:
        terminal.tell(sentence)
