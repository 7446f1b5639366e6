"""The page in a browser: with the keyboard, without scripts, in French, for everybody."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from shutil import which

import httpx
import pytest
import uvicorn

from ckm.service.access.tokens import TokenFile
from ckm.service.http.app import make_app
from ckm.service.table_service import TableService
from tests.unit.ckm.service.conftest import cells_of
from tests.unit.ckm.service.page.test_drawn_map import SHARES, mapped

__all__ = ["mapped"]  # a fixture

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe for playwright is not installed"
)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
    pytest.mark.slow,
]
RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    },
    "resultTypes": ["violations"],  # of all else, one element a rule is enough
}
# Contrast costs more than all else together, and the words of a page do not change it.
COLOURS = ("color-contrast", "link-in-text-block")
BUT_COLOURS = RULES | {"rules": {name: {"enabled": False} for name in COLOURS}}
COLOURS_ALONE = RULES | {"runOnly": {"type": "rule", "values": list(COLOURS)}}
DATA = "/tables/jobseekers/data"
TABLE = "/?codelist[sex]=sex&codelist[category]=category"
STATES = {
    "start": "/?",
    "found": "/?find[geo]=0600",
    "table": TABLE,
    "refusal": "/?codelist[geo]=geo&codelist[category]=category&codelist[zone_2024]=zone_2024",
    "withheld": "/?codelist[sex]=sex&codelist[geo]=geo"
    + "".join(f"&valuecodes[geo]={code}" for code in ("04", "06001", "06002", "07002")),
    "compared": "/?compare=04&compare=01&codelist[sex]=sex",
    "shares": f"{TABLE}&figure=share&of=sex",
    "pages": "/?codelist[geo]=geo.commune&rows=200",
    "problem": "/?codelist[sex]=sex&valuecodes[sex]=X&filter=sex=",
}


@contextlib.contextmanager
def serving(app):
    """Serve an application on a port of this machine."""
    sock = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    sock.close()


@pytest.fixture(scope="module")
def address(served):
    with serving(served.web.app) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(served, tmp_path_factory):
    """Serve the same with tokens; give the address and a token."""
    folder = tmp_path_factory.mktemp("guarded")
    file = TokenFile(folder / "tokens.json")
    token = file.add(role="researcher", label="one")
    service = served.service.changed(
        access=served.service.access.changed(mode="tokens", tokens=file.path)
    )
    table_service = TableService(service, served.answerer, folder=folder / "jobs")
    with serving(make_app(table_service)) as found:
        yield found, token
    table_service.close()


@pytest.fixture(scope="module")
def browser():
    with api.sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def map_address(mapped):
    served, _ = mapped
    with serving(served.web.app) as found:
        yield found


@pytest.fixture
def visit(browser, address):
    """Open pages; at the end nothing was asked elsewhere, and nothing broke the policy."""
    contexts, asked, said = [], [], []

    def opened(url, **options):
        options.setdefault("locale", "en-GB")
        context = browser.new_context(base_url=address, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith((address, "data:"))] == []
    assert [text for text in said if "the server responded" not in text] == []


def violations(page, rules=RULES):
    """Return what axe finds, after a look whether it looked at all."""
    found = axe.Axe().run(page, options=rules).response
    assert len(found["passes"]) > (0 if rules is COLOURS_ALONE else 15)
    return [(v["id"], v["nodes"][0]["html"][:160]) for v in found["violations"]]


def rows(page):
    return [line.split("\t") for line in page.locator("table").inner_text().split("\n")]


SCREENS = {
    # The first screen of a language, and what is looked at again on its second one.
    "en": (("light", 1280, RULES), ("dark", 320, RULES)),
    "fr": (("dark", 1280, COLOURS_ALONE), ("light", 320, BUT_COLOURS)),
}


@pytest.mark.parametrize("language", SCREENS)
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(visit, state, language):
    page = visit(f"{STATES[state]}&lang={language}")
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    for scheme, width, rules in SCREENS[language]:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert violations(page, rules) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_people_sign_in_with_the_keyboard_and_axe_finds_nothing(
    browser, guarded, scheme, width
):
    address, token = guarded
    options = {"viewport": {"width": width, "height": 700}, "color_scheme": scheme}
    page = browser.new_page(base_url=address, locale="en-GB", **options)
    page.goto(TABLE)
    assert "sign in" in page.get_by_role("alert").inner_text()
    assert violations(page) == []
    page.get_by_role("link", name="Sign in").press("Enter")
    page.get_by_label("Token").press_sequentially("wrong")
    page.get_by_label("Token").press("Enter")
    page.get_by_role("link", name="This is no valid token").press("Enter")
    assert page.evaluate("document.activeElement.id") == "token"
    assert violations(page) == []
    page.keyboard.insert_text(token)
    page.keyboard.press("Enter")
    page.get_by_text("Signed in as researcher").wait_for()
    assert rows(page)[-1][0] == "Men"
    assert violations(page) == []
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").press("Enter")
    page.get_by_role("link", name="Sign in").wait_for()
    page.context.close()


@pytest.mark.parametrize("is_scripted", [True, False])
def test_a_table_is_asked_for_sorted_and_linked(visit, address, is_scripted):
    page = visit("/", java_script_enabled=is_scripted)
    page.get_by_label("Show Sex").select_option(label="With the total")
    page.get_by_label("Show category").select_option(label="Without the total")
    page.locator("summary", has_text="of category").click()
    for name in ("A", "C", "E"):
        page.get_by_role("checkbox", name=name, exact=True).check()
    page.get_by_role("button", name="Show the table").click()
    assert ("heading=&" in page.url) is not is_scripted
    told = cells_of(
        httpx.get(
            address + DATA, params={"codelist[sex]": "sex", "valuecodes[category]": "A,C,E"}
        )
    )
    shown = rows(page)[-3:]
    assert [row[0] for row in shown] == ["Total", "Women", "Men"]
    numbers = [int(n.replace(",", "")) for row in shown for n in row[1:]]
    assert numbers == list(told.values())
    page.get_by_role("columnheader", name="C").get_by_role("link").click()
    assert page.locator("th[aria-sort=ascending]").inner_text().strip() == "C"
    order = [row[2] for row in rows(page)[-3:]]
    assert order == sorted(order, key=lambda text: int(text.replace(",", "")))
    assert ("sort=" in page.url) is not is_scripted
    page.get_by_role("link", name="Permanent link").click()
    assert rows(page)[-3:] == shown
    assert page.locator("#copy").is_visible() is is_scripted


def test_a_table_is_copied_as_it_stands(visit, address):
    page = visit(TABLE, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("columnheader", name="Total").get_by_role("link").click()
    page.get_by_role("button", name="Copy the table").click()
    page.get_by_text("The table is copied", exact=True).wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].split("\t") == ["Sex", "Total", "A", "B", "C", "D", "E"]
    assert [line.split("\t")[0] for line in lines[1:]] == ["Men", "Women", "Total"]
    assert all(number.isdigit() for line in lines[1:] for number in line.split("\t")[1:])


def test_the_link_is_copied_and_both_are_told(visit):
    page = visit(TABLE, permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy the link").click()
    page.get_by_role("status").get_by_text("The link is copied").wait_for()
    page.goto(page.evaluate("navigator.clipboard.readText()"))
    assert [row[0] for row in rows(page)[-3:]] == ["Total", "Women", "Men"]
    page.get_by_role("columnheader", name="A", exact=True).get_by_role("link").click()
    page.get_by_role("status").get_by_text("sorted by A, rising").wait_for()


@pytest.mark.parametrize("state", ["start", "found", "compared", "pages", "refusal"])
def test_fingers_hit_what_they_mean_on_a_phone(visit, state):
    page = visit(STATES[state], viewport={"width": 400, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    small = page.locator(
        "button, select, input:not([type=checkbox], [type=hidden]), summary, .tick,"
        " a.sort, .tries a, .downloads a, .pages a, .tools a, .send a, .languages a, #permalink"
    ).evaluate_all(
        "all => all.filter(one => one.checkVisibility() && !one.matches('.unseen'))"
        ".map(one => [one.outerHTML.slice(0, 80), one.getBoundingClientRect().height])"
        ".filter(([, height]) => height < 44)"
    )
    assert small == []


def test_headings_stay_while_a_table_is_scrolled(visit):
    page = visit(STATES["pages"], viewport={"width": 1280, "height": 700})
    heading = page.locator("thead th").first
    before = heading.bounding_box()
    first = page.locator("tbody th").first.bounding_box()
    page.locator(".scroll").evaluate("box => { box.scrollTop = 300 }")
    assert page.locator("tbody th").first.bounding_box()["y"] == pytest.approx(first["y"] - 300)
    assert before["y"] - 80 < heading.bounding_box()["y"] <= before["y"]


def test_categories_are_found_while_typing_and_ticks_stay(visit):
    page = visit("/")
    page.locator("#v1 summary").click()
    page.get_by_role("checkbox", name="04", exact=True).check()
    page.locator("#v1-find").press_sequentially("0600")
    page.locator("#v1 .found", has_text="categories found").wait_for()
    found = page.locator("#v1 .ticks label").all_inner_texts()
    assert [text.strip() for text in found if "0600" not in text] == ["04"]
    page.get_by_role("checkbox", name="06001").check()
    page.locator("#v1-find").press("Enter")
    page.locator("#v1-find").fill("no such place")
    page.locator("#v1 .found", has_text="0 categories found").wait_for()
    page.get_by_role("button", name="Show the table").click()
    counted = page.locator(".result p", has_text="Only counted").inner_text()
    assert re.search(r"Place . 06001, 04", counted)


def test_the_key_enter_in_the_filter_shows_the_table(visit):
    page = visit(TABLE)
    page.get_by_text("Filter with a condition").click()
    page.locator("#filter").fill("sex = 'F'")
    with page.expect_navigation():
        page.locator("#filter").press("Enter")
    assert "#" not in page.url
    assert "Only counted" in page.locator("main").inner_text()


def test_nothing_moves_while_a_page_is_made(visit):
    page = visit(TABLE)
    moved = page.evaluate(
        "new Promise(done => { let sum = 0; new PerformanceObserver(list => {"
        " for (const e of list.getEntries()) sum += e.value; })"
        ".observe({ type: 'layout-shift', buffered: true });"
        " requestAnimationFrame(() => setTimeout(() => done(sum), 100)); })"
    )
    assert moved < 0.02


def test_a_refusal_leads_to_a_table(visit):
    page = visit(STATES["refusal"])
    assert page.get_by_role("alert").get_by_role("heading", level=2).inner_text() == (
        "This table is not published"
    )
    assert page.evaluate("document.activeElement.id") == "problems"
    page.get_by_role("link", name="Leave out “Place”").click()
    assert page.locator("table").is_visible()


@pytest.mark.parametrize("name", ["CSV", "JSON-stat 2.0"])
def test_a_file_is_downloaded(visit, address, name):
    page = visit(TABLE)
    page.get_by_text("Other formats").click()
    with page.expect_download() as started:
        page.get_by_role("link", name=name, exact=True).click()
    file = started.value
    assert file.suggested_filename in {
        "jobseekers-sex-category.csv",
        "jobseekers-sex-category.json",
    }
    form = {"CSV": "csv", "JSON-stat 2.0": "json-stat2"}[name]
    wanted = httpx.get(f"{address}{TABLE}&outputFormat={form}")
    assert file.path().read_bytes() == wanted.content


def test_french_readers_get_french(visit):
    page = visit("/", locale="fr-FR")
    page.get_by_label("Montrer : Sexe").select_option(
        label="Avec l\N{RIGHT SINGLE QUOTATION MARK}ensemble"
    )
    page.get_by_role("button", name="Montrer le tableau").click()
    assert [row[0].strip() for row in rows(page)[-3:]] == ["Ensemble", "Femmes", "Hommes"]
    page.get_by_role("link", name="English").click()
    assert [row[0].strip() for row in rows(page)[-3:]] == ["Total", "Women", "Men"]
    assert page.locator("html").get_attribute("lang") == "en"


def test_everything_is_done_with_the_keyboard(visit):
    page = visit("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")

    def tab_to(wanted):
        for _ in range(60):
            page.keyboard.press("Tab")
            style = page.evaluate(
                "(() => { const s = getComputedStyle(document.activeElement);"
                " return [s.outlineStyle, parseFloat(s.outlineWidth)] })()"
            )
            assert style[0] != "none"
            assert style[1] >= 1
            if page.evaluate(f"document.activeElement.matches({wanted!r})"):
                return
        pytest.fail(f"the keyboard does not reach {wanted}")

    tab_to("#v2-show")
    page.keyboard.press("ArrowDown")
    tab_to("#v2 summary")
    page.keyboard.press("Enter")
    tab_to("#v2 input[value=F]")
    page.keyboard.press("Space")
    tab_to("button.main")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert [row[0] for row in rows(page)[-1:]] == ["Women"]
    tab_to("#permalink")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    tab_to("th a.sort")
    page.keyboard.press("Enter")
    assert page.locator("th[aria-sort]").count() == 1


def test_a_mistake_leads_to_its_field(visit):
    page = visit(STATES["problem"])
    page.get_by_role("link", name="The filter is wrong").click()
    assert page.evaluate("document.activeElement.id") == "filter"
    page.locator("#filter").fill("sex = 'F'")
    page.locator("#v2-codes").fill("")
    page.get_by_role("button", name="Show the table").click()
    assert page.locator("table").is_visible()


def test_a_table_prints_without_the_form(visit):
    page = visit(TABLE)
    page.emulate_media(media="print")
    assert page.locator("table").is_visible()
    assert page.locator("#table-name").is_visible()
    assert not page.locator("form:visible").count()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize(
    "screen",
    [("en", "light", 1280, BUT_COLOURS), ("fr", "dark", 320, COLOURS_ALONE)],
    ids=["en", "fr"],
)
def test_areas_are_ticked_on_the_map_and_by_a_polygon(browser, map_address, screen):
    language, scheme, width, rules = screen
    page = browser.new_page(
        base_url=map_address, viewport={"width": width, "height": 800}, color_scheme=scheme
    )
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{SHARES}&lang={language}")
    chosen = page.locator("fieldset[data-areas] input:checked")
    areas = page.locator(".map svg[role=listbox] [data-code]")
    areas.nth(4).click()
    page.keyboard.press("ArrowRight")  # the click has put the focus on the map
    page.keyboard.press("Space")
    assert chosen.count() == 2
    page.keyboard.press("Space")
    assert [box.input_value() for box in chosen.all()] == [
        areas.nth(4).get_attribute("data-code")
    ]
    assert areas.nth(4).get_attribute("aria-selected") == "true"
    page.locator("#draw summary").click()
    board = page.locator("#board")
    box = board.bounding_box()
    for x, y in ((0.1, 0.1), (0.9, 0.1), (0.9, 0.9)):
        board.click(position={"x": x * box["width"], "y": y * box["height"]})
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    assert violations(page, rules) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#zone").fill("Mine")
    page.locator("#form button.main").last.click()  # what was drawn is shown first
    page.locator("#held").wait_for()
    names = page.locator("#held li").all_inner_texts()
    assert len(names) > 5
    assert not page.locator("table").count()
    assert violations(page, rules) == []
    page.locator("#form button.main").last.click()
    assert page.locator("tbody th").all_inner_texts() == ["Mine"]
    page.locator("#draw summary").click()
    page.locator("#polygon-choice").set_input_files(
        files=[{"name": "x.geojson", "mimeType": "application/json", "buffer": b"{}"}]
    )
    page.locator("#polygon-said:visible").wait_for()
    assert errors == []
    page.close()
