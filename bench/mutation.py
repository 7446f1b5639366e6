"""How many small faults in the engine's packages the tests notice: a sample of mutants.

A first run of the tests notes which of them reach which mutant (`bench.mutants`). Then each
mutant is turned on in a fork of a process that has collected the tests; the fork runs those
that reach it until one fails. A mutant that acts at import gets a process of its own.

A run that was stopped goes on where it ended; the sample is in random order, so that its part
that is done is a sample as well. `--again 1` gives the survivors the tests as they are now,
`--slow 1` those marked slow instead; what follows `--` goes to pytest.

`--each N` draws N mutants of every module that numbers rest on (`BELOW`, or the modules and
folders of `--below A,B`), and gives each the tests of its own mirrored file alone (of its
folder, where it has none): do these hold what the module does? A survivor that stands in
`mutation_exceptions.toml`, with the reason why no test can or need notice it, is counted
apart. What came out of each module is kept in `results/mutation.json` by seed.
"""

from __future__ import annotations

import ast
import contextlib
import json
import keyword
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.measure import DATA, arguments, show
from bench.mutants import ACTIVE, FOLDER, NOTES, PACKAGES, ROOT, STATE, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = DATA / "mutation"
ANSWER, CHOSEN = WORK / "answer.json", WORK / "chosen.json"
SUMMARY, EXCEPTIONS = (
    DATA / "mutation.json",
    Path(__file__).with_name("mutation_exceptions.toml"),
)
#: Seconds of tests that a mutant gets in the first round and, if it survives, in the second.
ROUNDS = (20, 90)
OPTIONS = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider", f"--basetemp={WORK / 'tmp'}")
MEMORY = 12 << 30
#: Where faults cost most: keys, lookup, cells, p-tables and what is inferred from them.
BELOW = ("ckm/engine", "ptable", "tables/cells", "risk/inference")
MIRRORED = "MUTANTS_MIRRORED"


class Watch:
    """Notes which tests reach which mutants, and how long each takes."""

    def __init__(self, tag: str) -> None:
        self.file = (WORK / f"tests{tag}.jsonl").open("w")
        self.seconds: Counter[str] = Counter()
        self.bad: set[str] = set()

    def pytest_runtest_logstart(self) -> None:
        """Let every test note all that it reaches."""
        STATE.seen.clear()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Write down a test once it is over."""
        self.seconds[report.nodeid] += report.duration
        if report.failed or report.skipped:
            self.bad.add(report.nodeid)
        if report.when == "teardown" and report.nodeid not in self.bad:
            row = [report.nodeid, round(self.seconds[report.nodeid], 4)]
            print(json.dumps(row), file=self.file, flush=True)


class Plan:
    """Which tests each mutant gets, and what came out."""

    def __init__(self, tag: str) -> None:
        self.mutants = json.loads((WORK / "mutants.json").read_text())
        self.results = WORK / f"results{tag}.jsonl"
        self.seconds = dict(_rows(WORK / f"tests{tag}.jsonl"))
        self.files: dict[str, list[str]] = defaultdict(list)
        for name in self.seconds:
            self.files[name.split("::")[0]].append(name)
        self.reached: dict[int, set[str]] = defaultdict(set)
        for line in (WORK / f"reached{tag}.txt").read_text().splitlines():
            label, number = line.rsplit("\t", 1)
            name = re.sub(r" \((setup|call|teardown)\)$", "", label)
            self.reached[int(number)] |= {name} & self.seconds.keys()
            self.mutants[int(number)]["at_import"] |= not name
        self.done = {row["mutant"]: row for row in _rows(self.results)}
        self.paths = {m["mutant"]: m["path"] for m in self.mutants}
        if tag:
            dead = {r["mutant"] for r in _rows(WORK / "results.jsonl") if r["failed"]}
            self.mutants = [m for m in self.mutants if m["mutant"] not in dead]

    def order(self, mutant: dict[str, Any]) -> list[str]:
        """Return the tests of a mutant: its folder's first, then by seconds of their file."""
        path = Path(mutant["path"])
        folder = str(Path("tests/unit") / path.parent) + "/"
        reached = set(self.reached[mutant["mutant"]])
        if MIRRORED in os.environ:
            own = mirror(mutant["path"])
            if mutant["at_import"]:  # such as a default of a class, which no function reaches
                reached = set(self.seconds)
            reached = {name for name in reached if name.startswith(own)}
        if not reached and mutant["at_import"]:
            word = re.compile(
                rf"\b{path.parent.name if path.stem == '__init__' else path.stem}\b"
            )
            near = [f for f in self.files if f == str(path) or f.startswith(folder)]
            far = [f for f in self.files if f.startswith("tests") and word.search(_text(f))]
            reached = {name for f in near + far for name in self.files[f]}
        cost: Counter[str] = Counter()
        for name in reached:
            cost[name.split("::")[0]] += self.seconds[name]

        def rank(file: str) -> tuple[bool, bool, float]:
            own = file == str(path) or file.startswith(folder)
            return (not own, path.stem not in file, cost[file])

        files = sorted(cost, key=rank)
        # What a fixture or a cache of a file keeps is reached by the first test alone.
        shared = [f for f in files if re.search("cache|scope=", _text(f))]
        return [n for f in files for n in self.files[f] if n in reached] + [
            n for f in shared for n in self.files[f] if n not in reached
        ]

    def rounds(self) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """Yield mutants with tests that they have not had."""
        for most in ROUNDS:
            for mutant in self.mutants:
                row = self.done.get(mutant["mutant"], {"left": 1, "most": 0, "planned": 0})
                if not row["left"] or row["most"] >= most or row.get("failed"):
                    continue
                order, names, total = self.order(mutant), [], 0.0
                for name in order[row["planned"] :]:
                    total += self.seconds[name]
                    if names and total > most:
                        break
                    names.append(name)
                planned = row["planned"] + len(names)
                left = len(order) - planned
                row = {**mutant, "reached": len(self.reached[mutant["mutant"]]), "most": most}
                yield {**row, "planned": planned, "left": left}, names

    def note(self, row: dict[str, Any]) -> None:
        """Keep what came out."""
        self.done[row["mutant"]] = row
        with self.results.open("a") as file:
            file.write(json.dumps(row) + "\n")


