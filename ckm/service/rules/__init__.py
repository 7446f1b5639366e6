"""Which tables are published: rules on a request's shape and on protected counts only.

A refusal that depended on the original counts would be an answer about them.
"""
