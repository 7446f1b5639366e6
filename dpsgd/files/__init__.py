"""Runs and models in files: tensors as tensors, the rest as JSON."""
