"""The noise of cellKey and τ-ARGUS on amounts, to repeat their releases."""
