"""One thread: on a busy machine threads that wait for each other take minutes."""

import torch

torch.set_num_threads(1)
