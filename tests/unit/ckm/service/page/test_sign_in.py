"""People with a token sign in at the page, and nobody else does it for them."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest
from lxml import html

from ckm.service.access.sessions import LASTS_S, Sessions
from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tests.unit.ckm.service.conftest import Web

TABLE = "/?codelist[sex]=sex"
FORM = {"content-type": "application/x-www-form-urlencoded"}


class Browser:
    """A client that keeps cookies, as a browser does."""

    def __init__(self, app, *, base="http://it"):
        self.web, self.base, self.cookies = Web(app), base, {}

    def ask(self, method, url, *, headers=None, **options):
        jar = "; ".join(f"{name}={text}" for name, text in self.cookies.items())
        given = {**({"cookie": jar} if jar else {}), **(headers or {})}
        answer = self.web.ask(method, self.base + url, headers=given, **options)
        for line in answer.headers.get_list("set-cookie"):
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
                if morsel["max-age"] == "0":
                    del self.cookies[name]
        return answer

    def get(self, url, **options):
        return self.ask("GET", url, **options)

    def send(self, url, fields, **headers):
        return self.ask("POST", url, content=urlencode(fields), headers={**FORM, **headers})

    def form(self, url="/sign-in"):
        tree = html.document_fromstring(self.get(url).text)
        return {
            box.get("name"): box.get("value") for box in tree.xpath("//input[@type='hidden']")
        }

    def sign_in(self, token, **more):
        return self.send("/sign-in", {**self.form(), "token": token, **more})


@pytest.fixture
def at(served, tmp_path):
    """Open the service with tokens; give its application, a token and the audit log."""
    file = TokenFile(tmp_path / "tokens.json")
    token = file.add(role="researcher", label="A. Lovelace", requests_per_hour=7)
    access = served.service.access.changed(
        tokens=file.path, audit=tmp_path / "audit.jsonl", mode="open"
    )
    desks = []

    def opened(**changes):
        service = served.service.changed(access=access.changed(**changes))
        desks.append(TableService(service, served.answerer, folder=tmp_path / str(len(desks))))
        return make_app(desks[-1])

    opened.token, opened.file, opened.audit = token, file, tmp_path / "audit.jsonl"
    yield opened
    for table_service in desks:
        table_service.close()


def said(answer):
    return " ".join(html.document_fromstring(answer.text).text_content().split())


def test_who_signs_in_sees_the_role_and_what_is_left_and_signs_out_again(at):
    browser = Browser(at())
    assert "Sign in" in said(browser.get(TABLE))
    answer = browser.sign_in(at.token, back="codelist%5Bsex%5D=sex")
    assert (answer.status_code, answer.headers["location"]) == (
        303, "./?codelist%5Bsex%5D=sex",
    )  # fmt: skip
    page = browser.get(TABLE)
    assert "Signed in as researcher. 6 of 7 requests are left this hour." in said(page)
    assert page.headers["cache-control"] == "private, no-cache"
    assert "Cookie" in page.headers["vary"]
    assert page.headers["ratelimit-limit"] == "7"
    (proof,) = html.document_fromstring(page.text).xpath(
        "//form[@action='sign-out']/input[@name='proof']/@value"
    )
    stolen = dict(browser.cookies)
    assert browser.send("/sign-out", {"proof": proof}).status_code == 303
    assert browser.cookies == {}
    assert "Signed in" not in said(browser.get(TABLE))
    browser.cookies = stolen
    assert "Signed in" not in said(browser.get(TABLE))
    outcomes = [json.loads(line).get("outcome") for line in at.audit.read_text().splitlines()]
    assert [o for o in outcomes if o.startswith("signed")] == ["signed in", "signed out"]
    assert at.token not in at.audit.read_text()


@pytest.mark.parametrize("base", ["http://it", "https://it"])
def test_the_cookie_is_random_and_for_this_site_alone(at, base):
    browser = Browser(at(), base=base)
    answer = browser.sign_in(at.token)
    cookies = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        cookies.load(line)
    (name,) = [name for name in cookies if name.endswith("session")]
    cookie = cookies[name]
    assert cookie["httponly"]
    assert cookie["samesite"] == "strict"
    assert bool(cookie["secure"]) is (base[:5] == "https") is name.startswith("__Host-")
    assert (cookie["path"], cookie["domain"]) == ("/", "")
    assert re.fullmatch(r"[\w-]{43}", cookie.value)
    assert not any(part in cookie.value for part in at.token.split("_", 2)[1:])


@pytest.mark.parametrize(
    "wrong",
    [
        "", "x", "ckm_000000000000_" + "a" * 43, "é", "\x00", "' or 1=1 --", "x" * 5000,
    ],
)  # fmt: skip
def test_a_wrong_token_gets_the_form_again_and_no_session(at, wrong):
    browser = Browser(at())
    answer = browser.sign_in(wrong)
    assert answer.status_code == 401
    assert "This is no valid token." in said(answer)
    assert not any(name.endswith("session") for name in browser.cookies)
    assert browser.sign_in(at.token).status_code == 303


def test_guessing_ends_soon_and_right_tokens_wait_with_it(at):
    browser = Browser(at())
    codes = [browser.sign_in("wrong").status_code for _ in range(22)]
    assert codes == [401] * 20 + [429] * 2
    assert browser.sign_in(at.token).status_code == 429
    assert "too many wrong tokens" in said(browser.sign_in(at.token))
    other = Browser(browser.web.app)
    other.web.address = "203.0.113.77"
    assert other.sign_in(at.token).status_code == 303


@pytest.mark.parametrize(
    ("fields", "headers", "keep"),
    [
        ({"proof": ""}, {}, True),
        ({"proof": "0" * 64}, {}, True),
        ({"proof": "é" * 9}, {}, True),
        ({}, {}, False),
        ({}, {"sec-fetch-site": "cross-site"}, True),
        ({}, {"sec-fetch-site": "same-site"}, True),
    ],
)
def test_a_form_that_is_not_ours_signs_nobody_in(at, fields, headers, keep):
    browser = Browser(at())
    form = browser.form()
    if not keep:
        browser.cookies.clear()
    answer = browser.send("/sign-in", {**form, "token": at.token, **fields}, **headers)
    assert answer.status_code == 403
    assert not any(name.endswith("session") for name in browser.cookies)


def test_no_other_site_signs_anybody_out(at):
    browser = Browser(at())
    browser.sign_in(at.token)
    proof = re.search(r'name="proof" value="(\w+)"', browser.get(TABLE).text)[1]
    wrong = browser.form()["proof"]
    for fields, headers in (
        ({}, {}),
        ({"proof": wrong}, {}),
        ({"proof": proof}, {"sec-fetch-site": "cross-site"}),
    ):
        assert browser.send("/sign-out", fields, **headers).status_code == 403
    assert browser.get("/sign-out").status_code == 405
    assert "Signed in" in said(browser.get(TABLE))


def test_the_cookie_counts_at_the_page_and_not_for_programs(at):
    browser = Browser(at(mode="tokens"))
    assert browser.get(TABLE).status_code == 401
    assert "sign in" in said(browser.get(TABLE))
    browser.sign_in(at.token)
    assert browser.get(TABLE).status_code == 200
    assert browser.get(TABLE + "&outputFormat=csv").status_code == 200
    assert browser.get("/tables").status_code == 401
    assert browser.ask("POST", "/requests", json={"dimensions": ["sex"]}).status_code == 401


def test_a_revoked_token_ends_its_sessions(at):
    browser = Browser(at(mode="tokens"))
    browser.sign_in(at.token)
    assert browser.get(TABLE).status_code == 200
    at.file.revoke(at.token.split("_")[1])
    assert browser.get(TABLE).status_code == 401


@pytest.mark.parametrize(
    "back", ["//evil.example", "\r\nSet-Cookie: a=b", "é", "x" * 7000, "https://evil.example"]
)
def test_the_way_back_stays_on_this_site(at, back):
    answer = Browser(at()).sign_in(at.token, back=back)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("./")
    assert "\n" not in answer.headers["location"]
    assert "a=b" not in str(answer.headers.get_list("set-cookie"))


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b"&".join([b"a=b"] * 50), b"token", b"", b'{"token": 1}']
)
def test_bodies_that_are_no_form_are_refused(at, body):
    answer = Browser(at()).ask("POST", "/sign-in", content=body, headers=FORM)
    assert answer.status_code == 403


@pytest.mark.parametrize("cookie", ["", "x", "../../etc/passwd", "é", "a" * 4000, "\x7f"])
def test_cookies_that_are_no_session_are_those_of_strangers(at, cookie):
    browser = Browser(at())
    head = {"cookie": f"ckm-session={cookie}".encode()}
    answer = browser.get(TABLE, headers=head)
    assert answer.status_code == 200
    assert "Signed in" not in said(answer)


def test_a_service_without_tokens_has_no_door(web):
    assert web.get("/sign-in").status_code == 404
    assert web.post("/sign-in").status_code == 404
    assert "sign-in" not in web.get("/").text


def test_french_readers_sign_in_in_french(at):
    browser = Browser(at())
    answer = browser.get("/sign-in?lang=fr")
    assert "Se connecter" in said(answer)
    assert answer.headers["cache-control"] == "no-store"
    form = browser.form("/sign-in?lang=fr")
    wrong = browser.send("/sign-in?lang=fr", {**form, "token": "x"})
    assert "Ce n\N{RIGHT SINGLE QUOTATION MARK}est pas un jeton valide." in said(wrong)


def stored(path):
    with contextlib.closing(sqlite3.connect(path)) as other:
        return other.execute("SELECT * FROM ckm_session").fetchall()


def test_sessions_end_and_make_room(tmp_path):
    now, path = [0.0], tmp_path / "s"
    sessions = Sessions(path, clock=lambda: now[0])
    name = sessions.open("one")
    assert sessions.token_id(name) == "one"
    assert path.stat().st_mode & 0o077 == 0
    assert name not in repr(stored(path))
    now[0] = LASTS_S
    assert sessions.token_id(name) is None
    sessions.open("two")
    now[0] += 86_400  # for servers whose clocks are behind
    sessions.open("three")
    assert len(stored(path)) == 2


def test_who_signs_in_without_end_ends_sessions_of_their_own_alone(tmp_path, monkeypatch):
    now = [0.0]
    sessions = Sessions(tmp_path / "s", clock=lambda: now[0])
    monkeypatch.setattr("ckm.service.access.sessions._MOST", 10)
    mine = sessions.open("me")
    names = []
    for _ in range(100):
        now[0] += 1
        names.append(sessions.open("flood"))
        assert len(stored(tmp_path / "s")) <= 10
    assert sessions.token_id(mine) == "me"
    assert sessions.token_id(names[-1]) == "flood"
    assert sessions.token_id(names[0]) is None


def test_processes_that_share_a_file_share_sessions(tmp_path):
    name = Sessions(tmp_path / "s").open("one")
    other = Sessions(tmp_path / "s")
    assert other.token_id(name) == "one"
    other.close(name)
    other.close(name)
    assert Sessions(tmp_path / "s").token_id(name) is None
