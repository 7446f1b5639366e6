"""Numbers and dates are written as CLDR has them; Babel, which has it all, is the reference."""

import random
from datetime import UTC, date, datetime, timedelta

import pytest
from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal

from reports.i18n.languages import LANGUAGES
from reports.i18n.numbers import MINUS, Numbers, _formatted

PATTERNS = ("#,##0", "0.000", "0", "0.0", "0.00", "0.0000", "#,##0.0", "#,##0.####")


def drawn_numbers(count):
    draw = random.Random(2026)
    kinds = [
        lambda: draw.uniform(-1, 1),
        lambda: draw.uniform(-1e6, 1e6),
        lambda: draw.randint(-(10**9), 10**9),
        lambda: draw.randint(-2000, 2000) / 8,  # halves, which are rounded to the even digit
        lambda: draw.uniform(-1e-6, 1e-6),
        lambda: draw.uniform(-9e14, 9e14),
    ]
    return [0.0, -0.0, 1000, 999.95, *(draw.choice(kinds)() for _ in range(count))]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_number_is_written_as_babel_writes_it(language, pattern):
    for number in drawn_numbers(400):
        text = str(format_decimal(number, pattern, locale=language))
        expected = text.replace("-", MINUS) if text.strip("-0.,") else text.lstrip("-")
        assert _formatted(number, pattern, language) == expected, number


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_date_is_written_as_babel_writes_it(language):
    numbers = Numbers(language)
    for step in range(0, 366 * 3, 17):
        day = date(2023, 12, 30) + timedelta(days=step)
        assert numbers.date(day.isoformat()) == format_date(day, "d MMMM y", locale=language)
    moment = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    expected = format_datetime(moment, "d MMMM y, HH:mm:ss", locale=language)
    assert numbers.moment(moment.isoformat()) == f"{expected} UTC"


def test_what_is_no_date_stays_as_it_is():
    assert Numbers("fr").date("spring") == "spring"
    assert Numbers("fr").moment("2026-99-01") == "2026-99-01"


def test_no_number_is_written_as_such():
    assert Numbers("en").amount(float("nan")) == "NaN"
