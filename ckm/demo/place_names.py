"""Made-up names and centres of the places of the demonstration, for its service."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FIRST = [
    "Bré",
    "Cal",
    "Dou",
    "Fir",
    "Gué",
    "Hol",
    "Jor",
    "Kel",
    "Lún",
    "Mor",
    "Nèr",
    "Pal",
    "Rou",
    "Sév",
    "Tor",
    "Vil",
]
_LAST = [
    "lune",
    "mé",
    "nard",
    "quès",
    "vane",
    "zelle",
    "drac",
    "froy",
    "gost",
    "hult",
    "mielle",
    "pont",
    "rand",
    "tice",
    "vôr",
    "brin",
]
_ENDS = [
    "",
    "-la-Neuve",
    "-les-Bains",
    "-sur-Orle",
    "-le-Haut",
    "-le-Bas",
    "-en-Val",
    "-aux-Bois",
    "-sous-Mont",
    "-la-Forêt",
    "-le-Pont",
    "-sur-Lise",
    "-les-Vignes",
    "-le-Grand",
    "-le-Petit",
    "-la-Garde",
]
_REGIONS = [
    "Galdor",
    "Hérune",
    "Jalmie",
    "Kermeil",
    "Lorvane",
    "Mézière-Haute",
    "Norvègue",
    "Palmade",
]
Line = tuple[str, str, str, str, float, float]


def place_names(
    places: Iterable[Sequence[str]], centres: Mapping[tuple[str, ...], tuple[float, float]]
) -> list[Line]:
    """Name places: code of the service, English, French, former names, x and y.

    Parameters
    ----------
    places
        Region, department and municipality of each municipality.
    centres
        Region, with department and municipality or without → x and y.
    """
    lines: dict[str, Line] = {}
    regions: set[str] = set()
    for number, (region, department, commune) in enumerate(places):
        first, last = number % len(_FIRST), (number // len(_FIRST) + number) % len(_LAST)
        times, end = divmod(number // 256, len(_ENDS))
        name = _FIRST[first] + _LAST[last] + _ENDS[end] + "-la-Neuve" * times
        regions.add(region)
        n_regions = len(regions) - 1
        if region not in lines:
            own = _REGIONS[n_regions % len(_REGIONS)]
            own += " Sud" * (n_regions // len(_REGIONS))
            lines[region] = (region, own, own, "", *centres[region,])
        code = f"{region}/{department}"
        if code not in lines:
            words = (f"District of {name}", f"District de {name}")
            lines[code] = (code, *words, "", *centres[region, department])
        former = f"Vieux-{name}" if number % 10 == 0 else ""
        at = centres[region, department, commune]
        lines[f"{code}/{commune}"] = (f"{code}/{commune}", name, name, former, *at)
    return list(lines.values())
