"""The names of checks and attacks, in the order of the page."""

from __future__ import annotations

#: The checks of a release.
CHECKS = (
    "noise-bound",
    "small-counts",
    "zeros-kept",
    "same-records",
    "noise-mean",
    "noise-variance",
    "noise-distribution",
    "keys",
    "certificate",
    "posterior",
    "posterior-set",
    "attacks",
    "utility",
    "public-scan",
)
#: The checks that somebody may allow to fail; nobody may publish what the scan found.
ALLOWABLE = CHECKS[:-1]
#: The attacks that a limit may be set for.
ATTACKS = (
    "differencing",
    "geographic-differencing",
    "two-partition",
    "small-cell",
    "repeated-answers",
    "hidden-bound",
    "linear-reconstruction",
    "subset-sums",
    "margin-bounds",
    "additive-keys",
)
