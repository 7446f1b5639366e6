"""The methods that an office may use instead of the cell key method, for comparison."""