class Kill:
    """Runs the tests that reach a mutant, for one mutant after another."""

    def __init__(self, tag: str, options: tuple[str, ...]) -> None:
        self.plan = Plan(tag)
        self.again = ("kill", tag, *options)
        self.failed = ""
        self.clean: dict[str, bool] = {}

    def pytest_collection(self) -> None:
        """Leave out the search for the smallest example: one that fails is enough."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.reuse, Phase.generate)
        settings.register_profile("kill", settings.default, phases=phases)
        settings.load_profile("kill")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember which test fails."""
        self.failed = report.nodeid if report.failed else self.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run mutants instead of tests."""
        items = {item.nodeid: item for item in session.items}
        if ACTIVE in os.environ:
            if not session.testsfailed:
                self.run(
                    [items[n] for n in json.loads(CHOSEN.read_text())["tests"] if n in items]
                )
            return True
        for row, names in self.plan.rounds():
            started = time.monotonic()
            failed = ""
            left = [items[name] for name in names if name in items]
            while left and not failed:
                once = self.alone if row["at_import"] else self.fork
                failed, ran = once(left, row["mutant"])
                name, left = failed.removeprefix("stopped: "), left[ran:]
                if name in items and name not in self.clean:
                    self.clean[name] = not self.fork([items[name]], -1)[0]
                failed = failed if self.clean.get(name, True) else ""
            row |= {"failed": failed, "seconds": round(time.monotonic() - started, 1)}
            self.plan.note(row)
        return True

    def run(self, items: list[Any]) -> None:
        """Run tests in this process until one fails."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for at, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True), 1):
            ANSWER.write_text(json.dumps([f"stopped: {item.nodeid}", at]))
            signal.alarm(20 + int(10 * self.plan.seconds[item.nodeid]))  # it may loop for ever
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            ANSWER.write_text(json.dumps([self.failed, at]))
            if self.failed:
                break
        signal.alarm(0)

    def fork(self, items: list[Any], active: int) -> tuple[str, int]:
        """Return the test that fails with a mutant on, if one does, and how many ran."""
        sys.stdout.flush()
        shutil.rmtree(WORK / "tmp", ignore_errors=True)
        if not (child := os.fork()):
            os.setpgid(0, 0)
            STATE.active = active
            os.environ[ACTIVE] = str(active)
            try:
                self.run(items)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        failed, ran = json.loads(ANSWER.read_text())
        return failed, ran

    def alone(self, items: list[Any], active: int) -> tuple[str, int]:
        """Do the same in a process in which the mutant is on from the start."""
        ANSWER.write_text(json.dumps(["stopped: at import", len(items)]))
        module = self.plan.paths[active].removesuffix(".py").removesuffix("/__init__")
        chosen = {"module": module.replace("/", "."), "tests": [item.nodeid for item in items]}
        CHOSEN.write_text(json.dumps(chosen))
        files = dict.fromkeys(item.nodeid.split("::")[0] for item in items)
        subprocess.run(
            _command(*self.again, *files),
            env={**_environment(), ACTIVE: str(active)},
            cwd=ROOT,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        failed, ran = json.loads(ANSWER.read_text())
        return failed, ran


def stage(name: str, tag: str, *options: str) -> int:
    """Run pytest with what a stage adds to it."""
    import pytest

    if ACTIVE in os.environ:
        # before pytest does, which loads a file that it is given by itself
        import_module(json.loads(CHOSEN.read_text())["module"])
    plugin = Watch(tag) if name == "watch" else Kill(tag, options[:2])
    return int(pytest.main([*OPTIONS, *options], plugins=[plugin]))


class Exceptions:
    """Mutants that no test can or need notice, each with its reason.

    An entry is found by its module, function, change and line, in which a name stands for any
    other: local variables may be renamed, and lines may move.
    """

    def __init__(self, file: Path = EXCEPTIONS) -> None:
        entries = tomllib.loads(file.read_text())
        self.reasons = {
            (path, one["function"], _change(one["change"]), _shape(one["line"])): one["reason"]
            for path, listed in entries.items()
            for one in listed
        }

    def reason(self, mutant: dict[str, Any]) -> str | None:
        """Return why a mutant may survive; None where it may not."""
        path, line = mutant["path"], mutant["line"]
        place = (path, function_at(_text(path), line))
        return self.reasons.get((*place, _change(mutant["what"]), _shape(mutant["source"])))

    def stale(self) -> Iterator[str]:
        """Yield the exceptions whose line is no longer there."""
        for path, function, change, line in self.reasons:
            lines = _text(path).splitlines() if (ROOT / path).exists() else []
            places = (at for at, text in enumerate(lines, 1) if _shape(text) == line)
            if not any(function_at("\n".join(lines), at) == function for at in places):
                yield f"{path}: {function}: {change}"


def function_at(source: str, line: int) -> str:
    """Return the name of the function or class that a line lies in, with those around it."""
    names: list[str] = []
    body = ast.parse(source).body
    while True:
        around = (
            node
            for node in ast.walk(ast.Module(body, []))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            and min([node.lineno, *(d.lineno for d in node.decorator_list)]) <= line
            and line <= (node.end_lineno or node.lineno)
        )
        if (node := next(around, None)) is None:
            return ".".join(names)
        names.append(node.name)
        body = node.body


def _change(what: str) -> str:
    """Return what is changed: of a constant its value, whichever way it moves."""
    if what.startswith("not ("):
        return _shape(what)
    return re.sub(r"^([-\d.e+]+) -> .*", r"\1", what)


def _shape(line: str) -> str:
    """Return a line with one sign for every name."""
    return re.sub(
        r"[^\W\d]\w*", lambda n: n[0] if keyword.iskeyword(n[0]) else "_", line.strip()
    )


def mirror(path: str) -> str:
    """Return the test file of a module, or the folder of tests that it lies nearest to."""
    module = Path(path)
    folder = Path("tests/unit") / module.parent
    file = folder / f"test_{module.name}"
    if (ROOT / file).exists():
        return str(file)
    while not any((ROOT / folder).glob("test_*.py")):
        folder = folder.parent
    return f"{folder}/"


def _tests_of(part: str) -> str:
    """Return the tests that hold a module or the modules of a folder."""
    folder = f"tests/unit/{part}"
    return folder if (ROOT / folder).is_dir() else mirror(part)


def _rows(file: Path) -> list[Any]:
    return [json.loads(x) for x in file.read_text().splitlines()] if file.exists() else []


def _modules() -> list[str]:
    return list(json.loads((WORK / "modules.json").read_text()).values())


def _text(file: str) -> str:
    return (ROOT / file).read_text()


def _command(*words: str) -> list[str]:
    code = "import sys; import bench.mutation as m; sys.exit(m.stage(*sys.argv[1:]))"
    return [sys.executable, "-c", code, *words]


def _environment() -> dict[str, str]:
    path = f"{WORK / 'site'}{os.pathsep}{ROOT}"
    return {**os.environ, FOLDER: str(WORK), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Draw, watch, kill, count; what an earlier run has found is kept."""
    cut = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    sys.argv, extra = sys.argv[:cut], sys.argv[cut + 1 :]
    given = arguments(__doc__ or "", mutants=300, seed=18, again=0, slow=0, each=0, below="")
    tag, marked = ("-slow", "slow") if given.slow else ("", "not slow")
    if given.each:
        os.environ[MIRRORED] = "1"
        parts = tuple(given.below.split(",")) if given.below else BELOW
        extra = extra or sorted({_tests_of(part) for part in parts})
    if not (WORK / "mutants.json").exists():
        below = parts if given.each else PACKAGES
        draw(
            WORK,
            number=given.each or given.mutants,
            seed=given.seed,
            below=below,
            is_each=bool(given.each),
        )
    drawn = (WORK / "mutants.json").stat().st_mtime
    if any(Path(file).stat().st_mtime > drawn for file in _modules()):
        raise SystemExit(
            f"Modules changed after the sample was drawn; remove {WORK} to draw anew."
        )
    words, notes = (tag, "-m", marked, *extra), WORK / f"reached{tag}.txt"
    if given.again:
        results = WORK / f"results{tag}.jsonl"
        dead = [json.dumps(row) + "\n" for row in _rows(results) if row["failed"]]
        results.write_text("".join(dead))
        notes.unlink(missing_ok=True)
    if not notes.exists():
        env = {**_environment(), NOTES: str(notes)}
        subprocess.run(_command("watch", *words), env=env, cwd=ROOT, check=False)
    subprocess.run(_command("kill", *words), env=_environment(), cwd=ROOT, check=False)
    rows = sorted(Plan(tag).done.values(), key=lambda row: (row["path"], row["line"]))
    report(rows, by_module=bool(given.each))
    if given.each:
        summarise(rows, f"seed {given.seed}, {given.each} each")


def report(rows: list[dict[str, Any]], *, by_module: bool) -> None:
    """Print how many mutants of each module or package were killed, and the survivors."""
    exceptions = Exceptions()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        reason = None if row["failed"] else exceptions.reason(row)
        row["end"] = "killed" if row["failed"] else "survived" if reason is None else "excepted"
        for key in (row["path"] if by_module else row["path"].split("/")[0], "all"):
            counts[key][row["end"]] += 1
    ends = ["killed", "excepted", "survived"]
    figures: list[list[object]] = [[k, *(c[end] for end in ends)] for k, c in counts.items()]
    show("Mutants", ["package", *ends], figures)
    for row in rows:
        if by_module and row["end"] == "survived":
            print(f"{row['path']}:{row['line']}: {row['what']}: {row['source']}")
    for exception in exceptions.stale():
        print(f"No such line: {exception}")


def summarise(rows: list[dict[str, Any]], sample: str) -> None:
    """Keep what came out of each module of a sample beside what earlier samples found."""
    summary = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row["path"]][row["end"]] += 1
    summary[sample] = dict(sorted({**summary.get(sample, {}), **counts}.items()))
    SUMMARY.write_text(json.dumps(summary, indent=1) + "\n")


if __name__ == "__main__":
    main()
