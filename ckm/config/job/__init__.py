"""The job file of a release: its shape, and the objects built from it."""
