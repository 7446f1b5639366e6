"""Ten thousand good, bad and hostile requests against a real service, and what came of them.

Two workers, a ledger, tokens, and planted secrets: record identifiers, labels of categories
that must not be published, the secret, the tokens, names of files, counts without noise.

    python -m bench.hostile --requests 10000 --seed 1
"""

from __future__ import annotations

import json
import re
import socket
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from bench.hostile_requests import DATA, Shot, shots
from bench.hostile_wire import Answer, Line
from bench.hostile_world import RARE, Service, World, plant
from bench.measure import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 20
CLIENTS = 8
_LONGEST = 32_000  # of what the parser of HTTP takes for a head
_RECORD = re.compile(rb"zqxperson\d+")
_NUMBER = re.compile(rb"(?<![\w.])\d{5,}(?![\w.])")


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of all requests."""

    statuses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[tuple[str, int]] = field(default_factory=Counter)
    cut: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    good: dict[int, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    cpu_server_s: float = 0.0
    wall_s: float = 0.0


class Judge:
    """Says what is wrong with an answer, by the service's own description."""

    def __init__(self, world: World, described: dict[str, Any]) -> None:
        self._world = world
        self._operations = [
            (
                re.compile(_pattern(path)),
                {m.upper(): set(map(int, o["responses"])) for m, o in ops.items()},
            )
            for path, ops in described["paths"].items()
        ]

    def wrong(self, shot: Shot, answer: Answer) -> Iterator[str]:
        """Yield what is wrong."""
        if answer.status not in self._documented(shot):
            yield "undocumented status"
        is_parser = answer.body == b"Invalid HTTP request received."
        is_sound = shot.raw is None and len(shot.text.partition(b"\r\n\r\n")[0]) < _LONGEST
        if is_parser and (answer.status != 400 or is_sound):
            yield "the parser refused a sound request"
        if not is_parser:
            if "x-content-type-options" not in answer.headers:
                yield "no headers of safety"
            if answer.status >= 400 and answer.body and answer.kind != "text/html":
                yield from self._wrong_problem(answer)
        yield from leaks(self._world, answer.head + answer.body, sent=shot.text)
        if answer.status != 200 or shot.kind == "good":
            for number in set(_NUMBER.findall(answer.body)) & self._world.originals:
                yield f"a count without noise: {number!r}"

    def _documented(self, shot: Shot) -> set[int]:
        always = {400, 401, 413, 429}
        if shot.raw is not None:
            return always | {200, 202, 304, 403, 404, 405, 422}
        path = unquote(shot.target.partition("?")[0])
        if path == "/" or path.startswith("/static/"):  # pages are not in the description
            return always | {200, 304, 403, 404, 405}
        if path == "/openapi.json":
            return {200, 304, 400, 405, 413}
        for pattern, methods in self._operations:
            if pattern.fullmatch(path):
                # HEAD is answered as GET is, without a body (RFC 9110, 9.3.2).
                method = "GET" if shot.method == "HEAD" else shot.method
                return methods.get(method, {405, 400, 413}) - {500, 503}
        return {404, 400, 413}

    def _wrong_problem(self, answer: Answer) -> Iterator[str]:
        if answer.kind != "application/problem+json":
            yield f"no problem details but {answer.kind!r}"
            return
        told = json.loads(answer.body)
        if told["status"] != answer.status or not told["type"].startswith("urn:ckm:problem:"):
            yield "wrong problem details"
        if not (told["title"] and told["detail"] and "content-language" in answer.headers):
            yield "empty problem details"
        needed = {401: "www-authenticate", 405: "allow", 429: "retry-after"}.get(answer.status)
        if needed is not None and needed not in answer.headers:
            yield f"no header {needed}"


def _pattern(path: str) -> str:
    parts = re.split(r"(\{\w+\})", path)
    wild = ".+" if "codelist" in path else "[^/]+"  # names of code lists may hold slashes
    return "".join(wild if part.startswith("{") else re.escape(part) for part in parts)


def leaks(world: World, text: bytes, *, sent: bytes = b"") -> Iterator[str]:
    """Yield the secrets in a text, but for what the caller wrote."""
    heard = unquote(sent.decode("latin-1")).encode("latin-1", "replace")
    for needle in world.needles:
        if needle in text and needle not in sent and needle not in heard:
            yield f"a secret: {needle[:12]!r}"
    for record in set(_RECORD.findall(text)):
        if record not in sent and record not in heard:
            yield "a record"


def attack(world: World, service: Service, *, seed: int, number: int) -> Report:
    """Send all requests from several clients, slow ones beside them; judge the answers."""
    report, lock = Report(), threading.Lock()
    _leave_out_what_is_published(world, service)
    judge = Judge(world, json.loads(service.get("/openapi.json")[1]))
    drawn = shots(seed, number, world.words)
    before, began, cpu = service.pids, time.perf_counter(), service.cpu_s
    token = world.words.tokens[0]
    slow = [
        threading.Thread(target=_slow, args=(service.port, n, token, report)) for n in range(8)
    ]

    def work(place: int) -> None:
        line = Line(service.port)
        for shot in drawn[place::CLIENTS]:
            for _ in range(_PATIENCE):  # a busy machine may make the service say that it is
                answer = line.send(shot)
                if answer is None or answer.status != 503:
                    break
                time.sleep(0.2)
            with lock:
                _take(report, judge, shot, answer)
        line.close()

    threads = [threading.Thread(target=work, args=(place,)) for place in range(CLIENTS)]
    for thread in [*slow, *threads]:
        thread.start()
    for thread in [*slow, *threads]:
        thread.join()
    report.cpu_server_s, report.wall_s = service.cpu_s - cpu, time.perf_counter() - began
    report.wrong += [
        f"good request {n} has several answers" for n, a in report.good.items() if len(a) > 1
    ]
    if service.pids != before or service.get("/health")[0] != 200:
        report.wrong.append("the service or a worker died")
    _look_at_logs(report, world, service)
    return report


