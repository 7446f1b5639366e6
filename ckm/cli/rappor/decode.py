"""``ckm rappor decode`` and ``report``: what counts of reports say of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, options, with_terminal
from ckm.cli.terminal.output_options import output_options
from footing.files import write_whole
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.decoding.candidates import Candidates
    from rappor.decoding.result import Decoding
    from rappor.parameters import Parameters

_HASHES = click.Choice(["mmh3", "md5", "index"])
_CORRECTIONS = click.Choice(
    ["benjamini-hochberg", "benjamini-yekutieli", "bonferroni", "holm", "none"]
)
_SHOWN = 25


_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
#: What every decoding needs.
_decoding_options = options(
    click.argument("counts", type=PATH, metavar="COUNTS"),
    click.option(
        "--candidates",
        required=True,
        type=PATH,
        help="A .txt file, one a line, or a .csv map of google/rappor.",
    ),
    click.option("--params", type=PATH, help="Needed with counts in .csv."),
    click.option("--hash", "hash_name", type=_HASHES, help="For a .csv; else md5."),
    click.option(
        "--correction",
        type=_CORRECTIONS,
        default="benjamini-hochberg",
        help="How many tests at once are allowed for.",
    ),
    click.option("--alpha", type=_SHARE, default=0.05, help="Level of the tests."),
    click.option("--confidence", type=_SHARE, default=0.95, help="Of each interval."),
)


@click.command(cls=Command)
@_decoding_options
@output_options("A .csv or .json file with every candidate.", ".csv", ".json")
@with_terminal
def decode(terminal: Terminal, /, *, output: Path | None, **options: Any) -> None:
    """Estimate how many reports each candidate had, and test which had any.

    Examples
    --------
    ckm rappor decode counts.json --candidates pages.txt
    ckm rappor decode counts.json --candidates pages.txt -o found.csv
    ckm rappor decode counts.csv --params params.csv --candidates map.csv   of google/rappor
    """
    decoding = _decoded(terminal, **options)
    _show(terminal, decoding)
    if output is not None:
        if output.suffix.lower() == ".json":
            text = decoding.report().to_json()
        else:
            text = decoding.to_frame().to_csv(index=False, lineterminator="\n")
        write_whole(output, text, is_private=False)
        terminal.step(
            "candidates written", Message("written to {output}", output=Name(output.name))
        )
        click.echo(str(output))


@click.command(cls=Command)
@_decoding_options
@click.option("--title", default="", show_default=False, help="Of the page.")
@click.option("--lang", type=click.Choice(["en", "fr"]), default="en", help="Of the page.")
@output_options("An .html file.", ".html", required=True)
@with_terminal
def report(
    terminal: Terminal, /, *, title: str, lang: str, output: Path, **options: Any
) -> None:
    """Make a page of decoded reports: estimates, tests, fit, privacy.

    Examples
    --------
    ckm rappor report counts.json --candidates pages.txt -o pages.html
    ckm rappor report counts.json --candidates pages.txt -o pages.html --lang fr --title Pages
    """
    decoding = _decoded(terminal, **options)
    write_whole(output, decoding.report(language=lang, title=title).html, is_private=True)
    terminal.step("page written", Message("written to {output}", output=Name(output.name)))
    click.echo(str(output))


def _decoded(
    terminal: Terminal,
    *,
    counts: Path,
    candidates: Path,
    params: Path | None,
    hash_name: Any,
    **settings: Any,
) -> Decoding:
    from rappor.counts import Counts
    from rappor.decoding.decode import decode as run
    from rappor.decoding.diagnostics import diagnostics
    from rappor.parameters import Parameters

    own_parameters = None if params is None else Parameters.read(params, hash=hash_name)
    report_counts = Counts.read(counts, parameters=own_parameters)
    candidate_list = candidates_of(candidates, report_counts.parameters)
    for diagnostic in diagnostics(report_counts):
        terminal.warn(f"rappor-{diagnostic.name}", str(diagnostic))
    for names in candidate_list.collisions:
        examples = ", ".join(repr(name) for name in names[:5])
        more = (
            Message(" and {number} more", number=len(names) - 5)
            if len(names) > 5
            else Message()
        )
        terminal.warn(
            "rappor-collision",
            Message(
                "{words}{more} set the same bits: decoded as one.",
                words=said(examples),
                more=more,
            ),
        )
    return run(report_counts, candidate_list, **settings)


def candidates_of(path: Path, parameters: Parameters) -> Candidates:
    """Read candidates: one a line, or a map of google/rappor."""
    from rappor.decoding.candidates import Candidates
    from rappor.text_files import read_text

    if path.suffix.lower() == ".csv":
        return Candidates.read(path, parameters=parameters)
    text = read_text(path)
    # A value may hold any character but a line feed, and other ends of lines are text.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    values: list[Any] = [line for line in lines if line]
    is_numbered = parameters.is_numbered and all(v.isdecimal() for v in values)
    if is_numbered and not parameters.is_boolean:
        values = [int(value) for value in values]
    return Candidates.of(values, parameters=parameters)


def _show(terminal: Terminal, decoding: Decoding) -> None:
    from rich.table import Column
    from rich.text import Text

    frame = decoding.to_frame()
    detected = frame[frame["is_detected"]].sort_values("estimate", ascending=False)
    head = detected.head(_SHOWN)
    numbers = head[["estimate", "sd", "low", "high"]].to_numpy()
    if len(detected):
        headings = ("reports", "sd", "from", "to", "adjusted p")
        terminal.table(
            (
                Column("candidate", overflow="fold", min_width=10),
                *(Column(heading, justify="right", no_wrap=True) for heading in headings),
            ),
            (
                (Text(name), *(f"{number:,.0f}" for number in row), f"{chance:.2g}")
                for name, row, chance in zip(
                    head["candidate"], numbers, head["adjusted"], strict=True
                )
            ),
            is_plain=True,
            padding=(0, 1, 0, 0),
        )
    if len(detected) > _SHOWN:
        terminal.out.print(
            f"… and {len(detected) - _SHOWN} more: with -o found.csv", markup=False
        )
    for line in _summary(decoding):
        terminal.out.print(line, markup=False, highlight=False)


def _summary(decoding: Decoding) -> list[str]:
    detected = int(decoding.is_detected.sum())
    tests = f"{decoding.correction}, {decoding.alpha:g}"
    start = f"{detected} of {len(decoding.groups):,} candidates found"
    lines = [f"{start} in {decoding.total:,} reports ({tests})"]
    unnamed = decoding.unknown or decoding.rest
    if unnamed is not None:
        what = "strings without a name"
        what += "" if decoding.unknown is not None else ", and candidates too weak"
        share, sd = unnamed.estimate / decoding.total, unnamed.sd / decoding.total
        text = f"{share:.1%} ± {sd:.1%} of the reports" if sd < 1 else "too few reports to say"
        lines.append(f"{what}: {text}")
    if decoding.dispersion is not None and decoding.misfit is not None:
        says = (
            "the fit is good" if decoding.misfit >= 0.001 else "something frequent is missing"
        )
        lines.append(f"dispersion {decoding.dispersion:.2f}: {says}")
    if decoding.mass_misfit is not None and decoding.mass_misfit < 0.001:
        lines.append("the estimates do not add up to all reports: look at the parameters")
    if decoding.is_screened:
        lines.append("many candidates for few bits: false discoveries up to twice as stated")
    return lines
