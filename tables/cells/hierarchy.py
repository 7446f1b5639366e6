"""Hierarchies of a dimension: nested columns, or a code tree over one column."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from footing.messages import Message, Name, said
from tables.errors import RequestError

_MAX_NODES = 5_000_000


@dataclass(frozen=True, slots=True)
class CodeTree:
    """Codes and their parents; the codes without children are the leaves.

    Parameters
    ----------
    parents
        Code → its parent, in the order in which codes are shown; the parent of a top code is
        None. One top code that has children stands for the total.

    Raises
    ------
    RequestError
        If a parent is not a code, or codes form a circle.

    Examples
    --------
    >>> tree = CodeTree({"all": None, "young": "all", "old": "all"})
    >>> tree.leaves
    ('young', 'old')
    >>> tree.root
    'all'
    """

    parents: Mapping[str, str | None]

    def __post_init__(self) -> None:
        parents = dict(self.parents)
        object.__setattr__(self, "parents", parents)
        if not parents:
            raise RequestError(Message("A code tree needs at least one code."))
        strangers = {p for p in parents.values() if p is not None and p not in parents}
        if strangers:
            examples = ", ".join(repr(s) for s in sorted(strangers)[:5])
            is_blank = any(parent.strip() in parents for parent in strangers)
            raise RequestError(
                Message(
                    "In the code tree, {number} parents are not codes: {words}.",
                    number=len(strangers),
                    words=said(examples),
                ),
                hint=Message(
                    "blanks are part of codes: write a parent as the line of its code has it"
                )
                if is_blank
                else Message("give every parent a line of its own"),
            )
        acyclic: set[str] = set()
        for code in parents:
            path: set[str] = set()
            node: str | None = code
            while node is not None and node not in acyclic:
                if node in path:
                    raise RequestError(
                        Message(
                            "In the code tree, {node!r} is its own ancestor.", node=Name(node)
                        )
                    )
                path.add(node)
                node = parents[node]
            acyclic |= path

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> CodeTree:
        """Read a tree from a CSV file, or from an ``.hrc`` of tau-ARGUS.

        Parameters
        ----------
        path
            Either columns ``code,parent``, or ``level,name`` where the level is written as
            ``@``, ``@@``, … and lines follow each other depth first. Codes are texts as they
            are written, blanks among them; only where the header has a blank behind every
            separator, such blanks belong to no code. A file that ends with ``.hrc`` is read
            by `read_hrc`.

        Returns
        -------
        CodeTree
            The tree.

        Raises
        ------
        RequestError
            If the file cannot be read as a tree, with its line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "sex.csv"
        >>> _ = file.write_text("level,name @,all @@,F @@,M".replace(" ", chr(10)))
        >>> CodeTree.read(file).parents
        {'all': None, 'F': 'all', 'M': 'all'}
        """
        name = Path(path).name
        if Path(path).suffix.lower() == ".hrc":
            return cls.read_hrc(path)
        try:
            with Path(path).open(encoding="utf-8-sig", newline="") as file:
                start = file.readline()
                file.seek(0)
                delimiter = max(",;\t", key=start.count)
                is_spaced = start.count(delimiter) == start.count(delimiter + " ")
                reader = csv.DictReader(
                    file, delimiter=delimiter, skipinitialspace=is_spaced and delimiter != "\t"
                )
                header = [h.strip() for h in reader.fieldnames or []]
                reader.fieldnames = header
                rows = [(reader.line_num, row) for row in reader]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            reason = getattr(error, "strerror", None) or Message(
                "it is not a CSV text in UTF-8"
            )
            raise _unreadable(name, reason) from None
        if len(rows) > _MAX_NODES:
            raise RequestError(
                Message("A code tree has at most {max_nodes:,} codes.", max_nodes=_MAX_NODES)
            )
        if {"code", "parent"} <= set(header):
            pairs = [(n, _text(row, "code"), _text(row, "parent") or None) for n, row in rows]
        elif {"level", "name"} <= set(header):
            pairs = _from_levels(name, rows)
        else:
            raise RequestError(
                Message(
                    "The code tree {name!r} needs the columns code,parent or level,name.",
                    name=Name(name),
                ),
                hint=Message("for example: code,parent / 75,11 / 11,"),
            )
        return cls(_parents(name, pairs))

    @classmethod
    def read_hrc(cls, path: str | os.PathLike[str], *, lead: str = "@") -> CodeTree:
        """Read a tree of tau-ARGUS: a code a line, behind a mark for each code above it.

        Parameters
        ----------
        path
            The file; blanks around codes do not count.
        lead
            The mark.

        Returns
        -------
        CodeTree
            The tree; its top codes stand under the total.

        Raises
        ------
        RequestError
            If the file cannot be read as a tree, with its line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "nace.hrc"
        >>> _ = file.write_text("A @A01 @A02 B".replace(" ", chr(10)))
        >>> CodeTree.read_hrc(file).parents
        {'A': None, 'A01': 'A', 'A02': 'A', 'B': None}
        """
        name = Path(path).name
        return cls(_parents(name, _from_leads(name, _text_of(path), lead)))

    @property
    def children(self) -> dict[str | None, list[str]]:
        """Parent → its children, in order; the top codes stand under None."""
        children: dict[str | None, list[str]] = {}
        for code, parent in self.parents.items():
            children.setdefault(parent, []).append(code)
        return children

    @property
    def root(self) -> str | None:
        """The single top code, when it has children: it stands for the total."""
        top_codes = self.children.get(None, [])
        return top_codes[0] if len(top_codes) == 1 and top_codes[0] in self.children else None

    @property
    def leaves(self) -> tuple[str, ...]:
        """The codes without children, depth first."""
        children = self.children  # worked out once for all codes
        return tuple(code for code, _ in self.walk() if code not in children)

    def walk(self) -> list[tuple[str, int]]:
        """Return every code and its depth, parents before children; top codes have depth 1.

        A root that stands for the total is left out, and its children have depth 1.
        """
        children = self.children
        start = self.root
        stack = [(code, 1) for code in reversed(children[start])]
        steps = []
        while stack:
            code, depth = stack.pop()
            steps.append((code, depth))
            stack += [(child, depth + 1) for child in reversed(children.get(code, []))]
        return steps

    def __hash__(self) -> int:
        return hash(tuple(self.parents.items()))


def _unreadable(name: str, reason: str) -> RequestError:
    return RequestError(
        Message(
            "The code tree {name!r} cannot be read: {reason}.",
            name=Name(name),
            reason=said(reason),
        )
    )


def _parents(name: str, pairs: Iterable[tuple[int, str, str | None]]) -> dict[str, str | None]:
    """Return code → parent of lines, each code once."""
    parents: dict[str, str | None] = {}
    for line, code, parent in pairs:
        is_empty = not (code + (parent or "")).strip()
        if not code or is_empty or code in parents:
            what = Message("is empty") if not code or is_empty else Message("appears twice")
            raise RequestError(
                Message(
                    "In the code tree {name!r}, the code of line {line} {what}.",
                    name=Name(name),
                    line=line,
                    what=what,
                )
            )
        parents[code] = parent
    return parents


def _text_of(path: str | os.PathLike[str]) -> str:
    """Read a text of whatever age, as programs for Windows wrote them."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(Path(path).name, error.strerror or "") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def _from_leads(name: str, text: str, lead: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield line, code and parent of a text that tells depths by what stands in front."""
    path: list[str] = []
    for line, whole in enumerate(text.splitlines(), start=1):
        code, depth = whole.strip(), 0
        while lead and code.startswith(lead):
            code, depth = code[len(lead) :].strip(), depth + 1
        if not code:
            continue
        if depth > len(path):
            raise RequestError(
                Message(
                    "In the code tree {name!r}, line {line} skips a level.",
                    name=Name(name),
                    line=line,
                )
            )
        path = [*path[:depth], code]
        yield line, code, path[depth - 1] if depth else None


