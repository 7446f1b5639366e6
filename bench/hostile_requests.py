"""Requests of every kind, good, bad and hostile, drawn from a seed."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from urllib.parse import quote, urlencode

DATA = "/tables/jobseekers/data"
REGIONS = "codelist[geo]=geo.region&valuecodes[geo]=*"

#: Requests whose answers must never change.
GOOD = (
    f"{DATA}?valuecodes[sex]=*",
    f"{DATA}?valuecodes[sex]=F,M&valuecodes[category]=*",
    f"{DATA}?{REGIONS}&valuecodes[category]=*&outputFormat=csv",
    f"{DATA}?{REGIONS}&valuecodes[sex]=*&outputFormat=px",
    f"{DATA}?valuecodes[age_tree]=*&outputFormat=sdmx-csv",
    f"{DATA}?valuecodes[category]=*&outputFormat=parquet",
    f"{DATA}?valuecodes[category]=*&valuecodes[ContentsCode]=*&lang=fr",
    f"{DATA}?filter=sex%20%3D%20'F'&valuecodes[category]=*",
    f"{DATA}?filter=category%20in%20('A','B')&{REGIONS}",
    "/?codelist[sex]=sex&codelist[category]=category",
    "/?codelist[geo]=geo.region&codelist[sex]=sex&lang=fr",
    "/",
    "/tables",
    "/tables/jobseekers/metadata?lang=fr",
    "/codelists/zone_2024",
    "/codelists/geo.department",
    "/config",
    "/openapi.json",
)
GOOD_BODIES = (
    (DATA, {"selection": [{"variableCode": "category", "valueCodes": ["top(3)"]}]}),
    ("/requests", {"dimensions": ["sex", "category"], "margins": "all"}),
    ("/requests", {"dimensions": ["geo"], "margins": [["region"]], "measures": ["weighted"]}),
    ("/requests", {"dimensions": ["category"], "where": "sex = 'M'", "format": "csv"}),
)

TEXTS = (
    "'; DROP TABLE ckm_ledger_entry; --", '" OR ""="', "1) UNION SELECT * FROM ckm_records --",
    "sex = 'F' OR 1=1", "sex = 'F'; ATTACH 'x.db'",
    "x' AND (SELECT count(*) FROM people) > 1 --", "sex = 'F' /* */ or/**/1=1",
    "COPY people TO 'x'", "read_csv('/etc/passwd')", "pg_sleep(10)", "sex like '%'",
    "length(sex) = 1", "sex = sex", "sex = 'F' and sex = 'F' " * 200, "(" * 4000, "not " * 3000,
    "sex in (" + ",".join(["'F'"] * 3000) + ")", "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd", "/etc/passwd", "C:\\boot.ini", "file:///etc/passwd", "{{7*7}}",
    "${jndi:ldap://x}", "%s%s%n", "{0.__class__}", "`id`", "$(id)", "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>', "javascript:alert(1)", "\x00", "F\x00",
    "\r\nSet-Cookie: a=b", "\u202e", "\ufeffF", "\ud800", "e\u0301", "\uff26", "\u017fex",
    "NaN", "Infinity", "-Infinity", "1e999", "-0", "1" * 400, "null", "true", "0x1F", "\u0661",
    "a" * 3000, "*" * 300, "?" * 300, "*a" * 60, "top(999999999999999999999)", "top(-1)",
    "top()", "range(A,E)", "range(E,A)", "range(F", "from(*)", "[[[[", "]]", ",,,",
    "[range(A,B)],C", "Total", "F", "A", "*", "", " ", "person_id", "weight", "note",
    "count(*)", "geo.region", "01", "01/01", "young", "ckm_prepared", "ckm_records",
    "__proto__", "constructor",
)  # fmt: skip
NAMES = ("geo", "sex", "category", "age_tree", "zone_2024", "ContentsCode")
METHODS = ("PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "GETT", "get", "PROPFIND", "X")
PATHS = (
    "/../../etc/passwd", "/static/..%2f..%2fsecret.key", "/static/%2e%2e/%2e%2e/secret.key",
    "/static/....//secret.key", "/static//etc/passwd", "//etc/passwd", "/tables/../config",
    "/tables/%2e%2e/config", "/tables/jobseekers/data/", "/tables//data",
    "/tables/jobseekers%2fdata", "/tables/jobseekers%00/data", "/tables/jobseekers;a=b/data",
    "/TABLES", "/%c0%ae%c0%ae/", "/tables/%ff%fe", "/codelists/..%2f..%2fledger.db",
    "/codelists/geo/../../secret.key", "/requests/..%2f..%2ftokens.json",
    "/requests/" + "A" * 22, "/requests/" + "A" * 22 + "/result", "/requests/%2e%2e/result",
    "/.git/config", "/.env", "/docs", "/redoc", "/admin", "/favicon.ico", "/" + "a" * 20_000,
    "/tables/" + "%41" * 2000, "/?" + "a&" * 4000, "/config?" + "x=1&" * 500,
    f"{DATA}?" + "&".join(f"valuecodes[v{n}]=1" for n in range(300)), "/health?a=b",
    "/metrics?a=b", "http://example.org/config", "*", "/config#x", "/tables?pageNumber=0",
    "/tables?pageSize=1e9", "/tables?pageNumber=%D9%A1", "/tables?query=" + "q" * 5000,
    f"{DATA}?lang=en&lang=fr", f"{DATA}?valuecodes[sex]=F&valuecodes[sex]=M",
    f"{DATA}?valuecodes[sex", f"{DATA}?valuecodes[]=F", f"{DATA}?valuecodes[[sex]]=F",
    f"{DATA}?VALUECODES[sex]=F&OutputFormat=CSV", f"{DATA}?filter=",
)  # fmt: skip
HEADERS = (
    ("Range", "bytes=0-10"), ("Range", "bytes=-1,5-2,99999999999-"), ("Range", "x"),
    ("If-None-Match", "*"), ("If-None-Match", '"' + "a" * 5000 + '"'),
    ("If-None-Match", ",,,W/"), ("If-Match", '"nothing"'), ("If-Modified-Since", "not a date"),
    ("Expect", "100-continue"), ("Accept-Language", "fr;q=nan"),
    ("Accept-Language", "fr;q=inf,en;q=-1"), ("Accept", "x/y"),
    ("Accept-Language", "fr," * 3000), ("Accept-Language", "fr;q=1e999, en;q=0"),
    ("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-For", "::1, 127.0.0.1"),
    ("X-Forwarded-Proto", "javascript"), ("X-Forwarded-Host", "evil.example"),
    ("X-Real-IP", "::1"), ("Forwarded", "for=127.0.0.1"), ("X-HTTP-Method-Override", "DELETE"),
    ("X-Original-URL", "/admin"), ("Cookie", "a=" + "b" * 8000),
    ("Cookie", "session=' OR 1=1 --"), ("Host", "evil.example"),
    ("Origin", "https://evil.example"), ("Referer", "' OR 1=1"),
    ("User-Agent", "${jndi:ldap://x}"), ("Upgrade", "websocket"), ("Upgrade", "h2c"),
    ("Accept-Encoding", "gzip;q=nan"), ("TE", "trailers"), ("Content-Type", "text/html"),
    ("Content-Encoding", "gzip"), ("Connection", "Authorization"),
)  # fmt: skip
_GET = b"GET / HTTP/1.1\r\nHost: it\r\n"
_POST = b"POST /requests HTTP/1.1\r\nHost: it\r\n"
RAW = (
    b"\0" * 5000, b"\r\n" * 2000, b"GET", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200, b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET /config HTTP/1.1\nHost: it\n\n",
    b"GET  /config HTTP/1.1\r\nHost: it\r\n\r\n", b"GET /con\0fig HTTP/1.1\r\nHost: it\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: it\r\n\r\n",
    _GET + b"X: a\0b\r\n\r\n",
    _GET + b"no colon\r\n\r\n",
    _GET + b"X: a\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : it\r\n\r\n",
    _GET + b"a: b\r\n" * 20_000 + b"\r\n",
    _GET + b"".join(b"h%d: x\r\n" % n for n in range(150)) + b"\r\n",
    _GET + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: it\r\n\r\n",
    b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    _POST + b"Content-Length: -1\r\n\r\n",
    _POST + b"Content-Length: 1e3\r\n\r\n",
    _POST + b"Content-Length: 99999999999999999999\r\n\r\n",
    _POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    _POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _GET,
    _POST + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    _POST + b"Transfer-Encoding: chunked\r\n\r\n5;" + b"x" * 70_000,
    _POST + b"Content-Length: 1000\r\n\r\n{",
    b"GET /config HTTP/1.1\r\nHost: it\r\n\r\nGET /health HTTP/1.1\r\nHost: it\r\n\r\n",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """One request. A raw one is sent as it stands, on a connection of its own."""

    kind: str
    method: str = "GET"
    target: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    is_chunked: bool = False
    raw: bytes | None = None
    good: int | None = None

    @property
    def text(self) -> bytes:
        """What goes over the wire."""
        if self.raw is not None:
            return self.raw
        headers = {} if any(n == "Host" for n, _ in self.headers) else {"Host": "it"}
        lines = [
            f"{self.method} {self.target} HTTP/1.1",
            *(f"{n}: {t}" for n, t in headers.items()),
        ]
        lines += [f"{name}: {text}" for name, text in self.headers]
        if self.is_chunked:
            lines.append("Transfer-Encoding: chunked")
        elif self.body is not None:
            lines.append(f"Content-Length: {len(self.body)}")
        head = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
        return head + (_chunks(self.body or b"") if self.is_chunked else self.body or b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What a caller knows: tokens, good ones and others, and names of records."""

    tokens: tuple[str, ...]
    wrong: tuple[str, ...]
    poor: str
    records: tuple[str, ...]


