"""``ckm dp response``: randomised response, from the design of a survey to its shares."""

from __future__ import annotations

import math
from functools import wraps
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Group, options, with_terminal
from ckm.cli.terminal.csv_options import csv_options
from ckm.cli.terminal.output import printable
from ckm.cli.terminal.output_options import output_options
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckm.cli.terminal.console import Terminal
    from dp.mechanisms.response import RandomisedResponse
    from tables import ReadOptions

_ENDINGS = (".csv", ".parquet")


@click.group(cls=Group)
def response() -> None:
    """Randomise the answer of each person, and estimate shares (randomised response).

    Examples
    --------
    ckm dp response design --epsilon 1 --answer no --answer yes --respondents 1000
    ckm dp response answer truths.csv --column smokes --answer no --answer yes --coins -o a.csv
    ckm dp response estimate a.csv --column smokes --answer no --answer yes --coins
    """


#: The design: the answers in their order, and the chances.
design_options = options(
    click.option(
        "--answer",
        "answers",
        multiple=True,
        required=True,
        help="An answer; repeat it for each. Of a yes or no, no comes first.",
    ),
    click.option("--epsilon", type=float, help="What an answer costs: the truth, or another."),
    click.option("--coins", is_flag=True, help="Two coins, in place of --epsilon: ln 3."),
    click.option(
        "--direct", type=float, help="Warner's design: the chance of the direct question."
    ),
)


def _design(
    answers: Sequence[str], *, epsilon: float | None, coins: bool, direct: float | None
) -> RandomisedResponse:
    """Return the design that the options name."""
    from dp import RandomisedResponse

    if len([x for x in (epsilon, direct) if x is not None]) + coins != 1:
        raise click.UsageError(Message("The design is one of --epsilon, --coins and --direct."))
    if len(set(answers)) < max(2, len(answers)):
        raise click.UsageError(Message("--answer names two answers or more, each once."))
    if epsilon is not None:
        return RandomisedResponse.k_ary(len(answers), epsilon=epsilon)
    if len(answers) > 2:
        raise click.UsageError(
            Message("--coins and --direct are for two answers; take --epsilon.")
        )
    return (
        RandomisedResponse.two_coins()
        if direct is None
        else RandomisedResponse.warner(direct=direct)
    )


def _with_design(verb: Callable[..., Any]) -> Any:
    """Give a verb the answers and the design."""

    @wraps(verb)
    def made(*args: Any, answers: tuple[str, ...], **words: Any) -> Any:
        chances = {name: words.pop(name) for name in ("epsilon", "coins", "direct")}
        return verb(*args, answers=answers, design=_design(answers, **chances), **words)

    return design_options(made)


@response.command()
@_with_design
@click.option("--respondents", type=click.IntRange(1), default=1000, help="How many answer.")
@with_terminal
def design(
    terminal: Terminal,
    /,
    *,
    answers: tuple[str, ...],
    design: RandomisedResponse,
    respondents: int,
) -> None:
    """Compute the privacy cost of an answer, and the accuracy of the shares."""
    size = len(answers)
    errors = design.variance([1 / size] * size, respondents=respondents) ** 0.5
    half = NormalDist().inv_cdf(0.975) * float(errors.max())
    plain = math.sqrt((1 / size) * (1 - 1 / size) / respondents)
    terminal.tell(Message("an answer costs {cost}", cost=said(str(design.guarantee))))
    terminal.table(
        (truth := Message("true answer"), *map(_heading, answers)),
        [
            (printable(answer), *(f"{chance:.4f}" for chance in row))
            for answer, row in zip(answers, design.transition, strict=True)
        ],
        left=(truth,),
    )
    terminal.tell(
        Message(
            "a share of {respondents:,} answers is known to {half:.2f} percentage points at "
            "95 %; of true answers, to {plain:.2f}",
            respondents=respondents,
            half=100 * half,
            plain=100 * plain * NormalDist().inv_cdf(0.975),
        )
    )


