"""Metadata of tau-ARGUS' tables, ``.rda``, and hierarchies, ``.hrc``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from footing.messages import Message, Name, said
from tables import CodeTree, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_TOKEN = re.compile(r'"([^"]*)"|(\S+)')
#: What a variable of a table is.
_ROLES = {
    "<RECODEABLE>": "dimension",
    "<RECODABLE>": "dimension",
    "<NUMERIC>": "response",
    "<SHADOW>": "shadow",
    "<COST>": "cost",
    "<COSTVAR>": "cost",
    "<LOWERPL>": "lower",
    "<UPPERPL>": "upper",
    "<FREQUENCY>": "frequency",
    "<MAXSCORE>": "largest",
    "<STATUS>": "status",
}


@dataclass(slots=True, kw_only=True)
class Variable:
    """A column of a ``.tab`` file, or of what is written there."""

    name: str
    role: str = "response"
    total: str = "Total"
    hierarchy: str = ""
    lead: str = "@"
    decimals: int = 0


@dataclass(slots=True, kw_only=True)
class Metadata:
    """The columns of a ``.tab`` file, in their order."""

    variables: list[Variable] = field(default_factory=list)
    separator: str = ";"
    status: dict[str, str] = field(default_factory=lambda: {"s": "S", "u": "U", "p": "P"})

    def of(self, role: str) -> list[str]:
        """Name the columns of a role."""
        return [v.name for v in self.variables if v.role == role]

    def variable(self, name: str) -> Variable:
        """Return a column by its name."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise ConfigError(Message("The metadata have no variable {name!r}.", name=Name(name)))

    def text(self) -> str:
        """Write the metadata."""
        lines = [f'<SEPARATOR> "{self.separator}"']
        for variable in self.variables:
            lines.append(f'"{variable.name}"' if " " in variable.name else variable.name)
            role = next(word for word, role in _ROLES.items() if role == variable.role)
            is_number = variable.role in {"shadow", "cost", "lower", "upper"}
            lines.append(f"  <NUMERIC> {role}" if is_number else f"  {role}")
            if variable.role == "dimension":
                lines.append(f'  <TOTCODE> "{variable.total}"')
            if variable.hierarchy:
                lines += ["  <HIERARCHICAL>", f'  <HIERCODELIST> "{variable.hierarchy}"']
                lines.append(f'  <HIERLEADSTRING> "{variable.lead}"')
            if variable.role in {"response", "largest"}:
                lines.append(f"  <DECIMALS> {variable.decimals}")
        return "\n".join(lines) + "\n"


def tokens(line: str) -> list[str]:
    """Split a line at blanks, texts in quotes being one token."""
    return [quoted or bare for quoted, bare in _TOKEN.findall(line)]


def read_metadata(path: Path) -> Metadata:
    """Read the metadata of a table."""
    metadata = Metadata()
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = tokens(line)
        if not words:
            continue
        key, value = words[0].upper(), words[1] if len(words) > 1 else ""
        if not key.startswith("<"):
            if len(words) > 1 and words[1].isdigit():
                raise ConfigError(
                    Message(
                        "{path!r} describes records of fixed width, line {number}, no table.",
                        path=Name(path.name),
                        number=number,
                    ),
                    hint=Message("read the records as CSV or Parquet"),
                )
            metadata.variables.append(Variable(name=words[0]))
        elif key == "<SEPARATOR>":
            metadata.separator = value or ";"
        elif key in {"<SAFE>", "<UNSAFE>", "<PROTECT>"}:
            metadata.status[key[1].lower()] = value.upper()
        elif not metadata.variables:
            raise ConfigError(
                Message(
                    "Line {number} of {path!r} stands before any variable.",
                    number=number,
                    path=Name(path.name),
                )
            )
        else:
            _describe(
                metadata.variables[-1],
                key,
                value,
                Message("Line {number} of {path!r}", number=number, path=Name(path.name)),
            )
    return metadata


def _describe(variable: Variable, key: str, value: str, where: str) -> None:
    if key in _ROLES:
        variable.role = _ROLES.get(value.upper(), _ROLES[key])
    elif key == "<TOTCODE>":
        variable.total = value
    elif key == "<HIERCODELIST>":
        variable.hierarchy = value
    elif key == "<HIERLEADSTRING>":
        variable.lead = value
    elif key == "<DECIMALS>":
        variable.decimals = int(value)
    elif key == "<HIERLEVELS>":
        raise ConfigError(
            Message("{where} has levels by digits.", where=said(where)),
            hint=Message("write the hierarchy as a file, HIERCODELIST"),
        )
    elif key not in {"<HIERARCHICAL>", "<CODELIST>", "<DISTANCE>"}:
        raise ConfigError(
            Message(
                "{where} has the word {key}, which is not known.",
                where=said(where),
                key=Name(key),
            )
        )


def read_text(path: Path) -> str:
    """Read a text of whatever age."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            Message(
                "{path!r} cannot be read: {reason}.",
                path=Name(path.name),
                reason=said(error.strerror or ""),
            )
        ) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace")


def hierarchy_text(children: Mapping[str, Sequence[str]], *, root: str, lead: str) -> str:
    """Write a hierarchy: each code below the one above it, a mark for each level."""

    def lines(code: str, depth: int) -> Iterator[str]:
        for child in children.get(code, ()):
            yield lead * depth + child
            yield from lines(child, depth + 1)

    return "\n".join(lines(root, 0)) + "\n"


def read_hierarchy(path: Path, *, lead: str) -> dict[str, str]:
    """Return code → the code above it; empty for those that stand under the total."""
    try:
        tree = CodeTree.read_hrc(path, lead=lead)
    except RequestError as error:
        raise ConfigError(error.problem, hint=error.hint) from None
    return {code: parent or "" for code, parent in tree.parents.items()}
