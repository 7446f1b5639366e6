"""Tables that are published already: known at no cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from synth.errors import SynthError
from synth.frames import to_records
from synth.schema.coding import encode_column
from synth.schema.public import Published

if TYPE_CHECKING:
    from synth.schema.schema import Schema

_MAX_CELLS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Prior:
    """A published table of counts.

    Using it costs nothing, because it is public; what its publication gave away is not part
    of the guarantee.

    Parameters
    ----------
    table
        A frame with a column for each dimension and one with counts. Finer values are summed
        into the cells of the schema; combinations that are not in it count zero.
    count
        The name of the column with counts.
    deviation
        Standard deviation of the noise it was published with.
    source
        Where it was published, for the certificate.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Category, Schema
    >>> schema = Schema(columns=[Category(name="sex", values=["F", "M"])])
    >>> table = pd.DataFrame({"sex": ["M", "F"], "count": [40, 60]})
    >>> Prior(table=table, source="yearbook 2026").published(schema).counts
    array([60., 40.])
    """

    table: Any
    count: str = "count"
    deviation: float = 0.0
    source: str = ""

    def published(self, schema: Schema) -> Published:
        """Return the table on the codes of a schema.

        Parameters
        ----------
        schema
            A schema whose domains are declared.
        """
        frame, _ = to_records(self.table)
        names = [str(name) for name in frame.columns if name != self.count]
        if self.count not in frame.columns or not names:
            raise SynthError(
                f"A published table has dimensions and a column {self.count!r}.",
                hint="name the column with counts: Prior(count=…)",
            )
        unknown = sorted({*names} - {*schema.names})
        if unknown:
            raise SynthError(f"Dimensions of a published table are not declared: {unknown}.")
        names.sort(key=schema.names.index)
        counts = frame[self.count].to_numpy(np.float64, na_value=np.nan)
        if not np.isfinite(counts).all():
            raise SynthError("A published table has a count that is no number.")
        shape = tuple(schema.column(name).size for name in names)
        if np.prod(shape, dtype=float) > _MAX_CELLS:
            raise SynthError(f"A published table has {_MAX_CELLS} cells at most.")
        cells = tuple(encode_column(frame[name], schema.column(name)) for name in names)
        table = np.zeros(shape)
        np.add.at(table, cells, counts)
        columns = tuple(schema.names.index(name) for name in names)
        return Published(columns=columns, counts=table, deviation=self.deviation)

    def record(self) -> dict[str, Any]:
        """Return what the certificate says of it.

        Examples
        --------
        >>> import pandas as pd
        >>> Prior(table=pd.DataFrame({"sex": ["M"], "count": [40]})).record()["columns"]
        ['sex']
        """
        frame, _ = to_records(self.table)
        names = [str(name) for name in frame.columns if name != self.count]
        return {"columns": names, "deviation": self.deviation, "source": self.source}
