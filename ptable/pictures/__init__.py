"""Pictures of p-tables: static SVG with a text alternative and the data as a table."""

from ptable.pictures.bars import perturbation
from ptable.pictures.matrix import heatmap
from ptable.pictures.panels import distributions
from ptable.pictures.picture import Picture

__all__ = ["Picture", "distributions", "heatmap", "perturbation"]
