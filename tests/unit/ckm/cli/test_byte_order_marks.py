"""Settings with a byte order mark, as editors of Windows write it, are read as without."""

import pandas as pd
import pytest
from click.testing import CliRunner

from ckm.cli import app

JOB = """
schema = 1
data = { path = "people.parquet", id = "id" }
keys = { secret = "secret.key" }
ptable = { max_noise = 2, variance = 1.0 }
"""
TABLE = '[[table]]\nname = "all"\ndimensions = ["sex"]\n'
FILES = {
    "job.toml": JOB + TABLE,
    "service.toml": JOB + '[service]\ntitle = "People"\n[[variable]]\nname = "sex"\n',
    "spec.toml": "[ptable]\nmax_noise = 2\nvariance = 1.0\n",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = range(400)
    pd.DataFrame(
        {
            "id": rows,
            "sex": [*"FM"] * 200,
            "zone": [*"abcd"] * 100,
            "home": [i // 2 for i in rows],
        }
    ).to_parquet("people.parquet")
    (tmp_path / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "secret.key").chmod(0o600)
    for name, text in FILES.items():
        (tmp_path / f"plain-{name}").write_text(text)
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["check", "job.toml"],
        ["check", "job.toml", "--quick"],
        ["release", "job.toml", "-o", "out"],
        ["check", "service.toml", "--quick"],
        ["ptable", "check", "spec.toml"],
        ["ptable", "build", "spec.toml", "-o", "out.parquet"],
        ["audit", "job.toml"],
    ],
    ids=" ".join,
)
def test_a_file_with_a_mark_is_read_as_without(folder, words):
    done = CliRunner().invoke(app, [*words])
    plain = CliRunner().invoke(
        app, [f"plain-{w}" if w in FILES else w.replace("out", "other") for w in words]
    )
    assert done.exit_code == plain.exit_code, (done.stderr, plain.stderr)
    assert done.exit_code not in {2, 70}, done.stderr
