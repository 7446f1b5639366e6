"""The file of tokens is held against a digest of what it holds."""

import json
import logging

import numpy as np
import pytest

from ckm.errors import ConfigError
from ckm.service.access.tokens import TokenFile


@pytest.fixture
def file(tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    tokens.add(role="researcher", label="A", requests_per_hour=10)
    public = tokens.add(role="public", label="B").split("_")[1]
    assert tokens.revoke(public)
    return tokens


def edited(file, change):
    content = json.loads(file.path.read_text())
    change(content)
    file.path.write_text(json.dumps(content))


EDITS = {
    "role": lambda content: content["tokens"][0].update(role="officer"),
    "limit": lambda content: content["tokens"][0].update(requests_per_hour=10**6),
    "revoked": lambda content: content["tokens"][1].update(is_revoked=False),
    "gone": lambda content: content["tokens"].pop(),
    "more": lambda content: content.update(more=1),
    "schema": lambda content: content.update(schema=2),
    "digest": lambda content: content.update(digest=None),
    "kind": lambda content: content["tokens"][0].update(requests_per_hour="10"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_that_others_changed_is_refused(file, edit):
    edited(file, EDITS[edit])
    with pytest.raises(ConfigError, match=r"changed by other means|cannot be read"):
        file.read()


def test_a_bit_that_flips_is_noticed_or_changes_nothing(file):
    content, before = file.path.read_bytes(), file.read()
    bits = np.random.default_rng(5).choice(8 * len(content), 400, replace=False)
    for bit in bits.tolist():
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        file.path.write_bytes(changed)
        try:
            assert file.read() == before
        except ConfigError:
            continue


def test_a_file_without_digest_is_read_with_a_warning_and_gets_one(file, caplog):
    before = file.read()
    edited(file, lambda content: content.pop("digest"))
    with caplog.at_level(logging.WARNING):
        assert file.read() == before
        assert "ckm token add or revoke writes one" in caplog.text
        file.add(role="public", label="C")
        caplog.clear()
        assert len(file.read()) == 3
    assert not caplog.text


def test_a_planted_link_in_place_of_the_lock_is_not_followed(file):
    lock = file.path.with_name(f".{file.path.name}.lock")
    lock.unlink()
    lock.symlink_to(file.path.with_name("elsewhere"))
    with pytest.raises(ConfigError, match="symbolic link"):
        file.add(role="public", label="C")
    assert not file.path.with_name("elsewhere").exists()
