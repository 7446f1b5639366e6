"""Maps of areas: boundaries that neighbours share, simplified once, and shapes of the areas."""
