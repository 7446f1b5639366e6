"""A file that others keep has a version, which is raised when what it holds changes."""

import json

import pytest

from tests.formats import FORMATS, formats


@pytest.fixture(scope="module")
def today():
    return formats()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(json.loads(FORMATS.read_text(encoding="utf-8"))))
def test_a_format_that_changes_has_another_version(today, name):
    kept = json.loads(FORMATS.read_text(encoding="utf-8"))[name]
    gone = sorted({*kept["fields"]} - {*today[name]["fields"]})
    new = sorted({*today[name]["fields"]} - {*kept["fields"]})
    if today[name]["version"] == kept["version"]:
        # Raise the version; or, where every program that reads this version reads the file as
        # before, say so in the page on upgrades and run `python -m tests.formats`.
        assert not gone, f"{name} {kept['version']} has no more {gone}"
        assert not new, f"{name} {kept['version']} has {new}, which it had not"
    else:
        pytest.fail(f"{name} has version {today[name]['version']}: python -m tests.formats")


@pytest.mark.slow
def test_every_format_is_kept(today):
    assert today.keys() == json.loads(FORMATS.read_text(encoding="utf-8")).keys()
