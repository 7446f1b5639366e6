"""The engine's ten packages under one name: ``from ckm_engine import ckm, ptable``.

In a wheel they lie in this folder. In a checkout they lie beside it, and each name here stands
for the very same module: ``ckm_engine.ptable is ptable``
(docs/adr/0001-names-at-the-top-level.md).
"""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

_HERE = Path(__file__).resolve().parent
_IS_CHECKOUT = not (_HERE / "ckm").is_dir()


class _Beside(MetaPathFinder, Loader):
    """Find the packages of a checkout under the name that they have in a wheel."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        top, _, inner = fullname.partition(".")
        is_ours = top == __name__ and (_HERE.parent / inner.partition(".")[0]).is_dir()
        return ModuleSpec(fullname, self) if is_ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(spec.name.partition(".")[2])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It ran under its own name; it keeps that, and is no second copy.
        alias = module.__spec__
        if alias is not None:
            module.__spec__ = alias.loader_state


if _IS_CHECKOUT:
    # First: Python's own would find a module in the folder of its package, and load it twice.
    sys.meta_path.insert(0, _Beside())


def main() -> None:
    """Run the command ``ckm``."""
    importlib.import_module(f"{__name__}.ckm.cli").main()