def shots(seed: int, number: int, words: Words) -> list[Shot]:
    """Draw requests."""
    rng = random.Random(seed)  # noqa: S311  (it must be drawn again)
    kinds = list(_WEIGHTS)
    drawn = rng.choices(kinds, [_WEIGHTS[kind] for kind in kinds], k=number)
    return [kind(rng, words) for kind in drawn]


def _chunks(body: bytes) -> bytes:
    parts = [body[n : n + 7000] for n in range(0, len(body), 7000)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in [*parts, b""])


def _token(rng: random.Random, words: Words) -> tuple[str, str]:
    return ("Authorization", f"Bearer {rng.choice(words.tokens)}")


def _json(document: object) -> bytes:
    return json.dumps(document).encode()


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _good(rng: random.Random, words: Words) -> Shot:
    place = rng.randrange(len(GOOD) + len(GOOD_BODIES))
    headers = (("Authorization", f"Bearer {words.tokens[0]}"),)
    if place < len(GOOD):
        return Shot(kind="good", target=GOOD[place], headers=headers, good=place)
    target, body = GOOD_BODIES[place - len(GOOD)]
    return Shot(
        kind="good", method="POST", target=target, headers=headers, body=_json(body), good=place
    )


def _filter(rng: random.Random, words: Words) -> Shot:
    """Make a filter of the language itself, mostly a sound one."""

    def part() -> str:
        name = rng.choice(("sex", "category", "zone_2024", "age_group", "region", "sexe"))
        value = rng.choice(("'F'", "'A'", "'B'", "'1'", "2", "'01'", "NULL", "1e999", "'x'"))
        return rng.choice(
            (f"{name} = {value}", f"{name} <> {value}", f"{name} in ({value}, 'E')",
             f"not ({name} = {value})", f"{name} is null", f"{name} >= {value}")
        )  # fmt: skip

    text = rng.choice((" and ", " or ")).join(part() for _ in range(rng.randint(1, 4)))
    place = rng.choice((f"{DATA}?valuecodes[category]=*&", "/?codelist[sex]=sex&"))
    return Shot(
        kind="filter", target=f"{place}filter={_quoted(text)}", headers=(_token(rng, words),)
    )


