"""Whether records can be told apart: k-anonymity and its relatives."""
