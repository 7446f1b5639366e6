"""A map of areas in classes: light to dark, hatched where the noise hides the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from footing.svg import clip, safe
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reports.facts.service import DrawnMap, Frame
    from reports.i18n.languages import Words

_ID = "area-map"
_STEP = 10  # between the lines of a hatching, of a map 640 wide
_WIDE = 640
_LETTERS = 13  # of a map 640 wide
_DARK = 3  # the class from which on a hatching is light


def area_map(
    words: Words,
    data: DrawnMap,
    *,
    title: str,
    write: Callable[[float, tuple[float, float]], tuple[str, str]],
) -> str:
    """Draw the shapes of a map; what its looks mean stands beside it.

    Parameters
    ----------
    words, data
        The language, and the shapes.
    title
        What the map shows.
    write
        Says a figure and its interval, as the table does.
    """
    width, height = data.size
    labels = Labels(
        id=_ID,
        title=title,
        description=words.say(
            "%(areas)s areas in %(classes)s classes, light to dark; %(hatched)s are hatched. "
            "The table has all of the numbers.",
            areas=words.numbers.count(data.n_areas),
            classes=words.numbers.count(len(data.edges) - 1),
            hatched=words.numbers.count(data.n_hatched),
        ),
    )
    drawing = _Map(words, labels, size=(width, height))
    drawing.hatchings(len(data.edges) - 1, step=max(1, round(_STEP * width / _WIDE)))
    css = "map-one" if any(shape.name for shape in data.shapes) else None
    for shape in data.shapes:
        look = f"map-{shape.look}" if shape.look >= 0 else "map-none"
        tip = None
        if shape.name:
            figure, interval = write(shape.figure, shape.ends)
            tip = f"{shape.name} – {figure}" + (f" ({interval})" if interval else "")
        own = {"data-code": shape.code} if shape.code else {}
        if shape.is_hatched:
            own["fill"] = f"url(#{_ID}-{shape.look})"
            drawing.path([shape.path], tip=tip, css=css, **own)
        else:
            drawing.path([shape.path], tip=tip, css=" ".join(filter(None, (look, css))), **own)
    drawing.frames(data.frames, size=_LETTERS * width / _WIDE)
    return drawing.finish()


def legend(words: Words, data: DrawnMap, *, unit: str = "") -> list[tuple[str, str]]:
    """Return the filling of a sign and what it stands for, class by class.

    Parameters
    ----------
    words, data
        The language, and the map.
    unit
        What stands behind the numbers.
    """
    digits = next(n for n in range(6) if all(round(e, n) == e for e in data.edges))
    texts = [words.numbers.decimals(edge, digits) for edge in data.edges]
    entries = [
        (
            f"map-{place}",
            words.say("%(low)s to %(high)s", low=texts[place], high=texts[place + 1]) + unit,
        )
        for place in range(len(texts) - 1)
    ]
    if data.n_hatched:
        entries.append(("hatched", words.say("Hatched: the margin is wider than the class")))
    if data.has_gaps:
        entries.append(("map-none", words.say("No number in this table")))
    if data.frames:
        entries.append(
            ("map-frame", words.say("In a frame: areas elsewhere, at another scale"))
        )
    return entries


class _Map(Drawing):
    """A drawing with hatchings, one for each class, and with boxes."""

    def frames(self, frames: Sequence[Frame], *, size: float) -> None:
        """Draw boxes, with a name below each."""
        for frame in frames:
            left, top, right, low = frame.ends
            self.rect((left, top, right - left, low - top), css="map-frame")
            if frame.name:
                name = clip(frame.name, right - left, size)
                look: dict[str, Any] = {"font-size": round(size)}
                self.text((left, low + size), name, css="map-name", **look)
                self.height = max(self.height, low + 1.5 * size)

    def hatchings(self, n_classes: int, *, step: int) -> None:
        """Declare them."""
        for place in range(n_classes):
            light = " light" if place >= _DARK else ""
            inner = (
                f'<rect class="map-{place}" width="{step}" height="{step}"/>'
                f'<path class="map-hatch{light}" d="M0 {step}L{step} 0"/>'
            )
            name = safe(f"{self.labels.id}-{place}")
            where = {"id": name, "width": step, "height": step}
            self._add("pattern", inner, where, patternUnits="userSpaceOnUse")
