"""A batch of tau-ARGUS over a table, ``.arb``: what to open, by which rules."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckm.errors import ConfigError
from ckm.methods.suppression.argus.metadata import read_text, tokens
from footing.messages import Message, Name

if TYPE_CHECKING:
    from pathlib import Path

_LINE = re.compile(r"\s*(<\w+>)\s*(.*?)\s*$")
_DOTS = re.compile(r'\s*// "(.)" stands for "\." in the codes of "(.*)"\s*$')
#: Of <APRIORI> "file", table, "separator", whether errors are ignored, …
_LENIENT = re.compile(r',\s*\d+\s*,\s*"[^"]*"\s*,\s*1\b')
_RULE = re.compile(r"(\w+)\s*\(([^)]*)\)")
#: What has no effect on the choice of cells.
_IDLE = {"<READTABLE>", "<WRITETABLE>", "<GOINTERACTIVE>", "<LOGBOOK>", "<VERSIONINFO>"}
_IDLE |= {"<SOLVER>", "<CLEAR>", "<COMMENT>"}


@dataclass(slots=True, kw_only=True)
class Batch:
    """One table of a batch, and what of the batch has no counterpart here."""

    data: Path
    metadata: Path
    dimensions: list[str] = field(default_factory=list)
    response: str = ""
    rules: dict[str, object] = field(default_factory=dict)
    apriori: Path | None = None
    separator: str = ","
    is_lenient: bool = False
    #: dimension → what stands for dots in its codes, as `argus_files` says
    dots: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def code(self, dimension: str, text: str) -> str:
        """Return a code as it was before dots were taken out."""
        return text.replace(self.dots[dimension], ".") if dimension in self.dots else text


def read_batches(path: Path) -> list[Batch]:
    """Read a batch, table by table."""
    batches: list[tuple[Batch, dict[str, Path]]] = []
    dots: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if (comment := _DOTS.match(line)) is not None:
            dots[comment[2]] = comment[1]
        if not line.strip() or line.lstrip().startswith(("//", "\\\\")):
            continue
        match = _LINE.match(line)
        if match is None:
            raise ConfigError(
                Message(
                    "Line {number} of {path!r} has no command of tau-ARGUS.",
                    number=number,
                    path=Name(path.name),
                )
            )
        word, rest = match[1].upper(), match[2]
        opens = word in {"<OPENTABLEDATA>", "<OPENMETADATA>"}
        if not batches or (opens and word in batches[-1][1]):
            batches.append((Batch(data=path, metadata=path, dots=dots), {}))
            dots = {}
        if opens:
            batches[-1][1][word] = near(path, (tokens(rest) or [""])[0])
        elif word == "<OPENMICRODATA>":
            raise ConfigError(
                Message(
                    "{path!r} opens records, line {number}, and no table.",
                    path=Name(path.name),
                    number=number,
                ),
                hint=Message("a job reads records from CSV or Parquet: ckm job init"),
            )
        else:
            _take(batches[-1][0], word, rest, path)
    for batch, files in batches or [(Batch(data=path, metadata=path), {})]:
        if len(files) < 2 or not batch.dimensions:
            raise ConfigError(
                Message(
                    "{path!r} opens no table, or one without its metadata or dimensions.",
                    path=Name(path.name),
                ),
                hint=Message("<OPENTABLEDATA>, <OPENMETADATA> and <SPECIFYTABLE> say which"),
            )
        batch.data, batch.metadata = files["<OPENTABLEDATA>"], files["<OPENMETADATA>"]
    return [batch for batch, _ in batches]


def near(path: Path, name: str) -> Path:
    """Find a file that a batch names, with a path of whatever machine, or beside it."""
    own = path.parent / name
    return own if own.is_file() else path.parent / re.split(r"[\\/]", name)[-1]


def _take(batch: Batch, word: str, rest: str, path: Path) -> None:
    if word == "<SPECIFYTABLE>":
        parts = rest.split("|")
        batch.dimensions = re.findall(r'"([^"]*)"', parts[0]) or parts[0].split()
        batch.response = (tokens(parts[1]) or [""])[0] if len(parts) > 1 else ""
        if any(part.strip(' "') for part in parts[2:]):
            batch.left_out.append(f"{word} {rest}: shadow and cost variables")
    elif word == "<SAFETYRULE>":
        for kind, text in _RULE.findall(rest):
            numbers = [float(n) for n in text.split(",") if n.strip()]
            rule = _rule(kind.upper(), numbers)
            if rule is None or rule.keys() & batch.rules.keys() - {"margin"}:
                batch.left_out.append(f"{word} {kind}({text})")
            else:
                batch.rules = rule | batch.rules
    elif word in {"<APRIORI>", "<APRIORY>"}:
        batch.apriori = near(path, (tokens(rest) or [""])[0])
        marks = re.findall(r'"([^"]*)"', rest)
        batch.separator = marks[1] if len(marks) > 1 else ","
        batch.is_lenient = _LENIENT.search(rest) is not None
    elif word == "<SUPPRESS>":
        batch.left_out.append(f"{word} {rest}: the method is chosen anew")
    elif word not in _IDLE:
        batch.left_out.append(f"{word} {rest}")


def _rule(kind: str, numbers: list[float]) -> dict[str, object] | None:
    """Return the keys of a job for a rule; None where there are none."""
    keys: dict[str, object] | None = None
    match kind, numbers:
        case ("P", [p, 1.0]) | ("P", [p, 100.0, 1.0]):
            keys = {"p_percent": p}
        case "P", [p, q, 1.0]:
            keys = {"prior_posterior": (p, q)}
        case "NK", [n, k]:
            keys = {"dominance": (int(n), k)}
        case "FREQ", [n, margin]:
            keys = {"threshold": int(n), "margin": margin}
        case "ZERO", [margin]:
            keys = {"zero_margin": margin}
        case "MAN", [margin]:
            keys = {"margin": margin}
    return keys
