"""A swap: what a swap file says, checked and with its paths resolved."""

from __future__ import annotations

import glob
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from ckm.config.problems import JobError, Problem, did_you_mean, problem_from_pydantic
from ckm.config.read import _parse, _read_text, _version_first
from ckm.config.section import Section, schema_of

if TYPE_CHECKING:
    from tables.swapping.plan import SwapPlan

__all__ = ["SwapJob", "is_swap_file", "read_swap", "swap_schema"]


class SwapDataModel(Section):
    """The records to swap."""

    path: str = Field(
        min_length=1, description="A Parquet or CSV file, a glob, or a DuckDB file."
    )
    table: str | None = Field(
        default=None, min_length=1, description="The table of a DuckDB file."
    )


class SwapKeysModel(Section):
    """Where the secret lies that decides who moves."""

    secret: str | None = Field(
        default=None, min_length=1, description="Path of a secret file. Without it: CKM_SECRET."
    )


class SwapSection(Section):
    """Who moves, and where to."""

    household: str = Field(min_length=1, description="Column of the household's identifier.")
    geography: list[str] = Field(min_length=1, description="Columns, from broad to fine.")
    risk: list[str] = Field(
        min_length=1, description="Columns whose combinations make a record easy to find."
    )
    similar: list[list[str]] = Field(
        default=[[]], min_length=1, description="Profiles that partners share, tried in turn."
    )
    k: int = Field(default=3, ge=0, description="Fewer alike records in an area are at risk.")
    rate: float = Field(
        default=0.05, ge=0, le=1, description="The least share of households that move."
    )
    any_size: bool = Field(
        default=False, description="Take a household of another size as a last resort."
    )
    seed: int | None = Field(
        default=None, ge=0, description="Decides who moves, instead of a secret."
    )


class SwapModel(Section):
    """A swap of records."""

    version: Literal[1] = Field(alias="schema", description="Always 1.")
    data: SwapDataModel
    keys: SwapKeysModel = SwapKeysModel()
    swap: SwapSection


