"""Steps of training that hold a gradient for each record, or none."""

import numpy as np


def stages(configuration):
    units, batch = configuration["hidden_units"], configuration["batch_size"]
    model = np.ones((units, 1000))
    yield "model"
    records = np.ones((batch, 1000))
    yield "batch"
    gradient = np.ones_like(model)
    yield "backward"
    each = [gradient * 2 for _ in records] if configuration["is_private"] else [gradient]
    yield "step"
    del each


def stops(configuration):
    yield "model"


def breaks(configuration):
    yield "model"
    raise ValueError("777.25")
