"""The record sets of published tables, and by how many records two of them differ."""
