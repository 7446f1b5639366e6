"""From the parsed form of a job to its domain objects, with every problem collected."""

from __future__ import annotations

import glob
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ckm.config.job.additivity import require_additive
from ckm.config.job.check_names import ALLOWABLE, ATTACKS
from ckm.config.job.job import (
    Allowance,
    Category,
    Hierarchy,
    Job,
    JobData,
    JobKeys,
    JobLimits,
    JobReport,
)
from ckm.config.job.ledger import build_ledger
from ckm.config.job.magnitudes import build_magnitudes, unused_magnitudes
from ckm.config.job.output import build_output, build_variables
from ckm.config.job.suppression import build_suppression
from ckm.config.problems import Problem, did_you_mean
from ckm.config.words import texts_of
from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ckm.config.job.schema import (
        CodeTreeModel,
        DataModel,
        JobModel,
        KeysModel,
        PTableModel,
        ReportModel,
        TableModel,
    )
    from ptable import NoiseSpec

__all__ = ["JobBuilder", "build_noise_spec"]

_MAX_NAME = 100
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_RESERVED = {"con", "prn", "aux", "nul", "manifest"} | {
    f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)
}


def build_noise_spec(model: PTableModel, problems: list[Problem]) -> NoiseSpec | None:
    """Build the specification of the noise, or add to the problems."""
    from ptable import InfeasibleError, NoiseSpec, PTableError

    fields = model.model_dump(exclude_none=True, exclude={"path"})
    missing = [name for name in ("max_noise", "variance") if name not in fields]
    if missing:
        hint = "give max_noise and variance, or the path of a p-table"
        text = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing."
        problems.append(Problem(where="[ptable]", text=text, hint=hint))
        return None
    fields = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in fields.items()
    }
    try:
        return NoiseSpec(**fields)
    except InfeasibleError as error:
        if not problems:
            raise  # alone, it has an exit code of its own
        problems.append(Problem(where="[ptable]", text=error.problem, hint=error.hint))
    except PTableError as error:
        problems.append(Problem(where="[ptable]", text=error.problem, hint=error.hint))
    return None


