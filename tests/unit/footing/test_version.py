"""Another version for every state of the sources."""

import re
import shutil
import subprocess

import pytest

import ckm
from footing import version
from footing.version import NUMBER, engine_version, version_of_build


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a small checkout, whose versions are asked for."""
    (tmp_path / "footing").mkdir()
    (tmp_path / "ckm").mkdir()
    (tmp_path / "ckm/engine.py").write_text("NOISE = 1\n")
    shutil.copy(version.__file__, tmp_path / "footing/version.py")
    monkeypatch.setattr(version, "__file__", str(tmp_path / "footing/version.py"))
    return tmp_path


def git(folder, *arguments):
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *names, *arguments]
    subprocess.run(command, check=True, capture_output=True)


def test_sources_that_differ_in_one_sign_have_two_versions(checkout):
    first = version_of_build()
    assert version_of_build() == first
    assert re.fullmatch(rf"{re.escape(NUMBER)}\.dev0\+s[0-9a-f]{{10}}", first)
    (checkout / "ckm/engine.py").write_text("NOISE = 2\n")
    assert version_of_build() != first
    (checkout / "ckm/engine.py").write_text("NOISE = 1\n")
    (checkout / "ckm/engine.py").rename(checkout / "ckm/engines.py")
    assert version_of_build() != first


def test_what_python_compiled_is_no_source(checkout):
    first = version_of_build()
    (checkout / "ckm/engine.cpython-311.pyc").write_bytes(b"0")
    assert version_of_build() == first


def test_a_tag_without_changes_is_a_release_and_later_ones_are_newer(checkout):
    git(checkout, "init", "-q")
    git(checkout, "add", ".")
    git(checkout, "commit", "-q", "-m", "first")
    assert version_of_build().startswith(f"{NUMBER}.dev1+s")
    git(checkout, "tag", f"v{NUMBER}")
    assert version_of_build() == NUMBER
    (checkout / "ckm/engine.py").write_text("NOISE = 2\n")
    assert version_of_build().startswith(f"{NUMBER}.dev1+s")
    git(checkout, "commit", "-q", "-a", "-m", "second")
    assert version_of_build().startswith(f"{NUMBER}.dev2+s")


def test_packed_sources_keep_the_version_that_they_were_packed_with(checkout):
    about = "Metadata-Version: 2.4\nName: ckm-engine\nVersion: 0.2.0.dev7+s0123456789\n"
    (checkout / "PKG-INFO").write_text(about)
    assert version_of_build() == "0.2.0.dev7+s0123456789"


def test_the_package_tells_the_version_of_the_program_that_runs():
    assert ckm.__version__ == engine_version()
    assert ckm.__version__.startswith(NUMBER)
    with pytest.raises(AttributeError):
        _ = ckm.__versions__
