"""The methods of a comparison, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from ckm.cli.terminal.console import Terminal
    from ckm.comparison.compare_methods import MethodComparison, MethodResult

_SHOWN = {
    "same_answer": "same\nagain",
    "same_by_another_route": "other\nroute",
    "parts_below_totals": Message("parts <=\ntotals"),
    "additive": "adds\nup",
    "found_by_differencing": Message("found by\ndiff."),
    "on_demand": "on\ndemand",
    "decentral": "two\noffices",
    "cells_lost": "cells\nlost",
    "small_counts_found": "small\nfound",
}
#: What a narrower terminal has room for.
_FEW = ("same_answer", "additive", "found_by_differencing", "small_counts_found")
_WIDE = 110
_DRAWN = {
    "all": "all records",
    "areas": "the records of some areas",
    "records": "a sample of the records",
}


def show_methods(terminal: Terminal, comparison: MethodComparison) -> None:
    """Print where the job's own method stands, and one line per method."""
    from rich.table import Column
    from rich.text import Text

    from ckm.comparison.method_facts import method_facts
    from reports.i18n.languages import words_of
    from reports.pages.methods import standing

    for line in standing(words_of(terminal.language), method_facts(comparison)):
        terminal.out.print(line, markup=False, highlight=False, soft_wrap=True)
    names = list(_SHOWN) if terminal.out.width >= _WIDE else list(_FEW)
    headings = [*(terminal.say(_SHOWN[name]) for name in names), "mean\n|d|"]
    rows = []
    for result in comparison.results:
        if result.criteria is not None:
            cells = [_percent(result.criteria.share(name)) for name in names]
            change = result.mean_change
            text = "none" if change is None else f"{change:.2f}"
            rows.append([Text(result.choice.name), *cells, text])
    terminal.table(
        [
            Column("method", overflow="fold", min_width=14),
            *(Column(heading, justify="right", no_wrap=True) for heading in headings),
        ],
        rows,
        is_plain=True,
        padding=(0, 1, 0, 0),
    )
    for result in comparison.results:
        if result.guarantee is not None:
            line = f"{result.choice.name}: {result.guarantee.text}"
            terminal.out.print(line, markup=False, highlight=False)
    bench = comparison.bench
    area = repr(bench.geography) if bench.geography else "none"
    terminal.out.print(
        f"Tried on {_DRAWN[bench.sample.drawn]}; areas: {area}; sought: {bench.target!r}.\n"
        "found by diff., cells lost, small found: less is better. -: nothing to measure.\n"
        "Bases, parameters and the rest: with -o methods.html, .csv or .json",
        markup=False,
        highlight=False,
    )


def told(result: MethodResult) -> Message:
    """Say why a method could not be tried."""
    return Message("{name}: {text}", name=Name(result.choice.name), text=said(result.reason))


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    if share in {0.0, 1.0}:
        return f"{100 * share:.0f} %"
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %"