def _injected(rng: random.Random, words: Words) -> Shot:
    text = rng.choice(TEXTS)
    if rng.random() < 0.1:
        text = f"person_id = '{rng.choice(words.records)}'"
    sent, name = _quoted(text), rng.choice(NAMES)
    target = rng.choice(
        (
            f"{DATA}?filter={sent}", f"{DATA}?valuecodes[{name}]={sent}",
            f"{DATA}?valuecodes[{sent}]=*", f"{DATA}?codelist[{name}]={sent}",
            f"{DATA}?outputvalues[{name}]={sent}", f"{DATA}?heading={sent}&stub={sent}",
            f"{DATA}?lang={sent}", f"{DATA}?outputFormat={sent}", f"{DATA}?{sent}={sent}",
            f"/tables/{sent}", f"/tables/{sent}/data", f"/codelists/{sent}",
            f"/requests/{sent}",
            f"/tables?query={sent}", f"/static/{sent}", f"/{sent}",
            f"/?codelist[{name}]={name}&filter={sent}", f"/?valuecodes[{name}]={sent}",
            f"/?codelist[{name}]={sent}&sort={sent}&rows={sent}", f"/?find[{name}]={sent}",
        )
    )  # fmt: skip
    headers = [_token(rng, words)]
    if rng.random() < 0.15:
        plain = "".join(sign if " " <= sign < "\x7f" else "?" for sign in text)[:3000]
        name = rng.choice(
            ("If-None-Match", "Accept-Language", "X-Forwarded-For", "Cookie", "Origin")
        )
        headers.append((name, plain))
    return Shot(kind="injected", target=target, headers=tuple(headers))


