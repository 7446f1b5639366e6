"""The words for names in facts: checks, attacks, priors, findings, measures, figures.

The words of each page stand in a TOML file here; a module of the same name gives them out.
"""
