"""Published copula and vine methods."""
