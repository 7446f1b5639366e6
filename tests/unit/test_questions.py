"""Every question that the pages answered is still answered, and the first way stays short."""

import re
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
QUESTIONS = tomllib.loads((Path(__file__).parent / "questions.toml").read_text("utf-8"))
#: What somebody reads on the way to a first release of a file of their own.
FIRST_WAY = ("howto/install.md", "tutorial/first-release.md")


@cache
def sections(page):
    """Give the text below each heading of a page."""
    texts, heading, is_code = {}, "", False
    for line in (DOCS / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code and (match := re.match(r"#{1,4} (.+)", line)):
            heading = match[1]
        texts[heading] = f"{texts.get(heading, '')}\n{line}"
    return texts


def test_every_question_is_answered_below_its_heading():
    lost = [
        f"{page}#{heading}: {question}"
        for page, by_heading in QUESTIONS.items()
        for heading, questions in by_heading.items()
        for question, words in questions.items()
        if words.casefold() not in sections(page).get(heading, "").casefold()
    ]
    assert lost == []


def test_there_are_a_hundred_and_fifty_questions_and_none_twice():
    questions = [
        question
        for by_heading in QUESTIONS.values()
        for answered in by_heading.values()
        for question in answered
    ]
    assert len(questions) >= 150
    assert len({*questions}) == len(questions)
    assert all(question.endswith("?") for question in questions)


def test_the_way_to_a_first_release_takes_fifteen_hundred_words_at_most():
    texts = ((DOCS / page).read_text(encoding="utf-8") for page in FIRST_WAY)
    assert sum(len(text.split()) for text in texts) <= 1500
