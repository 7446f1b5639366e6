"""What table was published: its public description, without a number in it."""

import json
from dataclasses import dataclass, fields, replace
from typing import Self

from ckm.ledger.protection import NOISE, CellProtection
from footing.serialisation import canonical
from tables import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The description of a published table.

    Parameters
    ----------
    name
        What the table is called.
    dimensions
        Its dimensions.
    margins
        Its margins.
    where
        Its filter, as it was written.
    data
        The version of the records, for example a date; a table of another version is another
        table.
    shape
        Everything else that decides which cells the table has, as one text.
    method
        What protected it.

    Examples
    --------
    >>> Definition(name="t", dimensions=("sex",)).name
    't'
    """

    name: str
    dimensions: tuple[str, ...] = ()
    margins: str = "all"
    where: str | None = None
    data: str = ""
    shape: str = ""
    method: str = NOISE

    @classmethod
    def of(
        cls, request: Request, *, name: str, where: str | None = None, data: str = ""
    ) -> Self:
        """Describe a request.

        Parameters
        ----------
        request
            The request.
        name
            What the table is called.
        where
            The request's filter, as it was written.
        data
            The version of the records.

        Examples
        --------
        >>> from tables import Request
        >>> Definition.of(Request(dimensions=["sex"]), name="t").dimensions
        ('sex',)
        """
        hierarchies = {
            n: (h.columns, None if h.tree is None else sorted(h.tree.parents.items()))
            for n, h in request.hierarchies.items()
        }
        categories = sorted((n, [repr(c) for c in cs]) for n, cs in request.categories.items())
        shape: list[object] = [repr(request.where), sorted(hierarchies.items()), categories]
        shape += [request.total_label, request.missing_label, request.weight]
        margins = request.margins
        return cls(
            name=name,
            dimensions=tuple(request.dimensions),
            margins=margins if isinstance(margins, str) else json.dumps(margins),
            where=where,
            data=data,
            shape=canonical(shape),
        )

    def protected_by(self, protection: CellProtection) -> Self:
        """Return the definition of the same table by another method.

        Parameters
        ----------
        protection
            The method, and the settings that make it another table.

        Examples
        --------
        >>> rounded = CellProtection(method="rounding", settings="base 5")
        >>> Definition(name="t").protected_by(rounded).method
        'rounding'
        """
        shape = json.dumps([self.shape or self.where, protection.settings])
        return replace(self, method=protection.method, shape=shape)

    @property
    def text(self) -> str:
        """The description as it stands in the ledger."""
        content = self._content()
        del content["shape"]
        return json.dumps(content, sort_keys=True, ensure_ascii=False)

    @property
    def identity(self) -> bytes:
        """Two definitions with the same identity have the same cells; names do not count."""
        content = self._content()
        del content["name"]
        if self.shape:
            del content["where"]  # the parsed filter is part of the shape
        return canonical(content).encode()

    def _content(self) -> dict[str, object]:
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.method == NOISE:  # as in ledgers that knew no other
            del content["method"]
        return content

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a description back.

        Examples
        --------
        >>> Definition.read(Definition(name="t").text).name
        't'
        """
        content = json.loads(text)
        content["dimensions"] = tuple(content["dimensions"])
        return cls(**content)
