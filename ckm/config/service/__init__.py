"""The file of a service: its shape, and the objects built from it."""
