"""Noise by name: the two rules, and what statistical offices documented of theirs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from footing.data_files import read_data
from footing.messages import Argument, Message, Name, said
from ptable.design.spec import NoiseSpec
from ptable.errors import PTableError

_FOUND = read_data("ptable.design", "presets.toml")
#: Rule → the options it stands for: greatest entropy at the variance asked for, or the
#: problem of R's ptable, whose variance is an upper bound.
RULES: Mapping[str, Mapping[str, Any]] = MappingProxyType(_FOUND["rules"])


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


def _preset(entry: Mapping[str, Any]) -> Preset:
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in entry["options"].items()}
    return Preset(options=options, text=entry["text"])


#: A mechanism by the name of a preset, and its source.
ONS = "ons-10-5"
ONS_TEXT: str = _FOUND["mechanisms"][ONS]["text"]
#: Name → preset.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {name: _preset(entry) for name, entry in _FOUND["presets"].items()}
)


def spelled_out(options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace a preset and a rule by the options they stand for; what is beside them holds.

    Examples
    --------
    >>> spelled_out({"preset": "eurostat-census", "variance": 2.5})
    {'max_noise': 5, 'variance': 2.5, 'small': 2}
    """
    settings = dict(options)
    name = settings.pop("preset", None)
    if name == ONS:
        raise PTableError(
            Message(
                "{name} is a mechanism without chance, built as a file.", name=Argument(name)
            ),
            hint=Message(
                "`ckm ptable build --preset {name} -o ons.parquet`, and path = "
                '"ons.parquet" in [ptable]',
                name=Argument(name),
            ),
        )
    if name is not None:
        settings = {**_one_of(PRESETS, name, Message("preset")).options, **settings}
    rule = settings.pop("rule", "maximum-entropy")
    stays = {"p_stay_rule": "at-least"} if rule == "r-ptable" and "p_stay" in settings else {}
    return {**_one_of(RULES, rule, Message("rule")), **stays, **settings}


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
    text = Message(
        "Preset {name}: {presets}", name=Argument(name), presets=said(PRESETS[name].text)
    )
    own = {"rule": "maximum-entropy", **PRESETS[name].options}
    changes = [
        _change(key, value, own)
        for key, value in options.items()
        if key != "preset" and own.get(key) != value
    ]
    return (
        Message("{text} Changed here: {changed}.", text=text, changed=changes)
        if changes
        else text
    )


def same_as(spec: NoiseSpec) -> str:
    """Say which preset has the same noise, whether or not anybody asked for it."""
    same = [Name(name) for name, preset in PRESETS.items() if preset.spec == spec]
    return Message("The same noise as the preset {same}.", same=same) if same else ""


def _change(key: str, value: object, own: Mapping[str, Any]) -> Message:
    if key not in own:
        return Message("{key} = {value}", key=Name(key), value=Argument(value))
    before, now = _short(own[key]), _short(value)
    return Message("{key} = {now}, not {before}", key=Name(key), now=now, before=before)


def _short(value: object) -> Argument:
    return Argument(f"{value:g}" if isinstance(value, float) else value)


def _one_of(choices: Mapping[str, Any], name: object, what: str) -> Any:
    if isinstance(name, str) and name in choices:
        return choices[name]
    raise PTableError(
        Message("There is no {what} {name!r}.", what=said(what), name=Argument(name)),
        hint=Message("one of {names}", names=Name.each(choices)),
    )
