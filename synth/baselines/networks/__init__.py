"""PrivBayes: networks of columns with few parents."""
