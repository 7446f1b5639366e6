"""The versions of the programs that make a release."""

import platform
from importlib import import_module, metadata

from ckm import __version__
from tables.keys import KEY_VERSION


def versions(*, engine: str = "duckdb") -> dict[str, str]:
    """Return the versions of the programs that make a release, and the system."""
    return {
        "ckm": __version__,
        "record key": str(KEY_VERSION),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("duckdb", "numpy", "pyarrow")},
        **({"pyspark": import_module("pyspark").__version__} if engine == "spark" else {}),
        "system": f"{platform.system()} {platform.machine()}",
    }
