"""Where in a TOML file something stands: the line of each section, key and value."""

import itertools
import re
import tomllib
from collections.abc import Iterator
from typing import Any, TypeAlias

#: Keys, and numbers, names or texts of entries, from the top of the file.
KeyPath: TypeAlias = tuple[str | int, ...]

# What may hold a bracket or the end of a line without meaning it, then these themselves.
_SIGNS = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*'
    r"|[\[\]{}\n]",
    re.DOTALL,
)


class Lines:
    r"""The lines of a sound TOML file, by place.

    Examples
    --------
    >>> Lines('[data]\npath = "x"\n\n[[table]]\nname = "a"\n').at(("table", 0, "name"))
    (('table', 0, 'name'), 5)
    >>> Lines('[[table]]\nname = "a"\nmeasures = ["count"]\n').at(("table", "a", "measures"))
    (('table', 0, 'measures'), 3)
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[KeyPath, int] = {}
        self._values: dict[KeyPath, object] = {}
        self._last: dict[KeyPath, int] = {}  # the number of the last of repeated sections
        section: KeyPath = ()
        for line, statement in _statements(text):
            part = tomllib.loads(statement)
            if statement.lstrip().startswith("["):
                section = self._header(part)
                self._lines.setdefault(section, line)
            else:
                for place, value in _places(part, section):
                    self._lines.setdefault(place, line)
                    self._values[place] = value

    def at(self, place: KeyPath) -> tuple[KeyPath, int | None]:
        """Return what stands there, or what is nearest above it, and its line."""
        place = self._by_numbers(place)
        if place not in self._lines and (*place, 0) in self._lines:
            place = (*place, 0)  # the first of repeated sections
        while place and place not in self._lines:
            place = place[:-1]
        return place, self._lines.get(place)

    def _by_numbers(self, place: KeyPath) -> KeyPath:
        """Return the place with numbers of entries instead of their names and texts."""
        path: KeyPath = ()
        for part in place:
            inner = (*path, part)
            is_name = isinstance(part, str) and inner not in self._lines
            path = self._entry(path, part) if is_name else inner
        return path

    def _entry(self, place: KeyPath, name: str | int) -> KeyPath:
        """Return the first entry of that name or text: of a list, or of sections."""
        for number in itertools.count():
            entry = (*place, number)
            if entry not in self._lines:
                return (*place, name)
            text = self._values.get(entry)
            names = [self._values.get((*entry, key)) for key in ("name", "table")]
            if name in (text, *names) or (isinstance(text, str) and text.endswith(f":{name}")):
                return entry
        raise AssertionError

    def _header(self, part: Any) -> KeyPath:
        """Return the place of a section; of repeated ones the last."""
        place: KeyPath = ()
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


def _places(value: object, place: KeyPath) -> Iterator[tuple[KeyPath, object]]:
    """Give all that stands in a value, each with its place."""
    entries = dict(enumerate(value)) if isinstance(value, list) else value
    for key, below in entries.items() if isinstance(entries, dict) else ():
        yield (*place, key), below
        yield from _places(below, (*place, key))
