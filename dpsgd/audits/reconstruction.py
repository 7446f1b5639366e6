"""Gradient inversion: from the gradient of a batch back to its records."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpsgd.errors import DPSGDError
from footing.arrays import Floats
from footing.messages import Message, Shape

_STEP_SIZE = 0.1


def invert_linear(
    weight_gradient: ArrayLike, bias_gradient: ArrayLike, *, least: float = 1e-12
) -> Floats:
    """Return the input of a linear layer with a bias, from the gradients of both.

    Parameters
    ----------
    weight_gradient
        A row a unit, a column an input.
    bias_gradient
        One a unit.
    least
        Units with a smaller gradient of the bias say nothing.

    Returns
    -------
    numpy.ndarray
        A row for each unit that says something. Of a batch of one record, or where one record
        alone moved the unit, it is the record, to the last digit.

    Notes
    -----
    ``dL/dW[k] = x dL/db[k]``, so the input is the ratio. Of several records it is their mean,
    weighted by what each put there.

    References
    ----------
    Phong et al. 2018, section 3.

    Examples
    --------
    >>> invert_linear([[0.5, 1.0], [0.0, 0.0]], [0.5, 0.0]).tolist()
    [[1.0, 2.0]]
    """
    weights = np.asarray(weight_gradient, dtype=np.float64)
    biases = np.asarray(bias_gradient, dtype=np.float64)
    if weights.ndim != 2 or biases.shape != weights.shape[:1]:
        raise DPSGDError(
            Message(
                "Gradients of shapes {shape} and {biases_shape} are not of one layer.",
                shape=Shape(weights.shape),
                biases_shape=Shape(biases.shape),
            ),
            hint=Message("a row of weights and one bias for each unit"),
        )
    mask = np.isfinite(biases) & (np.abs(biases) > least)
    return np.asarray(weights[mask] / biases[mask, None])


def invert_gradient(
    model: Any,
    gradients: Sequence[Any],
    *,
    labels: Any,
    shape: tuple[int, ...],
    steps: int = 200,
    seed: int = 0,
) -> tuple[Any, float]:
    """Search for a batch whose gradient points where a given one does.

    Parameters
    ----------
    model
        A torch module that returns a score for each class.
    gradients
        Of the mean cross-entropy, one for each parameter of the model that is trained.
    labels
        Classes of the batch; an attacker reads those of a small batch off the last layer.
    shape
        Of one record.
    steps
        Of the search, by Adam.
    seed
        Of the start.

    Returns
    -------
    tuple
        The batch, and the distance of directions that is left: 0 where they agree.

    References
    ----------
    Geiping et al. 2020, section 3.

    Examples
    --------
    >>> import torch
    >>> model, label = torch.nn.Linear(2, 3), torch.tensor([1])
    >>> record = torch.tensor([[0.3, -0.8]])
    >>> loss = torch.nn.functional.cross_entropy(model(record), label)
    >>> gradients = torch.autograd.grad(loss, model.parameters())
    >>> found, distance = invert_gradient(model, gradients, labels=label, shape=(2,))
    >>> bool((found - record).abs().max() < 0.1), distance < 0.01
    (True, True)
    """
    import torch

    parameters = [p for p in model.parameters() if p.requires_grad]
    if [p.shape for p in parameters] != [g.shape for g in gradients]:
        raise DPSGDError(Message("gradients must have the shapes of the trained parameters."))
    generator = torch.Generator().manual_seed(seed)
    batch = torch.randn((len(labels), *shape), generator=generator) * 0.1
    batch.requires_grad_(True)  # noqa: FBT003 (torch's own name for it)
    search = torch.optim.Adam([batch], lr=_STEP_SIZE)
    target = torch.cat([gradient.detach().flatten() for gradient in gradients])
    distance = torch.tensor(0.0)
    for place in range(steps):
        if place in {steps // 2, steps * 3 // 4}:
            search.param_groups[0]["lr"] /= 10
        search.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch), labels)
        mine = torch.autograd.grad(loss, parameters, create_graph=True)
        flat = torch.cat([gradient.flatten() for gradient in mine])
        distance = 1 - torch.nn.functional.cosine_similarity(flat, target, dim=0)
        distance.backward(inputs=[batch])
        search.step()
    return batch.detach(), float(distance.detach())