def _text(row: Mapping[str, str | None], column: str) -> str:
    return row.get(column) or ""


def _from_levels(
    name: str, rows: Sequence[tuple[int, Mapping[str, str]]]
) -> list[tuple[int, str, str | None]]:
    pairs: list[tuple[int, str, str | None]] = []
    path: list[str] = []
    for line, row in rows:
        mark, code = _text(row, "level").strip(), _text(row, "name")
        depth = len(mark)
        if not depth or set(mark) != {"@"} or depth > len(path) + 1:
            raise RequestError(
                Message(
                    "In the code tree {name!r}, the level of line {line} must be @, @@, …, at "
                    "most one deeper than the line before.",
                    name=Name(name),
                    line=line,
                )
            )
        path = [*path[: depth - 1], code]
        pairs.append((line, code, path[-2] if depth > 1 else None))
    return pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Hierarchy:
    """How the categories of a dimension nest.

    Parameters
    ----------
    columns
        Columns from broad to fine. A code counts within its parent only, so codes may
        repeat under different parents.
    tree
        A code tree over a single column, whose values are leaves of the tree.

    Raises
    ------
    RequestError
        If columns repeat, or a tree is given for more than one column.

    Examples
    --------
    >>> Hierarchy(columns=("region", "department")).columns
    ('region', 'department')
    """

    columns: tuple[str, ...]
    tree: CodeTree | None = None

    def __post_init__(self) -> None:
        if not self.columns or isinstance(self.columns, str):
            raise RequestError(
                Message("A hierarchy lists its columns from broad to fine."),
                hint=Message('for example ["region", "department", "commune"]'),
            )
        object.__setattr__(self, "columns", tuple(self.columns))
        if len(set(self.columns)) < len(self.columns):
            raise RequestError(Message("A hierarchy names each column once."))
        if self.tree is not None and len(self.columns) != 1:
            raise RequestError(Message("A code tree belongs to a single column."))