def _leave_out_what_is_published(world: World, service: Service) -> None:
    """Keep as secrets the counts that noise changed, and the categories that are not listed."""
    token = world.words.tokens[0]
    for criterion in ("valuecodes[sex]=*&valuecodes[category]=*", "valuecodes[age_tree]=*"):
        status, shown = service.get(f"{DATA}?{criterion}", token)
        world.originals -= set(_NUMBER.findall(shown))
        if status != 200:
            raise SystemExit(f"a good request got {status}: {shown!r}")
    listed = service.get("/codelists/zone_2024", token)[1]
    rare = [f"zqxzone{n:02d}x".encode() for n in range(RARE)]
    hidden = [label for label in rare if label not in listed]
    world.needles += hidden
    if len(world.originals) < 3 or not hidden:
        raise SystemExit("nothing is planted: choose another seed")


def _take(report: Report, judge: Judge, shot: Shot, answer: Answer | None) -> None:
    if answer is None:
        report.cut[shot.kind] += 1
        if shot.kind not in {"raw", "noise", "huge"}:
            report.wrong.append(f"{shot.kind} {shot.method} {shot.target[:200]}: cut off")
        return
    report.statuses[answer.status] += 1
    report.kinds[shot.kind, answer.status] += 1
    for text in judge.wrong(shot, answer):
        told = f"{shot.kind} {shot.method} {shot.target[:200]} {shot.raw and shot.raw[:80]!r}"
        report.wrong.append(f"{told}: {text}; {answer.status} {answer.body[:200]!r}")
    if shot.good is not None:
        if answer.status != 200:
            report.wrong.append(
                f"good {shot.target[:200]}: {answer.status} {answer.body[:300]!r}"
            )
        report.good[shot.good].add(answer.body)


def _slow(port: int, number: int, token: str, report: Report) -> None:
    """Send a head, or a body, and never the end of it; dripping, or not at all."""
    head = b"POST /requests HTTP/1.1\r\nHost: it\r\nContent-Length: 5000\r\n"
    if number & 2:
        head += f"Authorization: Bearer {token}\r\n".encode()
    begun = head + (b"X: y\r\n\r\n{" if number & 1 else b"X:")
    told, began = b"", time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=0.25) as connection:
        try:
            connection.sendall(begun)
            while time.monotonic() < began + 60:
                try:
                    received = connection.recv(65_536)
                    if not received:
                        break
                    told += received
                except TimeoutError:
                    connection.sendall(b" " if number & 4 else b"")
            else:
                report.wrong.append(f"slow connection {number} is kept")
        except (BrokenPipeError, ConnectionResetError):
            pass
    if told and not told.startswith((b"HTTP/1.1 401", b"HTTP/1.1 408")):
        report.wrong.append(f"a slow request got {told[:100]!r}")


def _look_at_logs(report: Report, world: World, service: Service) -> None:
    figures = service.get("/metrics", world.words.tokens[1])[1]
    texts = {"metrics": figures, "log": service.log.read_bytes()}
    texts["audit log"] = (world.folder / "audit.log").read_bytes()
    for name, text in texts.items():
        # The log of the command line names the service file it was started with.
        said = text.replace(b"service.toml", b"")
        report.wrong += [f"{name}: {leak}" for leak in leaks(world, said)]
        found = set(_NUMBER.findall(said)) & world.originals
        report.wrong += [f"{name}: a count without noise" for _ in found]
    for line in (texts["log"] + texts["audit log"]).splitlines():
        event = json.loads(line)
        if event.get("level") == "error":
            report.wrong.append(f"an error in the log: {event}")


def main() -> None:
    given = arguments(__doc__ or "", requests=10_000, seed=1)
    with tempfile.TemporaryDirectory(prefix="zqxfolder") as name:
        world = plant(Path(name), seed=given.seed)
        service = Service(world.folder)
        started = time.process_time()
        try:
            report = attack(world, service, seed=given.seed, number=given.requests)
        finally:
            code = service.stop()
        mine = time.process_time() - started
    for kind in sorted({kind for kind, _ in report.kinds}):
        found = {status: n for (k, status), n in sorted(report.kinds.items()) if k == kind}
        print(f"{kind:10} {found} cut off {report.cut[kind]}")
    print(f"statuses {dict(sorted(report.statuses.items()))}; exit code {code}")
    print(f"CPU s: service {report.cpu_server_s:.1f}, clients {mine:.1f}")
    print(f"wall {report.wall_s:.1f} s; {len(report.wrong)} wrong")
    print("\n".join(sorted(set(report.wrong))[:60]))
    sys.exit(1 if report.wrong or code else 0)


if __name__ == "__main__":
    main()
