"""Copulas and vines: pair-copulas, structures, fits, samples.

A small face over the package pyvinecopulib, which is loaded when a fit or a formula needs it.
Nothing here is private by itself: what is fitted to records tells about them.
"""

from synth.copulas.gaussian import nearest_correlation
from synth.copulas.margins import Margin, pseudo_observations
from synth.copulas.pair import FAMILIES, PairCopula, fit_pair
from synth.copulas.structure import Edge, Vine, c_vine, d_vine, grow_structure, number_of_vines
from synth.copulas.vine import FittedVine, fit_vine, gaussian_vine

__all__ = [
    "FAMILIES",
    "Edge",
    "FittedVine",
    "Margin",
    "PairCopula",
    "Vine",
    "c_vine",
    "d_vine",
    "fit_pair",
    "fit_vine",
    "gaussian_vine",
    "grow_structure",
    "nearest_correlation",
    "number_of_vines",
    "pseudo_observations",
]
