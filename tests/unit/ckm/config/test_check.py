"""``ckm check``, a dry run and the release itself find the same in every job."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import shutil
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from ckm.cli import app
from ckm.cli.terminal.exit_codes import explain
from ckm.config import read_job
from ckm.config.job.job import Job
from ckm.config.problems import JobError
from ckm.config.section import keys_of
from ckm.config.service.service import read_service
from ckm.ledger import Ledger
from ckm.service.process.server import open_table_service
from footing.errors import ExplainedError
from ptable import NoiseSpec, solve
from tables import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

N = 120
SECRET = "a secret of sixteen bytes or more"  # noqa: S105
INF = math.inf
NAN = math.nan
GONE = object()
RELEASE = ("release", "job.toml", "-o", "out")
SUPPRESS = ("suppress", "job.toml", "-o", "out")
SWAP = ("swap", "swap.toml", "-o", "swapped.parquet")


# --- a sound job, and what is done to it -----------------------------------------------------


def document(**more: Any) -> dict[str, Any]:
    """Return a sound job, with more or other keys: ``data__weight`` is the key of a section."""
    found: dict[str, Any] = {
        "schema": 1,
        "data": {"path": "people.parquet", "id": "person_id", "weight": "w"},
        "keys": {"secret": "secret.key"},
        "ptable": {"path": "pt.parquet"},
        "output": {"formats": ["csv"]},
        "report": {"languages": ["en"]},
        "table": [{"name": "people", "dimensions": ["sex"]}],
    }
    for name, value in more.items():
        *path, key = name.split("__")
        place: Any = found
        for part in path:
            place = place[int(part)] if part.isdigit() else place.setdefault(part, {})
        if value is GONE:
            del place[key]
        else:
            place[key] = value
    return found


def toml(value: Any) -> str:
    """Write a value of TOML in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return str(value)


