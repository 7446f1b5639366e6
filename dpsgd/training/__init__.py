"""One noisy training step after another: layers, clipping, sampling, memory."""
