"""From a query to a protected table, or to a refusal."""
