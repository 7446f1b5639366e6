"""A map of a table of areas: a stronger shade where the number is larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from reports.facts.service import MapArea, MapFacts
    from reports.i18n.languages import Words

_CLASSES = 5
_LINE = 20.0


def area_chart(words: Words, data: MapFacts, *, title: str) -> str:
    """Draw areas in up to five shades, as many areas in each, with a legend.

    Areas that are not published have a broken outline; those that are not in the table none of
    the shades.

    Parameters
    ----------
    words
        The language.
    data
        The areas and their numbers.
    title
        What the numbers are.

    Examples
    --------
    >>> from reports.facts.service import MapArea, MapFacts
    >>> from reports.i18n.languages import words_of
    >>> areas = [MapArea(path="M0 0l9 0 0 9z", label=n, number=n * 10) for n in (1, 2)]
    >>> data = MapFacts(areas=tuple(areas), size=(9, 9))
    >>> area_chart(words_of("en"), data, title="Persons").count("<path")
    2
    """
    known = sorted((a for a in data.areas if a.number is not None), key=lambda a: a.number or 0)
    plain, numbers = words.numbers.plain, [area.number or 0 for area in known]
    classes: dict[float, int] = {}
    for place, number in enumerate(numbers):
        classes.setdefault(number, 1 + place * _CLASSES // len(numbers))
    entries = []
    for shade in sorted(set(classes.values())):
        members = [number for number, own in classes.items() if own == shade]
        ends = map(plain, dict.fromkeys((members[0], members[-1])))
        entries.append((f"s{shade}", " – ".join(ends)))
    withheld = [area for area in data.areas if area.is_withheld]
    entries += [("withheld", words.say("Not published"))] if withheld else []
    if len(known) + len(withheld) < len(data.areas):
        entries.append(("none", words.say("Not in the table")))
    labels = Labels(id="map", title=title, description=_told(words, known, len(withheld)))
    wide, high = data.size
    drawing = Drawing(words, labels, size=(max(wide, 300.0), high + 14 + _LINE * len(entries)))
    for area in data.areas:
        css = "withheld" if area.is_withheld else "none"
        said = words.say("Not published") if area.is_withheld else ""
        if area.number is not None:
            css, said = f"s{classes[area.number]}", plain(area.number)
        tip = f"{area.label}: {said}" if said else None
        drawing.path([area.path] if area.path else [], tip=tip, css=css, fill_rule="evenodd")
    for place, entry in enumerate(entries):
        drawing.legend(high + 14 + place * _LINE, [entry], step=0)
    return drawing.finish()


def _told(words: Words, known: list[MapArea], n_withheld: int) -> str:
    """Say in words what the shades show."""
    least, most = known[0], known[-1]
    return words.say(
        "Shades for %(areas)s areas. The largest number: %(most)s; the smallest: %(least)s."
        " Areas not published: %(withheld)s. The table above has all numbers.",
        areas=words.numbers.count(len(known)),
        most=f"{most.label} ({words.numbers.plain(most.number or 0)})",
        least=f"{least.label} ({words.numbers.plain(least.number or 0)})",
        withheld=words.numbers.count(n_withheld),
    )
