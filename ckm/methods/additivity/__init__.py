"""Additive tables: published counts adjusted so that parts add up to their totals."""
