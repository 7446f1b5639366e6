"""The process of the service: server, workers, logs and metrics."""
