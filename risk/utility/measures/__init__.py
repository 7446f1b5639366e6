"""The measures of utility, one module each."""
