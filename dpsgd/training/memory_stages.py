"""One step of training in the four stages whose memory is measured."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from dpsgd.features.images import ImageForm
from dpsgd.networks import linear_network
from dpsgd.plan import Plan
from dpsgd.training.training import PrivateTraining


def table_stages(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Take one step on made-up records; for `dpsgd.training.memory.measure`."""
    torch.set_num_threads(1)
    size, outputs = configuration["batch_size"], configuration["outputs"]
    shape: tuple[int, ...] = (configuration["inputs"],)
    hidden = configuration["hidden"]
    network: torch.nn.Module
    if (form := configuration.get("images")) is None:
        network = linear_network(shape[0], outputs, hidden=hidden)
    else:
        images = ImageForm.of(form)
        shape = images.input_shape
        network = images.build(shape[0], outputs, hidden=hidden)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    is_private = configuration["is_private"]
    plan = Plan(
        dataset_size=size, sampling_rate=1.0, steps=1, noise_multiplier=1.0, delta=0.5 / size
    )
    training = PrivateTraining(plan, model=network, optimizer=optimizer) if is_private else None
    each = torch.nn.CrossEntropyLoss(reduction="none")
    yield "model"
    x, y = torch.randn(size, *shape), torch.randint(0, outputs, (size,))
    yield "batch"
    if training is None:
        each(network(x), y).mean().backward()
    else:
        rows = next(training.draws(size))
        for piece, labels in training.pieces(rows, x, y):
            training.accumulate(each(network(piece), labels))
    yield "backward"
    if training is None:
        optimizer.step()
    else:
        training.step()
    yield "step"
