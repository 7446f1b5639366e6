"""From ``[[magnitude]]`` to the noise of the sums and means of every variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckm.config.job.job import JobMagnitude
from ckm.config.problems import did_you_mean
from ckm.config.words import texts_of
from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ckm.config.job.magnitude_schema import AmountTableModel, MagnitudeModel, SensitiveModel
    from ckm.engine.magnitudes import Condition
    from ptable import NoiseSpec, PTable

    Add = Callable[[str, str, str | None], None]
    Find = Callable[[str, str, str], Path]

__all__ = ["build_magnitudes", "unused_magnitudes"]

_PTABLES = ("ptable", "even", "odd", "small_cells")
_NAMED = 'named_cells = [{ region = "North", branch = "steel" }]'
_ALIKE = ("rules", "base", "signed", "zero_keys", "jitter", "period", "same_key")


def build_magnitudes(
    models: Sequence[MagnitudeModel],
    variables: Sequence[str],
    *,
    find: Find,
    add: Add,
) -> Mapping[str, JobMagnitude]:
    """Build the noise of every variable of a job's tables; no p-table is solved.

    Parameters
    ----------
    models
        The sections.
    variables
        The variables of which tables show sums or means.
    find
        Called with a section, a key and the name of a file; returns its path.
    add
        Called with the section, a problem and a hint.

    Examples
    --------
    >>> list(build_magnitudes([], ["income"], find=print, add=print))
    ['income']
    """
    built: dict[str | None, JobMagnitude] = {}
    for number, model in enumerate(models, start=1):
        where = f"[[magnitude]] {model.name!r}:" if model.name else f"[[magnitude]] {number}:"
        if model.name in built:
            text = "the name occurs more than once." if model.name else "a second one for all."
            add(where, text, "give every variable one section")
        found = built[model.name] = _magnitude(model, where, find=find, add=add)
        try:
            found.noise({name: _stand_in() for name in found.ptables})
        except ConfigError as error:
            add(where, error.problem, error.hint)
    common = built.get(None, JobMagnitude())
    return {name: built.get(name, common) for name in variables}


def unused_magnitudes(models: Sequence[MagnitudeModel], variables: Sequence[str]) -> list[str]:
    """Tell which sections are of no variable that a table shows.

    Parameters
    ----------
    models, variables
        As for `build_magnitudes`.

    Examples
    --------
    >>> unused_magnitudes([], ["income"])
    []
    """
    found = []
    for model in models:
        if model.name is not None and model.name not in variables:
            way = did_you_mean(model.name, variables)
            found.append(
                f"[[magnitude]] {model.name!r} is summed by no table, so it does nothing"
                + (f"; {way}" if way else ".")
            )
    return found


def _magnitude(model: MagnitudeModel, where: str, *, find: Find, add: Add) -> JobMagnitude:
    given = [name for name in ("spread", "share", "flex") if getattr(model, name) is not None]
    if len(given) > 1:
        add(where, f"{' and '.join(given)} say the same.", "keep one of them")
    settings: dict[str, Any] = {name: getattr(model, name) for name in _ALIKE}
    settings["factors"] = tuple(model.factors)
    settings["key_decimals"] = model.key_decimals
    settings |= _decimals(model, where, add=add) | _scale(model, where, add=add)
    settings |= _sensitive(model, where, add=add)
    ptables: dict[str, NoiseSpec | Path] = {}
    for name in _PTABLES:
        table = getattr(model, name)
        if table is not None:
            ptables[name] = _ptable(table, where, name, find=find, add=add)
    return JobMagnitude(
        unit=texts_of(model.unit),
        spread=None if "scale" in settings else model.spread,
        ptables=ptables,
        settings=settings,
    )


def _decimals(model: MagnitudeModel, where: str, *, add: Add) -> dict[str, Any]:
    """Return the decimals; other tools publish all digits."""
    if model.rules != "ckm":
        if model.decimals not in (None, "all"):
            text = f"decimals is for the program's own rules, not for {model.rules!r}."
            add(where, text, "remove it: other tools publish all digits")
        return {"decimals": None}
    return {"decimals": None if model.decimals == "all" else model.decimals or 0}


def _scale(model: MagnitudeModel, where: str, *, add: Add) -> dict[str, Any]:
    from ckm.engine.magnitudes import Flex, Proportional

    if model.share is not None:
        return {"scale": Proportional(share=model.share)}
    if model.flex is None:
        return {}
    try:
        return {"scale": Flex(**model.flex.model_dump())}
    except ConfigError as error:
        add(f"{where} flex:", error.problem, error.hint)
        return {}


def _sensitive(model: MagnitudeModel, where: str, *, add: Add) -> dict[str, Any]:
    """Return the rules of sensitivity; other tools have none unless the job says so."""
    found: dict[str, Any] = {}
    if model.rules != "ckm":
        found |= {"sensitive": (), "least_noise": 0.0}
    if model.sensitive is not None:
        try:
            found["sensitive"] = _conditions(model.sensitive)
        except ConfigError as error:
            add(f"{where} sensitive:", error.problem, error.hint)
    if model.named_cells:
        from ckm.engine.magnitudes.sensitive.named import as_named_cells

        try:
            found["named_cells"] = as_named_cells(model.named_cells)
        except ConfigError as error:
            add(where, error.problem, _NAMED)
    if model.least_noise is not None:
        found["least_noise"] = model.least_noise
    return found


def _conditions(model: SensitiveModel) -> tuple[Condition, ...]:
    from ckm.engine.magnitudes import Dominance, FewContributors, PPercent, PriorPosterior

    found: list[Condition] = []
    if model.few is not None:
        found.append(FewContributors(least=model.few))
    if model.dominance is not None:
        found.append(Dominance(**model.dominance.model_dump(), weighted=model.weighted))
    if model.p_percent is not None:
        found.append(PPercent(percent=model.p_percent, weighted=model.weighted))
    if model.prior_posterior is not None:
        parts = model.prior_posterior.model_dump()
        found.append(PriorPosterior(**parts, weighted=model.weighted))
    return tuple(found)


def _ptable(
    model: AmountTableModel, where: str, name: str, *, find: Find, add: Add
) -> NoiseSpec | Path:
    from ckm.engine.magnitudes.ptables import amount_spec
    from ptable import InfeasibleError, PTableError

    others = model.model_dump(exclude_none=True, exclude={"path"})
    if model.path is not None:
        if others:
            text = f"{name} has both path and {', '.join(others)}."
            add(where, text, "a p-table file has its own specification: keep one of the two")
        return find(where, f"{name}.path", model.path)
    try:
        return amount_spec(**others)
    except InfeasibleError:
        raise  # it has an exit code of its own
    except PTableError as error:
        add(f"{where} {name}:", error.problem, error.hint)
        return amount_spec()


def _stand_in() -> PTable:
    """Return a p-table that fits any noise, to look at everything else."""
    from ptable import PTable

    return PTable(noise=((0,), (-1, 1)), upper=((8,), (4, 8)), key_range=8)
