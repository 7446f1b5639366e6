"""From records to published counts, sums and means."""
