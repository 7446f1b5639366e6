"""Features that no private record shaped, for a private model on top of them."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from dpsgd.errors import DPSGDError, TrainingDataError
from footing.checks import require_integer
from footing.messages import Message

_LEAST = 1e-6  # ink and spread that are taken for none


def frozen_features(network: nn.Module, inputs: Tensor, *, piece: int = 512) -> Tensor:
    """Return what a network gives for each record, scaled to length one.

    The network must have been trained on public records, or not at all. It is read, not
    changed: parts that behave otherwise in training, such as batch norms, stand still.

    Parameters
    ----------
    network
        The network without its last layer.
    inputs
        A row for each record.
    piece
        Records in memory at once.

    Examples
    --------
    >>> body = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())
    >>> found = frozen_features(body, torch.rand(10, 4))
    >>> found.shape, found.requires_grad
    (torch.Size([10, 8]), False)
    """
    parts = [*network.modules()]
    were_training = [part.training for part in parts]
    device = next((p.device for p in network.parameters()), inputs.device)
    network.eval()
    try:
        with torch.no_grad():
            outputs = [network(rows.to(device)).flatten(1) for rows in inputs.split(piece)]
    finally:
        for part, was in zip(parts, were_training, strict=True):
            part.training = was
    return functional.normalize(torch.cat(outputs).to(inputs.device).float())


def deskewed(images: Tensor) -> Tensor:
    """Return images sheared upright and centred, each by its own moments.

    It reads no other record, and so costs nothing. It suits digits and letters, whose slant and
    place tell nothing of their class; pictures of things lose by it.

    Parameters
    ----------
    images
        Grey images as (images, height, width); 0 is the ground.

    Notes
    -----
    Rows are moved by the regression of the column of the ink on its row.

    Examples
    --------
    >>> slant = torch.eye(5)[None]
    >>> deskewed(slant)[0, :, 2].round()
    tensor([1., 1., 1., 1., 1.])
    """
    height, width = images.shape[1:]
    y = (torch.arange(height) - (height - 1) / 2).to(images)[None, :, None]
    x = (torch.arange(width) - (width - 1) / 2).to(images)[None, None]
    ink = images / images.sum((1, 2), keepdim=True).clamp(min=_LEAST)
    row, column = ((ink * place).sum((1, 2), keepdim=True) for place in (y, x))
    spread = (ink * (y - row).square()).sum((1, 2), keepdim=True)
    slant = (ink * (y - row) * (x - column)).sum((1, 2), keepdim=True) / spread.clamp(
        min=_LEAST
    )
    places = torch.stack([x + column + slant * y, (y + row).expand_as(images)], 3)
    sides = images.new_tensor([width - 1, height - 1])
    grid = 2 * places / sides
    return functional.grid_sample(images[:, None], grid, align_corners=True)[:, 0]


def levelled(
    features: Tensor, *, public: Tensor, least: float = 1e-3, piece: int = 2048
) -> Tensor:
    """Return features in which no direction outweighs the others, scaled to length one.

    Most of the length of features lies along their mean and few axes, which tell little of
    classes; without them the same clipping norm holds more of what does. Both are taken from
    public records.

    Parameters
    ----------
    features
        A row for each record.
    public
        Features of public records, of a kind with the private ones.
    least
        Variance below which axes are left as they are.
    piece
        Records in memory at once.

    Notes
    -----
    Each axis of the public covariance, of variance ``v``, is multiplied by
    ``((v + least) / least) ** -0.5``.

    Examples
    --------
    >>> public = torch.tensor([[0.9, 0.1], [0.9, -0.1]])
    >>> levelled(torch.tensor([[0.9, 0.5], [0.9, -0.2]]), public=public)
    tensor([[ 0.,  1.],
            [ 0., -1.]])
    """
    if not len(public) or public.shape[1:] != features.shape[1:]:
        raise TrainingDataError(
            Message(
                "Public features must be of the width of the others, and at least one row."
            ),
            hint=Message("make both by the same function"),
        )
    if not least > 0:
        raise TrainingDataError(
            Message("least must be positive."), hint=Message("1e-3 suits unit length")
        )
    public = public.to(features)
    mean = public.mean(0)
    _, lengths, axes = torch.linalg.svd(public - mean, full_matrices=False)
    mask = lengths.square() > least * len(public) / 10
    scales = (1 + lengths[mask].square() / (least * len(public))).rsqrt() - 1
    output = torch.empty_like(features)
    for start in range(0, len(features), piece):
        rows = features[start : start + piece] - mean
        rows.addmm_((rows @ axes[mask].T) * scales, axes[mask])
        output[start : start + piece] = functional.normalize(rows)
    return output


def pretrained(
    network: nn.Module,
    *data: Tensor,
    epochs: int = 5,
    batch_size: int = 64,
    learning_rate: float = 0.05,
    seed: int = 0,
) -> nn.Module:
    """Train a network on public records, without noise; return the network.

    Parameters
    ----------
    network
        The network, its last layer among it.
    data
        Public inputs and their classes, a row for each record.
    epochs, batch_size, learning_rate, seed
        Of stochastic gradient descent with momentum.

    Examples
    --------
    >>> network = torch.nn.Linear(2, 2)
    >>> x = torch.tensor([[0.0, 1.0], [1.0, 0.0]] * 50)
    >>> found = pretrained(network, x, x.argmax(1), epochs=20)
    >>> found(x[:2]).argmax(1)
    tensor([1, 0])
    """
    inputs, classes = data
    if len(inputs) != len(classes) or not len(inputs):
        raise TrainingDataError(
            Message("Public inputs and classes must be as many, and at least one.")
        )
    order = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=learning_rate, momentum=0.9)
    network.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(inputs), generator=order).split(batch_size):
            optimizer.zero_grad()
            functional.cross_entropy(network(inputs[rows]), classes[rows]).backward()
            optimizer.step()
    return network.eval()


def pooled(images: NDArray[Any], factor: int) -> NDArray[np.float32]:
    """Return images with their sides divided: each number is the mean of a square.

    Parameters
    ----------
    images
        Records, rows, columns; and channels, if any.
    factor
        By what to divide. Rows and columns that are left over are cut off.

    Examples
    --------
    >>> pooled(np.arange(16).reshape(1, 4, 4), 2)
    array([[[ 2.5,  4.5],
            [10.5, 12.5]]], dtype=float32)
    """
    size, rows, columns, *rest = np.shape(images)
    require_integer(factor, "factor", error=DPSGDError, minimum=1, maximum=min(rows, columns))
    high, wide = rows // factor, columns // factor
    core = np.asarray(images, dtype=np.float32)[:, : high * factor, : wide * factor]
    means: NDArray[np.float32] = core.reshape(size, high, factor, wide, factor, *rest).mean(
        (2, 4)
    )
    return means
