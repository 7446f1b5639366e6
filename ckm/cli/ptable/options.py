"""The options that several verbs take: what the noise must satisfy, how a file is read."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import options
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ptable import Limits, NoiseSpec

LAYOUTS = (
    "cantabular",
    "ckm",
    "destatis",
    "frame",
    "ons",
    "r-ptable",
    "sas",
    "superstar",
    "tau-argus",
)

_PRESETS = (
    "insee-qpv",
    "insee",
    "eurostat-census",
    "abs-tablebuilder",
    "destatis-example",
)

#: How the p-table of another tool is to be read.
reading_options = options(
    click.option(
        "--from",
        "dialect",
        type=click.Choice(LAYOUTS),
        help="Layout of the file read; else found out.",
    ),
    click.option(
        "--boundary",
        type=click.Choice(["[)", "(]"]),
        default="[)",
        help="Which end of an interval read belongs to it.",
    ),
    click.option("--key-range", type=click.IntRange(2, 2**64), help="How many keys it counts."),
    click.option("--large-counts", help="last or cycle:N; else the habit of the file's tool."),
    click.option("--anchors", is_flag=True, help="Counts without a row in it are meant."),
    click.option(
        "--small-n", type=click.IntRange(min=1), default=10, help="SuperSTAR's SmallN."
    ),
)


class _PerRow(click.ParamType[Any]):
    """One value, or one per row between commas; ``none`` where a row may have no value."""

    def __init__(self, kind: click.ParamType[Any], *, takes_none: bool = False) -> None:
        self.kind = kind
        self.takes_none = takes_none
        self.name = kind.name

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        if not isinstance(value, str):
            return value
        values = tuple(self._one(part.strip(), param, ctx) for part in value.split(","))
        return values[0] if len(values) == 1 else values

    def _one(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.takes_none and text == "none":
            return None
        return self.kind.convert(text, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self.kind.get_metavar(param, ctx)


class _Presets(click.Choice[str]):
    """Names of noise; that of a mechanism is not listed, and told what to do with it."""

    def convert(self, value: Any, *rest: Any) -> Any:
        return value if value == "ons-10-5" else super().convert(value, *rest)


def _words(*words: str) -> _PerRow:
    return _PerRow(click.Choice(words))


_OPTIONS: tuple[tuple[str, click.ParamType[Any], str], ...] = (
    ("preset", _Presets(_PRESETS), "What an office documented; other options change it."),
    (
        "rule",
        click.Choice(["maximum-entropy", "r-ptable"]),
        "What is solved; r-ptable: variance at most, left monotone, 1e-8 at least.",
    ),
    ("max_noise", _PerRow(click.IntRange(min=1, max=1000)), "Largest noise, D."),
    ("variance", _PerRow(click.FLOAT), "Variance of the noise, V."),
    ("small", click.IntRange(min=0), "No published count in 1..small."),
    (
        "p_stay",
        _PerRow(click.FLOAT, takes_none=True),
        "Probability that a count is published as it is.",
    ),
    ("p_stay_rule", _words("exact", "at-least", "at-most"), "Whether --p-stay is a bound."),
    ("monotone", _words("none", "left", "both", "unimodal"), "Shape of each row."),
    ("symmetric", _PerRow(click.BOOL), "Whether noise v and -v are equally likely."),
    (
        "variance_rule",
        _words("exact", "at-most", "nearest"),
        "What to do where a row cannot reach the variance.",
    ),
    ("min_probability", _PerRow(click.FLOAT), "Least probability of every allowed noise."),
    ("zero_bias", click.FLOAT, "Mean noise of a count of 0; zeros stay without."),
    ("zero_variance", click.FLOAT, "Variance of the noise of a count of 0."),
    (
        "positive_bias",
        click.FLOAT,
        "Above 0, no positive count becomes 0; mean of the noise above small + 1 there.",
    ),
    ("step", click.IntRange(min=1), "Noise in multiples of 1/step, for magnitudes."),
    ("anchors", _PerRow(click.INT), "Counts that have a row, for magnitudes."),
)
#: Options of limits, and the fields they are; for the textbook's prior. A file takes others.
_LIMITS = {
    "sensitive": "sensitive",
    "posterior": "posterior",
    "posterior_set": "posterior_set",
    "floor": "variance_floor",
    "ceiling": "variance_ceiling",
    "neighbours": "neighbours",
    "ratio": "ratio",
    "most_stay": "p_stay",
}
_LIMIT_OPTIONS: tuple[tuple[str, click.ParamType[Any], str], ...] = (
    (
        "objective",
        click.Choice(["entropy", "least-deviation", "least-variance", "least-hellinger"]),
        "What is best within limits; any of these options asks for a table by limits.",
    ),
    ("sensitive", click.IntRange(min=1), "Counts 1..N that must not be inferred."),
    (
        "posterior",
        click.FloatRange(0, 1, min_open=True),
        "Largest probability of one sensitive count, against guessing it.",
    ),
    (
        "posterior_set",
        click.FloatRange(0, 1, min_open=True),
        "Largest probability of a sensitive count, against knowing that a count is small.",
    ),
    ("floor", click.FloatRange(min=0), "Least variance of every row, against averaging."),
    ("ceiling", click.FloatRange(min=0), "Greatest variance of every row."),
    (
        "neighbours",
        _PerRow(click.FLOAT),
        "EPSILON,DELTA between positive counts one apart, against differencing.",
    ),
    (
        "ratio",
        click.FloatRange(min=1),
        "Odds of a sensitive count against the next, whatever the prior.",
    ),
    (
        "most_stay",
        click.FloatRange(0, 1, min_open=True),
        "Largest probability of staying, against reading counts as true.",
    ),
)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


#: One option for every field of a specification, and names for several fields; those that may
#: differ by row take one value, or one per row between commas.
noise_options = options(
    *(click.option(_flag(name), name, type=kind, help=text) for name, kind, text in _OPTIONS)
)


limit_options = options(
    *(
        click.option(_flag(name), name, type=kind, help=text)
        for name, kind, text in _LIMIT_OPTIONS
    )
)


#: What attacks on the tables of a job take.
attack_options = options(
    click.option(
        "--attacks",
        is_flag=True,
        help="Find the design with the least loss with which attacks are no more successful.",
    ),
    click.option(
        "--share",
        type=click.FloatRange(0, 1),
        help="With --attacks: the share of small counts that the audit may find; by default "
        "that of the own design.",
    ),
    click.option(
        "--secrets",
        type=click.IntRange(1, 100),
        default=1,
        help="With --attacks: how many secrets are drawn for each design.",
    ),
)


def asked_spec(file: Path | None, options: Mapping[str, Any]) -> NoiseSpec:
    """Return the specification of a file, or of the options that were given."""
    from ptable import NoiseSpec

    if file is not None:
        not_both(options)
        from ckm.config import read_noise_spec
        from ckm.release.prior_of_tables import prior_of_tables

        return read_noise_spec(file, prior_of_tables=prior_of_tables)
    limits = {name: options[name] for name in _LIMITS if name in options}
    fields = as_fields({name: v for name, v in options.items() if name not in _LIMITS})
    if limits or "objective" in fields:
        fields["limits"] = _limits(limits)
    if "max_noise" not in fields or not {"variance", "limits"} & fields.keys():
        raise click.UsageError(
            Message("Give SPEC.toml, --preset, or --max-noise and --variance.")
        )
    return NoiseSpec(**fields)


def _limits(options: Mapping[str, Any]) -> Limits:
    """Build limits from options; without data the prior is the textbook's."""
    from ckm.config.job.limits import TEXTBOOK
    from ptable import Limits

    return Limits(**limit_fields(options), priors=(TEXTBOOK,))


