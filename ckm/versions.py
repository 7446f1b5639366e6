"""The versions of the programs that make a release."""

import platform
from importlib import import_module, metadata

from footing.version import engine_version
from tables.keys import KEY_VERSION


def versions(*, engine: str = "duckdb", keys: int = KEY_VERSION) -> dict[str, str]:
    """Return the versions of the programs that make a release, of its keys, and the system."""
    return {
        "ckm": engine_version(),
        "record key": str(keys),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("duckdb", "numpy", "pyarrow")},
        **({"pyspark": import_module("pyspark").__version__} if engine == "spark" else {}),
        "system": f"{platform.system()} {platform.machine()}",
    }
