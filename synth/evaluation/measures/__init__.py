"""The measures of an evaluation, one module each."""
