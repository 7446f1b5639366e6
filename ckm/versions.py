"""The versions of the programs that make a release."""

import platform
import sys
from importlib import metadata

from ckm import __version__
from tables.keys import KEY_VERSION


def versions() -> dict[str, str]:
    """Return the versions of the programs that make a release, and the system."""
    spark = sys.modules.get("pyspark")
    return {
        "ckm": __version__,
        "record key": str(KEY_VERSION),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("duckdb", "numpy", "pyarrow")},
        **({} if spark is None else {"pyspark": spark.__version__}),
        "system": f"{platform.system()} {platform.machine()}",
    }
