"""Noise by name: the two rules, and what statistical offices documented of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ptable.design.spec import NoiseSpec
from ptable.errors import PTableError

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Rule → the options it stands for: greatest entropy at the variance asked for, or the
#: problem of R's ptable, whose variance is an upper bound.
RULES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "maximum-entropy": {},
        "r-ptable": {
            "variance_rule": "at-most",
            "monotone": "left",
            "min_probability": 1e-8,
        },
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The noise of an office by name.

    Parameters
    ----------
    options
        What it stands for, as in ``[ptable]``.
    text
        Where the office, or who replays it, documents it; what is not as documented, and what
        is not documented and assumed here.
    """

    options: Mapping[str, Any]
    text: str

    @property
    def spec(self) -> NoiseSpec:
        """The specification."""
        return NoiseSpec(**spelled_out(self.options))


#: A mechanism by the name of a preset, `Mechanism.ons_10_5`, and its source.
ONS = "ons-10-5"
ONS_TEXT = (
    "ONS (source: p-table of its package cell-key-perturbation 3.1.0): counts below 10 are "
    "published as 0, others as the nearest multiple of 5, without chance. The p-table of its "
    "census of 2021 is not published."
)
#: Name → preset.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "insee-qpv": Preset(
            options={"max_noise": 10, "variance": 15.0, "small": 4, "rule": "r-ptable"},
            text="INSEE, job seekers of priority zones (source: examples of its R package ckm "
            "1.1.0). Count 1 cannot have a variance of 15, but 10 at most; the rule of R's "
            "ptable gives 5.66 to count 1, 10.5 to 2, 14.4 to 3 and 14.7 to 5. The nearest "
            "with the exact variance elsewhere has 8.11 for count 1.",
        ),
        "insee": Preset(
            options={"max_noise": 5, "variance": 3.0, "small": 2, "rule": "r-ptable"},
            text="INSEE (source: R package ckm 1.1.0). Both rules meet its variance of 3 "
            "exactly, in every row.",
        ),
        "eurostat-census": Preset(
            options={"max_noise": 5, "variance": 3.0, "small": 2},
            text="Eurostat (source: guidelines for census and demography, chapter 5, 2024). "
            "They recommend the cell key method with record swapping and set no parameters; "
            "those here are assumed, the defaults of Statistics Norway's SSBcellKey 0.0.4.",
        ),
        "abs-tablebuilder": Preset(
            options={"max_noise": 2, "variance": 2.0, "rule": "r-ptable"},
            text="ABS TableBuilder as Asghar and Kaafar model it (source: PoPETs 2020), noise "
            "of -2 to 2, all equally likely. The ABS publishes neither D nor V. Count 1 has a "
            "variance of 0.932 by this rule; with exactly 2 it would have two outcomes.",
        ),
        "destatis-example": Preset(
            options={
                "max_noise": 2,
                "variance": 1.05,
                "small": 1,
                "rule": "r-ptable",
                "monotone": ("left", "left", "none", "left"),
            },
            text="Destatis (source: pt_ex_cnts() of its R package ptable 1.0.0), an example. "
            "The noise of its census of 2022 is not published.",
        ),
    }
)


def spelled_out(options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace a preset and a rule by the options they stand for; what is beside them holds.

    Examples
    --------
    >>> spelled_out({"preset": "eurostat-census", "variance": 2.5})
    {'max_noise': 5, 'variance': 2.5, 'small': 2}
    """
    found = dict(options)
    name = found.pop("preset", None)
    if name == ONS:
        raise PTableError(
            f"{name} is a mechanism without chance, built as a file.",
            hint=f"`ckm ptable build --preset {name} -o ons.parquet`, and "
            'path = "ons.parquet" in [ptable]',
        )
    if name is not None:
        found = {**_one_of(PRESETS, name, "preset").options, **found}
    rule = found.pop("rule", "maximum-entropy")
    stays = {"p_stay_rule": "at-least"} if rule == "r-ptable" and "p_stay" in found else {}
    return {**_one_of(RULES, rule, "rule"), **stays, **found}


def name_preset(options: Mapping[str, Any]) -> str:
    """Say which preset was asked for, its source, and what was changed; or nothing.

    Examples
    --------
    >>> name_preset({"preset": "insee", "variance": 15.0}).partition("row. ")[2]
    'Changed here: variance = 15, not 3.'
    """
    name = options.get("preset")
    if name is None:
        return ""
    text = f"Preset {name}: {PRESETS[name].text}"
    own = {"rule": "maximum-entropy", **PRESETS[name].options}
    changed = ", ".join(
        f"{key} = {_short(value)}, not {_short(own[key])}" if key in own else f"{key} = {value}"
        for key, value in options.items()
        if key != "preset" and own.get(key) != value
    )
    return f"{text} Changed here: {changed}." if changed else text


def same_as(spec: NoiseSpec) -> str:
    """Say which preset has the same noise, whether or not anybody asked for it."""
    same = ", ".join(name for name, preset in PRESETS.items() if preset.spec == spec)
    return f"The same noise as the preset {same}." if same else ""


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _one_of(known: Mapping[str, Any], name: object, what: str) -> Any:
    if isinstance(name, str) and name in known:
        return known[name]
    raise PTableError(f"There is no {what} {name!r}.", hint=f"one of {', '.join(known)}")
