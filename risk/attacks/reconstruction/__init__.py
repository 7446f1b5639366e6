"""Attacks that rebuild records or base cells from many answers."""
