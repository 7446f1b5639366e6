"""Pages on RAPPOR print the same figures of the experiment of the paper: bench.rappor_paper."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [
    (DOCS / name).read_text(encoding="utf-8")
    for name in ("explanation/privacy/rappor-decode.md", "reference/privacy/rappor.md")
]


def test_two_pages_name_the_program_and_the_same_strings_found():
    for text in PAGES:
        assert "bench.rappor_paper" in text
        assert "32 ± 2" in text
        assert "43 ± 3" in text
        assert "1.1" in text


def test_the_error_of_a_count_is_the_same_on_both_pages():
    decoding, reference = PAGES
    assert "instead of 2,980 for the experiment" in decoding
    assert re.search(r"errors of all counts were 1,850 and 2,980", reference)


def test_rates_of_encoding_are_those_of_the_benchmarks():
    measured = (DOCS / "explanation" / "benchmarks.md").read_text(encoding="utf-8")
    assert "181,000–228,000" in measured
    assert "470,000–665,000" in measured
    assert "181,000 to 340,000" in PAGES[1]
    assert "470,000 to 665,000" in PAGES[1]