def _body(rng: random.Random, words: Words) -> Shot:
    text, name = rng.choice(TEXTS), rng.choice((*NAMES, "note"))
    path = rng.choice((DATA, "/requests"))
    bodies: tuple[bytes, ...] = (
        b'{"dimensions": NaN}', b'{"wait": Infinity}', b'{"dimensions": [1e999]}', b"-0",
        b"1e999", b"[" * 30_000, b'{"a":' * 10_000, b'{"wait": true, "wait": false}', b"{}{}",
        b"{", b"", b"null", b'{"dimensions": ["\xff\xfe"]}', b"\xef\xbb\xbf{}",
        b"\xff\xfe{\0}\0", b'{"where": "\\ud800"}', b'{"where": "\\u0000"}', b"\0\0\0",
        b"dimensions=sex", b"<a/>", b'"' + b"a" * 60_000 + b'"', b"1" * 60_000,
        b'{"dimensions":' + b" " * 60_000 + b"[]}", b"\x1f\x8b\x08\0\0\0\0\0",
        _json({"dimensions": [name, name]}), _json({"dimensions": ["sex"] * 101}),
        _json({"dimensions": ["geo", "sex", "category", "age_tree", "zone_2024"]}),
        _json({"dimensions": ["sex"], "margins": [["sex"]] * 1001}),
        _json({"dimensions": ["sex"], "margins": [[text]]}), _json({"dimensions": [text]}),
        _json({"dimensions": ["sex"], "where": text}),
        _json({"dimensions": ["sex"], "select": {"sex": [text]}}),
        _json({"select": {text: ["F"]}}), _json({"dimensions": ["sex"], "format": text}),
        _json({"dimensions": ["sex"], text: text}),
        _json({"dimensions": {"sex": 1}, "wait": "true"}),
        _json({"measures": ["count", "count"]}),
        _json({"selection": [{"variableCode": name, "valueCodes": [text]}]}),
        _json({"selection": [{"variableCode": text}]}), _json({"selection": [{}] * 101}),
        _json({"selection": [{"variableCode": name, "codelist": text}]}),
        _json({"selection": [{"variableCode": name, "outputValues": "single"}]}),
        _json({"selection": [], "placement": {"heading": [text], "stub": ["sex"]}}),
        _json([{"selection": []}]), _json(text), _json({"wait": False, "dimensions": ["sex"]}),
    )  # fmt: skip
    kind = rng.choice(("application/json",) * 3 + ("text/plain", "application/xml", "x", ""))
    headers = (_token(rng, words), ("Content-Type", kind))
    return Shot(
        kind="body", method="POST", target=path, headers=headers, body=rng.choice(bodies),
        is_chunked=rng.random() < 0.2,
    )  # fmt: skip


