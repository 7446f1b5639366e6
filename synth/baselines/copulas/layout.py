"""From coded columns to columns with an order, for copulas to work on, and back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from footing.arrays import Flags, Floats, Integers
from footing.checks import require_one_of
from footing.messages import Message, Name
from synth.baselines.coded import CodedColumn, decode_frame
from synth.baselines.copulas.encoders import encode_glmm, encode_woe
from synth.baselines.model import Account, BaselineModel
from synth.copulas.margins import Margin
from synth.copulas.vine import FittedVine, fit_vine
from synth.errors import SynthError

Encoder = Literal["ordinal", "one-hot", "woe", "glmm"]
_WIDEST = 200
_ROUNDS = 50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Layout:
    """Columns whose bins have an order, and the way back.

    Parameters
    ----------
    names
        A name per ordered column.
    bins
        Per ordered column, the bin of each record.
    sizes
        How many bins each has.
    parts
        Per column of the frame the places of its ordered columns: one, or one per category.
    values_of
        Per column of the frame the code that stands for each bin.
    collisions
        Per column the categories that share a number.
    """

    names: tuple[str, ...]
    bins: tuple[Integers, ...]
    sizes: tuple[int, ...]
    parts: tuple[tuple[int, ...], ...]
    values_of: tuple[Integers, ...]
    collisions: dict[str, tuple[tuple[Any, ...], ...]]

    def codes(self, bins: Sequence[Integers]) -> tuple[list[Integers], Flags]:
        """Return the codes of drawn bins, and which records have a category everywhere."""
        columns, is_whole = [], np.ones(len(bins[0]), dtype=bool)
        for places, values in zip(self.parts, self.values_of, strict=True):
            if len(places) == 1:
                columns.append(values[bins[places[0]]])
                continue
            block = np.column_stack([bins[place] for place in places])
            is_whole &= block.any(axis=1)
            last = block.shape[1] - 1 - np.argmax(block[:, ::-1], axis=1)
            columns.append(values[np.where(block.any(axis=1), last, 0)])
        return columns, is_whole

    def __repr__(self) -> str:
        return f"Layout(n_columns={len(self.names)})"


def lay_out(
    columns: Sequence[CodedColumn],
    *,
    encoder: Encoder = "ordinal",
    target: str | None = None,
    fitted_on: Sequence[CodedColumn] | None = None,
    rows: Integers | None = None,
) -> Layout:
    """Order the categories of every column that has no numbers."""
    require_one_of(encoder, "encoder", get_args(Encoder), error=SynthError)
    names: list[str] = []
    bins: list[Integers] = []
    sizes: list[int] = []
    parts: list[tuple[int, ...]] = []
    values_of, collisions = [], {}
    _refuse_too_wide(columns, encoder)
    source = columns if fitted_on is None else fitted_on
    answers = _answers(source, target, rows) if encoder in {"woe", "glmm"} else None
    for place, column in enumerate(columns):
        if encoder == "one-hot" and not column.is_numeric and column.size > 1:
            parts.append(tuple(range(len(bins), len(bins) + column.size)))
            values_of.append(np.arange(column.size))
            for code, value in enumerate(column.domain):
                names.append(f"{column.name}={value}")
                bins.append((column.codes == code).astype(np.int64))
                sizes.append(2)
            continue
        bin_of = np.arange(column.size)
        if answers is not None and not column.is_numeric and column.name != target:
            codes = source[place].codes if rows is None else source[place].codes[rows]
            bin_of, same = _by_target(column, codes, answers, encoder)
            if same:
                collisions[column.name] = same
        value_of = np.zeros(int(bin_of.max()) + 1, dtype=np.int64)
        value_of[bin_of] = np.arange(column.size)  # the last of several, as published
        names.append(column.name)
        parts.append((len(bins),))
        bins.append(bin_of[column.codes])
        sizes.append(len(value_of))
        values_of.append(value_of)
    return Layout(
        names=tuple(names),
        bins=tuple(bins),
        sizes=tuple(sizes),
        parts=tuple(parts),
        values_of=tuple(values_of),
        collisions=collisions,
    )


def _refuse_too_wide(columns: Sequence[CodedColumn], encoder: Encoder) -> None:
    wide = sum(
        column.size if encoder == "one-hot" and not column.is_numeric else 1
        for column in columns
    )
    if wide > _WIDEST:
        raise SynthError(
            Message(
                "The copula would have {wide} columns, more than {widest}.",
                wide=wide,
                widest=_WIDEST,
            ),
            hint=Message("use another encoder, or fewer columns"),
        )


def _by_target(
    column: CodedColumn, codes: Integers, answers: list[Any], encoder: Encoder
) -> tuple[Integers, tuple[tuple[Any, ...], ...]]:
    has_answer = [k for k, one in enumerate(answers) if one is not None and codes[k] >= 0]
    values = [int(codes[place]) for place in has_answer]
    targets = [answers[place] for place in has_answer]
    if len({*targets}) < 2:  # a small part of the records may lack one of the answers
        return np.arange(column.size), ()
    encode = encode_woe if encoder == "woe" else encode_glmm
    encoding = encode(values, targets, categories=range(column.size))
    _, bin_of = np.unique(np.array(encoding.numbers), return_inverse=True)
    same = tuple(tuple(column.domain[code] for code in group) for group in encoding.collisions)
    return bin_of.astype(np.int64), same


def _answers(
    columns: Sequence[CodedColumn], target: str | None, rows: Integers | None
) -> list[Any]:
    for column in columns:
        if column.name == target:
            codes = column.codes if rows is None else column.codes[rows]
            return [column.domain[code] if code >= 0 else None for code in codes]
    names = Name.each(column.name for column in columns)
    raise SynthError(
        Message(
            "The encoder needs a target; there is no column {target!r}.", target=Name(target)
        ),
        hint=Message("{names!r}", names=names),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class LayoutVine:
    """Margins of the ordered columns of a layout, and a vine between those that vary."""

    layout: Layout
    margins: Sequence[Margin]
    vine: FittedVine | None
    active: Integers

    @classmethod
    def fitted(
        cls,
        layout: Layout,
        margins: Sequence[Margin],
        u: Floats,
        *,
        before: Floats | None = None,
        **settings: Any,
    ) -> Self:
        """Fit a vine to the columns that vary; none where fewer than two do."""
        active, vine = np.flatnonzero(np.ptp(u, axis=0) > 0).astype(np.int64), None
        if len(active) < 2:
            active = active[:0]
        else:
            lower = None if before is None else before[:, active]
            vine = fit_vine(u[:, active], before=lower, **settings)
        return cls(layout=layout, margins=margins, vine=vine, active=active)

    def draw(self, n: int, rng: np.random.Generator) -> list[Integers]:
        """Draw codes. Records without a category are drawn again, at last given the first."""
        parts: list[list[Integers]] = []
        n_whole = 0
        for turn in range(_ROUNDS):
            u = rng.random((n, len(self.margins)))
            if self.vine is not None:
                u[:, self.active] = self.vine.sample(n, rng)
            bins = [m.inverse(u[:, k]).astype(np.int64) for k, m in enumerate(self.margins)]
            codes, is_whole = self.layout.codes(bins)
            if turn == _ROUNDS - 1:
                is_whole[:] = True
            parts.append([one[is_whole] for one in codes])
            n_whole += int(is_whole.sum())
            if n_whole >= n:
                break
        return [np.concatenate(column)[:n] for column in zip(*parts, strict=True)]

    def baseline(
        self, label: str, columns: Sequence[CodedColumn], account: Account, **details: Any
    ) -> BaselineModel:
        """Return what draws records of the columns; it holds none itself."""
        layout = replace(self.layout, bins=())
        vine = replace(self, layout=layout)
        return BaselineModel(
            label=label,
            account=account,
            draw=lambda n, source: decode_frame(columns, vine.draw(n, source)),
            details={
                **details,
                "vine": self.vine,
                "active": self.active,
                "layout": layout,
                "margins": dict(zip(layout.names, self.margins, strict=True)),
                "collisions": layout.collisions,
            },
        )
