"""From counts of reports to how many had each value."""