@response.command()
@click.argument("data", type=PATH)
@click.option("--column", required=True, help="The true answers.")
@_with_design
@click.option("--keep", multiple=True, help="Another column to keep as it is; may be repeated.")
@csv_options
@output_options(
    "The randomised answers, .csv or .parquet.", *_ENDINGS, inputs=("data",), required=True
)
@with_terminal
def answer(
    terminal: Terminal,
    /,
    *,
    data: Path,
    column: str,
    answers: tuple[str, ...],
    design: RandomisedResponse,
    keep: tuple[str, ...],
    reading: ReadOptions,
    output: Path,
) -> None:
    """Randomise the answers of a file, as each person would: no truth is in the output.

    A second run of the same answers costs them as much again.
    """
    import pyarrow as pa

    table, codes = _codes(data, column, answers, keep, reading)
    responses = design.answer(codes)
    texts = pa.array([answers[code] for code in responses.tolist()], pa.string())
    _write(table.set_column(table.column_names.index(column), column, texts), output)
    terminal.step(
        "answers randomised",
        Message("each answer cost {cost}", cost=said(str(design.guarantee))),
    )
    click.echo(str(output))


@response.command()
@click.argument("data", type=PATH)
@click.option("--column", required=True, help="The randomised answers.")
@_with_design
@csv_options
@with_terminal
def estimate(
    terminal: Terminal,
    /,
    *,
    data: Path,
    column: str,
    answers: tuple[str, ...],
    design: RandomisedResponse,
    reading: ReadOptions,
) -> None:
    """Estimate the shares of the true answers from randomised ones, with intervals."""
    _, codes = _codes(data, column, answers, (), reading)
    estimates = design.estimate(codes)
    half = NormalDist().inv_cdf(0.975) * estimates.standard_errors
    lines = [
        (
            printable(text),
            *(f"{100 * value:.2f}" for value in (share, share - reach, share + reach)),
        )
        for text, share, reach in zip(answers, estimates.shares, half, strict=True)
    ]
    headings = (
        Message("answer"),
        Message("share in %"),
        Message("from, at 95 %"),
        Message("to"),
    )
    terminal.table(headings, lines, left=headings[:1])


def _heading(text: str) -> Any:
    """Return an answer as a heading: the words of a survey are not translated."""
    from rich.table import Column
    from rich.text import Text

    return Column(Text(printable(text)), justify="right")


def _codes(
    path: Path,
    column: str,
    answers: tuple[str, ...],
    keep: tuple[str, ...],
    reading: ReadOptions,
) -> tuple[Any, NDArray[np.int64]]:
    """Read answers, all of which are declared; what else stands there is told by its shape."""
    import numpy as np

    from dp import DPError
    from tables import open_source
    from tables.filtering.filters import quote

    with open_source(path, options=reading, threads=1) as source:
        source.fetch("SET preserve_insertion_order=true")
        names = list(dict.fromkeys([*keep, column]))
        for name in names:
            source.require(name)
        parts = [quote(name) for name in names if name != column]
        parts += [f"{quote(column)}::VARCHAR AS {quote(column)}"]
        table = source.arrow(f"SELECT {', '.join(parts)} FROM {source.relation}")  # noqa: S608
    places = {text: place for place, text in enumerate(answers)}
    codes = [places.get(text) for text in table[column].to_pylist()]
    if None in codes:
        raise DPError(
            Message(
                "Column {name!r} has missing answers, or others than those of --answer.",
                name=Name(column),
            ),
            hint=Message("declare every answer; leave records without one out"),
        )
    return table, np.array(codes, dtype=np.int64)


def _write(table: Any, output: Path) -> None:
    import io

    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    from footing.files import write_whole

    stream = io.BytesIO()
    (pa_csv.write_csv if output.suffix.lower() == ".csv" else pq.write_table)(table, stream)
    write_whole(output, stream.getvalue())