_SECTIONS: dict[str, type[BaseModel]] = {
    "data": SwapDataModel,
    "keys": SwapKeysModel,
    "swap": SwapSection,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapJob:
    """One swap: the records, what decides, and who moves.

    Build one with `read_swap`.

    Parameters
    ----------
    path, text
        The swap file and what it says.
    data
        The file of the records, or the glob.
    table
        The table of a DuckDB file.
    secret
        The secret file; without it and without a seed, ``CKM_SECRET`` decides.
    seed
        Instead of a secret.
    plan
        Who moves, and where to.
    """

    path: Path
    text: str = field(repr=False)
    data: Path
    table: str | None
    secret: Path | None = field(repr=False)
    seed: int | None = field(repr=False)
    plan: SwapPlan

    def data_files(self) -> tuple[Path, ...]:
        """Return the files of the records, sorted.

        Examples
        --------
        >>> read_swap("swap.toml").data_files()  # doctest: +SKIP
        (PosixPath('people.parquet'),)
        """
        if not glob.has_magic(str(self.data)) or self.data.exists():
            return (self.data,)
        found = glob.glob(str(self.data), recursive=True)  # noqa: PTH207 (an absolute pattern)
        return tuple(sorted(path for path in map(Path, found) if path.is_file()))


def read_swap(path: Path | str) -> SwapJob:
    r"""Read and check a swap file; relative paths start at its folder.

    The data are not opened.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    JobError
        With every problem of the file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "people.csv").write_text("home,town,age\n1,A,30\n2,B,40\n")
    >>> _ = (folder / "swap.toml").write_text('''
    ... schema = 1
    ... data = { path = "people.csv" }
    ... [swap]
    ... household = "home"
    ... geography = ["town"]
    ... risk = ["age"]
    ... seed = 2027
    ... ''')
    >>> read_swap(folder / "swap.toml").plan.columns
    ('home', 'town', 'age')
    """
    path = Path(path).absolute()
    text = _read_text(path, kind="swap")
    document = _parse(path, text)
    if "swap" not in document and "table" in document:
        hint = "ckm release and ckm suppress take jobs; a swap file has [swap]"
        raise JobError(
            path.name, [Problem(where="", text="This is a job, not a swap.", hint=hint)]
        )
    try:
        model = SwapModel.model_validate(document)
    except ValidationError as error:
        problems = [
            problem_from_pydantic(e, sections=_known(), names={})
            for e in error.errors(include_url=False, include_input=False)
        ]
        raise JobError(path.name, _version_first(document, dict.fromkeys(problems))) from None
    builder = _Builder(path.parent, model)
    job = builder.build(path, text)
    if job is None or builder.problems:
        raise JobError(path.name, builder.problems)
    return job


def is_swap_file(path: Path) -> bool:
    """Return whether a TOML file describes a swap.

    Parameters
    ----------
    path
        The file; False where it cannot be read.

    Examples
    --------
    >>> is_swap_file(Path("job.toml"))
    False
    """
    try:
        return "swap" in _parse(path, _read_text(path, kind="swap"))
    except ValueError:
        return False


def swap_schema() -> dict[str, Any]:
    """Return the JSON Schema of a swap file, for editors.

    Examples
    --------
    >>> swap_schema()["title"]
    'A swap of ckm'
    """
    return schema_of(SwapModel, title="A swap of ckm")


def _known() -> dict[str, tuple[str, ...]]:
    keys = {name: tuple(model.model_fields) for name, model in _SECTIONS.items()}
    return {"": ("schema", *_SECTIONS), **keys}


class _Builder:
    """Builds a swap from its parsed form and collects what is wrong with it."""

    def __init__(self, folder: Path, model: SwapModel) -> None:
        self.folder = folder
        self.model = model
        self.problems: list[Problem] = []

    def _add(self, where: str, text: str, hint: str | None = None) -> None:
        self.problems.append(Problem(where=where, text=text, hint=hint))

    def build(self, path: Path, text: str) -> SwapJob | None:
        model, plan = self.model, self._plan()
        data, secret = self._data(model.data.path), self._secret(model.keys.secret)
        if plan is None:
            return None
        return SwapJob(
            path=path,
            text=text,
            data=data,
            table=model.data.table,
            secret=secret,
            seed=model.swap.seed,
            plan=plan,
        )

    def _plan(self) -> SwapPlan | None:
        from tables import RequestError
        from tables.swapping.plan import SwapPlan

        given = self.model.swap
        try:
            return SwapPlan(
                household=given.household,
                geography=tuple(given.geography),
                risk=tuple(given.risk),
                similar=tuple(map(tuple, given.similar)),
                k=given.k,
                rate=given.rate,
                any_size=given.any_size,
            )
        except RequestError as error:
            hint = "docs/swapping.md says what the columns are for"
            self._add("[swap]", error.problem, hint)
            return None

    def _data(self, name: str) -> Path:
        path = self.folder / name
        if "://" in name or "\0" in name:
            hint = "export it to Parquet first"
            self._add("[data]", "path must be a file of this machine.", hint)
        elif not path.exists() and not glob.has_magic(str(path)):
            near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            hint = did_you_mean(path.name, near) or "relative paths start at the file's folder"
            self._add("[data]", f"path {name!r} does not exist.", hint)
        return path

    def _secret(self, name: str | None) -> Path | None:
        if name is None:
            return None
        if self.model.swap.seed is not None:
            text = "there are both [keys] secret and [swap] seed."
            self._add("[swap]", text, "keep one: with a secret nobody else draws the same")
        path = self.folder / name
        # The value is not echoed: somebody may have put the secret itself there.
        try:
            is_file = path.is_file()
        except (OSError, ValueError):
            is_file = False
        if not is_file:
            text = "secret must be the path of a file that exists."
            self._add("[keys]", text, "make one: ckm keys secret secret.key")
        return path
