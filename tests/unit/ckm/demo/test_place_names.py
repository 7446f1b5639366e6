"""The places of the demonstration have names of their own, and centres."""

from ckm.demo.place_names import place_names

PLACES = [
    (f"{region:02d}", f"{department:02d}", f"{department:02d}{commune:03d}")
    for region in range(1, 14)
    for department in range(1, 8)
    for commune in range(1, 4)
]


def test_every_place_has_a_name_of_its_own_in_both_languages():
    lines = place_names(PLACES)
    assert len(lines) == 13 + 13 * 7 + len(PLACES)
    for place in (0, 1, 2):
        words = [line[place] for line in lines]
        assert len(set(words)) == len(words)


def test_codes_are_those_of_the_service_and_some_have_former_names():
    lines = {line[0]: line for line in place_names(PLACES)}
    assert {"01", "01/01", "01/01/01001"} <= set(lines)
    assert any(line[3] for line in lines.values())
