"""Tabulation by Spark, where one machine is too small."""