class JobBuilder:
    """Builds a job from its parsed form and collects what is wrong with it."""

    def __init__(self, folder: Path, model: JobModel) -> None:
        self.folder = folder
        self.model = model
        self.problems: list[Problem] = []

    def _add(self, where: str, text: str, hint: str | None = None) -> None:
        self.problems.append(Problem(where=where, text=text, hint=hint))

    def _path(self, where: str, key: str, name: str, *, is_glob: bool = False) -> Path:
        """Resolve a path against the job file's folder; it must exist."""
        if "://" in name or "\0" in name:
            self._add(
                where, f"{key} must be a file of this machine.", "export it to Parquet first"
            )
            return self.folder
        path = self.folder / name
        pattern = str(path)
        exists = path.exists() or (
            is_glob
            and glob.has_magic(pattern)
            and next(glob.iglob(pattern, recursive=True), None) is not None  # noqa: PTH207
        )
        if not exists:
            near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            hint = (
                did_you_mean(path.name, near) or "relative paths start at the job file's folder"
            )
            self._add(where, f"{key} {name!r} does not exist.", hint)
        elif not is_glob and path.is_dir():
            self._add(where, f"{key} {name!r} is a folder, not a file.")
        return path

    def build(self, path: Path, text: str) -> Job:
        """Build the job; it must not be used when `problems` is not empty.

        Parameters
        ----------
        path, text
            The job file and what it says.
        """
        model = self.model
        data = self._data(model.data)
        keys = self._keys(model.keys)
        hierarchies = {name: self._hierarchy(name, h) for name, h in model.hierarchies.items()}
        categories: dict[str, Category] = {
            name: self._path("[categories]", name, value) if isinstance(value, str) else value
            for name, value in model.categories.items()
        }
        for name, value in categories.items():
            if isinstance(value, list) and (not value or len(set(value)) < len(value)):
                self._add("[categories]", f"{name!r} must list different categories.")
        tables = self._tables(model.table)
        report = self._report(model.report)
        require_additive(model, add=self._add)
        output = build_output(model.output, add=self._add)
        # Last, because an infeasible specification is told apart when it is the only problem.
        ptable = None if model.ptable is None else self._ptable(model.ptable)
        return Job(
            path=path,
            text=text,
            data=data,
            keys=keys,
            ptable=ptable,
            hierarchies=hierarchies,
            categories=categories,
            output=output,
            tables=tables,
            titles={
                name: texts_of(text)
                for name, text in (("", model.title), *((t.name, t.title) for t in model.table))
                if text is not None
            },
            dataflows={t.name: t.dataflow for t in model.table if t.dataflow is not None},
            variables=build_variables(model, find=self._path, add=self._add),
            report=report,
            ledger=build_ledger(model.ledger, self.folder, add=self._add),
            suppression=build_suppression(model, add=self._add),
            magnitudes=build_magnitudes(
                model.magnitude,
                self._summed(),
                find=self._path,
                add=self._add,
            ),
        )

    def _summed(self) -> list[str]:
        """Return the variables of which tables show sums or means."""
        from ckm.engine.request import variable_of

        found = (variable_of(name) for table in self.model.table for name in table.measures)
        return list(dict.fromkeys(name for name in found if name is not None))

    def _links(self, name: str, wanted: Sequence[str]) -> bool:
        """Tell whether a suppression reads of a hierarchy what lies in what."""
        nested = self.model.hierarchies.get(name)
        return (
            self.model.suppression is not None
            and isinstance(nested, list)
            and any(column in wanted for column in nested)
        )

    def unused(self) -> list[str]:
        """Tell which sections belong to no table, perhaps by a slip."""
        wanted = list(dict.fromkeys(d for model in self.model.table for d in model.dimensions))
        sections: dict[str, Iterable[str]] = {
            "hierarchies": self.model.hierarchies,
            "categories": self.model.categories,
        }
        found = []
        for section, names in sections.items():
            for name in names:
                if name not in wanted and not self._links(name, wanted):
                    way = did_you_mean(name, wanted)
                    found.append(
                        f"[{section}] {name!r} is a dimension of no table, so it does nothing"
                        + (f"; {way}" if way else ".")
                    )
        nested = (self.model.hierarchies.get(name) for name in wanted)
        wanted += [column for h in nested if isinstance(h, list) for column in h]
        wanted += self._summed()
        for variable in self.model.variable:
            if variable.name not in wanted:
                way = did_you_mean(variable.name, wanted)
                found.append(
                    f"[[variable]] {variable.name!r} is no dimension or column of a table, so "
                    "it does nothing" + (f"; {way}" if way else ".")
                )
        return found + unused_magnitudes(self.model.magnitude, self._summed())

    def _data(self, data: DataModel) -> JobData:
        where = "[data]"
        if data.id is None and data.record_key is None:
            hint = (
                'id = "person_id" for a stable identifier, record_key = "rkey" for stored keys'
            )
            self._add(where, "needs id or record_key: whence the keys?", hint)
        if data.id is not None and data.record_key is not None:
            self._add(where, "has both id and record_key.", "remove one of the two")
        if data.key_range is not None and data.record_key is None:
            self._add(where, "key_range goes with record_key alone.", "remove key_range")
        self._data_engine(data)
        path = self._path(where, "path", data.path, is_glob=True)
        return JobData(path=path, **data.model_dump(exclude={"path"}))

    def _data_engine(self, data: DataModel) -> None:
        """Note what does not go with the engine."""
        where = "[data]"
        if data.engine != "spark":
            if data.master is not None:
                self._add(where, 'master goes with engine = "spark" alone.', "remove master")
            return
        from tables.spark.session import is_master

        if data.table is not None:
            hint = "write the table to Parquet, and name its files as path"
            self._add(where, "table goes with DuckDB files, which Spark cannot read.", hint)
        if data.master is not None and not is_master(data.master):
            hint = 'write "local[*]", "spark://host:7077", "yarn" or "k8s://…"'
            self._add(where, f"{data.master!r} is no master of Spark.", hint)

    def _keys(self, keys: KeysModel) -> JobKeys:
        where, secret = "[keys]", None
        if keys.secret is not None:
            secret = self.folder / keys.secret
            # The value is not echoed: somebody may have put the secret itself there.
            try:
                is_file = secret.is_file()
            except (OSError, ValueError):
                is_file = False
            if not is_file:
                self._add(
                    where,
                    "secret must be the path of a file that exists, relative to the job file.",
                    "make one: ckm keys secret secret.key; never write the secret itself here",
                )
        return JobKeys(secret=secret, checks=keys.checks, mix=keys.mix)

    def _ptable(self, model: PTableModel) -> NoiseSpec | Path:
        for name in ("step", "anchors"):
            if getattr(model, name) is not None:
                text = f"{name} is for magnitudes, and a job publishes counts."
                self._add("[ptable]", text, f"remove {name}")
        if model.path is None:
            # With a problem noted the job is never used; any path will do.
            return build_noise_spec(model, self.problems) or self.folder
        others = model.model_dump(exclude_none=True, exclude={"path"})
        if others:
            self._add(
                "[ptable]",
                f"has both path and {', '.join(others)}.",
                "a p-table file has its own specification: keep one of the two",
            )
        return self._path("[ptable]", "path", model.path)

    def _report(self, model: ReportModel) -> JobReport:
        designs = None
        if model.designs is not None:
            designs = self._path("[report]", "designs", model.designs)
        self._report_names(model)
        limits = model.limits
        return JobReport(
            id=model.id or "",
            date="" if model.date is None else model.date.isoformat(),
            contact=model.contact or "",
            ptable_label=model.ptable_label or "",
            languages=tuple(dict.fromkeys(model.languages)),
            designs=designs,
            sensitive=model.sensitive,
            limits=JobLimits(**limits.model_dump()),
            exceptions=tuple(
                Allowance(**{**entry.model_dump(), "when": entry.when.isoformat()})
                for entry in model.exceptions
            ),
        )

    def _report_names(self, model: ReportModel) -> None:
        """Note the attacks and the checks that are unknown."""
        for name in model.limits.attacks:
            if name not in ATTACKS:
                self._add(
                    "[report.limits]",
                    f"the attack {name!r} is unknown.",
                    did_you_mean(name, ATTACKS) or f"known are {', '.join(ATTACKS)}",
                )
        for number, entry in enumerate(model.exceptions, start=1):
            if entry.check is not None and entry.check not in ALLOWABLE:
                self._add(
                    f"[[report.exceptions]] number {number}:",
                    f"the check {entry.check!r} cannot be allowed to fail.",
                    did_you_mean(entry.check, ALLOWABLE)
                    or f"these can: {', '.join(ALLOWABLE)}",
                )

    def _hierarchy(self, name: str, value: list[str] | str | CodeTreeModel) -> Hierarchy:
        where = "[hierarchies]"
        if isinstance(value, str):
            return self._path(where, name, value)
        if isinstance(value, list):
            if not value or len(set(value)) < len(value):
                self._add(where, f"{name!r} must list different columns, from broad to fine.")
            return value
        return {
            "column": value.column,
            "tree": str(self._path(where, f"{name}.tree", value.tree)),
        }

    def _tables(self, models: Sequence[TableModel]) -> dict[str, Any]:
        from ckm.engine.request import TableRequest

        lowered = sorted(model.name.lower() for model in models)
        for name in sorted({a for a, b in pairwise(lowered) if a == b}):
            self._add(
                "[[table]]",
                f"the name {name!r} occurs more than once.",
                "names become file names: they must differ in more than upper and lower case",
            )
        requests = {}
        for model in models:
            if self._table(model):
                continue
            margins = model.margins
            try:
                requests[model.name] = TableRequest(
                    dimensions=tuple(model.dimensions),
                    measures=tuple(model.measures),
                    margins=margins if isinstance(margins, str) else tuple(map(tuple, margins)),
                    where=model.where,
                    empty_cells=model.empty_cells,
                    missing_values=model.missing_values,
                )
            except ConfigError as error:
                self._add(f"[[table]] {model.name!r}:", error.problem, error.hint)
        return requests

    def _table(self, model: TableModel) -> bool:
        """Note the problems of one table; tell whether there are any."""
        before = len(self.problems)
        where = f"[[table]] {model.name[:_MAX_NAME]!r}:"
        if (
            not _SAFE_NAME.fullmatch(model.name)
            or len(model.name) > _MAX_NAME
            or model.name.lower().split(".")[0] in _RESERVED
        ):
            self._add(
                where,
                "name cannot be a file name everywhere.",
                "use letters, digits, - and _, starting with a letter; not con or manifest",
            )
        if len(set(model.dimensions)) < len(model.dimensions):
            self._add(where, "dimensions must differ from each other.")
        if model.dataflow is not None and not _is_dataflow(model.dataflow):
            self._add(where, "dataflow is not an id of SDMX.", 'written "AGENCY:ID(1.0)"')
        if len(set(model.measures)) < len(model.measures):
            self._add(where, "measures must differ from each other.")
        if "weighted" in model.measures and self.model.data.weight is None:
            self._add(where, 'the measure "weighted" needs [data] weight.', 'add weight = "…"')
        if not isinstance(model.margins, str):
            nested = [self.model.hierarchies.get(name) for name in model.dimensions]
            levels = [column for h in nested if isinstance(h, list) for column in h]
            known = [*model.dimensions, *levels]
            for name in dict.fromkeys(n for subset in model.margins for n in subset):
                if name not in known:
                    hint = did_you_mean(name, known)
                    self._add(
                        where, f"margins name {name!r}, which is no dimension of it.", hint
                    )
        return len(self.problems) > before


def _is_dataflow(text: str) -> bool:
    from ckm.formats.about import is_dataflow

    return is_dataflow(text)
