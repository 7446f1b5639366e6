"""Published tables in the formats of statistical offices, written, and two of them read back.

```python
import numpy as np
from ckm import PublishedTable
from ckm.formats import TableAbout, to_bytes

sex = (np.array([0, 1], np.int32), ["F", "M"])
table = PublishedTable(dimensions={"sex": sex}, measures={"count": np.array([5, 7])})
to_bytes(table, "json-stat2", about=TableAbout(title="By sex"))
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from footing.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckm.errors import FormatError
    from ckm.formats.about import TableAbout
    from ckm.formats.files import read_about, read_table, to_bytes, write_table
    from ckm.formats.registry import FORMATS

__all__ = [
    "FORMATS",
    "FormatError",
    "TableAbout",
    "read_about",
    "read_table",
    "to_bytes",
    "write_table",
]

#: The names of `FORMATS` in their order, for who needs no more of them.
FORMAT_NAMES = (
    *("csv", "csv-labels", "parquet", "xlsx", "json-stat2", "px"),
    *("sdmx-csv", "sdmx-csv-1", "csvw"),
)
_FILES = ("read_about", "read_table", "to_bytes", "write_table")

__getattr__, __dir__ = lazy(
    __name__,
    {
        "FORMATS": "ckm.formats.registry",
        "FormatError": "ckm.errors",
        "TableAbout": "ckm.formats.about",
    }
    | dict.fromkeys(_FILES, "ckm.formats.files"),
)


def without_repeats(formats: Iterable[str]) -> tuple[str, ...]:
    """Return formats, each once; CSV on the Web writes the file of CSV itself."""
    names = list(dict.fromkeys(formats))
    return tuple(name for name in names if name != "csv" or "csvw" not in names)
