"""The pattern of a release: which cells it hides, kept inside for releases that follow it.

Two patterns of the same records, laid side by side, may show what each of them hides. So what
one release hid stays hidden in the next of the same records, wherever it lies.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ckm.errors import ReleaseError
from ckm.methods.suppression.cell_selection import numbers_of, tables_by_measure
from footing.disclosive import Disclosive
from footing.files import write_whole
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO

    from ckm.engine.request import TableRequest
    from ckm.methods.settings import SuppressionSettings
    from ckm.methods.suppression.cell_selection import HiddenCells
    from ckm.methods.suppression.relations import Relations
    from footing.arrays import Flags, Words
    from tables import Cells

logger = logging.getLogger(__name__)

#: Where a release has its pattern, for its owner alone.
PATTERN_FILE = "pattern.parquet"
#: What follows the name of an output in that of the file that keeps a choice refused for how
#: much it hides: nobody published it, and it binds nobody.
REFUSED_SUFFIX = ".refused.parquet"
_VERSION = 1
#: What decides how cells are chosen and not how far they are protected.
_NO_DEMANDS = {
    "costs",
    "prefer",
    "previous",
    "preferred_cost",
    "method",
    "limit_s",
    "largest_hidden_share",
    "audit",
    "unknown",
}
#: What a choice refused for hiding much may change in, and still be the same.
_NO_SEARCH = {"largest_hidden_share", "audit"}
#: What earlier versions had no key for: where it says nothing, it demands nothing.
_LATER = {"links", "shadow"}
_WORD = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CellDigests(Disclosive):
    """Digests of what tables tell: of whom, and which number; disclosive.

    Parameters
    ----------
    by_measure
        For each measure, the tables that show it, and for each a digest of every cell: of its
        records, and of its number. Other tables, filters and columns have the same one.
    wholes
        Digests of all records of each table.
    keys
        What the keys of records depend on.
    """

    by_measure: Mapping[str, Sequence[tuple[int, Words]]]
    wholes: Words
    keys: str

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Cells],
        requests: Mapping[str, TableRequest],
        *,
        whole: Iterable[tuple[str, Cells]],
        keys: str,
        public_counts: bool = False,
    ) -> CellDigests:
        """Digest the cells of tables; `whole` has those with all margins of the others."""
        arrays, measures = (
            list(tables.values()),
            tables_by_measure(requests, tables, public_counts=public_counts),
        )
        sets = [_sets(cells) for cells in arrays]
        by_measure = {
            measure: [(m, _digests(sets[m], arrays[m], measure)) for m in members]
            for measure, members in measures.items()
        }
        wholes = [_whole(cells) for cells in {**tables, **dict(whole)}.values()]
        return cls(by_measure=by_measure, wholes=np.concatenate(wholes), keys=keys)

    def numbers(self) -> Words:
        """Return all digests, each once."""
        parts = [own for tables in self.by_measure.values() for _, own in tables]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReleasePattern(Disclosive):
    """Which numbers a release shows and which it hides, by digests; for inside use only.

    Parameters
    ----------
    folder
        What the release is called.
    demands
        A digest of what was asked of its protection.
    keys, wholes
        As for `CellDigests`.
    shown, hidden
        Digests of numbers.
    """

    folder: str
    demands: str
    keys: str
    wholes: Words
    shown: Words
    hidden: Words

    @classmethod
    def of(
        cls, hidden_cells: HiddenCells, digests: CellDigests, *, demands: str
    ) -> ReleasePattern:
        """Take the pattern of a choice."""
        parts: dict[bool, list[Words]] = {False: [], True: []}
        for tables in digests.by_measure.values():
            for number, own in tables:
                is_hidden = hidden_cells.hidden[hidden_cells.relations.numbers[number]]
                for kind, words in parts.items():
                    words.append(own[is_hidden == kind])
        shown, hidden = (np.unique(np.concatenate(words)) for words in parts.values())
        return cls(
            folder="",
            demands=demands,
            keys=digests.keys,
            wholes=digests.wholes,
            shown=shown,
            hidden=hidden,
        )

    def write(self, path: Path | IO[bytes]) -> None:
        """Write it to a file, for inside use."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        head = {
            "version": _VERSION,
            "demands": self.demands,
            "keys": self.keys,
            "wholes": self.wholes.tolist(),
        }
        numbers = np.concatenate([self.shown, self.hidden])
        is_hidden = np.repeat([False, True], [len(self.shown), len(self.hidden)])
        table = pa.table({"number": numbers, "is_hidden": is_hidden})
        pq.write_table(table.replace_schema_metadata({"ckm_pattern": json.dumps(head)}), path)

    @classmethod
    def read(cls, folder: Path, digests: CellDigests) -> ReleasePattern | None:
        """Read that of a release of the same records; None for others, and where is none."""
        path = folder / "internal" / PATTERN_FILE
        return cls.read_file(path, digests, name=folder.name)

    @classmethod
    def read_file(
        cls, path: Path, digests: CellDigests, *, name: str = ""
    ) -> ReleasePattern | None:
        """Read a file of the same records; None for others, and where is none."""
        import pyarrow.parquet as pq

        with contextlib.suppress(OSError):
            if path.is_symlink() or not path.is_file():
                return None
            head = json.loads((pq.read_schema(path).metadata or {})[b"ckm_pattern"])
            wholes = np.array(head["wholes"], np.uint64)
            is_same = head["keys"] == digests.keys and _is_in(wholes, digests.wholes).any()
            if head["version"] != _VERSION or not is_same:
                return None
            table = pq.read_table(path)
            numbers, is_hidden = (table[key].to_numpy() for key in ("number", "is_hidden"))
            return cls(
                folder=name,
                demands=head["demands"],
                keys=head["keys"],
                wholes=wholes,
                shown=numbers[~is_hidden],
                hidden=numbers[is_hidden],
            )
        return None

    @property
    def numbers(self) -> Words:
        """All numbers that it shows or hides."""
        return np.concatenate([self.shown, self.hidden])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EarlierPatterns(Disclosive):
    """What earlier releases of the same records hid and showed, over the cells of a job.

    Parameters
    ----------
    patterns
        The pattern of each.
    digests
        Those of the job's cells.
    """

    patterns: tuple[ReleasePattern, ...]
    digests: CellDigests

    @classmethod
    def read(cls, folders: Iterable[Path], digests: CellDigests) -> EarlierPatterns:
        """Read what releases in some folders hid of the same records, each folder once."""
        patterns = []
        for folder in dict.fromkeys(folders):
            try:
                pattern = ReleasePattern.read(folder, digests)
            except (ValueError, KeyError, TypeError):  # of another program, or damaged
                logger.warning(
                    "%s",
                    Message(
                        "The file {file!r} of the release {folder!r} is damaged: what it hides "
                        "is not known here.",
                        file=Name(PATTERN_FILE),
                        folder=Name(folder.name),
                    ),
                    extra={"event": "pattern damaged"},
                )
                continue
            if pattern is not None and _is_in(pattern.numbers, digests.numbers()).any():
                patterns.append(pattern)
        return cls(patterns=tuple(patterns), digests=digests)

    def __bool__(self) -> bool:
        return bool(self.patterns)

    @property
    def folders(self) -> tuple[str, ...]:
        """What the releases are called."""
        return tuple(pattern.folder for pattern in self.patterns)

    def equal(self, demands: str) -> ReleasePattern | None:
        """Return the pattern of a release with the same demands that had all of these cells."""
        numbers = self.digests.numbers()
        for pattern in self.patterns:
            if pattern.demands == demands and _is_in(numbers, pattern.numbers).all():
                return pattern
        return None

    def flags(self, pattern: ReleasePattern) -> list[Flags]:
        """Tell for each table which cells a pattern hides."""
        tables = [dict(own) for own in self.digests.by_measure.values()]
        n_tables = 1 + max(number for own in tables for number in own)
        return [
            np.logical_or.reduce(
                [_is_in(own[number], pattern.hidden) for own in tables if number in own]
            )
            for number in range(n_tables)
        ]

    @property
    def has_all(self) -> bool:
        """Whether earlier releases had all cells of this one, so that it shows nothing new."""
        numbers = np.concatenate([pattern.numbers for pattern in self.patterns])
        return bool(_is_in(self.digests.numbers(), numbers).all())

    def hidden(self, relations: Relations) -> Flags:
        """Tell which cells one of the releases hid, whatever the measure."""
        words = np.concatenate([pattern.hidden for pattern in self.patterns])
        is_hidden = np.zeros(relations.n_cells, bool)
        for measure in self.digests.by_measure:
            is_hidden |= self._among(measure, words, relations)
        return is_hidden

    def shown(self, measure: str, relations: Relations) -> Flags:
        """Tell which cells one of the releases published, with this measure."""
        words = np.concatenate([pattern.shown for pattern in self.patterns])
        return self._among(measure, words, relations) & ~self.hidden(relations)

    def _among(self, measure: str, words: Words, relations: Relations) -> Flags:
        flags = np.zeros(relations.n_cells, bool)
        for number, own in self.digests.by_measure.get(measure, ()):
            flags[relations.numbers[number][_is_in(own, words)]] = True
        return flags


