"""Where in a TOML file something stands: the line of each section, key and value."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, TypeAlias

#: Keys and numbers of entries, from the top of the file.
Place: TypeAlias = tuple[str | int, ...]

# What may hold a bracket or the end of a line without meaning it, then these themselves.
_SIGNS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*'
    r"|[\[\]{}\n]",
    re.DOTALL,
)
_WHERE = re.compile(r"\[+(.+?)\]+(?: number (\d+)| (?:of )?(['\"].*['\"]))?:?")


class Lines:
    r"""The lines of a sound TOML file, by place.

    Examples
    --------
    >>> Lines('[data]\npath = "x"\n\n[[table]]\nname = "a"\n').at(("table", 0, "name"))
    (('table', 0, 'name'), 5)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[Place, int] = {}
        self._values: dict[Place, object] = {}
        self._last: dict[Place, int] = {}  # the number of the last of repeated sections
        section: Place = ()
        for line, statement in _statements(text):
            part = tomllib.loads(statement)
            if statement.lstrip().startswith("["):
                section = self._header(part)
                self._lines.setdefault(section, line)
            else:
                for place, value in _places(part, section):
                    self._lines.setdefault(place, line)
                    self._values[place] = value

    def at(self, place: Place) -> tuple[Place, int | None]:
        """Return what stands there, or what is nearest above it, and its line."""
        if place not in self._lines and (*place, 0) in self._lines:
            place = (*place, 0)  # the first of repeated sections
        while place and place not in self._lines:
            place = place[:-1]
        return place, self._lines.get(place)

    def about(self, where: str, text: str) -> tuple[Place, int | None]:
        """Return what a message is about: a section, and in it the first name that it says."""
        section = self._section(where)
        said: dict[int, Place] = {}
        for place in self._lines:
            if place[: len(section)] == section and place != section:
                value, key = self._values.get(place), str(place[-1])
                # A text, or the variable of a measure, such as sum:income.
                words = {value, value.partition(":")[2]} if isinstance(value, str) else set()
                if key == "where":  # a filter: any of its words
                    words |= set(re.findall(r"\w+", str(value)))
                starts = [text.find(repr(word)) for word in words if word]
                starts += [text.find("The filter")] if key == "where" else []
                is_key = len(place) == len(section) + 1 and (section or repr(key) in text)
                if is_key and key in text:
                    found = re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", text)
                    starts += [found.start()] if found else []
                for start in starts:
                    if start >= 0:
                        said.setdefault(start, place)
        return self.at(said[min(said)] if said else section)

    def _header(self, part: Any) -> Place:
        """Return the place of a section; of repeated ones the last."""
        place: Place = ()
        while part:
            ((key, part),) = part.items()
            place = (*place, key)
            if isinstance(part, list):
                part = part[0]
                if not part:
                    self._last[place] = self._last.get(place, -1) + 1
            if place in self._last:
                place = (*place, self._last[place])
        return place

    def _section(self, where: str) -> Place:
        """Return the place of a section as messages call it."""
        if (said := _WHERE.match(where)) is None:
            return ()
        for place in self._lines:
            is_it = ".".join(key for key in place if isinstance(key, str)) == said[1]
            if is_it and isinstance(place[-1], int):
                is_it = said[2] == str(place[-1] + 1)
                is_it |= said[3] == repr(self._values.get((*place, "name")))
            if is_it:
                return place
        return ()


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Split a TOML file into headers, settings and comments, each with its line."""
    start = depth = 0
    line = 1
    for sign in _SIGNS.finditer(text + "\n"):
        depth += (sign[0] in ("[", "{")) - (sign[0] in ("]", "}"))
        if sign[0] == "\n" and depth == 0:
            statement = text[start : sign.end()]
            yield line, statement
            start, line = sign.end(), line + statement.count("\n")


def _places(value: object, place: Place) -> Iterator[tuple[Place, object]]:
    """Give all that stands in a value, each with its place."""
    entries = dict(enumerate(value)) if isinstance(value, list) else value
    for key, below in entries.items() if isinstance(entries, dict) else ():
        yield (*place, key), below
        yield from _places(below, (*place, key))
