"""Rival methods on the same bench: what each keeps and gives away on the tables of a job."""
