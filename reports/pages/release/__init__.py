"""The two editions of a release's report."""
