"""Make sure that `tables` is the engine's own package and not PyTables.

Both are imported under that name. Whichever comes first on the path wins, so the engine
lives in an environment of its own (docs/adr/0001-names-at-the-top-level.md).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

__all__ = ["require_own_tables"]


def require_own_tables() -> None:
    """Raise ImportError with the cure when `tables` is another project's package.

    Raises
    ------
    ImportError
        If the `tables` that would be imported does not lie beside `ckm`, or PyTables was
        installed over it.

    Examples
    --------
    >>> require_own_tables()
    """
    spec = importlib.util.find_spec("tables")
    ours = Path(__file__).resolve().parent.parent / "tables" / "__init__.py"
    is_elsewhere = spec is None or spec.origin is None or Path(spec.origin).resolve() != ours
    if is_elsewhere or any(ours.parent.glob("hdf5extension*")):
        msg = (
            "The package 'tables' that Python finds is not the engine's own, but probably "
            "PyTables, which has the same name.\n"
            "  hint: install ckm-engine in an environment of its own, without PyTables"
        )
        raise ImportError(msg)
