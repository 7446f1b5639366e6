"""The version of this program: another one for every state of its sources.

The build reads this file by itself (`[tool.hatch.version]`), so that it uses nothing but
Python's own library.
"""

import functools
import hashlib
from pathlib import Path

#: The next version to be released, or the last one.
NUMBER = "0.2.0"
_DISTRIBUTION = "ckm-engine"
_PACKAGES = (
    *("ckm", "dp", "dpsgd", "footing", "ptable"),
    *("rappor", "reports", "risk", "synth", "tables"),
)
_IS_INSTALLED = __name__.startswith("ckm_engine.")
_DIGITS = 10


@functools.cache
def engine_version() -> str:
    """Return the version of the program that runs.

    That of a wheel stands in it. A checkout has that of its sources: the same text for the
    same sources, and another one as soon as one of them differs.

    Examples
    --------
    >>> engine_version().startswith(NUMBER)
    True
    """
    if _IS_INSTALLED:
        from importlib import metadata  # a sixth of the time that a help takes

        try:
            return metadata.version(_DISTRIBUTION)
        except metadata.PackageNotFoundError:  # unpacked, and not installed
            pass
    return version_of_build()


def version_of_build() -> str:
    """Return the version of what is built from these sources.

    It is `NUMBER` where a tag says so and nothing was changed since, and otherwise a
    development version with the number of changes in the history, for pip to tell which one is
    newer, and the digest of the sources.
    """
    root = Path(__file__).parents[1]
    if (about := root / "PKG-INFO").is_file():  # sources that were packed
        import re

        match = re.search(r"^Version: (\S+)$", about.read_text(encoding="utf-8"), re.MULTILINE)
        if match is not None:
            return match[1]
    if _git(root, "tag", "--points-at", "HEAD", "--list", f"v{NUMBER}") and not _git(
        root, "status", "--porcelain", "--", *_PACKAGES, "pyproject.toml", "hatch_build.py"
    ):
        return NUMBER
    number = _git(root, "rev-list", "--count", "HEAD") or "0"
    return f"{NUMBER}.dev{number}+s{_digest(root)}"


def _digest(root: Path) -> str:
    """Digest names and contents of the files of all packages."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix not in {".pyc", ".mo"} and path.is_file():
                content = path.read_bytes()
                name = path.relative_to(root).as_posix()
                digest.update(f"{len(name)} {name} {len(content)} ".encode())
                digest.update(content)
    return digest.hexdigest()[:_DIGITS]


def _git(root: Path, *arguments: str) -> str:
    """Return what git answers; nothing where it is not there or knows nothing of the folder."""
    if not (root / ".git").exists():
        return ""
    import subprocess

    try:
        answer = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
