"""The HTTP side of the service: routes, limits of connections, problem details, OpenAPI."""