def people(**columns: Any) -> dict[str, Any]:
    """Return the records, with other columns: a list, or a place and the value there."""
    found: dict[str, Any] = {
        "person_id": [f"p{i}" for i in range(N)],
        "rkey": [(i * 97 + 13) % 256 for i in range(N)],
        "sex": ["F", "M"] * (N // 2),
        "region": [f"R{i % 3}" for i in range(N)],
        "town": [f"R{i % 3}T{i % 6}" for i in range(N)],
        "age": [i % 90 for i in range(N)],
        "income": [100.0 + i for i in range(N)],
        "w": [1.0 + i % 5 for i in range(N)],
    }
    for name, value in columns.items():
        if value is GONE:
            del found[name]
        elif isinstance(value, tuple):
            found[name][value[0]] = value[1]
        else:
            found[name] = value
    return found


@dataclass(frozen=True)
class Case:
    """A job, its records, and what else lies beside it."""

    name: str
    job: dict[str, Any]
    data: dict[str, Any] = field(default_factory=people)
    files: dict[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    is_seen_without_output: bool = True

    def write(self, folder: Path, *, file: str = "job.toml") -> None:
        pq.write_table(pa.table(self.data), folder / "people.parquet")
        text = "".join(f"{key} = {toml(value)}\n" for key, value in self.job.items())
        (folder / file).write_text(text)
        for name, content in self.files.items():
            if self.files is BESIDE and name not in text:
                continue
            if callable(content):
                content(folder / name)
            else:
                (folder / name).write_text(content)


# --- the defects -----------------------------------------------------------------------------

TABLE = {"name": "people", "dimensions": ["sex"]}
SUMS = {**TABLE, "measures": ["count", "sum:income"]}
SOUND_SECTIONS: dict[str, dict[str, Any]] = {
    "ledger": {"path": "ledger.db"},
    "suppression": {"threshold": 3},
    "magnitude": {"name": "income"},
    "variable": {"name": "sex"},
    "report.exceptions": {"what": "a", "who": "b", "why": "c"},
    "magnitude.flex": {"point": 1.0, "small": 0.2, "large": 0.1},
    "magnitude.sensitive": {"few": 3},
    "magnitude.sensitive.dominance": {"n": 2, "percent": 80.0},
    "magnitude.sensitive.prior_posterior": {"posterior": 10.0, "prior": 20.0},
}


def with_section(section: str, key: str, value: Any) -> dict[str, Any]:
    """Return a job that has a key of a section, whatever the section is."""
    own = {**SOUND_SECTIONS.get(section, {}), key: value}
    head, *inner = section.split(".")
    if not head:
        return document(**{key: value})
    if section == "report.exceptions":
        return document(report__exceptions=[own])
    for name in reversed(inner):
        own = {name: own}
    if head == "magnitude":
        return document(magnitude=[{"name": "income", **own}], table=[SUMS])
    if head in {"table", "variable"}:
        return document(**{head: [{**(TABLE if head == "table" else {}), **own}]})
    return document(**{head: {**document().get(head, {}), **own}})


def wrong_types() -> Iterator[Case]:
    for section, keys in keys_of(Job).items():
        for key in keys:
            name = f"{section or 'top'}.{key}"
            if name == "report.exceptions.check" or key == "schema":
                continue
            yield Case(f"type of {name}", with_section(section, key, [[[3]]]))
        yield Case(f"unknown key in {section or 'top'}", with_section(section, "kee", 1))


BOUNDS: dict[str, tuple[Any, ...]] = {
    "schema": (0, 2, "1"),
    "data__path": ("", "nowhere.parquet", "s3://bucket/x", "none-*.parquet", "job.toml"),
    "data__id": ("", "nobody", "person_Id"),
    "data__weight": ("", "nothing"),
    "data__table": ("t", ""),
    "data__engine": ("polars",),
    "data__master": ("local[*]",),
    "data__key_range": (1, 256),
    "data__record_key": ("rkey",),
    "keys__secret": ("", "nowhere.key", "."),
    "keys__checks": ("stopp",),
    "ptable": (
        {},
        {"max_noise": 2},
        {"variance": 1.0},
        {"path": "nowhere.parquet"},
        {"path": "job.toml"},
        {"path": "people.parquet"},
        {"path": "pt.parquet", "variance": 1.0},
        {"max_noise": 2, "variance": 4.5},
        {"max_noise": 2, "variance": 3.0},
        {"max_noise": 2, "variance": -1.0},
        {"max_noise": 2, "variance": NAN},
        {"max_noise": 0, "variance": 1.0},
        {"max_noise": 1001, "variance": 1.0},
        {"max_noise": 2, "variance": 1.0, "small": -1},
        {"max_noise": 2, "variance": 1.0, "small": 9},
        {"max_noise": 2, "variance": 1.0, "p_stay": 1.5},
        {"max_noise": 2, "variance": 1.0, "p_stay": 0.99},
        {"max_noise": 2, "variance": 1.0, "monotone": "right"},
        {"max_noise": 2, "variance": 1.0, "variance_rule": "most"},
        {"max_noise": 2, "variance": 1.0, "step": 2},
        {"max_noise": 2, "variance": 1.0, "anchors": [1, 2]},
        {"max_noise": 2, "variance": 1.0, "min_probability": 0.9},
        {"max_noise": 2, "variance": 1.0, "zero_bias": -1.0},
        {"max_noise": [2, 2], "variance": [1.0]},
    ),
    "output__formats": ([], ["cvs"], ["csv", "json-stat"]),
    "output__language": ("de", [], ["de"], ["en", "de"], ["en", "en"], 3),
    "output__total_label": ("", "F"),
    "output__missing_label": ("", "M", "Total"),
    "report__languages": ([], ["de"]),
    "report__sensitive": (0, 1001),
    "report__designs": ("nowhere.toml", "job.toml", "people.parquet"),
    "report__limits": (
        {"posterior": 2.0},
        {"posterior": -1.0},
        {"aad": -1.0},
        {"attacks": {"magic": 0.5}},
        {"aad": 0.0},
        {"attacks": {"difference": 0.0}},
    ),
    "report__exceptions": (
        [{"what": "a"}],
        [{"what": "", "who": "b", "why": "c"}],
    ),
    "hierarchies": (
        {"sex": []},
        {"sex": ["sex", "sex"]},
        {"sex": "nowhere.csv"},
        {"sex": "job.toml"},
        {"sex": "empty.csv"},
        {"sex": {"column": "sex"}},
        {"sex": {"column": "sex", "tree": "nowhere.csv"}},
        {"sex": {"column": "sexe", "tree": "tree.csv"}},
        {"sex": "others.csv"},
        {"sex": "loop.csv"},
        {"sex": "twice.csv"},
        {"sex": ["region", "sexe"]},
        {"sex": ["region", "person_id"]},
    ),
    "categories": (
        {"sex": []},
        {"sex": ["F", "F"]},
        {"sex": ["F"]},
        {"sex": ["f", "m"]},
        {"sex": [1, 2]},
        {"sex": [True, False]},
        {"sex": ["F", "M", "Total"]},
        {"sex": ["F", "M", "(missing)"]},
        {"sex": "nowhere.csv"},
        {"sex": "empty.csv"},
        {"sex": "tree.csv"},
        {"sex": "only-f.csv"},
        {"sex": "job.toml"},
    ),
    "variable": (
        [{"name": "sex"}, {"name": "sex"}],
        [{"name": "sex", "is_area": True}, {"name": "region", "is_area": True}],
        [{"name": "sex", "codelist": "nowhere.csv"}],
        [{"name": "sex", "codelist": "codes-of-f.csv"}],
        [{"name": "sex", "codelist": "empty.csv"}],
        [{"name": "sex", "codelist": "only-f.csv"}],
        [{"name": "sex", "codelist": "codes-twice.csv"}],
        [{"name": "sex", "codelist": "codes.csv", "categories": {"F": "Women"}}],
        [{"name": "sex", "levels": {"town": "Town"}}],
        [{"name": ""}],
        [{"name": "sex", "labels": {"fr": "Sexe"}}],  # of the pages in English
    ),
    "ledger": (
        {},
        {"path": "nowhere/ledger.db"},
        {"path": "."},
        {"path": "sqlite://x"},
        {"path": "a.db", "url": "postgresql://x/y"},
        {"url": "mysql://x/y"},
        {"url": "postgresql://me:word@x/y"},
        {"path": "other.db"},
        {"path": "job.toml"},
        {"path": "other-secret.db"},
        {"path": "other-noise.db"},
        {"path": "narrow.db", "threshold": 3},
        {"path": "a.db", "threshold": 0},
        {"path": "a.db", "threshold": 5},
        {"path": "a.db", "smallest": 0},
        {"path": "a.db", "maximum_numbers": 0},
        {"path": "a.db", "policy": "ask"},
        {"path": "a.db", "history": ""},
        {"path": "a.db", "also": [""]},
    ),
    "table": (
        [],
        [TABLE, TABLE],
        [TABLE, {**TABLE, "name": "PEOPLE"}],
        [{"name": "a", "dimensions": ["sex"]}, {"name": "a.csv", "dimensions": ["sexe"]}],
    ),
    "table__0__name": ("", "con", "manifest", "a/b", "é", ".x", "a b", "x" * 101, "nul.x"),
    "table__0__dimensions": (
        [],
        [""],
        ["sexe"],
        ["sex", "sex"],
        ["person_id"],
        ["w", "person_id"],
        ["sex", "regoin"],
        ["sex", "region", "town", "age", "nobody"],
    ),
    "table__0__measures": (
        [],
        ["counts"],
        ["count", "count"],
        ["sum:"],
        ["sum:nothing"],
        ["sum:sex"],
        ["mean:region"],
        ["median:income"],
        ["range:income"],
        ["sum:person_id"],
        ["max:income", "count"],
        ["sum:income", "mean:incom"],
    ),
    "table__0__margins": ("some", [["region"]], [["sexe"]], [[1]], "All", [["sex", "age"]]),
    "table__0__where": (
        "",
        "age >",
        "age >> 3",
        "agee > 3",
        "age = 'x'",
        "sex > 3",
        "person_id = 'p1'",
        "(age > 3",
        "sex in ()",
        "age > 3 und sex = 'F'",
        "income is absent",
        "1 = 1",
        "; drop table people",
        "age in (1, 'x')",
        "not",
    ),
    "table__0__empty_cells": ("keep",),
    "table__0__missing_values": ("drop",),
    "table__0__dataflow": ("people", "A:B(x)", "A B"),
}


def out_of_bounds() -> Iterator[Case]:
    for key, values in BOUNDS.items():
        for value in values:
            job = document(**{key: value})
            yield Case(f"{key} = {toml(value)}", job, files=BESIDE)
    for key in ("schema", "data", "table", "ptable", "keys", "data__path", "data__id"):
        if key != "keys":
            yield Case(f"no {key}", document(**{key: GONE}))
    yield Case("no name", document(table=[{"dimensions": ["sex"]}]))
    yield Case("no dimensions", document(table=[{"name": "people"}]))
    yield Case("weighted without weight", document(data__weight=GONE, table=[WEIGHTED]))


WEIGHTED = {**TABLE, "measures": ["weighted"]}
MEANS = {**TABLE, "measures": ["mean:income"]}


def make_database(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE something (x)")
    other.close()


def make_ledger(of: str = SECRET, noise: str = "another", threshold: int = 2) -> Any:
    def make(path: Path) -> None:
        Ledger.open(path, secret=Secret(of.encode()), noise=noise, threshold=threshold).close()

    return make


BESIDE: dict[str, Any] = {
    "empty.csv": "",
    "tree.csv": "code,parent\nF,all\nM,all\nall,\n",
    "others.csv": "code,parent\nX,all\nall,\n",
    "loop.csv": "code,parent\nF,M\nM,F\n",
    "twice.csv": "code,parent\nF,all\nF,other\nM,all\nall,\nother,\n",
    "only-f.csv": "sex\nF\n",
    "codes.csv": "code,en,fr\nF,Women,Femmes\nM,Men,Hommes\n",
    "codes-of-f.csv": "code,en,fr\nF,Women,Femmes\n",
    "codes-twice.csv": "code,en,fr\nF,Women,Femmes\nF,Men,Hommes\n",
    "other.db": make_database,
    "other-secret.db": make_ledger(of="another secret of sixteen bytes"),
    "other-noise.db": make_ledger(),
    "narrow.db": make_ledger(threshold=1),
}


def bad_values() -> Iterator[Case]:
    """Yield records that do not fit: amounts, weights, identifiers, keys, categories."""
    for table in (SUMS, MEANS):
        for value in (-1.0, None, NAN, INF, -INF):
            name = f"income {value} in {table['measures'][-1]}"
            yield Case(name, document(table=[table]), people(income=(7, value)))
    skipping = {**SUMS, "missing_values": "skip"}
    for value in (-1.0, INF, -INF):
        data = people(income=(7, value))
        yield Case(f"skip and {value}", document(table=[skipping]), data)
    yield Case("means that skip", document(table=[{**MEANS, "missing_values": "skip"}]))
    for measures in (["weighted"], ["sum:income"], ["mean:income"]):
        for value in (-1.0, None, NAN, INF, -INF):
            data = people(w=(7, value))
            job = document(table=[{**TABLE, "measures": measures}])
            yield Case(f"weight {value} in {measures[0]}", job, data)
    for name, ids in {
        "null": (7, None),
        "empty": [""] * N,
        "twice": (7, "p8"),
        "all alike": ["p"] * N,
        "floats": [float(i) for i in range(N)],
        "dates": [dt.date(2027, 1, 1) + dt.timedelta(i) for i in range(N)],
        "lists": [[i] for i in range(N)],
        "truths": [True, False] * (N // 2),
    }.items():
        yield Case(f"identifiers: {name}", document(), people(person_id=ids))
    for name, rkeys in {
        "null": (7, None),
        "too large": (7, 256),
        "negative": (7, -1),
        "alike": [5] * N,
        "texts": ["a"] * N,
        "floats": [1.5] * N,
        "fractions beyond one": [1.0 + i for i in range(N)],
    }.items():
        stored = {"path": "people.parquet", "record_key": "rkey", "key_range": 256}
        yield Case(f"stored keys: {name}", document(data=stored), people(rkey=rkeys))
    yield Case("a category called Total", document(), people(sex=(3, "Total")))
    yield Case("a category called missing", document(), people(sex=(3, "(missing)")))
    path = document(hierarchies={"geo": ["region", "town"]}, table__0__dimensions=["geo"])
    yield Case("a region called Total", path, people(region=(3, "Total")))
    lists = [["F"]] * N
    yield Case("categories that are lists", document(), people(sex=lists))
    yield Case("no rows", document(), {k: v[:0] for k, v in people().items()})
    codes = people(sex=[f"{i % 36:02}" for i in range(N)])
    listed = [{"name": "sex", "codelist": "three.csv"}]
    three = {"three.csv": "code,en,fr\n00,a,b\n01,c,d\n02,e,f\n"}
    yield Case("a code list for 3 of 36 codes", document(variable=listed), codes, files=three)
    yield Case(
        "3 of 36 categories declared", document(categories={"sex": ["00", "01", "02"]}), codes
    )


ALIEN: dict[str, Callable[[int], Any]] = {
    "truths": lambda i: i % 2 == 0,
    "numbers": lambda i: i % 4,
    "large numbers": lambda i: 2**62 + i,
    "fractions": lambda i: 0.5 * (i % 4),
    "decimals": lambda i: decimal.Decimal(i % 4) / 4,
    "dates": lambda i: dt.date(2027, 1, 1 + i % 4),
    "moments": lambda i: dt.datetime(2027, 1, 1, i % 4, tzinfo=dt.UTC),
    "times": lambda i: dt.time(i % 4),
    "bytes": lambda i: b"%d" % (i % 4),
    "lists": lambda i: [i % 4],
    "structs": lambda i: {"a": i % 4},
    "nothing": lambda _: None,
    "texts": lambda i: f"x{i % 4}",
}
ROLES: dict[str, dict[str, Any]] = {
    "dimension": document(table__0__dimensions=["alien"]),
    "declared": document(table__0__dimensions=["alien"], categories={"alien": ["x0", 1]}),
    "identifier": document(data__id="alien"),
    "stored key": document(data={"path": "people.parquet", "record_key": "alien"}),
    "weight": document(data__weight="alien", table=[WEIGHTED]),
    "sum": document(table=[{**TABLE, "measures": ["sum:alien"]}]),
    "mean": document(table=[{**TABLE, "measures": ["mean:alien"]}]),
    "level": document(hierarchies={"geo": ["alien", "town"]}, table__0__dimensions=["geo"]),
    "filter": document(table__0__where="alien = 1"),
    "filter by text": document(table__0__where="alien < 'x'"),
}


def types_in_roles() -> Iterator[Case]:
    """Yield every type of a column in every role: right ones and wrong ones."""
    for kind, make in ALIEN.items():
        data = people(alien=[make(i) for i in range(N)])
        for role, job in ROLES.items():
            yield Case(f"{kind} as {role}", job, data)


def bad_words() -> Iterator[Case]:
    """Yield what a format cannot hold."""
    quoted = document(output__formats=["px"], table__0__title='The "new" table')
    yield Case("px with quotation marks", quoted)
    yield Case(
        "sdmx with a measure that is no id",
        document(output__formats=["sdmx-csv"], table=[{**TABLE, "measures": ["sum:in come"]}]),
    )
    wide = {f"d{i}": [f"c{k % 40}" for k in range(N)] for i in range(8)}
    huge = {"name": "t", "dimensions": list(wide), "margins": "none", "empty_cells": "drop"}
    for kind in ("px", "json-stat2"):
        yield Case(
            f"{kind} of 40 to the power of 8 cells",
            document(output__formats=[kind], table=[huge]),
            people(**wide),
        )
    yield Case(
        "px with a control character in a category",
        document(output__formats=["px"]),
        people(sex=(3, "a\x01b")),
    )
    for names in (["sex", "Sex"], ["sex", "SEX"]):
        data = people(**{name: ["a", "b"] * (N // 2) for name in names})
        for kind in ("px", "sdmx-csv", "csv"):
            job = document(output__formats=[kind], table__0__dimensions=names)
            yield Case(f"{kind} with columns {names}", job, data)


MAGNITUDES: tuple[dict[str, Any], ...] = (
    {"spread": 0.0},
    {"spread": 2.0},
    {"share": 0.1, "spread": 0.1},
    {"flex": {"point": 1.0, "small": 0.1, "large": 0.5}},
    {"flex": {"point": 1.0}},
    {"base": "median"},
    {"factors": []},
    {"factors": [2.0]},
    {"factors": [0.5, 0.9]},
    {"rules": "mine"},
    {"rules": "cellkey", "decimals": 2},
    {"ptable": {"path": "nowhere.parquet"}},
    {"ptable": {"path": "pt.parquet", "variance": 1.0}},
    {"ptable": {"max_noise": 2, "variance": 30.0}},
    {"ptable": {"max_noise": 2, "variance": 1.0, "step": 0}},
    {"even": {"max_noise": 2}},
    {"odd": {"max_noise": 2}},
    {"sensitive": {"few": 1}},
    {"sensitive": {"p_percent": 0.0}},
    {"sensitive": {"dominance": {"n": 0, "percent": 80.0}}},
    {"sensitive": {"prior_posterior": {"posterior": 20.0, "prior": 10.0}}},
    {"named_cells": [{"sex": "X", "region": 3}]},
    {"named_cells": [{"nothing": "X"}]},
    {"named_cells": [{}]},
    {"least_noise": -1.0},
    {"decimals": 16},
    {"key_decimals": 0},
    {"jitter": "no"},
)


def bad_noise_of_sums() -> Iterator[Case]:
    for magnitude in MAGNITUDES:
        job = document(magnitude=[{"name": "income", **magnitude}], table=[SUMS])
        yield Case(f"magnitude {toml(magnitude)}", job)
    twice = [{"name": "income"}, {"name": "income"}]
    yield Case("two sections of one variable", document(magnitude=twice, table=[SUMS]))
    for table in (SUMS, WEIGHTED):
        yield Case(
            f"additive {table['measures'][-1]}", document(output__additive=True, table=[table])
        )
    for section in ({"threshold": 3}, {"p_percent": 10.0}, {}):
        yield Case(f"noise and {section}", document(suppression=section))


def bad_differences() -> Iterator[Case]:
    """Yield tables that a ledger refuses beside each other."""
    ledger = {"path": "a.db"}
    first = document(ledger=ledger)["table"]
    for where in ("age > 0 or sex = 'M'", "income > 100"):
        table = {**TABLE, "name": "some", "where": where}
        yield Case(f"thin: {where}", document(ledger=ledger, table=[*first, table]))
    keys = {"path": "people.parquet", "record_key": "rkey", "key_range": 256}
    yield Case("ledger with keys of few bits", document(data=keys, ledger=ledger))


def make_folder(path: Path) -> None:
    path.mkdir()
    (path / "mine.txt").write_text("mine")


def bad_places() -> Iterator[Case]:
    """Yield outputs that cannot be made; a check has no output to look at."""
    other = {"is_seen_without_output": False}
    files: dict[str, dict[str, Any]] = {
        "a file": {"out": "mine"},
        "a folder with files": {"out": make_folder},
    }
    for name, beside in files.items():
        yield Case(f"output: {name}", document(), files=beside, **other)
        yield Case(
            f"output by force: {name}", document(), files=beside, options=("--force",), **other
        )
    for out in (".", "people.parquet", "people.parquet/out", "/", "job.toml"):
        yield Case(f"output {out}", document(), options=("-o", out), **other)
    yield Case("format px2", document(), options=("--format", "px2"), **other)
    yield Case("format twice", document(), options=("--memory-limit", "lots"))


BAD = [
    *wrong_types(),
    *out_of_bounds(),
    *bad_values(),
    *bad_words(),
    *bad_noise_of_sums(),
    *bad_differences(),
    *bad_places(),
]
TYPES = list(types_in_roles())
GOOD = [
    Case("as it is", document()),
    Case("weighted", document(table=[WEIGHTED])),
    Case("sums", document(table=[SUMS])),
    Case("means", document(table=[MEANS])),
    Case("a filter", document(table__0__where="age >= 18 and sex = 'F'")),
    Case("a filter for nobody", document(table__0__where="age > 500")),
    Case("no margins", document(table__0__margins="none")),
    Case("listed margins", document(table__0__margins=[["sex"], []])),
    Case("declared", document(categories={"sex": ["F", "M", "X"]})),
    Case(
        "declared in a file",
        document(categories={"sex": "f.csv"}),
        files={"f.csv": "sex\nF\nM\n"},
    ),
    Case(
        "a hierarchy",
        document(hierarchies={"geo": ["region", "town"]}, table__0__dimensions=["geo"]),
    ),
    Case("a code tree", document(hierarchies={"sex": "tree.csv"}), files=BESIDE),
    Case(
        "a code list",
        document(variable=[{"name": "sex", "codelist": "codes.csv"}]),
        files=BESIDE,
    ),
    Case("a new ledger", document(ledger={"path": "new.db"})),
    Case(
        "flagged differences",
        document(
            ledger={"path": "new.db", "policy": "flag"},
            table=[TABLE, {**TABLE, "name": "some", "where": "income > 100"}],
        ),
    ),
    Case("additive", document(output__additive=True)),
    Case("solved noise", document(ptable={"max_noise": 2, "variance": 1.0})),
    Case(
        "stored keys",
        document(
            data={"path": "people.parquet", "record_key": "rkey", "key_range": 256},
            keys={"mix": False},
        ),
    ),
    Case("no checks of keys", document(keys__checks="skip"), people(person_id=(7, "p8"))),
    Case("warnings of keys", document(keys__checks="warn"), people(person_id=(7, "p8"))),
    Case(
        "every format",
        document(output__formats=["csv", "parquet", "xlsx", "json-stat2", "px", "sdmx-csv"]),
    ),
    Case("missing categories", document(), people(sex=(3, None))),
    Case(
        "skipped amounts",
        document(table=[{**SUMS, "missing_values": "skip"}]),
        people(income=(7, None)),
    ),
    Case("limits", document(report__limits={"posterior": 1.0, "aad": 50.0})),
]


# --- the three commands --------------------------------------------------------------------


@pytest.fixture(scope="session")
def ground(tmp_path_factory):
    """Make what every case begins with."""
    folder = tmp_path_factory.mktemp("ground")
    pq.write_table(pa.table(people()), folder / "people.parquet")
    solve(NoiseSpec(max_noise=2, variance=1.0)).write(folder / "pt.parquet")
    (folder / "secret.key").write_text(SECRET)
    (folder / "secret.key").chmod(0o600)
    return folder


@pytest.fixture
def folder(ground, tmp_path, monkeypatch):
    shutil.copytree(ground, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for name in ("CKM_SECRET", "CKM_DEBUG", "CKM_LOG_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@dataclass(frozen=True)
class Told:
    """How a command ended, and what it said was wrong."""

    exit: int
    error: dict[str, Any] | None
    warnings: frozenset[str]


def told(*words: str) -> Told:
    done = CliRunner().invoke(app, [*words, "--log-format", "json"])
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    errors = [line for line in lines if line["level"] == "error"]
    assert len(errors) == (done.exit_code != 0), done.stderr
    error = {k: v for k, v in errors[0].items() if k != "time"} if errors else None
    warned = (line["message"] for line in lines if line["level"] == "warning")
    return Told(done.exit_code, error, frozenset(warned))


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def agreement(case: Case, folder: Path, command: tuple[str, ...] = RELEASE) -> Told:
    """Run all three; return what the release said, once the others said the same."""
    case.write(folder, file=command[1])
    before = names(folder)
    limits = case.options if "--memory-limit" in case.options else ()
    check = told("check", command[1], *limits)
    dry = told(*command, *case.options, "--dry-run")
    assert names(folder) == before
    release = told(*command, *case.options)
    assert dry == release
    assert check == (release if case.is_seen_without_output else Told(0, None, check.warnings))
    return release


def some(cases: list[Case], step: int) -> list[Any]:
    """Return all cases, marked as slow but for every step-th."""
    slow = pytest.mark.slow
    return [
        pytest.param(case, marks=[slow] if i % step else []) for i, case in enumerate(cases)
    ]


@pytest.mark.parametrize("case", some(BAD, 5), ids=lambda case: case.name)
def test_check_and_a_dry_run_name_what_stops_the_release(case, folder):
    assert agreement(case, folder).exit in {1, 2, 3, 4}
    assert not (folder / "out" / "public").exists()


@pytest.mark.slow
@pytest.mark.parametrize("case", TYPES, ids=lambda case: case.name)
def test_check_and_a_dry_run_judge_every_type_in_every_role_as_the_release_does(case, folder):
    assert agreement(case, folder).exit in {0, 1, 2, 3}


@pytest.mark.parametrize("case", some(GOOD, 8), ids=lambda case: case.name)
def test_check_and_a_dry_run_let_pass_what_the_release_publishes(case, folder):
    assert agreement(case, folder).exit == 0
    assert (folder / "out" / "public").exists()


def test_there_are_three_hundred_kinds_of_defects_and_more():
    assert len({case.name for case in BAD}) == len(BAD) >= 300
    assert len({case.name for case in GOOD}) == len(GOOD) >= 20


# --- the other kinds of files ---------------------------------------------------------------


def suppressed(**more: Any) -> dict[str, Any]:
    return document(ptable=GONE, suppression={"threshold": 3}, **more)


SUPPRESSIONS = [
    Case("columns", suppressed(table__0__dimensions=["sexe"])),
    Case("identifiers", suppressed(data__id="nobody")),
    Case("identifiers twice", suppressed(), people(person_id=(7, "p8"))),
    Case("identifiers missing", suppressed(), people(person_id=(7, None))),
    Case("categories", suppressed(categories={"sex": ["F"]})),
    Case("a list without categories", suppressed(categories={"sex": []})),
    Case("a category called Total", suppressed(), people(sex=(3, "Total"))),
    Case("amounts missing", suppressed(table=[SUMS]), people(income=(7, None))),
    Case("amounts infinite", suppressed(table=[SUMS]), people(income=(7, INF))),
    Case("weights missing", suppressed(table=[WEIGHTED]), people(w=(7, None))),
    Case("weights negative", suppressed(table=[WEIGHTED]), people(w=(7, -1.0))),
    Case("filters", suppressed(table__0__where="age = 'x'")),
    Case("rules", document(ptable=GONE, suppression={"p_percent": 10.0})),
    Case("a code list", suppressed(variable=[{"name": "sex", "codelist": "codes-of-f.csv"}]),
         files=BESIDE),
    Case("a control character in PX", suppressed(output__formats=["px"]),
         people(sex=(3, "a\x01b"))),
]  # fmt: skip


def swapping(**more: Any) -> dict[str, Any]:
    """Return a sound swap, with other keys."""
    found = {"household": "home", "geography": ["region", "town"], "risk": ["age"], "k": 2}
    place = {"data": {"path": "people.parquet"}, "keys": {"secret": "secret.key"}}
    found |= {key: value for key, value in more.items() if key not in place}
    place |= {key: value for key, value in more.items() if key in place}
    return {"schema": 1, **place, "swap": {k: v for k, v in found.items() if v is not GONE}}


def homes(**columns: Any) -> dict[str, Any]:
    """Return records of households in places."""
    found = people(
        home=[f"h{i // 2}" for i in range(N)],
        region=[f"R{(i // 2) % 3}" for i in range(N)],
        town=[f"R{(i // 2) % 3}T{(i // 2) % 6}" for i in range(N)],
    )
    for name, value in columns.items():
        found[name][value[0]] = value[1]
    return found


SWAPS = [
    Case("columns", swapping(risk=["agee"]), homes()),
    Case("places", swapping(geography=["county"]), homes()),
    Case("no household", swapping(household=GONE), homes()),
    Case("households", swapping(household="house"), homes()),
    Case("households missing", swapping(), homes(home=(3, None))),
    Case("places missing", swapping(), homes(town=(3, None))),
    Case("a home in two towns", swapping(), homes(town=(3, "R9T9"))),
    Case("rates", swapping(rate=2.0), homes()),
    Case("profiles", swapping(similar=[["tenure"]]), homes()),
    Case("no places", swapping(geography=[]), homes()),
    Case("secrets", swapping(keys={"secret": "nowhere.key"}), homes()),
    Case("data", swapping(data={"path": "nowhere.parquet"}), homes()),
    Case("no secret", swapping(keys={}), homes()),
    Case("no records", swapping(), {name: column[:0] for name, column in homes().items()}),
]

SERVICE = {"title": "People"}


def service(**more: Any) -> dict[str, Any]:
    """Return a sound service, with other keys."""
    found = document(table=GONE, output=GONE, report=GONE, service=SERVICE)
    found["variable"] = [{"name": "sex"}, {"name": "region"}]
    return found | more


SERVICES = [
    Case("variables", service(variable=[{"name": "sexe"}])),
    Case("columns of persons", service(variable=[{"name": "person_id"}])),
    Case("categories", service(categories={"sex": ["F"]})),
    Case("categories of nothing", service(categories={"age": ["F"]})),
    Case("a category called Total", service(), people(sex=(3, "Total"))),
    Case("identifiers twice", service(), people(person_id=(7, "p8"))),
    Case("weights missing", service(), people(w=(7, None))),
    Case("weights negative", service(), people(w=(7, -1.0))),
    Case("code trees", service(hierarchies={"sex": "others.csv"}), files=BESIDE),
    Case("a ledger of another secret",
         service(ledger={"path": "other-secret.db", "official": []}), files=BESIDE),
    Case("a file that is no ledger", service(ledger={"path": "other.db", "official": []}),
         files=BESIDE),
    Case("p-tables", service(ptable={"path": "people.parquet"})),
    Case("noise", service(ptable={"max_noise": 2, "variance": 3.0})),
    Case("budgets in no file of budgets", service(access={"budgets": "other.db"}),
         files=BESIDE),
    Case("tokens", service(access={"mode": "tokens"})),
    Case("modes", service(access={"mode": "closed"})),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", SUPPRESSIONS, ids=lambda case: case.name)
def test_check_and_a_dry_run_name_what_stops_a_suppression(case, folder):
    assert agreement(case, folder, SUPPRESS).exit in {1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize("case", SWAPS, ids=lambda case: case.name)
def test_check_and_a_dry_run_name_what_stops_a_swap(case, folder):
    assert agreement(case, folder, SWAP).exit in {1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "sound", "command"),
    [
        (SUPPRESSIONS[0], Case("sound", suppressed()), SUPPRESS),
        (SWAPS[0], Case("sound", swapping(), homes()), SWAP),
    ],
    ids=["suppress", "swap"],
)
def test_what_was_stopped_goes_through_once_it_is_put_right(bad, sound, command, folder):
    assert agreement(bad, folder, command).exit in {1, 2, 3}
    assert agreement(sound, folder, command).exit == 0


def start(file: str) -> Told:
    """Start a service as ``ckm serve`` does, without a socket."""
    try:
        plan = read_service(file)
        with open_table_service(plan):
            return Told(0, None, frozenset())
    except ExplainedError as error:
        failure = explain(error)
        fields = {"level": "error", "event": "error", **failure.fields()}
        return Told(failure.exit, json.loads(json.dumps(fields)), frozenset())


def begin(case: Case, folder: Path) -> Told:
    """Check a service, rehearse its start and start it: all three say the same."""
    case.write(folder, file="service.toml")
    (folder / "secret.key").chmod(0o600)
    for path in folder.glob("*.db"):
        path.chmod(0o600)
    before = names(folder)
    check = told("check", "service.toml")
    dry = told("serve", "service.toml", "--dry-run")
    assert names(folder) == before
    begun = start("service.toml")
    assert (check.exit, check.error) == (dry.exit, dry.error) == (begun.exit, begun.error)
    return begun


@pytest.mark.slow
@pytest.mark.parametrize("case", SERVICES, ids=lambda case: case.name)
def test_check_and_a_dry_run_name_what_stops_a_service(case, folder):
    assert begin(case, folder).exit != 0


@pytest.mark.slow
def test_a_service_that_was_stopped_starts_once_it_is_put_right(folder):
    assert begin(SERVICES[0], folder).exit != 0
    assert begin(Case("sound", service()), folder).exit == 0


# --- what the messages say ------------------------------------------------------------------


def said(*words: str) -> str:
    return CliRunner().invoke(app, [*words, "--log-format", "text"]).stderr


def test_a_check_says_which_cells_a_list_of_margins_publishes(folder):
    margins = [["sex"], []]
    table = {"name": "t", "dimensions": ["region", "sex"], "margins": margins}
    Case("margins", document(table=[table, TABLE])).write(folder)
    text = said("check", "job.toml", "--quick")
    assert "table 't' publishes region by sex, sex, the total" in text
    assert "table 'people' publishes" not in text


def test_text_that_was_asked_for_is_text_also_where_the_words_are_wrong(folder):
    for words in (("check", "--fast"), ("chekc",), ("check", "job.toml", "--fast")):
        assert said(*words).startswith("error: No such "), words
    assert CliRunner().invoke(app, ["chekc"]).stderr.startswith("error: No such ")
    asked = CliRunner(env={"CKM_LOG": "json"})
    assert asked.invoke(app, ["chekc"]).stderr.startswith("{")


@pytest.mark.parametrize(
    ("measure", "way"),
    [
        ("max:income", "of a variable there are 'sum:income', 'mean:income', 'median:income'"),
        ("quantile:income:0.99", "for example 'quantile:income:0.9'; the shares are 0.1"),
        ("means:income", "did you mean 'mean:income'?"),
        ("sums:income", "did you mean 'sum:income'?"),
        ("counts", "did you mean 'count'?"),
    ],
)
def test_another_statistic_is_not_taken_for_a_slip(folder, measure, way):
    Case("measure", document(table__0__measures=[measure])).write(folder)
    assert way in said("check", "job.toml")


DEFECTS = [
    (document(categories={"sex": ["F"]}), people(), "1 category that is not declared", "'M'"),
    (
        document(categories={"age": list(range(50))}, table__0__dimensions=["age"]),
        people(),
        "40 categories that are not declared",
        "'50', '51', '52', '53', '54', …",
    ),
    (document(table=[WEIGHTED]), people(w=(7, None)), "no weight", "1 of 120 records"),
    (document(table=[WEIGHTED]), people(w=(7, -1.0)), "Some weights", "1 of 120 records"),
    (document(), people(person_id=(7, "p8")), "repeat", "1 of 120 keys that repeat another"),
    (document(), people(person_id=(7, None)), "have no 'person_id'", "1 of 120 records"),
]


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect[2])
def test_what_is_wrong_in_the_data_is_named_on_a_terminal_alone(folder, monkeypatch, defect):
    job, data, message, inside = defect
    Case("defect", job, data).write(folder)
    for words in (("check", "job.toml"), RELEASE):
        text = said(*words)
        assert message in text
        assert inside not in text
        assert inside not in CliRunner().invoke(app, [*words, "--log-format", "json"]).stderr
        with monkeypatch.context() as terminal:
            terminal.setattr("ckm.cli.terminal.console._is_terminal", lambda _stream: True)
            assert f"in the data: {inside}" in said(*words)


def test_the_hint_about_negative_amounts_is_one_for_job_files(folder):
    Case("negative", document(table=[SUMS]), people(income=(7, -1.0))).write(folder)
    assert "signed = true in its [[magnitude]]" in said("check", "job.toml")


# --- languages ---------------------------------------------------------------------------

ENGLISH = """
schema = 1
title = { en = "People" }
[data]
path = "people.csv"
record_key = "rkey"
[ptable]
max_noise = 2
variance = 1.0
[output]
source = { en = "An office" }
unit = { en = "persons" }
[report]
languages = ["en"]
[[variable]]
name = "sex"
labels = { en = "Sex" }
codelist = "sexes.csv"
[[table]]
name = "people"
title = { en = "People by sex" }
dimensions = ["sex"]
"""
IN_SERVICE = """
schema = 1
[service]
title = { en = "People" }
languages = ["en"]
[data]
path = "people.csv"
record_key = "rkey"
[ptable]
max_noise = 2
variance = 1.0
[[variable]]
name = "sex"
labels = { en = "Sex" }
categories = { F = { en = "Women" } }
[[population]]
name = "women"
title = { en = "Women" }
where = "sex = 'F'"
[ledger]
path = "ledger.db"
official = []
"""


@pytest.mark.parametrize("asked", [ENGLISH, IN_SERVICE])
def test_a_file_in_one_language_asks_for_no_words_in_the_other(tmp_path, asked):
    (tmp_path / "people.csv").write_text("rkey,sex\n17,F\n")
    (tmp_path / "sexes.csv").write_text("code,en\nF,Women\n")
    read = read_service if asked is IN_SERVICE else read_job
    path = tmp_path / "file.toml"
    path.write_text(asked)
    found = read(path)
    variables = found.variables
    assert variables["sex"].labels == {"en": "Sex", "fr": "Sex"}
    assert variables["sex"].categories["F"] == {"en": "Women", "fr": "Women"}
    for other in ('["en", "fr"]', '["fr"]'):
        path.write_text(asked.replace('languages = ["en"]', f"languages = {other}"))
        with pytest.raises(JobError, match=r"en = …, fr = …"):
            read(path)
    path.write_text(asked.replace('{ en = "Sex" }', "{}"))
    with pytest.raises(JobError, match="labels must be a text"):
        read(path)
