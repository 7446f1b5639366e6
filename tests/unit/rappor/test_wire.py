"""The wire format: its vectors, and a client in another language that gives the same bits."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from rappor import Parameters, read_reports
from rappor.report_files import sum_files
from tests.rappor_vectors import FILE, PARAMETERS, text, write_batch

ROOT = Path(__file__).parents[3]


def test_the_vectors_are_those_that_are_kept_and_there_are_enough():
    kept = FILE.read_text(encoding="utf-8")
    assert text() == kept
    vectors = json.loads(kept)
    assert len(vectors["reports"]) >= 60
    assert {Parameters.from_dict(one) for one in vectors["parameters"].values()} == set(
        PARAMETERS.values()
    )
    page = ROOT / "docs" / "reference" / "privacy" / "rappor-wire.md"
    counts = f"{len(vectors['reports'])} reports of {len(vectors['parameters'])} sets"
    assert counts in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_client_in_javascript_gives_the_same_bits_and_files(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    program = ROOT / "clients" / "js" / "test.mjs"
    command = [node, str(program), str(FILE), str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    for name, parameters in PARAMETERS.items():
        file, ours = tmp_path / f"{parameters.fingerprint}.rappor", tmp_path / "ours.rappor"
        write_batch(ours, name)
        theirs = [one for piece in read_reports(file) for one in piece.texts()]
        assert theirs == [one for piece in read_reports(ours) for one in piece.texts()]
        assert (sum_files([file]).ones == sum_files([ours]).ones).all()
        ours.unlink()
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(Exception, match="damaged"):
            sum_files([file])
