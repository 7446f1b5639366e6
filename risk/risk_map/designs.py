"""The designs that a risk-utility map compares, built once each, refusals kept."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from footing.messages import Message, Name, joined
from footing.progress import Progress
from ptable.design.design import Design, design_from_dict
from ptable.design.mechanisms import Mechanism
from ptable.design.spec import NoiseSpec
from ptable.design.stack import StackedSpec
from ptable.errors import InfeasibleError, PTableError
from ptable.lookup import cycle_length
from ptable.table import PTable
from risk.errors import RiskError
from risk.wellformed import require_between

#: A p-table, what one is built from, or what its ``to_dict`` gives.
MapDesign: TypeAlias = "PTable | NoiseSpec | StackedSpec | Mechanism | Mapping[str, Any]"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltDesigns:
    """The p-tables of designs, and why others have none.

    Parameters
    ----------
    tables
        Name → p-table.
    refused
        Name → reason.
    """

    tables: Mapping[str, PTable]
    refused: Mapping[str, str]


def noise_grid(
    *,
    max_noise: Sequence[int],
    variance: Sequence[float],
    small: Sequence[int] = (0,),
    **options: Any,
) -> dict[str, MapDesign]:
    """Name every combination of noise parameters, impossible ones included.

    Parameters
    ----------
    max_noise, variance, small
        Values of the parameters of `ptable.NoiseSpec`.
    **options
        Its other parameters, the same for all.

    Examples
    --------
    >>> list(noise_grid(max_noise=[2, 5], variance=[1.0], small=[0, 2]))
    ['D=2 V=1 js=0', 'D=2 V=1 js=2', 'D=5 V=1 js=0', 'D=5 V=1 js=2']
    """
    for name, values in (("max_noise", max_noise), ("variance", variance), ("small", small)):
        for value in values:
            require_between(value, name=name)
    return {
        f"D={d} V={v:g} js={js}": {"max_noise": d, "variance": v, "small": js, **options}
        for d, v, js in itertools.product(max_noise, variance, small)
    }


def build_designs(
    designs: Mapping[str, MapDesign],
    *,
    progress: Progress | None = None,
) -> BuiltDesigns:
    """Build or solve every design once; equal specifications are solved together."""
    tables: dict[str, PTable] = {}
    refused: dict[str, str] = {}
    solved: dict[NoiseSpec | StackedSpec, PTable | str] = {}
    for done, (name, design) in enumerate(_resolved(designs).items()):
        if progress is not None:
            progress("designs", done, len(designs))
        if isinstance(design, (NoiseSpec, StackedSpec)):
            if design not in solved:
                solved[design] = _solved(design)
            table = solved[design]
        else:
            table = design.build() if isinstance(design, Mechanism) else design
        if isinstance(table, PTable):
            tables[name] = table
        else:
            refused[name] = table
    if progress is not None:
        progress("designs", len(designs), len(designs))
    return BuiltDesigns(tables=MappingProxyType(tables), refused=MappingProxyType(refused))


def keep_zeros(table: PTable) -> PTable:
    """Publish empty cells as 0, as ckm does whatever a p-table says of them."""
    rows = [table.units(count) for count in range(table.n_rows)]
    if set(rows[0]) == {0}:
        return table
    cycle = cycle_length(table.large_counts, n_rows=len(rows))
    served = rows[-cycle:] if cycle == len(rows) else []  # row 0 may serve larger counts too
    lines = [{0: table.key_range}, *rows[1:], *served]
    return PTable.from_units(
        lines, key_range=table.key_range, large_counts=table.large_counts, label=table.label
    )


def _resolved(designs: Mapping[str, MapDesign]) -> dict[str, PTable | Design | str]:
    """Read all designs; text says why one is impossible. All problems come together."""
    problems: list[str] = [] if designs else [Message("there is none")]
    readings: dict[str, PTable | Design | str] = {}
    for name, value in designs.items():
        try:
            design = design_from_dict(value) if isinstance(value, Mapping) else value
        except InfeasibleError as error:
            readings[name] = error.problem
            continue
        except PTableError as error:
            problems.append(f"{name!r}: {error.problem}")
            continue
        except TypeError as error:
            problems.append(f"{name!r}: {str(error).partition('() ')[2] or error}")
            continue
        if not isinstance(design, (PTable, NoiseSpec, StackedSpec, Mechanism)):
            problems.append(f"{name!r} is a {type(design).__name__!r}")
        elif not isinstance(design, Mechanism) and (
            design.step != 1 or design.anchors is not None
        ):
            problems.append(Message("{name!r} is for magnitudes", name=Name(name)))
        else:
            readings[name] = design
    if problems:
        raise RiskError(
            Message(
                "A design must be a p-table for counts, a NoiseSpec or its parameters, a "
                "StackedSpec or a Mechanism: {problems}.",
                problems=joined("; ", problems),
            ),
            hint=Message("noise_grid() makes designs of all combinations of parameters"),
        )
    return readings


def _solved(spec: NoiseSpec | StackedSpec) -> PTable | str:
    from ptable.solver.solve import solve

    try:
        return solve(spec)
    except InfeasibleError as error:
        return error.problem
