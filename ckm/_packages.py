"""The engine's packages, which must be its own: their names are short and others use them.

In a wheel they lie within `ckm_engine`. In a checkout, PyTables is imported as `tables` too,
and a file `dp.py` or a folder `reports` beside the user comes first on the path of
``python -m ckm`` (docs/adr/0001-names-at-the-top-level.md).
"""

import importlib.util
import traceback
from pathlib import Path
from typing import Any

#: What stands before the names: nothing in a checkout, `ckm_engine.` in a wheel.
_PREFIX = __name__.rpartition("ckm.")[0]
_NAMES = (
    "ckm",
    "footing",
    "ptable",
    "tables",
    "dp",
    "risk",
    "reports",
    "rappor",
    "synth",
    "dpsgd",
)
PACKAGES = tuple(_PREFIX + name for name in _NAMES)
_REINSTALL = "in the project's folder: pip install --force-reinstall --no-deps ."


def is_own(module: str) -> bool:
    """Tell whether a module's name is one of the engine's."""
    inner = module.removeprefix(_PREFIX)
    return module.startswith(_PREFIX) and inner.partition(".")[0] in _NAMES


def place_of(error: BaseException) -> str:
    """Return module and line of our innermost frame."""
    from footing.messages import Message

    place: str = Message("an unknown place")
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if is_own(module):
            place = f"{module}:{line}"
    return place


def require_own_packages() -> None:
    """Raise ImportError with the cure when a package of the engine is missing or another's."""
    home = Path(__file__).resolve().parent.parent
    for name in _NAMES[1:]:
        ours = home / name / "__init__.py"
        spec = importlib.util.find_spec(_PREFIX + name)
        file = spec.origin if spec is not None else None
        is_ours = file is not None and Path(file).resolve() == ours
        if is_ours and not (name == "tables" and any(ours.parent.glob("hdf5extension*"))):
            continue
        # A folder without __init__.py is found only where nothing else of the name is.
        values: dict[str, Any] = {"name": name, "file": file or "", "reinstall": _REINSTALL}
        if not ours.exists() or spec is None:
            text = (
                "The engine's package {name!r} is not installed any more.\n"
                "  hint: put it back: {reinstall}"
            )
        elif name == "tables" and (is_ours or _is_installed(file)):
            text = (
                "The package 'tables' that Python finds is not the engine's own, but "
                "probably PyTables, which has the same name.\n"
                "  hint: install ckm-engine in an environment of its own, without PyTables; "
                "or, to give PyTables up here: pip uninstall tables, then {reinstall}"
            )
        else:
            text = (
                "{file} stands before the engine's package {name!r}, which has the same name.\n"
                "  hint: rename it, or work in another folder, so that Python does not find it "
                "first"
            )
        # What makes messages of texts lies in a package that may be the other one.
        raise ImportError(text.format(**values))


def _is_installed(file: str | None) -> bool:
    """Tell a package of an environment from a file that lies beside the user."""
    return file is not None and bool({"site-packages", "dist-packages"} & {*Path(file).parts})