def demands_of(settings: SuppressionSettings) -> str:
    """Digest what is asked of a protection; how it is looked for plays no part."""
    demands = {
        name: value
        for name, value in _record(settings).items()
        if name not in _NO_DEMANDS and (value or name not in _LATER)
    }
    return _digest({**demands, "zero_cost": settings.zero_cost is not None})


def search_of(settings: SuppressionSettings) -> str:
    """Digest what is asked of a protection, and of the search for it."""
    return _digest({k: v for k, v in _record(settings).items() if k not in _NO_SEARCH})


def _record(settings: SuppressionSettings) -> Mapping[str, object]:
    without = replace(settings, previous=None)  # a folder has no content
    return without.record(lambda path: hashlib.sha256(path.read_bytes()).hexdigest())


def _digest(entries: Mapping[str, object]) -> str:
    text = json.dumps([entries], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def refused_file(target: Path) -> Path:
    """Return where a choice is kept that was refused for how much it hides."""
    return target.parent / f"{target.name}{REFUSED_SUFFIX}"


def keep_refused(pattern: ReleasePattern, target: Path) -> bool:
    """Keep a choice beside an output, for its owner alone; tell whether that went well."""
    import io

    file = io.BytesIO()
    pattern.write(file)
    with contextlib.suppress(OSError, ReleaseError):
        write_whole(refused_file(target), file.getvalue(), error=ReleaseError)
        return True
    return False


def remove_refused(target: Path) -> None:
    """Remove the choice that a refused run kept, and no other file of its name."""
    import pyarrow.parquet as pq

    path = refused_file(target)
    with contextlib.suppress(OSError, ValueError):  # another program's is none of ours
        if path.is_symlink() or not path.is_file():
            return
        if b"ckm_pattern" in (pq.read_schema(path).metadata or {}):
            path.unlink()


def folders_beside(target: Path) -> Iterator[Path]:
    """Yield a folder, and those beside it, in the order of their names."""
    yield target
    with contextlib.suppress(OSError):
        for path in sorted(target.parent.iterdir()):
            if path != target and not path.name.startswith(".") and path.is_dir():
                yield path


def _sets(cells: Cells) -> Words:
    """Return a word for the records of every cell; for the place, where there are no keys."""
    words = _mixed(cells.cell_key.astype(np.uint64)) + _mixed(cells.count.astype(np.uint64))
    bare = np.flatnonzero((cells.count == 0) | (not cells.cell_key.any()))
    words[bare] += np.array([_word(_place(cells, row)) for row in bare.tolist()], np.uint64)
    return _mixed(words)


def _place(cells: Cells, row: int) -> str:
    """Name the categories of a cell, in whatever order a table has its dimensions."""
    names = sorted(
        f"{column}={texts[rank[row]]}"
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for column, texts in zip(axis.columns, axis.labels, strict=True)
        if rank[row]
    )
    return "; ".join(names)


def _digests(sets: Words, cells: Cells, measure: str) -> Words:
    numbers = np.asarray(numbers_of(cells, measure), np.float64) + 0.0  # no -0
    return _mixed(sets + _mixed(numbers.view(np.uint64) ^ _word(measure)))


def _whole(cells: Cells) -> Words:
    """Return the word of all records of a table, if it has a cell of all of them."""
    is_whole = np.ones(len(cells), bool)
    for rank in cells.ranks:
        is_whole &= rank == 0
    return _sets(cells)[is_whole]


def _word(text: str) -> np.uint64:
    digest = hashlib.sha256(text.encode()).digest()
    return np.uint64(int.from_bytes(digest[:_WORD], "big"))


def _mixed(words: Words) -> Words:
    """Mix the bits of words, so that sums of them are all different (splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _is_in(words: Words, others: Words) -> Flags:
    """Tell which words are among others; NumPy's other way overflows with unsigned ones."""
    return np.isin(words, others, kind="sort")