def _huge(rng: random.Random, words: Words) -> Shot:
    return Shot(
        kind="huge",
        method=rng.choice(("POST", "POST", "GET", "PUT")),
        target=rng.choice((DATA, "/requests", "/config", "/")),
        headers=(_token(rng, words),),
        body=b'{"where": "' + b"a" * rng.choice((65_536, 70_000, 300_000)) + b'"}',
        is_chunked=rng.random() < 0.5,
    )


def _method(rng: random.Random, words: Words) -> Shot:
    target = rng.choice(
        (DATA, "/", "/tables", "/requests", "/config", "/health", "/static/x", "/x")
    )
    return Shot(
        kind="method", method=rng.choice(METHODS), target=target, headers=(_token(rng, words),),
        body=rng.choice((None, b"{}")),
    )  # fmt: skip


def _path(rng: random.Random, words: Words) -> Shot:
    return Shot(kind="path", target=rng.choice(PATHS), headers=(_token(rng, words),))


def _header(rng: random.Random, words: Words) -> Shot:
    more = rng.sample(HEADERS, rng.randint(1, 3))
    names = [name for name, _ in more]
    once = [(name, text) for n, (name, text) in enumerate(more) if name not in names[:n]]
    target = rng.choice((*GOOD[:3], "/", "/config", "/metrics", "/health"))
    return Shot(kind="header", target=target, headers=(_token(rng, words), *once))


def _stranger(rng: random.Random, words: Words) -> Shot:
    given = rng.choice(
        ("", "Bearer", "Bearer ", "Basic YTpi", "bearer x y", "Bearer " + "a" * 9000,
         "Bearer \x01",
         "Token ' OR 1=1", "Bearer null", *(f"Bearer {token}" for token in words.wrong))
    )  # fmt: skip
    target = rng.choice((*GOOD, "/metrics", "/requests/" + "A" * 22))
    headers = (("Authorization", given),) if given else ()
    if rng.random() < 0.1:
        headers = (_token(rng, words), _token(rng, words))
    return Shot(kind="stranger", target=target, headers=headers)


def _poor(rng: random.Random, words: Words) -> Shot:
    headers = (("Authorization", f"Bearer {words.poor}"),)
    return Shot(kind="poor", target=rng.choice(GOOD[:3]), headers=headers)


def _raw(rng: random.Random, _: Words) -> Shot:
    return Shot(kind="raw", raw=rng.choice(RAW))


def _noise(rng: random.Random, words: Words) -> Shot:
    """Break a good request somewhere."""
    text = bytearray(_good(rng, words).text)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(text))
        text[place : place + rng.randint(0, 2)] = rng.randbytes(rng.randint(0, 2))
    return Shot(kind="noise", raw=bytes(text))


def _criterion(rng: random.Random, words: Words) -> Shot:
    """Make a sound selection of anything."""
    chosen = rng.sample(NAMES[:5], rng.randint(1, 3))
    codes = ("*", "Total", "top(2)", "bottom(1)", "?", "F,M", "A,[range(B,D)]", "0*")
    pairs = [(f"valuecodes[{name}]", rng.choice(codes)) for name in chosen]
    pairs += [
        ("lang", rng.choice(("en", "fr"))),
        ("outputFormat", rng.choice(("csv", "xlsx", "csvw"))),
    ]
    return Shot(kind="wish", target=f"{DATA}?{urlencode(pairs)}", headers=(_token(rng, words),))


_WEIGHTS = {
    _good: 22, _criterion: 8, _filter: 8, _injected: 22, _body: 14, _huge: 2, _method: 4,
    _path: 7, _header: 5, _stranger: 4, _poor: 1, _raw: 2, _noise: 2,
}  # fmt: skip
