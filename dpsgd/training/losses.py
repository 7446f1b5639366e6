"""Losses of records, of which one that no loss fits is left out, and nothing tells which."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dpsgd.errors import TrainingDataError
from footing.messages import Message, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_CODES = (nn.CrossEntropyLoss, nn.NLLLoss)
_FUNCTIONS = (functional.cross_entropy, functional.nll_loss)
_IGNORED = -100  # what PyTorch leaves out by itself, unless told another code


def losses_of(
    criterion: Callable[..., Tensor],
    *values: Tensor,
    is_trial: bool = False,
    is_tested: bool = True,
) -> Tensor:
    """Return the losses; that of a record whose target does not fit is no number.

    A loss that is no number has a gradient that is none, and contributes nothing. What is
    raised in a trial, on made-up records, is an error of whoever wrote the loop; so is what
    all records of a batch raise, where none was tried.
    """
    if is_trial:
        return _tried(criterion, values)
    if _is_on_card(values) and (losses := _of_codes(criterion, values)) is not None:
        return losses  # a code that does not fit would end the process there
    try:
        return criterion(*values)
    except (IndexError, RuntimeError) as error:
        if (losses := _of_codes(criterion, values)) is None:
            losses = _one_by_one(criterion, values, is_tested=is_tested)
        if losses is None:
            raise does_not_fit(error) from None
        return losses


def _tried(criterion: Callable[..., Tensor], values: tuple[Tensor, ...]) -> Tensor:
    try:
        return criterion(*values)
    except IndexError as error:
        raise does_not_fit(error) from None


def _one_by_one(
    criterion: Callable[..., Tensor], values: tuple[Tensor, ...], *, is_tested: bool
) -> Tensor | None:
    """Return what the criterion says of each record alone; nothing, where it takes none."""
    parts = [_alone(criterion, values, row) for row in range(_rows(values))]
    taken = [part for part in parts if part is not None]
    if not taken and not (parts and is_tested):
        return None
    shape = taken[0].shape if taken else (1,)
    for row, part in enumerate(parts):
        if part is None:
            nothing = values[0][row : row + 1].sum() * torch.nan
            parts[row] = nothing.expand(shape)
    return torch.cat([part for part in parts if part is not None])


class Codes(NamedTuple):
    """How many codes the outputs have, and the one that a loss leaves out by itself."""

    number: int
    ignored: int

    def fit(self, targets: Tensor) -> Tensor:
        """Return which targets are one of them."""
        return ((targets >= 0) & (targets < self.number)) | (targets == self.ignored)


def codes_of(criterion: Callable[..., Tensor], *values: Tensor) -> Codes | None:
    """Return the codes of the outputs; None, where the loss is none of codes."""
    inner = criterion.func if isinstance(criterion, partial) else criterion
    is_of_codes = isinstance(inner, _OF_CODES) or inner in _FUNCTIONS
    if not is_of_codes or _rows(values) == 0 or len(values) != 2:
        return None
    outputs, targets = values
    if targets.is_floating_point() or outputs.dim() != targets.dim() + 1:
        return None
    keywords = criterion.keywords if isinstance(criterion, partial) else {}
    ignored = getattr(inner, "ignore_index", keywords.get("ignore_index", _IGNORED))
    return Codes(outputs.shape[1], ignored)


def _of_codes(criterion: Callable[..., Tensor], values: tuple[Tensor, ...]) -> Tensor | None:
    """Return the losses of codes, of which some may be none of the outputs'."""
    codes = codes_of(criterion, *values)
    if codes is None:
        return None
    outputs, targets = values
    fits = codes.fit(targets)
    losses = criterion(outputs, targets.where(fits, 0))
    fits = fits.flatten(1).all(1) if fits.dim() > 1 else fits
    # A factor, no choice between two losses: the gradient of what is not chosen is 0 x nan.
    factors = torch.where(fits, 1.0, torch.nan).to(losses)
    return losses * factors.view(-1, *[1] * (losses.dim() - 1))


def _alone(
    criterion: Callable[..., Tensor], values: tuple[Tensor, ...], row: int
) -> Tensor | None:
    try:
        return criterion(*(value[row : row + 1] for value in values))
    except (IndexError, RuntimeError):
        return None


def _is_on_card(values: tuple[Any, ...]) -> bool:
    return bool(values) and isinstance(values[0], Tensor) and values[0].device.type != "cpu"


def _rows(values: tuple[Any, ...]) -> int:
    is_plain = bool(values) and all(isinstance(v, Tensor) and v.dim() for v in values)
    return len(values[0]) if is_plain else 0


def does_not_fit(error: Exception | None = None) -> TrainingDataError:
    """Return what is said of targets that the outputs do not have; no value is told."""
    if error is None or isinstance(error, IndexError):
        return TrainingDataError(
            Message("A label lies outside of the outputs of the model."),
            hint=Message("labels are whole numbers from 0 to the number of outputs less 1"),
        )
    return TrainingDataError(
        Message("The criterion does not take these records: {name}.", name=Shape(type(error))),
        hint=Message("try it on made-up records, whose values an error may show"),
    )
