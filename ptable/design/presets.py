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


#: Name → preset. The ONS's 10-5 rule is a mechanism: `Mechanism.ons_10_5`.
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
            text="INSEE (source: R package ckm 1.1.0). Both rules meet this variance exactly, "
            "in every row.",
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
    if name is not None:
        found = {**_one_of(PRESETS, name, "preset").options, **found}
    rule = found.pop("rule", "maximum-entropy")
    stays = {"p_stay_rule": "at-least"} if rule == "r-ptable" and "p_stay" in found else {}
    return {**_one_of(RULES, rule, "rule"), **stays, **found}


def name_preset(spec: NoiseSpec) -> str:
    """Say which preset a specification is, its source and what is assumed; or nothing."""
    for name, preset in PRESETS.items():
        if preset.spec == spec:
            return f"Preset {name}: {preset.text}"
    return ""


def _one_of(known: Mapping[str, Any], name: object, what: str) -> Any:
    if isinstance(name, str) and name in known:
        return known[name]
    raise PTableError(f"There is no {what} {name!r}.", hint=f"one of {', '.join(known)}")
