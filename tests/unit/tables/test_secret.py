"""The secret: made once, kept to its owner, never shown."""

from __future__ import annotations

import base64
import copy
import hmac
import os
import pickle
import stat
import traceback

import pytest

from tables import Secret, SourceError
from tables.secret import SecretCommand

MARKER = b"MARKER-7f3a-of-a-secret"


def test_a_secret_survives_its_file_and_only_the_owner_may_read_it(tmp_path):
    secret = Secret.generate()
    file = tmp_path / "secret.key"
    secret.write(file)
    assert Secret.from_file(file) == secret
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().startswith("hex:")


def test_a_secret_file_is_never_overwritten(tmp_path):
    file = tmp_path / "secret.key"
    Secret(MARKER).write(file)
    before = file.read_bytes()
    with pytest.raises(SourceError, match="exists and is never overwritten") as caught:
        Secret.generate().write(file)
    assert "hint:" in str(caught.value)
    assert file.read_bytes() == before


def test_white_space_at_the_ends_of_a_secret_file_does_not_count(tmp_path):
    file = tmp_path / "secret.key"
    file.write_bytes(b"  " + MARKER + b"\r\n")
    assert Secret.from_file(file) == Secret(MARKER)


def test_hexadecimal_and_raw_forms_of_one_secret_are_equal(tmp_path, monkeypatch):
    monkeypatch.setenv("CKM_SECRET", "hex:" + MARKER.hex().upper())
    assert Secret.from_env() == Secret(MARKER)


@pytest.mark.parametrize("value", [b"", b"fifteen bytes ..", b"hex:00"])
def test_a_short_secret_is_refused_without_showing_it(tmp_path, value):
    file = tmp_path / "secret.key"
    file.write_bytes(value[:15])
    with pytest.raises(SourceError, match="at least 16 bytes"):
        Secret.from_file(file)


@pytest.mark.parametrize("text", ["hex:MARKER not hexadecimal", "hex:MARKERé"])
def test_broken_hexadecimal_is_refused_without_showing_it(tmp_path, text):
    file = tmp_path / "secret.key"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match="hexadecimal digits") as caught:
        Secret.from_file(file)
    assert "MARKER" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
@pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
def test_a_secret_file_that_others_may_use_is_refused_with_the_cure(tmp_path, mode):
    file = tmp_path / "secret.key"
    Secret(MARKER).write(file)
    file.chmod(mode)
    with pytest.raises(
        SourceError,
        match=r"read by others(?s:.*)if this is the right file, run: chmod 600 secret\.key",
    ):
        Secret.from_file(file)
    file.chmod(0o400)
    assert Secret.from_file(file) == Secret(MARKER)


def test_a_secret_file_that_cannot_be_read_names_the_file_and_the_way_out(tmp_path):
    with pytest.raises(SourceError, match=r"no\.key.*cannot be read(?s:.*)hint: make one"):
        Secret.from_file(tmp_path / "no.key")
    with pytest.raises(SourceError, match="cannot be read"):
        Secret.from_file(tmp_path)
    with pytest.raises(SourceError, match="cannot be written"):
        Secret.generate().write(tmp_path / "absent" / "secret.key")


def test_an_unset_variable_is_named(monkeypatch):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    with pytest.raises(SourceError, match="CKM_SECRET holds no secret"):
        Secret.from_env()


def test_a_secret_does_not_show_itself():
    secret = Secret(MARKER)
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!r}", "%s" % secret):  # noqa: UP031
        assert "MARKER" not in shown
        assert MARKER.hex() not in shown
    assert repr([secret]) == "[Secret(…)]"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_cannot_be_pickled(protocol):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Secret(MARKER), protocol)
    with pytest.raises(TypeError, match="cannot be pickled"):
        copy.deepcopy(Secret(MARKER))


