"""The pages say what the code does."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), {})  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_to_files_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target


#: No French typography: that has a narrow space before ; ! and ?, one that does not break
#: before : and % and within « », and curved apostrophes.
WRONG_IN_FRENCH = re.compile(
    r"\w'\w|[^\u202f\s][;!?](?=\s|$)|[ \u00a0][;!?]|[^\u00a0\s]:(?=\s|$)|[ \u202f]:(?=\s|$)"
    r"|«[^\u00a0]|[^\u00a0]»|[ \u202f\d]%",
    re.MULTILINE,
)


def prose(text):
    """Return a page without what is code, and without the targets of its links."""
    text = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"`[^`]*`", "code", text)
    return re.sub(r"\]\([^)]*\)|<[^>]*>", "", text)


def test_french_pages_have_the_spaces_and_apostrophes_of_french():
    pages = sorted((ROOT / "docs" / "fr").rglob("*.md"))
    assert len(pages) > 10
    for page in pages:
        text = prose(page.read_text(encoding="utf-8"))
        wrong = [text[max(0, m.start() - 20) : m.end()] for m in WRONG_IN_FRENCH.finditer(text)]
        assert not wrong, page


@pytest.mark.parametrize(
    "wrong",
    ["l'an", "a ; b", "a; b", "a\xa0; b", "a ?", "a?", "a : b", "a: b", "« a »", "5 %", "5%"],
)
def test_what_is_no_french_typography_is_found(wrong):
    assert WRONG_IN_FRENCH.search(prose(wrong))
    assert not WRONG_IN_FRENCH.search(
        prose("l\u2019an\u202f; a\u202f? b\xa0: «\xa0c\xa0» 5\xa0% `a: 'b'`")
    )


def test_the_picture_of_the_start_page_has_the_numbers_of_the_engine(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "pictures")
    flow = importlib.import_module("flow")
    for file, text in flow.pictures().items():
        assert file.read_text(encoding="utf-8") == text


def test_job_files_in_the_pages_are_valid_jobs(tmp_path):
    from ckm.config import read_job
    from ckm.config.dp_plan import read_dp_plan
    from ckm.config.service.service import is_service_file, read_service
    from ckm.config.swap import is_swap_file, read_swap
    from ckm.config.sweeps import read_sweep
    from ckm.config.training import read_training

    found = [block for page in PAGES for block in blocks(page, "toml")]
    assert found
    for name in ("people", "cells"):
        (tmp_path / f"{name}.parquet").touch()
    (tmp_path / "survey.csv").touch()
    (tmp_path / "secret.key").write_text("a secret that is used by nobody")
    for name in ("sectors.hst", "budget.db"):
        (tmp_path / name).touch()
    (tmp_path / "out" / "2026" / "public").mkdir(parents=True)
    for number, block in enumerate(found):
        file = tmp_path / f"job{number}.toml"
        file.write_text(block, encoding="utf-8")
        if is_swap_file(file):
            assert read_swap(file).swap.plan.columns
            continue
        if "[[ways]]" in block:
            assert read_sweep(file).ways
            continue
        if "[privacy]" in block:
            assert read_dp_plan(file).plan.tables
            continue
        if "[plan]" in block and ("[target]" in block or "[images]" in block):
            assert len(read_training(file).classes) != 1
            continue
        assert read_service(file).variables if is_service_file(file) else read_job(file).tables


def test_every_key_of_the_service_file_is_in_its_reference():
    from ckm.config.section import keys_of
    from ckm.config.service.service import Service

    page = (ROOT / "docs" / "reference" / "service.md").read_text(encoding="utf-8")
    page += (ROOT / "docs" / "reference" / "job-file.md").read_text(encoding="utf-8")
    for keys in keys_of(Service).values():
        for key in keys:
            assert f"`{key}`" in page or f"[{key}]" in page, key


def test_every_key_of_the_swap_file_is_in_its_reference():
    from ckm.config.section import schema_of
    from ckm.config.swap import SwapJob

    page = (ROOT / "docs" / "reference" / "swapping.md").read_text(encoding="utf-8")
    schema = schema_of(SwapJob)
    keys = [key for part in (schema, *schema["$defs"].values()) for key in part["properties"]]
    assert len(keys) > 10
    for key in keys:
        assert f"`{key}`" in page or f"[{key}]" in page, key


def test_every_key_of_the_training_file_is_in_its_reference():
    from ckm.config.section import schema_of
    from ckm.config.training import TrainingJob

    page = (ROOT / "docs" / "reference" / "privacy" / "dpsgd.md").read_text(encoding="utf-8")
    schema = schema_of(TrainingJob)
    keys = [key for part in (schema, *schema["$defs"].values()) for key in part["properties"]]
    assert len(keys) > 20
    for key in keys:
        assert re.search(rf"`{key}`|^\[+{key}\]|^{key} =", page, re.MULTILINE), key


def test_every_key_of_the_job_file_is_in_its_reference():
    from ckm.config.job.job import Job
    from ckm.config.section import schema_of

    schema = schema_of(Job)
    page = (ROOT / "docs" / "reference" / "job-file.md").read_text(encoding="utf-8")
    sections = [schema, *schema.get("$defs", {}).values()]
    for section in sections:
        for key in section.get("properties", {}):
            assert f"`{key}`" in page or f"[{key}]" in page, key
