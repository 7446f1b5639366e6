"""The first page of the internal report: short enough to sign, and true to the records."""

import itertools
from collections import Counter
from shutil import which

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from lxml import html as parser

from ckm.config import read_job
from ckm.demo.demo import make_demo
from ckm.release.perturbed import release

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
pytestmark = pytest.mark.slow

TABLES = {
    "races": (["PUMA", "RAC1P", "SEX"], ""),
    "origins": (["PUMA", "HISP", "SEX"], ""),
    "ages": (["PUMA", "AGEP"], ""),
    "old": (["RAC1P", "AGEP", "SEX"], "AGEP >= 65"),
    "homes": (["PUMA", "OWN_RENT", "RAC1P"], ""),
    "groups": (["RAC1P", "AGEP"], ""),
    "incomes": (["AGEP", "RAC1P"], "PINCP is not missing"),
}
MEASURES = {"groups": '["count", "weighted"]', "incomes": '["count", "sum:PINCP"]'}
JOB = """
schema = 1
title = "Persons"
[data]
path = "acs.parquet"
id = "id"
weight = "PWGTP"
[keys]
secret = "secret.key"
[ptable]
max_noise = 5
variance = 3.0
small = 2
[[magnitude]]
name = "PINCP"
signed = true
[report]
[report.limits]
posterior = 0.99
known_small = 0.98
aad = 4
changed_cells = 0.97
false_zeros = 0.96
"""


@pytest.fixture(scope="module")
def people(shared):
    found = pd.read_parquet(shared / "data" / "acs_national_2019.parquet")
    return found.assign(id=np.arange(len(found)))


