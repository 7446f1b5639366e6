"""The words for names in facts: checks, attacks, priors, findings, measures, figures."""
