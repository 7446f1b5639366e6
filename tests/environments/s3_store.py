"""An S3 store on this machine, and Hadoop's connector to it.

`python tests/environments/s3_store.py` fetches both. The connector, hadoop-aws, is on no index
of Python packages by itself; the package of H2O has it in its jar: version 3.3.6, with the SDK
that it needs. The store is Moto's, in an environment of its own, since nothing else here wants
it.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOME = Path(os.environ.get("CKM_S3_STORE", Path.home() / ".cache" / "ckm" / "s3-store"))
JAR, SERVER = HOME / "s3a-3.3.6.jar", HOME / "venv" / "bin" / "moto_server"
_H2O = (
    "h2o==3.46.0.12 "
    "--hash=sha256:64279024cadea9c19ed49580c7733aa21bb9aff302805a1ae2f6cdf2e3cea0d3\n"
)
_MOTO = ("moto[s3]==5.2.5", "flask", "flask-cors")
_PARTS = ("org/apache/hadoop/fs/s3a/", "org/apache/hadoop/fs/s3native/", "com/amazonaws/")
#: What a connector of Hadoop 3.3 cannot read in the defaults of 3.5, or does not know of.
OLDER = {
    "spark.hadoop.fs.s3a.aws.credentials.provider": (
        "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    ),
    "spark.hadoop.fs.s3a.connection.establish.timeout": "30000",
    "spark.hadoop.fs.s3a.connection.timeout": "200000",
    "spark.hadoop.fs.s3a.multipart.purge.age": "86400",
    "spark.hadoop.fs.s3a.threads.keepalivetime": "60",
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
}


def is_here() -> bool:
    """Tell whether both have been fetched."""
    return JAR.exists() and SERVER.exists()


def fetch() -> None:
    """Fetch what is not here yet."""
    HOME.mkdir(parents=True, exist_ok=True)
    if not SERVER.exists():
        subprocess.run([sys.executable, "-m", "venv", HOME / "venv"], check=True)
        _pip("install", "--no-compile", *_MOTO)
    if not JAR.exists():
        with tempfile.TemporaryDirectory(dir=HOME) as name:
            _cut_out(Path(name))


def _pip(*words: str | Path) -> None:
    python = HOME / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--quiet", *words], check=True)


def _cut_out(folder: Path) -> None:
    """Make a jar of the connector's part of H2O's."""
    pinned = folder / "pinned.txt"
    pinned.write_text(_H2O)
    options = ("--no-deps", "--no-binary", ":all:", "--require-hashes", "--no-cache-dir")
    _pip("download", *options, "--dest", folder, "--requirement", pinned)
    whole, part = folder / "h2o.jar", folder / "part.jar"
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive, whole.open("wb") as file:
        inside = next(member for member in archive if member.name.endswith("bin/h2o.jar"))
        copyfileobj(archive.extractfile(inside), file)  # type: ignore[arg-type]
    with zipfile.ZipFile(whole) as jar, zipfile.ZipFile(part, "w") as ours:
        for entry in {e.filename: e for e in jar.infolist()}.values():
            if entry.filename.startswith(_PARTS):
                ours.writestr(entry, jar.read(entry))
    part.rename(JAR)


@contextlib.contextmanager
def serve(log: Path, wait_s: int = 120) -> Iterator[str]:
    """Run a store, which writes down what it is asked; give its address."""
    with log.open("wb") as file:
        words = [SERVER, "-H", "127.0.0.1", "-p", "0"]
        store = subprocess.Popen(words, stdout=file, stderr=file)
    try:
        last = time.monotonic() + wait_s
        while not (found := re.search(r"Running on (http://[\d.:]+)", log.read_text())):
            if time.monotonic() > last or store.poll() is not None:
                raise TimeoutError(log.read_text())
            time.sleep(0.1)
        yield found[1]
    finally:
        store.terminate()
        store.wait()


if __name__ == "__main__":
    fetch()