def limit_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of limits that options set."""
    fields = {field: options[name] for name, field in _LIMITS.items() if name in options}
    if "sensitive" in fields:
        fields["sensitive"] = tuple(range(1, fields["sensitive"] + 1))
    return fields


def option_names() -> frozenset[str]:
    """Return the names of the options of noise, limits aside."""
    return frozenset(name for name, _, _ in _OPTIONS)


def not_both(options: Mapping[str, Any]) -> None:
    """Refuse options beside a file."""
    if options:
        raise click.UsageError(
            Message("Give a file or {options}, not both.", options=flags(options))
        )


def flags(options: Iterable[str]) -> list[Name]:
    """Return options as they are typed."""
    return Name.each(map(_flag, options))


def as_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as fields of a specification."""
    from ptable.design.presets import spelled_out

    fields = spelled_out(options)
    if isinstance(fields.get("anchors"), int):
        fields["anchors"] = (fields["anchors"],)
    return fields


def as_command(spec: NoiseSpec) -> str:
    """Return the command that builds a specification."""
    words = ["ckm", "ptable", "build"]
    plain = type(spec)(max_noise=1, variance=1.0)
    for name, value in spec.to_dict().items():
        if name in {"max_noise", "variance"} or value != getattr(plain, name):
            values = value if isinstance(value, list) else [value]
            words += [_flag(name), ",".join(map(_say, values))]
    return shlex.join([*words, "-o", "pt.parquet"])


def _say(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value == int(value) and abs(value) < 1e9 else repr(value)
    return "none" if value is None else str(value)