@pytest.fixture(scope="module")
def out(people, tmp_path_factory):
    """Release seven tables of real persons."""
    folder = tmp_path_factory.mktemp("acs")
    people.to_parquet(folder / "acs.parquet")
    (folder / "secret.key").write_text("a secret of sixteen bytes or more")
    (folder / "secret.key").chmod(0o600)
    tables = (
        f'[[table]]\nname = "{name}"\ntitle = "Table of {name}"\ndimensions = {dimensions}\n'
        f"measures = {MEASURES.get(name, ['count'])}\n"
        + (f'where = "{where}"\n' if where else "")
        for name, (dimensions, where) in TABLES.items()
    )
    (folder / "job.toml").write_text(JOB + "".join(tables))
    release(read_job(folder / "job.toml"), folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo"
    return make_demo(folder, persons=20_000, seed=1).release.folder


@pytest.fixture(scope="module")
def page(out):
    text = (out / "internal" / "report-internal.en.html").read_text(encoding="utf-8")
    return parser.document_fromstring(text)


@pytest.fixture(scope="module")
def cells(people, out):
    """Count every cell of every table again; each with its published count."""
    return {name: counted(people, out, name) for name in TABLES}


def filtered(people, where):
    some = people[people["AGEP"] >= 65] if "AGEP" in where else people
    return some[some["PINCP"].notna()] if "PINCP" in where else some


def counted(people, out, name):
    dimensions, where = TABLES[name]
    some = filtered(people, where)
    shown = pq.read_table(out / "public" / f"{name}.parquet").to_pylist()
    published = {tuple(row[d] for d in dimensions): row["count"] for row in shown}
    found = {}
    for size in range(len(dimensions) + 1):
        for kept in itertools.combinations(dimensions, size):
            groups = some.groupby(list(kept)).size().to_dict() if kept else {(): len(some)}
            for value, count in groups.items():
                values = value if isinstance(value, tuple) else (value,)
                said = dict(zip(kept, map(str, values), strict=True))
                key = tuple(said.get(d, "Total") for d in dimensions)
                found[key] = (count, published.get(key, 0))
    assert set(published) <= set(found)
    return found


@pytest.fixture(scope="module")
def distinct(cells):
    """A cell that several tables show, once."""
    found = {}
    for name, counts in cells.items():
        dimensions, where = TABLES[name]
        for key, pair in counts.items():
            said = frozenset(p for p in zip(dimensions, key, strict=True) if p[1] != "Total")
            found.setdefault((where, said), pair)
    return np.array(list(found.values()))


def law_of(out):
    """Read P(noise | count) from the p-table's rows of keys; the last row serves the rest."""
    law = {}
    for row in pq.read_table(out / "internal" / "pt.parquet").to_pylist():
        keys = row["last_key"] - row["first_key"] + 1
        law[row["i"], row["v"]] = law.get((row["i"], row["v"]), 0) + keys / 2**32
    last = max(i for i, _ in law)
    return lambda count, noise: law.get((min(count, last), noise), 0)


def categories(people, dimensions, where):
    """Count the cells that a combination of dimensions could have."""
    return [filtered(people, where)[d].nunique() for d in dimensions]


def bayes(counts, law):
    """Give P(original | published), with the share of each count as the prior."""

    def at(published):
        joint = {
            i: n * law(i, published - i) for i, n in counts.items() if abs(i - published) <= 5
        }
        return {i: p / sum(joint.values()) for i, p in joint.items()}

    return at


def posteriors(people, cells, out, name):
    """Give P(original | published) for the cells of a table."""
    counts = Counter(count for count, _ in cells[name].values())
    grid = np.prod([n + 1 for n in categories(people, *TABLES[name])])
    counts[0] = int(grid) - len(cells[name])
    assert sum(counts[n] for n in range(1, 15)) >= 100  # enough for a prior of its own
    return bayes(counts, law_of(out))


def figures(page):
    """Read the table of figures: what was found, the small print, the limit."""
    rows = page.xpath("//table[@id='key-figures']/tbody/tr")
    said = {}
    for row in rows:
        small = " ".join(row.xpath("td[1]/small/text()")).strip()
        texts = [" ".join(cell.text_content().split()) for cell in row.findall("td")]
        name = row.find("th").text.strip()
        said[name] = (texts[0].removesuffix(small).strip(), small, texts[1])
    return said


def share(number):
    return f"{100 * number:.1f} %"


def test_what_is_released_is_counted_from_the_files_and_the_records(page, out, people):
    rows = sum(pq.read_metadata(out / "public" / f"{n}.parquet").num_rows for n in TABLES)
    text = " ".join(page.find_class("verdict")[0].getnext().text_content().split())
    told = f"7 tables with {rows:,} published cells. The largest counts {len(people):,} people"
    assert text.startswith(told)
    assert all(f"Table of {name}" in text for name in TABLES)


def test_the_figures_of_risk_follow_from_files_records_and_ptable(page, out, people, cells):
    found = figures(page)
    worst, sure = (0,), (0,)
    for name, counts in cells.items():
        at = posteriors(people, cells, out, name)
        told = {j: at(j) for j in {0, *(published for _, published in counts.values())}}
        for j, known in told.items():
            worst = max(worst, *((known.get(i, 0), i, j, name) for i in range(1, 5)))
        small = [published for count, published in counts.values() if 1 <= count <= 4]
        known = sum(sum(told[j].get(i, 0) for i in range(1, 5)) > 0.75 for j in small)
        sure = max(sure, (known / len(small), known, len(small), name))
    probability, original, published, name = worst
    assert found["Highest probability that a count reveals a small one"] == (
        share(probability),
        f"that it is {original}, where {published} is published; Table of {name}",
        "✓ at most 99 %",
    )
    part, known, all_of, name = sure
    assert 0 < part < 1
    assert found["Small counts known as small"] == (
        share(part), f"{known:,} of {all_of:,} cells; Table of {name}", "✓ at most 98 %",
    )  # fmt: skip
    attack = found["Small counts inferred from all tables together"]
    assert attack == ("not examined", "", "no limit set")


def test_the_figures_of_use_follow_from_files_and_records(page, cells, distinct):
    found = figures(page)
    off = {n: np.mean([abs(p - c) for c, p in v.values()]) for n, v in cells.items()}
    name = max(off, key=off.get)
    where = f"Table of {name}"
    assert found["Mean deviation, in counts"] == (f"{off[name]:.3f}", where, "✓ at most 4")
    count, published = distinct.T
    for words, part, most in (
        ("Cells changed", (count != published).sum(), 97),
        ("False zeros", (published == 0).sum(), 96),
    ):
        small = f"{part:,} of {len(count):,} cells"
        assert found[words] == (share(part / len(count)), small, f"✓ at most {most} %")


def test_the_picture_shows_the_deviations_of_the_cells(page, distinct):
    count, off = distinct[:, 0], np.abs(distinct[:, 1] - distinct[:, 0])
    rows = page.xpath("//h2[@id='checks']/preceding::table[@id='by-size-data']/tbody/tr")
    shown = [[" ".join(cell.text_content().split()) for cell in row] for row in rows]
    edges = [1, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9]
    wanted = []
    for low, high in itertools.pairwise(edges):
        here = (count >= low) & (count < high)
        name = "1,000 or more" if low == 1000 else f"{low}–{high - 1}"
        row = [name, f"{here.sum():,}"]
        for level in (0.5, 0.9):
            place = int(np.ceil(level * here.sum())) - 1
            row += [str(np.sort(off[here])[place]), np.sort(off[here] / count[here])[place]]
        wanted.append(row)
    for got, expected in zip(shown, wanted, strict=True):
        for text, number in zip(got, expected, strict=True):
            assert text == number or float(text.rstrip(" %")) == pytest.approx(
                100 * float(number), abs=0.051
            )


def test_the_map_shows_the_design_where_files_records_and_ptable_put_it(out, people, distinct):
    folder = out.parent
    (folder / "designs.toml").write_text('[designs.r5]\nmechanism = "rounding"\nbase = 5\n')
    text = (
        (folder / "job.toml")
        .read_text()
        .replace("[report]", '[report]\ndesigns = "designs.toml"')
    )
    (folder / "compared.toml").write_text(text)
    release(read_job(folder / "compared.toml"), folder / "compared")
    page = folder / "compared" / "internal" / "report-internal.en.html"
    tree = parser.document_fromstring(page.read_text(encoding="utf-8"))
    row = tree.xpath("//h2[@id='checks']/preceding::table[@id='map-data']/tbody/tr")[0]
    shown = [" ".join(cell.text_content().split()) for cell in row]
    law = law_of(out)
    loss = sum(
        law(x, v) * abs(v) for x in distinct[:, 0].tolist() for v in range(-min(x, 5), 6)
    )
    counts = Counter(distinct[:, 0].tolist())
    blocks = {
        (where, kept): int(np.prod(categories(people, kept, where)))
        for dimensions, where in TABLES.values()
        for size in range(len(dimensions) + 1)
        for kept in itertools.combinations(sorted(dimensions), size)
    }
    counts[0] = sum(blocks.values()) - len(distinct)
    at = bayes(counts, law)
    seen = [j for j in range(10) if any(law(i, j - i) for i in range(1, 5))]
    worst = max(sum(at(j).get(i, 0) for i in range(1, 5)) for j in seen)
    assert shown[1:] == ["release", f"{worst:.3f}", f"{loss / len(distinct):.3f}"]


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("which_one", ["out", "demo"])
def test_it_prints_on_eight_pages_and_the_first_one_ends_with_the_signature(
    which_one, language, request
):
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    folder = request.getfixturevalue(which_one)
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        sheet = browser.new_page()
        sheet.goto((folder / "internal" / f"report-internal.{language}.html").as_uri())
        assert printed(sheet) <= 8
        # What is folded on the screen is lost on paper, but for what words and figures mean.
        sheet.emulate_media(media="print")
        words = sheet.locator("details.words dt, details.words td")
        assert words.count() > 20
        assert all(words.nth(n).is_visible() for n in range(words.count()))
        assert not sheet.locator("details:not(.words)").first.is_visible()
        sheet.emulate_media(media="screen")
        assert not words.first.is_visible()
        heads = sheet.locator("main h2").count()
        sheet.emulate_media(media="print")
        breaks = "getComputedStyle(document.getElementById('checks')).breakBefore"
        assert sheet.evaluate(breaks) == "page"
        # Without what follows the signature, one page is left.
        sheet.evaluate(
            "() => { const all = [...document.querySelectorAll('main > *, footer')];"
            "const at = all.findIndex(e => e.className == 'signature');"
            "all.slice(at + 1).forEach(e => e.remove()) }"
        )
        assert sheet.locator("main h2").count() == 1 < heads
        assert printed(sheet) == 1
        browser.close()


def printed(sheet):
    return sheet.pdf(prefer_css_page_size=True).count(b"/Type /Page\n")