def test_derived_keys_are_hmacs_and_differ_by_purpose():
    secret = Secret(MARKER)
    assert secret.derive("a purpose") == hmac.new(MARKER, b"a purpose", "sha256").digest()
    assert secret.derive("a purpose") != secret.derive("another")
    assert Secret(MARKER) == secret
    assert Secret(MARKER + b".") != secret
    assert secret != MARKER
    assert len({secret, Secret(MARKER)}) == 1


def test_a_byte_order_mark_is_no_part_of_a_secret(tmp_path):
    file = tmp_path / "secret.key"
    Secret.generate().write(file)
    marked = tmp_path / "marked.key"
    marked.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert Secret.from_file(marked) == Secret.from_file(file)


def test_a_secret_that_could_not_be_written_leaves_no_file(tmp_path, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def write(self, _text):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", lambda *_: Full())
    with pytest.raises(SourceError, match="No space left"):
        Secret.generate().write(tmp_path / "secret.key")
    assert not (tmp_path / "secret.key").exists()


@pytest.mark.parametrize(
    "shown",
    [
        MARKER.decode(),
        MARKER.decode().upper(),
        MARKER[:16].decode(),
        MARKER.hex(),
        MARKER.hex().upper(),
        MARKER.hex()[:16],
        base64.b64encode(MARKER).decode(),
    ],
)
def test_a_secret_is_found_in_every_notation_and_by_its_beginning(shown):
    assert Secret(MARKER).is_in(f"Our key is {shown}.")
    assert not Secret(MARKER).is_in(f"Our key is {shown[1:]}.")


def test_a_bit_that_flips_in_a_secret_file_is_an_error_or_changes_nothing(tmp_path):
    """With another secret all noise would be drawn anew, beside what was published before."""
    file = tmp_path / "secret.key"
    secret = Secret(bytes(range(3, 35)))
    secret.write(file)
    raw, errors = file.read_bytes(), 0
    for bit in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        try:
            assert Secret.from_file(file) == secret
        except SourceError:
            errors += 1
    assert errors > 6 * len(raw)


def test_a_secret_without_a_check_is_read_as_it_is(tmp_path, monkeypatch):
    secret = Secret(bytes(range(3, 35)))
    monkeypatch.setenv("CKM_SECRET", "hex:" + bytes(range(3, 35)).hex())
    assert Secret.from_env() == secret
    secret.write(tmp_path / "secret.key")
    monkeypatch.setenv("CKM_SECRET", (tmp_path / "secret.key").read_text())
    assert Secret.from_env() == secret
    monkeypatch.setenv("CKM_SECRET", "a phrase of the office, check:0123")
    assert Secret.from_env() == Secret(b"a phrase of the office, check:0123")


def test_a_command_prints_the_secret_and_is_run_once(tmp_path):
    runs = tmp_path / "runs"
    script = f"echo run >> {runs}; echo noise >&2; printf '{MARKER.decode()}\\n'"
    command = SecretCommand(["sh", "-c", script])
    assert command.secret() == command.secret() == Secret(MARKER)
    assert runs.read_text() == "run\n"
    assert script not in repr(command)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "it ended with 3"),
        ("printf sixteen'-bytes-or-more'; exit 3", "it ended with 3"),
        ("true", "it printed nothing"),
    ],
)
def test_a_command_without_a_secret_is_named_and_what_it_prints_is_not(script, reason):
    with pytest.raises(SourceError, match=reason) as caught:
        Secret.from_command(["sh", "-c", f"echo MARKER-on-the'-side' >&2; {script}"])
    shown = "".join(traceback.format_exception(caught.value))
    assert "'sh'" in str(caught.value)
    assert "MARKER-on-the-side" not in shown
    assert "sixteen-bytes" not in str(caught.value)


def test_a_command_that_is_not_there_is_named():
    with pytest.raises(SourceError, match="'no-such-vault' gave no secret: it is not there"):
        Secret.from_command(["/usr/bin/no-such-vault", "token-of-somebody"])
