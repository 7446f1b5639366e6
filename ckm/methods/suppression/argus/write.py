"""Tables of a job as tau-ARGUS reads them, with the job's rules as a batch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.engine.request import variable_of
from ckm.errors import ConfigError
from ckm.methods.suppression.a_priori.files import SAFE, UNSAFE
from ckm.methods.suppression.a_priori.wishes import APriori, Wishes
from ckm.methods.suppression.argus.metadata import Metadata, Variable, hierarchy_text
from ckm.methods.suppression.costs import cell_costs
from ckm.methods.suppression.grid import Grid
from ckm.methods.suppression.office_rules import Requested
from ckm.methods.suppression.original_cells import open_originals
from ckm.methods.suppression.primary import Amounts
from footing.messages import Message, Name, said
from tables.magnitudes.derived import asked_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckm.config.job.job import Job
    from ckm.methods.settings import SuppressionSettings
    from footing.arrays import Floats
    from tables import Cells
    from tables.cells.axes import Axis

_SEPARATOR, _LEAD, _SHOWN = ";", "@", 2
_MODULAR, _OPTIMAL = "MOD(1, 5, 1, 1, 1)", "OPT(1, 5)"
#: In place of a dot, at which the modular method of pytauargus 0.6.0 ends in a crash.
_INSTEAD_OF_DOT = "_-~"
DOTS = '// "{mark}" stands for "." in the codes of "{name}"\n'
_BATCH = """// written by ckm
{comments}<OPENTABLEDATA> "{stem}.tab"
<OPENMETADATA> "{stem}.rda"
<SPECIFYTABLE> {dimensions}|"{response}"||""
<SAFETYRULE> {rules}
<READTABLE>
{apriori}<SUPPRESS> {method}
<WRITETABLE> (1, 3, AS+, "{stem}.out.csv")
"""


def argus_files(job: Job, *, is_optimal: bool = False) -> dict[str, str]:
    """Return the files of tau-ARGUS for each table and measure of a job, by their names.

    They hold true numbers. The batch asks for the modular method, or for the optimal one.
    """
    if job.suppression is None:
        raise ConfigError(
            Message("The job {path!r} has no [suppression].", path=Name(job.path.name))
        )
    rules = job.suppression.settings
    if job.signed:
        raise ConfigError(
            Message("{signed!r} may be negative.", signed=Name.each(job.signed)),
            hint=Message("files of tau-ARGUS are written of amounts that are not"),
        )
    if rules.shadow:
        raise ConfigError(
            Message("The rules of [suppression] read other variables than those shown."),
            hint=Message("files of tau-ARGUS are written of a job without shadow"),
        )
    with open_originals(job) as originals:
        tables = originals.cells() | dict(originals.whole())  # with all margins
    ends = np.cumsum([0, *map(len, tables.values())])
    numbers = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
    a_priori = APriori(rules, tables, job.tables, numbers=numbers, n_cells=int(ends[-1]))
    files: dict[str, str] = {}
    for (name, cells), number in zip(tables.items(), numbers, strict=True):
        request = job.tables[name]
        for measure in request.measures:
            if measure == "count" or measure.startswith("sum:"):
                own_a_priori = a_priori.of(measure, number, np.ones(len(number), bool))
                table = _Table(
                    f"{name}-{measure.replace(':', '-')}",
                    cells,
                    measure,
                    rules,
                    own_a_priori,
                    is_optimal=is_optimal,
                )
                files |= table.files(request.dimensions)
    if not files:
        raise ConfigError(
            Message("No table shows a count or a sum."),
            hint=Message('add "count" or "sum:…" to its measures'),
        )
    return files


@dataclass(frozen=True, slots=True)
class _Table:
    """One measure of one table."""

    stem: str
    cells: Cells
    measure: str
    rules: SuppressionSettings
    wish: Wishes
    is_optimal: bool = False

    def files(self, dimensions: Sequence[str]) -> dict[str, str]:
        """Write table, metadata, hierarchies, what is known beforehand, and the batch."""
        codes, comments = [], ""
        for name, axis in zip(dimensions, self.cells.axes, strict=True):
            own, mark = argus_codes(axis)
            _require_codes(axis, own)
            codes.append(own)
            if mark is not None:
                comments += DOTS.format(mark=mark, name=name)
        grid, texts = Grid.of(self.cells), dict[str, str]()
        variables = []
        for name, own, parents in zip(dimensions, codes, grid.parents, strict=True):
            file = ""
            if (parents > 0).any():
                file = f"{self.stem}-{name}.hrc"
                children: dict[str, list[str]] = {}
                for rank, above in enumerate(parents.tolist()):
                    if above >= 0:
                        children.setdefault(own[above], []).append(own[rank])
                texts[file] = hierarchy_text(children, root=own[0], lead=_LEAD)
            variables.append(
                Variable(name=name, role="dimension", total=own[0], hierarchy=file)
            )
        places = [[own[r] for r in rank] for own, rank in zip(codes, grid.ranks, strict=True)]
        columns = self._columns()
        response = next(iter(columns))
        for name, (role, values) in columns.items():
            variables.append(Variable(name=name, role=role, decimals=_decimals(values)))
        numbers = [_texts(values) for _, values in columns.values()]
        rows = zip(*places, *numbers, strict=True)
        texts[f"{self.stem}.tab"] = "".join(_SEPARATOR.join(row) + "\n" for row in rows)
        metadata = Metadata(variables=variables, separator=_SEPARATOR)
        texts[f"{self.stem}.rda"] = metadata.text()
        apriori = self._apriori(list(zip(*places, strict=True)))
        if apriori:
            texts[f"{self.stem}.hst"] = apriori
        has_dots = any("." in code for own in codes for code in own)
        texts[f"{self.stem}.arb"] = _BATCH.format(
            stem=self.stem,
            dimensions="".join(f'"{name}"' for name in dimensions),
            response=response,
            rules=self._rules(),
            comments=comments,
            method=_OPTIMAL if self.is_optimal or has_dots else _MODULAR,
            apriori=f'<APRIORI> "{self.stem}.hst", 1, "{_SEPARATOR}", 0, 0\n' * bool(apriori),
        )
        return texts

    @property
    def _values(self) -> NDArray[Any]:
        variable = variable_of(self.measure)
        return self.cells.count if variable is None else self._amounts(variable).total

    def _amounts(self, variable: str) -> Any:
        return (self.cells.magnitudes or {})[variable]

    def _columns(self) -> dict[str, tuple[str, NDArray[Any]]]:
        """Return name → role and values, the response first."""
        variable = variable_of(self.measure)
        columns: dict[str, tuple[str, NDArray[Any]]]
        columns = {variable or "count": ("response", self._values)}
        if variable is None:
            columns["n"] = ("frequency", self.cells.count)
        else:
            amounts = self._amounts(variable)
            columns["n"] = ("frequency", amounts.contributors)
            for rank in range(max(_SHOWN, amounts.top.shape[1])):
                columns[f"MAX{rank + 1}"] = ("largest", amounts.top[:, rank])
        cost = self._cost()
        if cost is not None:
            columns["cost"] = ("cost", cost)
        return columns

    def _cost(self) -> Floats | None:
        """Return what it costs to hide a cell, where that is not its number."""
        rules, values = self.rules, self._values.astype(np.float64)
        price: NDArray[Any] = values
        if rules.costs == "one":
            price = np.ones(len(values))
        elif rules.costs != "value":
            price = cell_costs(self.cells, rules.costs)
        price = self.wish.costs(
            np.asarray(price, np.float64), preferred_cost=rules.preferred_cost
        )
        return None if (price == values).all() else price

    def _rules(self) -> str:
        """Write the rules; tau-ARGUS takes whole numbers."""
        rules = self.rules
        conditions: list[tuple[str, tuple[float, ...]]] = []
        if rules.threshold is not None:
            conditions.append(("FREQ", (rules.threshold, rules.margin)))
        if self.measure != "count":
            if rules.dominance is not None:
                conditions.append(("NK", rules.dominance))
            if rules.p_percent is not None:
                conditions.append(("P", (rules.p_percent, 1)))
            if rules.prior_posterior is not None:
                conditions.append(("P", (*rules.prior_posterior, 1)))
            if rules.zero_margin is not None:
                conditions.append(("ZERO", (rules.zero_margin,)))
        conditions.append(("MAN", (rules.margin,)))
        if any(number != int(number) for _, numbers in conditions for number in numbers):
            raise ConfigError(
                Message("The rules of tau-ARGUS have whole numbers."),
                hint=Message("give percent without decimals"),
            )
        return "|".join(f"{k}({','.join(str(int(n)) for n in ns)})" for k, ns in conditions)

    def _requested(self) -> Any:
        """Return the cells that the request rule finds, of which tau-ARGUS sees no records."""
        variable, request = variable_of(self.measure), self.rules.request
        if variable is None or request is None:
            return None
        amounts = self._amounts(variable)
        request_amounts = self._amounts(asked_column(variable)).top[:, 0]
        own_amounts = Amounts(
            total=amounts.total, contributors=amounts.contributors, asked=request_amounts
        )
        rule = Requested(percent=request.percent, margin=self.rules.margin)
        return rule.on_amounts(own_amounts)

    def _apriori(self, places: Sequence[tuple[str, ...]]) -> str:
        """Write what is known of cells beforehand."""
        a_priori = self.wish
        lines: dict[int, list[str]] = {}
        for which, word in ((a_priori.status == SAFE, "s"), (a_priori.status == UNSAFE, "u")):
            lines |= {cell: [word] for cell in np.flatnonzero(which & ~a_priori.kept).tolist()}
        lines |= {cell: ["p"] for cell in np.flatnonzero(a_priori.kept).tolist()}
        requested = self._requested()
        if requested is not None:
            for cell in np.setdiff1d(
                np.flatnonzero(requested.is_primary), list(lines)
            ).tolist():
                low, high = _texts(np.array([requested.lower[cell], requested.upper[cell]]))
                lines[cell] = ["u", _SEPARATOR.join(("pl", low, high))]
        for cell in np.flatnonzero(
            ~np.isnan(a_priori.lower) & ~np.isnan(a_priori.upper)
        ).tolist():
            low, high = _texts(np.array([a_priori.lower[cell], a_priori.upper[cell]]))
            lines.setdefault(cell, []).append(_SEPARATOR.join(("pl", low, high)))
        said_lines = [(cell, word) for cell, words in sorted(lines.items()) for word in words]
        # The first line tells pytauargus how many codes there are, and levels have two numbers.
        said_lines.sort(key=lambda line: line[1].startswith("pl"))
        if said_lines and said_lines[0][1].startswith("pl"):
            costs = self._values if (own_costs := self._cost()) is None else own_costs
            said_lines.insert(0, (0, _SEPARATOR.join(("c", *_texts(costs[:1])))))
        texts = [_SEPARATOR.join((*places[cell], word)) for cell, word in said_lines]
        return "".join(f"{line}\n" for line in texts)


def argus_codes(axis: Axis) -> tuple[list[str], str | None]:
    """Return a code for each category that no other one of the axis has.

    The second is what stands for dots in them; None where there is none, or none is free.
    """
    total = str(axis.labels[0][0])
    parts: list[list[str]] = []
    for texts in zip(*axis.labels, strict=True):
        own = [str(text) for text in texts]
        while len(own) > 1 and own[-1] == total:
            own.pop()
        parts.append(own)
    last = [own[-1] for own in parts]
    codes = last if len(set(last)) == len(last) else ["/".join(own) for own in parts]
    if not any("." in code for code in codes):
        return codes, None
    mark = next((m for m in _INSTEAD_OF_DOT if not any(m in code for code in codes)), None)
    return [code.replace(".", mark or ".") for code in codes], mark


def _require_codes(axis: Axis, codes: Sequence[str]) -> None:
    bad = [code for code in codes if {_SEPARATOR, '"', "\n"} & {*code} or code[:1] == _LEAD]
    if bad or len(set(codes)) < len(codes):
        raise ConfigError(
            Message(
                "Categories of {columns!r} cannot be codes of tau-ARGUS.",
                columns=Name.each(axis.columns),
            ),
            hint=Message(
                "codes differ, without {separator} and quotes, and without {lead} in front",
                separator=said(_SEPARATOR),
                lead=said(_LEAD),
            ),
        )


def _decimals(values: NDArray[Any]) -> int:
    return next((d for d in range(6) if np.allclose(np.round(values, d), values, 0, 1e-9)), 6)


def _texts(values: NDArray[Any]) -> list[str]:
    return [np.format_float_positional(v, trim="-") for v in values.astype(np.float64)]
