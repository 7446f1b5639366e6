"""Synthetic microdata, differentially private, from vine copulas and noisy tables."""
